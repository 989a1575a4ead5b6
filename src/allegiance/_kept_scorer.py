"""What a fitted scorer does away from its data: it is saved and loaded, scores Arrow data, and keeps a first period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ._core import is_lazy
from .fitting import Fitted, Specification, check_comparable, period_of, profile_of, with_baseline
from .results import Profile


class KeptScorer:
    """The part of :class:`AffinityScorer` that needs nothing but what was fitted."""

    fitted_: Fitted
    verbose: Any
    get_params: Any
    become: Any

    def score_arrow(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        keep: Sequence[str] | Mapping[str, str] = (),
        labels: str | None = None,
        top: int | None = None,
        details: bool = False,
    ) -> Any:
        """Score Arrow data: what engines such as Spark, DuckDB and Polars hand over. ``docs/scale.md`` has the lines.

        It keeps nothing between calls, may be called from several threads at once, and gives the scores of
        :meth:`affinity` to the last bit, however rows are cut into batches. Needs the extra ``io``.

        Parameters
        ----------
        data
            A ``pyarrow.RecordBatch`` or ``Table``, or anything that offers itself as one by Arrow's C interface. One
            without rows gives the columns of the result and their types.
        columns
            The columns that hold the features; by default those of the fit, by name, or if they had no names all but
            ``keep`` and ``labels``.
        keep
            Columns to carry over, such as identifiers; or a mapping that says what they are called in the result.
        labels
            The column that holds the labels of the clustering the scorer was fitted to, -1 for noise. By default
            points are new, and get the label of the estimator or of the nearest cluster.
        top
            With ``details``, only this many of the largest affinities of each row, and their clusters.
        details
            All columns of ``result.to_frame(details=True)``, or those that a person reads.

        Returns
        -------
        pyarrow.RecordBatch or pyarrow.Table
            One row for each, as ``data`` came.
        """
        from .io.arrow import score_arrow

        check_is_fitted(self)
        return score_arrow(self.fitted_, data, columns=columns, keep=keep, labels=labels, top=top, details=details)

    def profile(self, X: Any, *, reference: bool = False) -> Profile:
        """Return the figures of a period, which :func:`compare_periods` compares: counts and means, but no rows.

        Parameters
        ----------
        X
            (n, d) points, known or new, or a Dask collection.
        reference
            Whether others will be compared with it: then it is also estimated how far the points of a fit flatter.
        """
        check_is_fitted(self)
        check_comparable(self.fitted_)
        if is_lazy(X):
            from .io.dask import period_lazily

            return profile_of(self.fitted_, period_lazily(self.fitted_, X), reference=reference)
        return profile_of(self.fitted_, period_of(self.fitted_, X), reference=reference)

    def keep_baseline(self, X: Any) -> Self:
        """Keep the figures of a first period, to compare later ones with; they are saved with the scorer.

        ``compare_periods(scorer, None, X_now)`` and ``allegiance watch`` use them. They are counts, means and quantiles
        of features: no row is kept.

        Parameters
        ----------
        X
            (n, d) the points of the period, usually those of the fit, or a Dask collection.
        """
        self.fitted_ = with_baseline(self.fitted_, self.profile(X, reference=True))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return all that scoring needs, as plain values and arrays.

        It holds no training data, except that an exact kernel is a sum over the points of the fit, and that trust needs
        the distances of some members from their representatives. Of a pipeline it holds the transformers, if all are
        known to this package, and of the clusterer what labels new points if that is k-means or a Gaussian mixture;
        after :meth:`from_dict` others are replaced by the nearest representative. ``labels_`` are left out.
        """
        from .io.state import encode_scorer

        check_is_fitted(self)
        return encode_scorer(self.get_params(deep=False) | {"verbose": bool(self.verbose)}, self.fitted_)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Return the fitted scorer that :meth:`to_dict` described: it gives the same affinities to the last bit.

        Parameters
        ----------
        state
            What :meth:`to_dict` returned.
        """
        from .io.state import decode_scorer

        params, parts = decode_scorer(state)
        scorer = cls(**params)
        scorer.become(Fitted(specification=Specification.of(scorer), **parts))
        return scorer

    def save(self, path: Any) -> None:
        """Write :meth:`to_dict` to one file of JSON and NumPy arrays, without pickle.

        Parameters
        ----------
        path
            The file, by custom ``*.scorer``. An existing one is replaced once the new one is complete.
        """
        from .io.state import write_state

        write_state(self.to_dict(), path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Return the scorer of a file that :meth:`save` wrote, now or with an earlier version of the package.

        It gives the same affinities to the last bit. Of the scorer that was saved it lacks ``labels_`` and
        ``estimator_``: see :meth:`to_dict` for what labels new points then.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ValueError
            If the file is not a saved scorer, of a later version, incomplete or altered.
        """
        from .io.state import read_state

        state = read_state(path)
        try:
            return cls.from_dict(state)
        except Exception as error:
            # The parameters are checked by what they are passed to, which knows nothing of files.
            raise ValueError(f"{path} cannot be loaded: {error}") from error
