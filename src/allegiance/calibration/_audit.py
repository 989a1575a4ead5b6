"""The audit: how many labels are right, after a person has looked at a few that were drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from allegiance._core.parallel import resolve_seed
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, check_count, check_number

#: How a row came into an audit: only those drawn at random speak for the others.
RANDOM, LEAST_TRUSTED, LISTED = "random", "least trusted", "listed"
_Z95 = 1.959964
#: Reviews that pull the weight of trust in the estimate to one.
_PSEUDO_REVIEWS = 10
#: How much more or less than plain counting a review may count for.
_LEAST_RATIO, _MOST_RATIO = 0.2, 1.5
#: Prior deviations of the shift of the logit, of its slope and of the clusters, and the prior mean of the slope.
_SHIFT, _SLOPE, _CLUSTER, _MEAN_SLOPE = 1.0, 0.7, 1.5, 0.6
_STEPS = 30
#: Clusters named in the sentence, at most, and the share of the wrong labels that they must hold.
_NAMED, _MOST_OF_THEM = 3, 0.5


@dataclass(frozen=True, eq=False, repr=False)
class AuditSample:
    """Rows to look at, and how each of them was chosen. Used as an array, it is the row numbers.

    Attributes
    ----------
    rows
        (m,) row numbers.
    drawn
        (m,) "random", "least trusted" or "listed".
    seed
        What the random rows were drawn with; None if there are none.
    """

    rows: IntArray
    drawn: AnyArray
    seed: int | None = None

    @classmethod
    def of(cls, rows: Any) -> AuditSample:
        """Return rows as they came from ``audit_sample``; any others as a list of the user's own."""
        if isinstance(rows, AuditSample):
            return rows
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.size and (numbers.ndim != 1 or numbers.dtype.kind not in "iu"):
            raise TypeError(f"rows must be row numbers, as audit_sample returns them, got {rows!r}.")
        return cls(numbers.astype(np.int64), np.full(numbers.size, LISTED), None)

    def with_rows(self, rows: Any) -> AuditSample:
        """Return the sample with more rows of the user's own choice."""
        more = np.setdiff1d(np.asarray(rows, dtype=np.int64), self.rows)
        drawn = np.concatenate([self.drawn, np.full(more.size, LISTED)])
        return AuditSample(np.concatenate([self.rows, more]), drawn, self.seed)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.rows, dtype=dtype)

    def __len__(self) -> int:
        return self.rows.size

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __repr__(self) -> str:
        kinds = (f"{np.count_nonzero(self.drawn == kind):,} {kind}" for kind in dict.fromkeys(self.drawn.tolist()))
        seeded = "" if self.seed is None else f"; seed {self.seed}"
        return f"AuditSample({len(self):,} rows: {', '.join(kinds)}{seeded})"


def audit_sample(ranking: FloatArray, n: int, *, random: float = 0.5, seed: Any = 0) -> AuditSample:
    """Choose labels to look at: a share of them at random, the others the first of the order of review.

    Parameters
    ----------
    ranking
        (n,) what labels are reviewed by, the lowest first; NaN for points without a label.
    n
        How many labels; all if there are fewer.
    random
        The share of them that is drawn at random.
    seed
        Of the random draw.
    """
    number, share = check_count(n, "n"), check_number(random, "random", low=0.0, closed=True)
    if share > 1.0:
        raise ValueError(f"random must be a share of the labels, at most 1, got {random!r}.")
    labelled = np.flatnonzero(~np.isnan(ranking))
    number = min(number, labelled.size)
    n_random = int(np.ceil(share * number))
    first = labelled[np.argsort(ranking[labelled], kind="stable")][: number - n_random]
    drawn_with = resolve_seed(seed)
    others = np.setdiff1d(labelled, first)
    chosen = np.sort(np.random.default_rng(drawn_with).choice(others, n_random, replace=False))
    return AuditSample(
        np.concatenate([chosen, first]),
        np.array([RANDOM] * n_random + [LEAST_TRUSTED] * first.size, dtype="<U13"),
        drawn_with if n_random else None,
    )


