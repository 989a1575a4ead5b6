"""Models for tables: a feature plan, and a scorer fitted to its features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import AnyArray, check_count, is_lazy
from allegiance.drift import Profile, profile_rows
from allegiance.fitting import Fitted, PreparedInput, labels_of
from allegiance.results import AffinityResult, FrameLike

from .saved import digest_state, model_id, write_state

if TYPE_CHECKING:
    from allegiance import AffinityScorer

    from .plan import FeaturePlan


class Model:
    """A feature plan, and a scorer fitted to its features.

    The plan turns rows of a table into numbers: it reads numbers and dates, encodes categories, fills missing values
    and scales columns. The scorer knows nothing about tables.

    Parameters
    ----------
    plan
        From :func:`allegiance.io.propose`.
    scorer
        A fitted ``AffinityScorer`` for the matrix of the plan.
    about
        Provenance as plain values; saved with the model.

    Attributes
    ----------
    plan, scorer, about
        As passed. Label columns of new rows are ignored.

    See Also
    --------
    allegiance.io.fit_stream : Fit a model to a table of any size.
    allegiance.load : Load a model from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.cluster import KMeans
    >>> from allegiance import AffinityScorer
    >>> from allegiance.io import Model, propose
    >>> customers = pd.DataFrame({"spent": [10, 12, 11, 90, 95, 99], "plan": list("aaabbb")})
    >>> plan = propose(customers)
    >>> scorer = AffinityScorer(KMeans(2, n_init=1, random_state=0)).fit(plan.matrix(customers))
    >>> model = Model(plan, scorer)
    >>> bool(model.predict(customers)[0] == model.predict(customers)[2])
    True
    """

    def __init__(self, plan: FeaturePlan, scorer: AffinityScorer, about: Mapping[str, Any] | None = None) -> None:
        check_is_fitted(scorer)
        if len(plan.names) != scorer.n_features_in_:
            raise ValueError(f"the plan makes {len(plan.names)} features, but the scorer has {scorer.n_features_in_}.")
        roles = [replace(column, role="left out") if column.role == "label" else column for column in plan.columns]
        self.plan, self.scorer, self.about = replace(plan, columns=roles), scorer, dict(about or {})

    @property
    def id(self) -> str:
        """A hash of everything that affects scores: equal models have equal ids."""
        return model_id(self.scorer.fitted_, self.plan)

    def affinity(self, rows: Any, *, top: int | None = None) -> AffinityResult:
        """Score rows of a table.

        Parameters
        ----------
        rows
            A frame of any library, an Arrow table, a path, or one row as a dict. A Dask frame gives a lazy result.
        top
            Keep only this many of the largest affinities per row; None keeps all.
        """
        fitted, keep = self.scorer.fitted_, None if top is None else check_count(top, "top")
        if is_lazy(rows):
            from .dask import affinity_lazily

            return affinity_lazily(fitted, rows, keep, plan=self.plan)
        result = fitted.score_prepared(prepare_points(fitted, self.plan, rows), keep)
        fitted.warn_if_imprecise(result._count_imprecise(), len(result))
        return result

    def predict(self, rows: Any) -> AnyArray:
        """Return the label (n,) of each row; see :meth:`affinity`."""
        fitted = self.scorer.fitted_
        if is_lazy(rows):
            from .dask import predict_lazily

            return predict_lazily(fitted, rows, plan=self.plan)
        return predict_points(fitted, self.plan, rows)

    def score_arrow(
        self,
        data: Any,
        *,
        keep: Sequence[str] | Mapping[str, str] = (),
        labels: str | None = None,
        top: int | None = None,
        details: bool = False,
    ) -> Any:
        """Score Arrow data by the model; see :meth:`allegiance.AffinityScorer.score_arrow`."""
        from .batches import score_arrow

        return score_arrow(self, data, columns=None, keep=keep, labels=labels, top=top, details=details)

    def profile(self, rows: Any) -> Profile:
        """Return the profile of a period, in the units of the table; see :func:`allegiance.drift.compare_profiles`."""
        if is_lazy(rows):
            from .dask import profile_lazily

            return profile_lazily(self.scorer.fitted_, rows, plan=self.plan)
        return profile_matrix(self.scorer.fitted_, self.plan, self.plan.matrix(rows))

    def keep_baseline(self, rows: Any) -> Self:
        """Store the profile of a first period, such as the training data, as the baseline for drift."""
        self.scorer.fitted_ = replace(self.scorer.fitted_, baseline=self.profile(rows).without_rows())
        return self

    def prepare(self) -> Self:
        """Compile the code that the model needs to score; see :meth:`allegiance.AffinityScorer.prepare`."""
        self.scorer.prepare()
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values and arrays."""
        state, plan = self.scorer.to_dict(), self.plan.to_dict()
        data = digest_state({"scaled": state["data"], "plan": plan})
        about = json.dumps(self.about, ensure_ascii=False)
        return state | {"plan": plan, "id": self.id, "data": data, "about": about}

    def save(self, path: Any, *, force: bool = True) -> None:
        """Write the model to one file of JSON and NumPy arrays, without pickle.

        Parameters
        ----------
        path
            The file, usually ``*.model``, or a URL that fsspec knows, such as ``s3://bucket/january.model``.
        force
            Whether to replace an existing file.
        """
        write_state(self.to_dict(), path, force=force)

    def __repr__(self) -> str:
        return f"Model({self.plan!r}, {self.scorer.classes_.size} clusters)"


