"""A scorer with all that a new file of the same kind needs: how its columns are prepared, and where it comes from."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from allegiance.fitting import Columns
from allegiance.io import TableError
from allegiance.io._old_tables import Features, Source, check_features, number_features

if TYPE_CHECKING:
    from allegiance import AffinityScorer

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Model:
    r"""A fitted scorer, the features of the table it was fitted to, and what is known about that table.

    Attributes
    ----------
    scorer
        Fitted to the features, so that it scores matrices that ``features`` prepared.
    features
        How columns become features; None for a scorer that was saved without a table, and knows no names of columns.
    about
        Plain values: ``created``, ``command``, ``versions``, ``data``, ``ids``, ``labels``, ``columns``, ``clusters``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance import AffinityScorer
    >>> from allegiance.io.streams import fit_stream
    >>> from allegiance.io.models import Model
    >>> from allegiance.io._old_tables import PreparedSource, open_source, plan_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     january, saved = Path(folder) / "january.csv", Path(folder) / "january.model"
    ...     _ = january.write_text("spent,plan\n1,a\n2,a\n8,b\n9,b\n")
    ...     source = open_source(january)
    ...     features = plan_features(source, one_hot=["plan"], standardize=True)
    ...     scorer = fit_stream(PreparedSource(source, features), n_clusters=2, columns=features.names)
    ...     Model(scorer, features).save(saved)
    ...     Model.load(saved).features.names
    ('spent', 'plan=a', 'plan=b')
    """

    scorer: AffinityScorer
    features: Features | None
    about: dict[str, Any] = field(default_factory=dict)

    def save(self, path: Any) -> None:
        """Write one file, which :meth:`allegiance.AffinityScorer.load` reads as well: that scorer takes frames.

        Parameters
        ----------
        path
            The file, by custom ``*.model``. An existing one is replaced once the new one is complete.
        """
        fitted = self.scorer.fitted_.with_part("about", json.dumps(self.about, ensure_ascii=False))
        if self.features is not None:
            columns = Columns(len(self.features.columns), self.features.columns)
            fitted = fitted.with_preprocessing(self.features.preparation, columns)
            fitted = fitted.with_part("table", json.dumps(self.features.to_json(), ensure_ascii=False))
        whole = copy(self.scorer)
        whole._set_fitted(fitted)
        whole.save(path)

    @classmethod
    def load(cls, path: Any) -> Model:
        """Return the model of a file that :meth:`save` or :meth:`allegiance.AffinityScorer.save` wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ValueError
            If it is not a saved scorer, of a later version, incomplete or altered.
        """
        from allegiance import AffinityScorer

        scorer = AffinityScorer.load(path)
        parts, columns = scorer.fitted_.parts, scorer.fitted_.columns
        features = None
        if "table" in parts:
            try:
                features = Features.from_json(json.loads(parts["table"]), columns.preparation)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path} cannot be loaded: its table is described in an unknown way.") from error
        elif columns.preparation is None and columns.known_names is not None:
            features = number_features([str(name) for name in columns.known_names])
        if features is not None:
            scorer._set_fitted(scorer.fitted_.without_preprocessing())
        return cls(scorer, features, json.loads(parts.get("about", "{}")))

    def features_for(self, source: Source, aside: Sequence[str] = ()) -> Features:
        """Return the features of a new table, after one reading of it, with what was found there.

        Parameters
        ----------
        source
            The table.
        aside
            Columns that are something else than features: identifiers, labels.

        Raises
        ------
        TableError
            If columns are missing, or hold what the model cannot read.
        """
        known = [*aside, *self.about.get("ids", ()), self.about.get("labels")]
        return check_features(source, self.features or self._plain(source, aside), aside=known)

    def _plain(self, source: Source, aside: Sequence[str]) -> Features:
        """Return all columns but those aside as features, for a scorer that knows only how many there are."""
        columns = self.scorer.fitted_.columns
        if columns.preparation is not None:
            raise TableError(
                "the model was saved in Python with transformers of its own, which do not say how a table is read: "
                "score frames with AffinityScorer.load(path).affinity(frame), or files with score_stream."
            )
        names = [name for name in source.names if name not in aside]
        if len(names) != columns.n_features:
            raise TableError(
                f"{source.where} has {len(names)} columns to be features, but the model has {columns.n_features}, and "
                "does not know their names."
            )
        return number_features(names)


def described(features: Features, source: Source, **more: Any) -> dict[str, Any]:
    """Return what a model says about itself, as plain values.

    Parameters
    ----------
    features
        How the table was prepared.
    source
        The table.
    **more
        What else is known, such as ``command``, ``ids``, ``labels`` and ``clusters``.
    """
    types = {name: str(source.schema.field(name).type) for name in features.columns}
    noticed = features.noticed
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "data": {
            "files": list(source.files) or [source.where],
            "rows": noticed.n_rows,
            "dropped": noticed.n_dropped,
            "filled": noticed.n_filled,
        },
        "columns": [
            {"column": name, "type": types[name], "holds": reading.holds} for name, reading in features.readings.items()
        ],
        **more,
    }