@dataclass(frozen=True, eq=False)
class Audit:
    """What a review of some labels says about all of them.

    Attributes
    ----------
    share_right
        Share of right labels among all, NaN if none of the reviewed labels was drawn at random.
    interval
        95 % interval of ``share_right``. Without a random part, what is possible at all.
    wrong_left
        Number of wrong labels among those not looked at.
    interval_left
        95 % interval of ``wrong_left``.
    trust
        (n,) chance that the label is right: 1 or 0 where it was looked at, NaN for noise. Without a random part, the
        reviewed labels alone are not enough to say so, and the estimate leans on its prior.
    result
        The result with this trust.
    rows, right
        (m,) the labels looked at, and whether each is right.
    n_random, n_least, n_listed
        How many of them were drawn at random, least trusted, or chosen otherwise.
    n_unanswered
        Rows of the sample without an answer. They are left out.
    """

    share_right: float
    interval: tuple[float, float]
    wrong_left: float
    interval_left: tuple[float, float]
    trust: FloatArray = field(repr=False)
    result: Any = field(repr=False)
    rows: IntArray = field(repr=False)
    right: BoolArray = field(repr=False)
    n_random: int
    n_least: int
    n_listed: int
    n_unanswered: int
    worst_clusters: tuple[Any, ...] = ()

    def sentence(self) -> str:
        """Say what the audit found."""
        looked = [
            f"{number:,} {what}"
            for number, what in (
                (self.n_random, "drawn at random"),
                (self.n_least, "least trusted"),
                (self.n_listed, "of your own choice"),
            )
            if number
        ]
        looked[0] = looked[0].replace(" ", " label " if looked[0].startswith("1 ") else " labels ", 1)
        if not self.n_random:
            wrong = int((~self.right).sum())
            return (
                f"{wrong:,} of {self.right.size:,} labels looked at are wrong. None of them was drawn at random, so "
                "they do not speak for the others: look at some of audit_sample(60) (--audit 60)."
            )
        low, high = (100 * value for value in self.interval)
        said = f"Right: {100 * self.share_right:.0f} % ({low:.0f} to {high:.0f}), from {_joined(looked)}; "
        left = f"{self.wrong_left:,.0f}"
        said += f"about {left} wrong label{'' if left == '1' else 's'} left"
        if self.worst_clusters and left != "0":
            plural = "" if len(self.worst_clusters) == 1 else "s"
            said += f", most of them in cluster{plural} {_joined([str(name) for name in self.worst_clusters])}"
        return said + "."

    def __repr__(self) -> str:
        return self.sentence()


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def audit(
    rows: Any,
    right: Any,
    *,
    label: AnyArray,
    codes: IntArray,
    classes: AnyArray,
    ranking: FloatArray,
) -> Audit:
    """Say how many labels are right, given a review of some; the ``result`` is left empty.

    Parameters
    ----------
    rows
        What :func:`audit_sample` returned, or row numbers of the user's own choice, which count as known but do not
        speak for the others.
    right
        (m,) truth values, whether each label is right; or the right labels. None or NaN where there is no answer.
    label, codes, ranking
        (n,) labels, cluster numbers, and the order of review of all points, NaN for noise.
    classes
        (k,) labels of the clusters.
    """
    sample = AuditSample.of(rows)
    numbers, drawn = sample.rows, np.asarray(sample.drawn)
    answered, verdict = _answers(right, label, numbers)
    _check_rows(numbers, ranking)
    if not answered.any():
        raise ValueError("right has no answer: fill in at least one.")
    kept, y = numbers[answered], verdict[answered]
    is_random = drawn[answered] == RANDOM
    labelled = np.flatnonzero(~np.isnan(ranking))
    rest = np.setdiff1d(labelled, kept[~is_random])
    known_right, known_wrong = int(y[~is_random].sum()), int((~y[is_random]).sum())
    if is_random.any():
        share, low, high = _share_right(y[is_random], ranking[kept[is_random]], ranking[rest])
        figures = [(known_right + value * rest.size) / labelled.size for value in (share, low, high)]
        left = [max(0.0, (1.0 - value) * rest.size - known_wrong) for value in (share, high, low)]
    else:
        figures = [np.nan, known_right / labelled.size, (known_right + rest.size) / labelled.size]
        left = [np.nan, 0.0, float(rest.size)]
    trust = _recalibrated(ranking, codes, kept, y)
    counts = [int((drawn[answered] == kind).sum()) for kind in (RANDOM, LEAST_TRUSTED, LISTED)]
    return Audit(
        share_right=figures[0],
        interval=(figures[1], figures[2]),
        wrong_left=left[0],
        interval_left=(left[1], left[2]),
        trust=trust,
        result=None,
        rows=kept,
        right=y,
        n_random=counts[0],
        n_least=counts[1],
        n_listed=counts[2],
        n_unanswered=int((~answered).sum()),
        worst_clusters=_worst_clusters(trust, codes, classes, kept),
    )


