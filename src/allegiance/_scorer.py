"""The scikit-learn estimator around it all."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any, NamedTuple, overload

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    MetaEstimatorMixin,
    TransformerMixin,
)
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from ._core._random import resolve_seed
from ._core._rows import is_lazy
from ._core._threads import effective_threads
from ._core._typing import AnyArray, FloatArray, Rows
from ._core._validation import (
    Membership,
    check_centers,
    check_choice,
    check_count,
    check_jobs,
    check_labels,
    check_number,
    check_rows,
    check_sites,
)
from .domains import Polytope
from .domains._extent import extent_of, make_domain
from .engines import METHODS, Scene, Settings, select_engine
from .fitting._labels import check_clusterer, fit_clusterer, labels_of, means_without_each, nearest_sites
from .fitting._representatives import REPRESENTATIVES, representatives
from .fitting._scoring import Scoring
from .influence import Diagram, Located
from .influence._parameters import Influence
from .io.state import FORMAT, VERSION, check_header, decode, encode, read_state, write_state
from .results._base import concatenate
from .results._frames import FrameLike
from .results._result import AffinityResult
from .results._top import TopAffinityResult

#: Rows scored at a time if only the largest affinities are kept.
_TOP_ROWS = 65_536
#: What a state must hold.
_STATE = ("params", "n_features", "feature_names", "classes", "centers", "diagram", "domain")


class _Fit(NamedTuple):
    """What scoring the points of a fit can reuse: where they are, and their cluster numbers."""

    located: Located
    codes: AnyArray


class AffinityScorer(
    MetaEstimatorMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Score how much of each point's territory comes from each cluster of any clustering.

    Parameters
    ----------
    estimator
        A clusterer, cloned and fitted by :meth:`fit`; a fitted one is kept as it is inside a
        ``sklearn.frozen.FrozenEstimator``. None if labels are passed to :meth:`fit`, or ``centers`` are given.
    centers
        (k, d) representatives of the clusters. By default they are computed from the labels.
    divergence
        How influence falls off: "euclidean"; "mahalanobis" with a ``covariance``; "within", Mahalanobis with the pooled
        covariance of the clusters themselves; "kl", "itakura-saito", "logistic", "exponential"; or a
        :class:`BregmanDivergence`.
    covariance
        (d, d) matrix for "mahalanobis".
    shrinkage
        How "within" shrinks its covariance: "ledoit-wolf" or "oas".
    smoothing
        A number added to every entry of X and of the centers, so that "kl" and "itakura-saito" accept zeros.
    kernel
        "linear", "rbf", "polynomial", "laplacian", "cosine", "precomputed" (X is then the Gram matrix, and new rows
        hold kernel values against the points of the fit), or a callable. Influence is then distance in the space
        of the kernel, where clusters are represented by their means.
    kernel_params
        Parameters of the kernel, such as ``{"gamma": 0.5}``.
    kernel_approximation
        None for exact kernel sums, or "fourier", "nystroem", "hash": an approximate map for large n.
    n_components
        The number of features of the approximate map.
    weights
        Importance of the clusters: None, all alike; "size", their share of the points; "density", their share of points
        per volume of spread; or an array (k,). A weight is subtracted from the squared distance.
    query_weight
        The weight of a point; None is the average over points, for "size" 1/n.
    weight_scale
        What weights are multiplied with to become squared distances, or "auto" for the mean squared distance of the
        points from their representatives, with which rescaling the data changes nothing.
    representative
        What stands for a cluster: "mean", "median" (coordinate by coordinate) or "medoid" (one of its points).
    leave_one_out
        Compute the representative of a point's own cluster without the point. Holds for the points of the fit, so for
        :func:`affinity` and :meth:`fit_transform`; needs ``representative="mean"``. If the representatives do not span
        the space, the moved one is projected on the span of all.
    domain
        Where volume is measured: "box" around the data, "ball" around the representatives, None for the whole space,
        or a :class:`Polytope` in the coordinates of X.
    margin
        How much wider the box is than the data, on each side, as a share of its extent.
    method
        "auto", "exact", "shared", "hit-and-run", "rejection" or "closed-form".
    eps
        Half-width of the 95 % interval of every affinity, where it is not exact.
    max_samples
        Most samples spent on one point. Points that need more get fewer, a larger ``standard_error`` and one warning.
    n_jobs
        Number of threads; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed, generator, or None for a new seed at each fit.
    verbose
        Show progress of long measurements on standard error.

    Attributes
    ----------
    labels_
        (n,) labels of the points of the fit.
    classes_
        (k,) label of each cluster, in the order of the columns of :meth:`transform`.
    cluster_centers_
        (k, d) representatives of the clusters.
    estimator_
        The fitted clusterer, if one was given.
    n_features_in_
        The number of columns of X.
    feature_names_in_
        Names of the columns of X, if it had any.

    See Also
    --------
    affinity : The same in one call.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import AffinityScorer
    >>> X = load_iris().data
    >>> scorer = AffinityScorer(KMeans(3, random_state=0), random_state=0).fit(X)
    >>> scorer.transform(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        centers: Any = None,
        divergence: Any = "euclidean",
        covariance: Any = None,
        shrinkage: str = "ledoit-wolf",
        smoothing: float = 0.0,
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        kernel_approximation: str | None = None,
        n_components: int = 500,
        weights: Any = None,
        query_weight: float | None = None,
        weight_scale: float | str = 1.0,
        representative: str = "mean",
        leave_one_out: bool = False,
        domain: Any = "box",
        margin: float = 0.1,
        method: str = "auto",
        eps: float = 0.03,
        max_samples: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.centers = centers
        self.divergence = divergence
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.smoothing = smoothing
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.kernel_approximation = kernel_approximation
        self.n_components = n_components
        self.weights = weights
        self.query_weight = query_weight
        self.weight_scale = weight_scale
        self.representative = representative
        self.leave_one_out = leave_one_out
        self.domain = domain
        self.margin = margin
        self.method = method
        self.eps = eps
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> AffinityScorer:
        """Find the representatives of the clusters and the territory they divide.

        Parameters
        ----------
        X
            (n, d) data: array, sparse matrix or frame, or a Dask array or frame, whose sums are then computed.
        y
            (n,) labels of any clustering, -1 for noise; ignored if an ``estimator`` was given.
        **fit_params
            Passed to the estimator by scikit-learn's metadata routing.
        """
        if is_lazy(X):
            from .io.dask import fit_lazily

            return fit_lazily(self, X, y, fit_params)
        self._fit(X, y, fit_params)
        return self

    def _fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> _Fit:
        self._forget()
        settings = self._check_settings()
        influence = self._influence()
        X = influence.prepare(check_rows(self, X, reset=True))
        members = self._membership(X, y, fit_params)
        self._check_combinations(members)
        sites = self._representatives(X, members, influence)
        in_own_axes = isinstance(self.domain, Polytope)
        diagram, located = influence.fit(X, members, sites, settings, keep_axes=in_own_axes)
        if members is None:
            diagram, members = self._divide(influence, diagram, located)
        else:
            diagram = influence.weighted(diagram, located, members.codes)
        extent = extent_of(self.domain, diagram, located.position)
        scene = Scene(diagram, make_domain(self.domain, float(self.margin), diagram, extent))
        if self.leave_one_out:
            self._own_cells_engine = select_engine(scene, settings, self.method, leave_one_out=True)
        self._install(scene, settings, influence, members.classes, sites)
        self.labels_ = labels_of(members)
        return _Fit(located, members.codes)

    def _divide(self, influence: Influence, diagram: Diagram, located: Located) -> tuple[Diagram, Membership]:
        """Give the points of the fit to the nearest centres; if these get weights by that, to the nearest again."""
        codes = nearest_sites(diagram, located.position)
        if self.weights is not None:
            diagram = influence.weighted(diagram, located, codes)
            codes = nearest_sites(diagram, located.position)
        return diagram, Membership(np.arange(diagram.positions.shape[0]), codes)

    def _forget(self) -> None:
        """Drop what an earlier fit left."""
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_engine", "_scene")]:
            delattr(self, name)

    def _install(
        self, scene: Scene, settings: Settings, influence: Influence, classes: AnyArray, sites: FloatArray | None
    ) -> None:
        """Become fitted: with a scene just found, or one found before and loaded."""
        engine = select_engine(scene, settings, self.method)
        self.classes_ = classes
        if sites is not None:
            self.cluster_centers_ = sites
        self._n_features_out = classes.size
        self._fitted_influence = influence
        self._settings, self._scene, self._engine = settings, scene, engine

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    @overload
    def affinity(self, X: Any, *, top: None = None) -> AffinityResult: ...

    @overload
    def affinity(self, X: Any, *, top: int) -> TopAffinityResult: ...

    def affinity(self, X: Any, *, top: int | None = None) -> AffinityResult | TopAffinityResult:
        """Score points.

        Parameters
        ----------
        X
            (n, d) points, known or new. For a Dask array or frame the result is lazy, partition by partition.
        top
            Keep only this many of the largest affinities of each point, in a :class:`TopAffinityResult`: for many
            clusters, since memory then goes with n x top instead of n x k. None keeps all.
        """
        check_is_fitted(self)
        keep = None if top is None else check_count(top, "top")
        if is_lazy(X):
            from .io.dask import affinity_lazily

            return affinity_lazily(self, X, keep)
        frame = FrameLike.of(X)
        X = self._fitted_influence.prepare(check_rows(self, X, reset=False))
        result: AffinityResult | TopAffinityResult
        if keep is None:
            result = self._score_rows(X, frame, None)
        else:
            # In parts, so that not even the places (n, r) of the points are held for all of them.
            starts = range(0, max(X.shape[0], 1), _TOP_ROWS)
            parts = [self._score_rows(X[start : start + _TOP_ROWS], FrameLike(), keep) for start in starts]
            result = concatenate(parts, frame)
        self._scoring().warn_if_imprecise(result)
        return result

    @overload
    def fit_affinity(self, X: Any, y: Any = None, *, top: None = None, **fit_params: Any) -> AffinityResult: ...

    @overload
    def fit_affinity(self, X: Any, y: Any = None, *, top: int, **fit_params: Any) -> TopAffinityResult: ...

    def fit_affinity(
        self, X: Any, y: Any = None, *, top: int | None = None, **fit_params: Any
    ) -> AffinityResult | TopAffinityResult:
        """Fit, and score the points of the fit, with their labels and, if asked for, each left out of its cluster.

        Parameters
        ----------
        X, y, **fit_params
            As in :meth:`fit`.
        top
            As in :meth:`affinity`.
        """
        started = time.perf_counter()
        keep = None if top is None else check_count(top, "top")
        if is_lazy(X):
            from .io.dask import fit_affinity_lazily

            return fit_affinity_lazily(self, X, y, fit_params, keep)
        located, codes = self._fit(X, y, fit_params)
        moved, engine = None, None
        if self.leave_one_out:
            means = self._scene.diagram.positions
            moved, engine = (codes, means_without_each(codes, means, located.position)), self._own_cells_engine
        scoring = self._scoring(engine)
        result = scoring.score(located, self.labels_, FrameLike.of(X), started, keep, moved)
        scoring.warn_if_imprecise(result)
        return result

    def transform(self, X: Any) -> FloatArray:
        """Return affinities (n, k), columns in the order of ``classes_``.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return self.affinity(X).affinity

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit, and return affinities (n, k) of the points of the fit.

        Parameters
        ----------
        X, y, **fit_params
            As in :meth:`fit`.
        """
        return self.fit_affinity(X, y, **fit_params).affinity

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> AnyArray:
        """Fit, and return the labels (n,) of the points of the fit.

        Parameters
        ----------
        X, y, **fit_params
            As in :meth:`fit`.
        """
        labels: AnyArray = self.fit(X, y, **fit_params).labels_
        return labels

    def score_samples(self, X: Any) -> FloatArray:
        """Return the confidence (n,) in each point: its largest affinity.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return self.affinity(X, top=1).confidence

    def predict(self, X: Any) -> AnyArray:
        """Return the label (n,) the clustering gives to each point.

        That is what the estimator's own ``predict`` says, if it has one, else the nearest representative. The
        affinities may favour another cluster: see ``affinity(X).owner``.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        check_is_fitted(self)
        if is_lazy(X):
            from .io.dask import predict_lazily

            return predict_lazily(self, X)
        X = self._fitted_influence.prepare(check_rows(self, X, reset=False))
        position = self._scene.diagram.locate(X, self._settings.threads).position
        return self._labels_of_new(X, position)

    def to_dict(self) -> dict[str, Any]:
        """Return all that scoring needs, as plain values and arrays: the sites, the domain, the settings and the seed.

        It holds no training data, except that an exact kernel is a sum over the points of the fit. The estimator and
        ``labels_`` are left out: :meth:`from_dict` gives a scorer that labels points by the nearest representative.
        """
        check_is_fitted(self)
        params = self.get_params(deep=False) | {"estimator": None, "random_state": self._settings.seed}
        names = getattr(self, "feature_names_in_", None)
        return {
            "format": FORMAT,
            "version": VERSION,
            "params": {name: encode(value, name) for name, value in params.items()},
            "n_features": self.n_features_in_,
            "feature_names": encode(names, "feature_names_in_"),
            "classes": encode(self.classes_, "classes_"),
            "centers": getattr(self, "cluster_centers_", None),
            "diagram": encode(self._scene.diagram, "diagram"),
            "domain": encode(self._scene.domain, "domain"),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> AffinityScorer:
        """Return the fitted scorer that :meth:`to_dict` described: it gives the same affinities to the last bit.

        Parameters
        ----------
        state
            What :meth:`to_dict` returned.
        """
        check_header(state)
        try:
            found = {name: decode(state[name]) for name in _STATE}
        except KeyError as error:
            raise ValueError(f"the state is incomplete: {error} is missing.") from error
        scorer = cls(**found["params"])
        settings, influence = scorer._check_settings(), scorer._influence()
        scorer.n_features_in_ = found["n_features"]
        if found["feature_names"] is not None:
            scorer.feature_names_in_ = found["feature_names"]
        scene = Scene(found["diagram"], found["domain"])
        scorer._install(scene, settings, influence, found["classes"], found["centers"])
        return scorer

    def save(self, path: Any) -> None:
        """Write :meth:`to_dict` to one file of JSON and NumPy arrays, without pickle.

        Parameters
        ----------
        path
            The file, by custom ``*.scorer``. An existing one is replaced once the new one is complete.
        """
        write_state(self.to_dict(), path)

    @classmethod
    def load(cls, path: Any) -> AffinityScorer:
        """Return the scorer of a file that :meth:`save` wrote, now or with an earlier version of the package.

        It gives the same affinities to the last bit. Of the scorer that was saved it lacks ``labels_`` and the
        estimator: points are labelled by the nearest representative, which is what k-means does itself, up to ties,
        but not every estimator.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ValueError
            If the file is no saved scorer, of a later version, incomplete or altered.
        """
        return cls.from_dict(read_state(path))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how ``fit`` passes metadata to the estimator."""
        router = MetadataRouter(owner=self)
        if self.estimator is not None:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(estimator=self.estimator, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator
        tags.input_tags.sparse = not isinstance(inner, BaseEstimator) or get_tags(inner).input_tags.sparse
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def _check_settings(self) -> Settings:
        """Check the parameters that need no data."""
        if self.estimator is not None:
            check_clusterer(self.estimator)
        check_choice(self.representative, "representative", REPRESENTATIVES)
        check_choice(self.method, "method", METHODS)
        if not isinstance(self.domain, Polytope):
            check_choice(self.domain, "domain", ("box", "ball", None))
        check_number(self.margin, "margin", low=0.0, closed=True)
        return Settings(
            eps=check_number(self.eps, "eps", low=0.0, high=1.0),
            max_samples=check_count(self.max_samples, "max_samples"),
            seed=resolve_seed(self.random_state),
            threads=effective_threads(check_jobs(self.n_jobs)),
            verbose=bool(self.verbose),
        )

    def _membership(self, X: Rows, y: Any, fit_params: dict[str, Any]) -> Membership | None:
        """Return the clusters of the points of the fit, or None if only centres are known."""
        n_centers = None if self.centers is None else check_centers(self.centers, X.shape[1]).shape[0]
        if self.estimator is not None:
            routed = process_routing(self, "fit", **fit_params)
            self.estimator_, y = fit_clusterer(self.estimator, X, routed.estimator.fit)
        elif fit_params:
            names = ", ".join(sorted(fit_params))
            raise TypeError(f"fit got {names}, but there is no estimator to pass it to.")
        if y is not None:
            return check_labels(y, X.shape[0], n_centers)
        if n_centers is None:
            raise ValueError(
                "labels are missing: pass labels (y in fit), or centers, or an estimator that clusters, such as "
                "AffinityScorer(KMeans(10))."
            )
        return None

    def _influence(self) -> Influence:
        """Check and gather the parameters that say what closeness means."""
        names = [field.name for field in fields(Influence)]
        influence = Influence(**{name: getattr(self, name) for name in names})
        influence.check()
        return influence

    def _representatives(self, X: Rows, members: Membership | None, influence: Influence) -> FloatArray | None:
        if self.kernel is not None:
            return None
        if self.centers is not None:
            return check_sites(influence.prepare(check_centers(self.centers, X.shape[1]), "centers"))
        assert members is not None
        with np.errstate(over="ignore", invalid="ignore"):
            return check_sites(representatives(X, members.codes, members.classes.size, self.representative))

    def _check_combinations(self, members: Membership | None) -> None:
        """Raise for parameters that each make sense, but not together."""
        if self.kernel is not None and (self.centers is not None or self.representative != "mean"):
            raise ValueError(
                "kernel represents clusters by their means in its own space: leave out centers and representative."
            )
        if self.kernel is not None and isinstance(self.domain, Polytope):
            raise ValueError(
                "domain=Polytope is given in the coordinates of X, which a kernel leaves: use 'box' or 'ball'."
            )
        if not self.leave_one_out:
            return
        if members is None or self.centers is not None or self.representative != "mean":
            raise ValueError(
                "leave_one_out=True recomputes the mean of a cluster without one of its points: it needs labels, no "
                "centers, and representative='mean'."
            )
        if self.weights is not None:
            raise ValueError("leave_one_out=True would change the weights with every point: use weights=None.")

    def _labels_of_new(self, X: Rows, position: FloatArray) -> AnyArray:
        inner = getattr(self, "estimator_", None)
        if inner is not None and hasattr(inner, "predict"):
            return np.asarray(inner.predict(X))
        return self.classes_[nearest_sites(self._scene.diagram, position)]

    def _scoring(self, engine: Any = None) -> Scoring:
        return Scoring(
            self._scene,
            self._engine if engine is None else engine,
            self._settings,
            self.classes_,
            self._fitted_influence.describe(),
            self.method,
            self.n_features_in_,
        )

    def _score_rows(
        self, X: Rows, frame: FrameLike, top: int | None, label: AnyArray | None = None
    ) -> AffinityResult | TopAffinityResult:
        """Score prepared rows (n, d), labelling them as new points if they have no ``label`` (n,)."""
        started = time.perf_counter()
        located = self._scene.diagram.locate(X, self._settings.threads)
        if label is None:
            label = self._labels_of_new(X, located.position)
        return self._scoring().score(located, label, frame, started, top)
