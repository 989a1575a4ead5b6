"""AffinityScorer, the scikit-learn estimator."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from ._core.validation import AnyArray, FloatArray, Rows, check_count, check_rows, check_table, is_lazy
from .calibration import above_chance, as_clusterer, is_pairwise
from .drift import Profile, profile_rows
from .fitting import (
    Columns,
    Fitted,
    InMemory,
    Labels,
    LastPass,
    PreparedInput,
    Specification,
    align,
    calibrate_fitted,
    fit,
    fit_clusterer,
    fit_preparation,
    has_pipeline,
    labels_of,
    score_by_calibration,
    training_labels,
    unwrap_estimator,
)
from .influence import Kernel
from .notebook import fitted_html
from .results import AffinityResult, FrameLike


class AffinityScorer(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Affinity and trust as a scikit-learn estimator, which also scores new points.

    ``AffinityScorer(calibration=True).fit_affinity(X, labels)`` gives the result of ``trust(X, labels)``.

    Parameters
    ----------
    estimator
        A clusterer, cloned and fitted by :meth:`fit`; wrap a fitted one in :class:`~sklearn.frozen.FrozenEstimator` to
        keep it as it is. If it is a pipeline that ends in a clusterer, points are scored after its transformers, in the
        space that is clustered. None if you pass labels to :meth:`fit`, or ``centers``.
    centers
        (k, d) representatives of the clusters. By default they are computed from the labels.
    influence
        What closeness means: "within", Mahalanobis distance with the pooled covariance of the clusters; "euclidean",
        as in the paper; "cosine", for embeddings; "kl", "itakura-saito", "logistic"; the name of a kernel such as
        "rbf"; or an object of ``allegiance.influence``. "within" needs labels: with ``centers`` alone, points begin
        with the label of the nearest center by Euclidean distance.
    weights
        Importance of the clusters: None for equal weights; "size", their share of the points; "density", their share of
        points per volume; an array (k,); or :class:`allegiance.influence.Weights`. A weight is subtracted from the
        squared distance.
    representative
        The point that represents a cluster: "mean", "median" (coordinate by coordinate) or "medoid" (one of its
        points).
    domain
        Where volume is measured: "box" around the data, "ball" around the representatives, "space" for all of it, or an
        object of ``allegiance.domains``.
    engine
        How volume is measured: "auto", "exact", "shared", "hit-and-run", "closed-form"; or an object of
        ``allegiance.engines``.
    eps
        Half-width of the 95% interval of every affinity that is not exact.
    calibration
        How trust is calibrated: None for no trust, the number of subsamples that are clustered again, such as 20, or
        :class:`Calibration`.
    n_jobs
        Number of threads; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed, generator, or None for a new seed at each fit. Sampling only adds numerical error, so the default seed is
        fixed and repeated fits agree.
    verbose
        Whether to show progress on standard error, or a callback for progress snapshots.

    Attributes
    ----------
    labels_
        (n,) labels of the points of the fit.
    classes_
        (k,) label of each cluster, sorted as by ``numpy.unique``: the columns of :meth:`transform`.
    cluster_centers_
        (k, d) representatives of the clusters, in the columns after ``preparation_``; missing for kernels.
    estimator_
        The fitted clusterer, if there is one.
    preparation_
        The fitted transformers that are applied to X before scoring, as one pipeline; None if there are none.
    fitted_
        All that scoring needs, for other parts of the package.
    n_features_in_
        The number of columns of X, before any transformers.
    feature_names_in_
        Names of the columns of X, if it had any.

    See Also
    --------
    affinity, trust : The same in one call.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import AffinityScorer
    >>> X = load_iris().data
    >>> scorer = AffinityScorer(KMeans(3, random_state=0), calibration=20).fit(X)
    >>> scorer.transform(X[:2]).shape
    (2, 3)
    >>> scorer.affinity(X[:2]).trust.shape
    (2,)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        centers: Any = None,
        influence: Any = "within",
        weights: Any = None,
        representative: str = "mean",
        domain: Any = "box",
        engine: Any = "auto",
        eps: float = 0.03,
        calibration: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: Any = False,
    ) -> None:
        self.estimator = estimator
        self.centers = centers
        self.influence = influence
        self.weights = weights
        self.representative = representative
        self.domain = domain
        self.engine = engine
        self.eps = eps
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> AffinityScorer:
        """Fit the scorer: find the representatives of the clusters and the territory they divide.

        Parameters
        ----------
        X
            (n, d) data: array, sparse matrix or frame, or a Dask array or frame, whose sums are then computed.
        y
            (n,) labels of any clustering, -1 for noise; ignored if there is an ``estimator``.
        **fit_params
            Passed to the estimator by scikit-learn's metadata routing.
        """
        if is_lazy(X):
            from .io.dask import fit_lazily

            return fit_lazily(self, X, y, fit_params)
        fresh = self._copy_parameters()
        last = fresh._fit(X, y, fit_params)
        assert last.codes is not None
        fresh.labels_ = labels_of(last.codes, fresh.classes_)
        estimator = getattr(fresh, "estimator_", None)
        fresh.fitted_ = calibrate_fitted(fresh.fitted_, last.sample, estimator=estimator, X=X)
        _ = fresh.fitted_.members and fresh.fitted_.members.value  # the last use of the training data, now freed
        self.__dict__ = fresh.__dict__
        return self

    def _copy_parameters(self) -> AffinityScorer:
        """Return a copy of the scorer without fitted attributes, so that a failing fit leaves the previous one."""
        fresh = copy(self)
        for name in [name for name in vars(fresh) if name.endswith("_")]:
            delattr(fresh, name)
        return fresh

    def _fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> LastPass:
        """Fit the scorer's copy to data in memory, without trust, and set its attributes."""
        specification = Specification.of(self)
        if self.estimator is None:
            if fit_params:
                names = ", ".join(sorted(fit_params))
                raise TypeError(f"fit got {names}, but there is no estimator to pass it to.")
            calibration, clusterer = specification.calibration, None
            made_by = None if calibration is None or self.centers is not None else calibration.clusterer
            if made_by is not None and (has_pipeline(made_by) or is_pairwise(made_by)):
                # Points are scored in the space of the clusterer of the labels.
                check_table(self, X)
                columns = Columns.of(self, fit_preparation(made_by, X))
                rows = columns.check(X)
            else:
                rows, columns = check_rows(self, X, reset=True), Columns.of(self)
        else:
            rows, columns, clusterer, y = self._fit_estimator(X, fit_params, specification)
        labels = None if y is None else Labels.of(align(X, y), rows.shape[0])
        chunks = InMemory(specification.influence.prepare(rows), labels)
        fitted, last = fit(specification, chunks, columns, threads=specification.settings.threads, clusterer=clusterer)
        self._set_fitted(fitted)
        return last

    def _fit_estimator(
        self, X: Any, fit_params: dict[str, Any], specification: Specification
    ) -> tuple[Rows, Columns, Any, AnyArray]:
        """Set the scorer's ``estimator_``; return rows and columns where it clusters, the clusterer, and its labels."""
        routed, estimator = process_routing(self, "fit", **fit_params), as_clusterer(self.estimator, "estimator")
        weights = None if specification.calibration is None else specification.calibration.sample_weight
        table = X
        if has_pipeline(self.estimator):
            # What columns hold is for the first transformer to judge: names and texts may be right.
            check_table(self, X)
        else:
            rows = check_rows(self, X, reset=True)
            # As they came: with the names of their columns, and without what the influence adds.
            table = X if hasattr(X, "columns") else rows
        self.estimator_ = fit_clusterer(estimator, table, routed.estimator.fit, weights)
        unwrapped = unwrap_estimator(self.estimator_)
        if is_pairwise(estimator):
            columns = Columns.of(self, fit_preparation(estimator, X))
            return columns.check(X), columns, None, training_labels(unwrapped, X)
        columns = Columns.of(self, unwrapped.preparation)
        if has_pipeline(self.estimator):
            table, rows = columns.prepare(X)
        return rows, columns, unwrapped.clusterer, training_labels(unwrapped, table)

    def _set_fitted(self, fitted: Fitted) -> None:
        """Set the attributes of a fitted scorer."""
        self.n_features_in_ = fitted.columns.n_features
        if fitted.columns.known_names is not None:
            self.feature_names_in_ = fitted.columns.known_names
        elif hasattr(self, "feature_names_in_"):
            delattr(self, "feature_names_in_")
        self.preparation_ = fitted.columns.preparation
        self.classes_ = fitted.classes
        if fitted.centers is not None:
            self.cluster_centers_ = fitted.centers
        self.fitted_ = fitted

    def affinity(self, X: Any, *, top: int | None = None) -> AffinityResult:
        """Score points X (n, d), known or new, with the fitted scorer.

        ``top`` keeps only this many of the largest affinities of each point, which saves memory if there are many
        clusters. For a Dask array or frame the result is lazy, partition by partition.
        """
        check_is_fitted(self)
        keep = None if top is None else check_count(top, "top")
        if is_lazy(X):
            from .io.dask import affinity_lazily

            return affinity_lazily(self.fitted_, X, keep)
        result = self.fitted_.score(X, top=keep)
        self.fitted_.warn_if_imprecise(result._count_imprecise(), len(result))
        return result

    def fit_affinity(self, X: Any, y: Any = None, *, top: int | None = None, **fit_params: Any) -> AffinityResult:
        """Fit the scorer as :meth:`fit` does, and score the points of the fit as :meth:`affinity` does."""
        keep = None if top is None else check_count(top, "top")
        if is_lazy(X):
            from .io.dask import affinity_lazily, fit_lazily

            return affinity_lazily(fit_lazily(self, X, y, fit_params).fitted_, X, keep, y)
        started = time.perf_counter()
        fresh = self._copy_parameters()
        last = fresh._fit(X, y, fit_params)
        assert last.located is not None
        assert last.codes is not None
        result = fresh.fitted_.score_located(last.located, last.codes, FrameLike.of(X), started, top=keep)
        fresh.labels_ = result.label
        estimator = getattr(fresh, "estimator_", None)
        fresh.fitted_ = calibrate_fitted(fresh.fitted_, last.sample, result, estimator=estimator, X=X)
        if fresh.fitted_.trust_map is not None:
            result = replace(result, _trust_map=fresh.fitted_.trust_map, _stored_ranks=result._ranks)
        self.__dict__ = fresh.__dict__
        self.fitted_.warn_if_imprecise(result._count_imprecise(), len(result))
        return result

    def transform(self, X: Any) -> FloatArray:
        """Return affinities (n, k) of points X (n, d), columns in the order of ``classes_``."""
        return self.affinity(X).affinity

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit as :meth:`fit` does, and return affinities (n, k) of the points of the fit."""
        return self.fit_affinity(X, y, **fit_params).affinity

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names (k,) of the columns of :meth:`transform`: ``affinity_<label>``."""
        check_is_fitted(self)
        return np.array([f"affinity_{name}" for name in self.classes_], dtype=object)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> AnyArray:
        """Fit the scorer as :meth:`fit` does, and return the labels (n,) of the points of the fit."""
        labels: AnyArray = self.fit(X, y, **fit_params).labels_
        return labels

    def score_samples(self, X: Any) -> FloatArray:
        """Return the review order (n,) of points X (n, d): the lower the value, the sooner the label should be checked.

        It is ``1 - priority / 100``, see :attr:`AffinityResult.priority`.
        """
        return self.affinity(X, top=1)._ranking

    def score(self, X: Any, y: Any = None) -> float:
        """Return the replication above chance of the scorer's labels of X (n, d): 1 if all replicate, 0 as by chance.

        With E the replication and C that of unrelated partitions with these cluster sizes, it is (E - C) / (1 - C).
        So scikit-learn's searches can compare numbers of clusters. Without calibration in the fit, subsamples of X are
        clustered.

        Pass ``cv=KFold(5, shuffle=True)`` to a search: by default folds are consecutive rows, and tables are often
        sorted. Few clusters replicate more easily than many, so a search prefers few:
        :func:`allegiance.stability_curve` compares with unclustered data.
        """
        check_is_fitted(self)
        if self.fitted_.trust_map is None:
            return score_by_calibration(self.fitted_, X)
        return above_chance(self.affinity(X, top=1).replication, self.fitted_.trust_map.chance)

    def predict(self, X: Any) -> AnyArray:
        """Return the label (n,) that the fitted scorer gives to each point of X (n, d), known or new.

        It comes from the estimator's own ``predict``, if it has one, else from the nearest representative. The
        affinities may favor another cluster: see ``owner`` in ``affinity(X).frame(details=True)``.
        """
        check_is_fitted(self)
        if is_lazy(X):
            from .io.dask import predict_lazily

            return predict_lazily(self.fitted_, X)
        return self.fitted_.predict(X)

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
        """Score Arrow data with the scorer, such as batches from Spark, DuckDB or Polars; see ``docs/distributed.md``.

        Nothing is kept between calls, several threads may call it at once, and the scores equal those of
        :meth:`affinity` to the last bit, whatever the batches. Needs the extra ``io``.

        Parameters
        ----------
        data
            A ``pyarrow.RecordBatch`` or ``Table``, or any object with Arrow's C interface. Without rows, the result
            shows its columns and their types.
        columns
            The columns that hold the features; by default those of the fit, by name, or if they had no names all but
            ``keep`` and ``labels``.
        keep
            Columns to carry over, such as identifiers; or a mapping to their names in the result.
        labels
            The column with the labels of the clustering the scorer was fitted to, -1 for noise. By default points are
            new, and get the label of the estimator or of the nearest cluster.
        top
            With ``details``, only this many of the largest affinities of each row, and their clusters.
        details
            Whether to return all columns of ``result.frame(details=True)``, or only those of ``result.frame()``.

        Returns
        -------
        pyarrow.RecordBatch or pyarrow.Table
            One row of scores per row, of the same type as ``data``.
        """
        from .io.batches import score_arrow

        check_is_fitted(self)
        return score_arrow(self, data, columns=columns, keep=keep, labels=labels, top=top, details=details)

    def profile(self, X: Any, *, start: int = 0) -> Profile:
        """Return the scorer's profile of a period, which :func:`allegiance.drift.compare_profiles` compares.

        Profiles of parts X (n, d) of a period add up with ``+``, if ``start`` is the number of their first row within
        the whole period.
        """
        check_is_fitted(self)
        if is_lazy(X):
            from .io.dask import profile_lazily

            return profile_lazily(self.fitted_, X)
        return profile_rows(self.fitted_, X, start=start)

    def prepare(self) -> Self:
        """Compile and compute what the scorer needs, so that the first requests of a service do not wait for it.

        Points between the representatives are scored, one by one and together. Kernels without representatives in the
        space of X only have their engine built.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        fitted.engine.prepare()
        if fitted.centers is not None:
            rng, centers = np.random.default_rng(0), fitted.centers
            first, second = (np.tile(np.arange(len(centers)), 64) for _ in range(2))
            rng.shuffle(second)
            share = rng.uniform(0.0, 0.5, (first.size, 1))
            rows = fitted.influence.prepare(centers[first] * (1.0 - share) + centers[second] * share)
            for part in (rows, rows[:1]):
                _ = fitted.score_prepared(PreparedInput(part, None, FrameLike())).summary()
        return self

    def keep_baseline(self, X: Any) -> Self:
        """Keep the profile of a first period, to compare later ones with; it is saved with the scorer.

        X (n, d) are the points of the period, usually those of the fit. ``compare_periods(scorer, None, X_now)`` and
        ``allegiance watch`` use the profile. It contains counts, means and quantiles of features, but no rows.
        """
        self.fitted_ = replace(self.fitted_, baseline=self.profile(X).without_rows())
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted scorer as plain values and arrays, from which :meth:`from_dict` restores it.

        It contains no training data, with two exceptions: an exact kernel is a sum over the points of the fit, and
        trust needs the distances of some members from their representatives. The transformers of a pipeline are
        included if this package knows all of them. K-means and Gaussian mixtures keep what they need to label new
        points; after :meth:`from_dict`, other clusterers are replaced by the nearest representative. ``labels_`` is
        left out.
        """
        from .io.saved import scorer_state

        check_is_fitted(self)
        return scorer_state(self.get_params(deep=False) | {"verbose": bool(self.verbose)}, self.fitted_)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Return the fitted scorer that :meth:`to_dict` described: it gives the same affinities to the last bit."""
        from .io.saved import read_scorer_state

        params, parts = read_scorer_state(state)
        scorer = cls(**params)
        scorer._set_fitted(Fitted(specification=Specification.of(scorer), **parts))
        return scorer

    def save(self, path: Any) -> None:
        """Save the scorer: write :meth:`to_dict` to one file of JSON and NumPy arrays, without pickle.

        The file is usually named ``*.model``. An existing one is replaced once the new one is complete.
        """
        from .io.saved import write_state

        write_state(self.to_dict(), path)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how ``fit`` passes metadata to the estimator."""
        router = MetadataRouter(owner=self)
        if self.estimator is not None:
            mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="fit_transform", callee="fit")
            router.add(estimator=self.estimator, method_mapping=mapping)
        return router

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, once fitted, what was fitted: for notebooks."""
        diagram: str = estimator_html_repr(self)
        return diagram + fitted_html(self.fitted_) if hasattr(self, "fitted_") else diagram

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator
        # Without an estimator or centers it clusters nothing: fit needs labels.
        clusters = inner is not None or self.centers is not None
        tags.estimator_type = "clusterer" if clusters else None
        tags.target_tags.required = not clusters
        tags.input_tags.sparse = not isinstance(inner, BaseEstimator) or get_tags(inner).input_tags.sparse
        tags.input_tags.pairwise = self.influence == "precomputed" or self.influence == Kernel("precomputed")
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