def _answers(right: Any, label: AnyArray, numbers: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which rows (m,) have an answer, and whether their labels are right."""
    given = right.to_numpy() if hasattr(right, "to_numpy") else np.asarray(right)
    if given.ndim != 1 or given.size != numbers.size:
        raise ValueError(f"right must have one answer for each of the {numbers.size} rows, got shape {given.shape}.")
    if given.dtype.kind == "b":
        return np.ones(given.size, dtype=bool), given
    if given.dtype.kind == "f":
        answered = ~np.isnan(given)
    else:
        answered = np.array([value is not None and value == value and value != "" for value in given.tolist()])
    values = given[answered].tolist()
    found = np.zeros(given.size, dtype=bool)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        found[answered] = values
    elif label.dtype.kind in "biuf" and given.dtype.kind in "biuf":
        found[answered] = given[answered] == label[numbers[answered]]
    else:
        found[answered] = [_text(a) == _text(b) for a, b in zip(values, label[numbers[answered]].tolist(), strict=True)]
    return answered, found


def _text(value: Any) -> str:
    """Return a label as text, whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _check_rows(numbers: IntArray, ranking: FloatArray) -> None:
    if numbers.size == 0:
        raise ValueError("rows is empty: look at some labels first, such as those of audit_sample(60).")
    if numbers.min() < 0 or numbers.max() >= ranking.size:
        raise ValueError(f"rows must be between 0 and {ranking.size - 1}, got {numbers.min()} to {numbers.max()}.")
    if np.unique(numbers).size < numbers.size:
        raise ValueError("rows has a row twice: give one answer for each.")
    if np.isnan(ranking[numbers]).any():
        raise ValueError(
            f"rows has row {numbers[np.isnan(ranking[numbers])][0]}, which is noise: it has no label to judge."
        )


def _share_right(y: BoolArray, t: FloatArray, T: FloatArray) -> tuple[float, float, float]:
    """Return the share of right labels among those with scores ``T``, of which ``y`` are a random sample, and 95 %.

    Prediction-powered: the score predicts which labels are right, and the reviews correct it. Its weight is chosen by
    the sample; the interval is Wilson's, with the effective number of reviews.
    """
    y = y.astype(np.float64)
    m, n, spread = y.size, T.size, float(T.var())
    about = t - t.mean()
    weight = float(((y - y.mean()) * about).sum() + _PSEUDO_REVIEWS * spread)
    weight = float(np.clip(weight / max(float((about**2).sum()) + _PSEUDO_REVIEWS * spread, 1e-12), 0.0, 1.0))
    if y.min() == y.max():
        weight = 0.0  # all alike: which of them the score prefers says nothing
    estimate = float(np.clip(y.mean() + weight * (T.mean() - t.mean()), 0.0, 1.0))
    residual, guess = y - weight * t, (y.sum() + 2) / (m + 4)
    pseudo = 4 * guess * (1 - guess)
    ratio = (((residual - residual.mean()) ** 2).sum() + pseudo) / (((y - y.mean()) ** 2).sum() + pseudo)
    effective = m / np.clip(ratio, _LEAST_RATIO, _MOST_RATIO) * (n - 1) / max(n - m, 1)
    if m >= n:
        return float(y.mean()), float(y.mean()), float(y.mean())
    return estimate, *wilson(estimate, float(effective))


def wilson(share: float, m: float) -> tuple[float, float]:
    """Return the 95 % interval of a share that was seen in ``m`` reviews."""
    square = _Z95 * _Z95
    center = (share + square / (2 * m)) / (1 + square / m)
    half = _Z95 / (1 + square / m) * np.sqrt(max(share * (1 - share), 0.0) / m + square / (4 * m * m))
    # At the ends the bound is the end itself, whatever rounding says.
    low = 0.0 if share <= 0.0 else max(float(center - half), 0.0)
    return low, 1.0 if share >= 1.0 else min(float(center + half), 1.0)


def _recalibrated(ranking: FloatArray, codes: IntArray, reviewed: IntArray, y: BoolArray) -> FloatArray:
    """Return the chance (n,) of being right, by its posterior mode.

    logit p = z + shift + slope (z - mean z) + effect of the cluster, with z the logit of the score. Shift, slope and
    effects are normal before the review, with deviations that labelled sets have shown.
    """
    inner = ~np.isnan(ranking)
    z = logit(np.clip(np.where(inner, ranking, 0.5), 1e-3, 1 - 1e-3))
    about = z - z[inner].mean()
    k = int(codes.max(initial=0)) + 1
    precision = np.array([_SHIFT**-2, _SLOPE**-2, *[_CLUSTER**-2] * k])
    cluster = np.maximum(codes, 0)
    offset, b = z + _MEAN_SLOPE * about, np.zeros(2 + k)
    B = np.column_stack([np.ones(reviewed.size), about[reviewed], np.eye(k)[cluster[reviewed]]])
    for _ in range(_STEPS):
        p = expit(offset[reviewed] + B @ b)
        hessian = (B * (p * (1 - p))[:, None]).T @ B + np.diag(precision)
        step = np.linalg.solve(hessian, B.T @ (y - p) - precision * b)
        b += step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-9))
    chance = np.where(inner, expit(offset + b[0] + b[1] * about + b[2:][cluster]), np.nan)
    chance[reviewed] = y
    return chance


def _worst_clusters(trust: FloatArray, codes: IntArray, classes: AnyArray, reviewed: IntArray) -> tuple[Any, ...]:
    """Return the clusters that hold most of the wrong labels left, if few do, in the order of their names."""
    left = codes >= 0
    left[reviewed] = False
    wrong = np.bincount(codes[left], weights=1.0 - trust[left], minlength=len(classes))
    order = np.argsort(-wrong, kind="stable")
    needed = int(np.searchsorted(np.cumsum(wrong[order]), _MOST_OF_THEM * wrong.sum())) + 1
    if needed > _NAMED or len(classes) <= needed:
        return ()
    return tuple(classes[place] for place in np.sort(order[:needed]))