def prepare_points(fitted: Fitted, plan: FeaturePlan | None, rows: Any, labels: Any = None) -> PreparedInput:
    """Return rows as the input of a model's scorer, prepared by its plan if there is one."""
    if plan is None:
        return fitted.prepare_input(rows, labels)
    matrix, record = None, rows
    if hasattr(rows, "iloc") and len(rows) == 1 and rows.columns.is_unique:
        record = rows.to_dict("records")[0]
    if isinstance(record, Mapping):
        matrix = _record_matrix(plan, record)
    if matrix is None and isinstance(rows, Mapping):
        import pyarrow as pa

        rows = pa.Table.from_pylist([dict(rows)])
    points = fitted.prepare_input(plan.matrix(rows) if matrix is None else matrix, labels, named=False)
    return points._replace(frame=FrameLike() if isinstance(rows, Mapping) else FrameLike.of(rows))


def _record_matrix(plan: FeaturePlan, record: Mapping[str, Any]) -> AnyArray | None:
    """Return the features (1, d) of a record for a model; None if it needs the full plan."""
    if plan.single:
        return None
    values: list[float] = []
    for column in plan.features:
        value: Any = record.get(column.name)
        if column.missing:
            return None
        if column.kind == "number" and type(value) in (int, float) and abs(value) < 2**53:
            values.append(float(value))
        elif column.kind == "category" and type(value) is str and value in column.categories:
            values += [float(value == category) for category in column.categories]
        else:
            return None
    return plan.scale_matrix(np.array([values])) if plan.scaled else np.array([values])


def predict_points(fitted: Fitted, plan: FeaturePlan | None, rows: Any) -> AnyArray:
    """Return the labels (n,) of rows by a model, prepared by the plan if there is one."""
    points = prepare_points(fitted, plan, rows)
    return labels_of(fitted.codes_of(points, fitted.locate(points.rows)), fitted.classes)


def profile_matrix(
    fitted: Fitted, plan: FeaturePlan, X: Any, start: int = 0, result: AffinityResult | None = None
) -> Profile:
    """Return the profile of rows (n, d) prepared by a model, in the units of its table, from row ``start``."""
    dates = [column.kind == "date" for column in plan.features for _ in column.names]
    units, names = plan.in_units(X), list(plan.names)
    return profile_rows(fitted, X, result=result, features=units, names=names, dates=dates, start=start)
