"""Pipelines: the transformers before a clusterer, and the clusterer, which sees only what they make of X."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


class UnwrappedEstimator(NamedTuple):
    """A fitted estimator, taken apart."""

    preparation: Any
    """The fitted transformers that points pass first, as one pipeline; None if there are none."""
    clusterer: Any
    """What clusters, fitted to points that came through them."""
    frozen: bool
    """Whether it was fitted before, perhaps to other points."""


def has_pipeline(estimator: Any) -> bool:
    """Tell whether an estimator, fitted or not, is a pipeline, perhaps frozen or inside a search."""
    while not isinstance(estimator, Pipeline):
        inner = _inside(estimator)
        if inner is None:
            return False
        estimator = inner
    return True


def unwrap_estimator(estimator: Any) -> UnwrappedEstimator:
    """Take a fitted estimator apart: through frozen estimators, searches and pipelines inside pipelines.

    Raises
    ------
    TypeError
        If a step cannot be unwrapped, since it changes which rows there are.
    """
    steps: list[tuple[str, Any]] = []
    frozen = False
    while True:
        if isinstance(estimator, Pipeline):
            *before, (name, last) = estimator.steps
            steps += [step for step in before if step[1] not in (None, "passthrough")]
            _check_steps(before)
            if last in (None, "passthrough"):
                raise TypeError(f"estimator is a pipeline that ends in {name}={last!r}: it must end in a clusterer.")
            estimator = last
            continue
        inner = _inside(estimator)
        if getattr(estimator, "refit", True) is False:
            raise TypeError(f"estimator is {estimator!r}, which keeps no fitted estimator: use refit=True.")
        if inner is None:
            return UnwrappedEstimator(_joined(steps), estimator, frozen)
        frozen = frozen or isinstance(estimator, FrozenEstimator)
        estimator = inner


def last_step(estimator: Any) -> Any:
    """Return the clusterer at the end of a pipeline, fitted or not; any other estimator as it is."""
    while has_pipeline(estimator):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else _inside(estimator)
    return estimator


def repeatable(estimator: Any) -> Any:
    """Return what can be cloned to repeat a clustering: without what keeps a fitted clusterer as it is."""
    inner = _inside(estimator)
    if inner is not None:
        return repeatable(inner)
    if isinstance(estimator, Pipeline):
        *before, (name, last) = estimator.steps
        return Pipeline([*before, (name, repeatable(last))])
    return estimator


def _inside(estimator: Any) -> Any:
    """Return the estimator that a frozen one or a search delegates to, or None."""
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        return getattr(estimator, "best_estimator_", estimator.estimator)
    return None


def _check_steps(steps: list[tuple[str, Any]]) -> None:
    for name, step in steps:
        if hasattr(step, "fit_resample"):
            raise TypeError(
                f"estimator is a pipeline whose step {name!r}, {step!r}, adds or removes rows: the points scored must "
                "be the points clustered. Resample before, and pass the rest of the pipeline."
            )


def _joined(steps: list[tuple[str, Any]]) -> Pipeline | None:
    """Return fitted transformers as one pipeline, None if there are none; names that occur again get a number."""
    if not steps:
        return None
    named: dict[str, Any] = {}
    for name, step in steps:
        number = 2
        unused = name
        while unused in named:
            unused, number = f"{name}-{number}", number + 1
        named[unused] = step
    return Pipeline(list(named.items()))
