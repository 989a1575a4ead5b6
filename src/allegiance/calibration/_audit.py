"""The audit: estimate how many labels are right from a review of a random sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

from allegiance._core.parallel import resolve_seed
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, check_count, check_number

from ._logistic import fit_logistic

#: How a row was chosen for an audit. Only random rows are representative.
RANDOM, LEAST_TRUSTED, LISTED = "random", "least trusted", "listed"
#: Quantile of the normal distribution for intervals of 95%.
_Z95 = float(ndtri(0.975))
#: Pseudo-reviews that pull the weight of the score in the estimate toward one.
_PSEUDO_REVIEWS = 10
#: Most clusters named in the sentence.
_MAX_NAMED = 3


@dataclass(frozen=True, eq=False, repr=False)
class AuditSample:
    """Rows to review, and how each was chosen. As an array, it is the row numbers.

    Attributes
    ----------
    rows
        (m,) row numbers.
    origin
        (m,) how each row was chosen: "random", "least trusted" or "listed".
    seed
        Seed of the random rows; None if there are none.
    """

    rows: IntArray
    origin: AnyArray
    seed: int | None = None

    @classmethod
    def of(cls, rows: Any) -> AuditSample:
        """Return an audit sample unchanged, and other row numbers as the user's own list."""
        if isinstance(rows, AuditSample):
            return rows
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.size and (numbers.ndim != 1 or numbers.dtype.kind not in "iu"):
            raise TypeError(f"rows must be row numbers, as audit_sample returns them, got {rows!r}.")
        return cls(numbers.astype(np.int64), np.full(numbers.size, LISTED), None)

    def with_rows(self, rows: Any) -> AuditSample:
        """Return the audit sample with additional rows chosen by the user."""
        more = np.setdiff1d(np.asarray(rows, dtype=np.int64), self.rows)
        origin = np.concatenate([self.origin, np.full(more.size, LISTED)])
        return AuditSample(np.concatenate([self.rows, more]), origin, self.seed)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.rows, dtype=dtype)

    def __len__(self) -> int:
        return self.rows.size

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __repr__(self) -> str:
        kinds = (f"{np.count_nonzero(self.origin == kind):,} {kind}" for kind in dict.fromkeys(self.origin.tolist()))
        seeded = "" if self.seed is None else f"; seed {self.seed}"
        return f"AuditSample({len(self):,} rows: {', '.join(kinds)}{seeded})"


def audit_sample(ranking: FloatArray, n: int, *, random: float = 0.5, seed: Any = 0) -> AuditSample:
    """Choose labels to audit: a share of them at random, the remaining ones first in the review order.

    ``ranking`` (n,) is the score of the review order, lowest first, NaN for points without a label. ``n`` is the number
    of labels, or all if there are fewer, and ``random`` the share that is drawn at random with the seed.
    """
    number, share = check_count(n, "n"), check_number(random, "random", low=0.0, closed=True)
    if share > 1.0:
        raise ValueError(f"random must be a share of the labels, at most 1, got {random!r}.")
    labeled = np.flatnonzero(~np.isnan(ranking))
    number = min(number, labeled.size)
    n_random = int(np.ceil(share * number))
    first = labeled[np.argsort(ranking[labeled], kind="stable")][: number - n_random]
    resolved = resolve_seed(seed)
    others = np.setdiff1d(labeled, first)
    chosen = np.sort(np.random.default_rng(resolved).choice(others, n_random, replace=False))
    return AuditSample(
        np.concatenate([chosen, first]),
        np.array([RANDOM] * n_random + [LEAST_TRUSTED] * first.size, dtype="<U13"),
        resolved if n_random else None,
    )


@dataclass(frozen=True, eq=False)
class Audit:
    """Estimate of how many labels are right.

    Attributes
    ----------
    share_right
        Share of all labels that are right; NaN if none of the reviewed labels was drawn at random.
    interval
        95% interval of ``share_right``. Without random rows, the range of possible values.
    wrong_left
        Number of wrong labels among those not reviewed.
    interval_left
        95% interval of ``wrong_left``.
    trust
        (n,) probability that the label is right: 1 or 0 where it was reviewed, NaN for noise. Without random rows, it
        relies on its prior.
    result
        The result with this trust.
    rows, right
        (m,) the reviewed rows, and whether each label is right.
    n_random, n_least, n_listed
        How many of them were drawn at random, least trusted, or chosen by the user.
    n_unanswered
        Rows of the sample without an answer.
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
        """Return the audit as a sentence."""
        reviewed = [
            f"{number:,} {what}"
            for number, what in (
                (self.n_random, "drawn at random"),
                (self.n_least, "chosen by review priority"),
                (self.n_listed, "chosen by you"),
            )
            if number
        ]
        reviewed[0] = reviewed[0].replace(" ", " label " if reviewed[0].startswith("1 ") else " labels ", 1)
        if not self.n_random:
            wrong = int((~self.right).sum())
            return (
                f"{wrong:,} of {self.right.size:,} reviewed labels are wrong. None of them was drawn at random, so "
                "they are not representative: review some labels of audit_sample(60)."
            )
        low, high = (100 * value for value in self.interval)
        text = f"{100 * self.share_right:.0f}% of the labels are right (95% interval: {low:.0f}-{high:.0f}%), from "
        text += f"{_join(reviewed)}; "
        left = f"{self.wrong_left:,.0f}"
        text += f"about {left} wrong label{'' if left == '1' else 's'} left"
        if self.worst_clusters and left != "0":
            plural = "" if len(self.worst_clusters) == 1 else "s"
            text += f", most of them in cluster{plural} {_join([str(name) for name in self.worst_clusters])}"
        return text + "."

    def __repr__(self) -> str:
        return self.sentence()


def _join(words: Sequence[str]) -> str:
    """Join the counts or the clusters that the sentence of an audit lists."""
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
    """Return the audit: how many labels are right, estimated from a review of some of them; ``result`` stays empty.

    ``rows`` is the result of :func:`audit_sample`, or row numbers chosen by the user, which are known but not
    representative. ``right`` (m,) says whether each label is right, or contains the right labels; None or NaN where
    there is no answer. ``label``, ``codes`` and ``ranking`` (n,) are the labels, cluster numbers and review scores of
    all points, NaN for noise, and ``classes`` (k,) the labels of the clusters.
    """
    sample = AuditSample.of(rows)
    numbers, origin = sample.rows, np.asarray(sample.origin)
    answered, verdict = _answers(right, label, numbers)
    if numbers.size == 0:
        raise ValueError("rows is empty: review some labels first, such as those of audit_sample(60).")
    if numbers.min() < 0 or numbers.max() >= ranking.size:
        raise ValueError(f"rows must be between 0 and {ranking.size - 1}, got {numbers.min()} to {numbers.max()}.")
    if np.unique(numbers).size < numbers.size:
        raise ValueError("rows contains a row twice: give one answer per row.")
    if np.isnan(ranking[numbers]).any():
        raise ValueError(
            f"rows has row {numbers[np.isnan(ranking[numbers])][0]}, which is noise: it has no label to judge."
        )
    if not answered.any():
        raise ValueError("right has no answer: fill in at least one.")
    kept, y = numbers[answered], verdict[answered]
    is_random = origin[answered] == RANDOM
    labeled = np.flatnonzero(~np.isnan(ranking))
    trust = _recalibrate(ranking, codes, kept, y)
    # Random rows were not drawn from the least trusted ones, so they do not represent those without an answer.
    unanswered = numbers[~answered & (origin == LEAST_TRUSTED)]
    rest = np.setdiff1d(labeled, np.concatenate([kept[~is_random], unanswered]))
    known_right, known_wrong = int(y[~is_random].sum()), int((~y[is_random]).sum())
    if is_random.any():
        share, low, high = _share_right(y[is_random], ranking[kept[is_random]], ranking[rest])
        expected, error = trust[unanswered].sum(), _Z95 * np.sqrt((trust[unanswered] * (1.0 - trust[unanswered])).sum())
        right_unanswered = np.clip(expected + np.array([0.0, -error, error]), 0.0, unanswered.size)
        right_rest = np.array([share, low, high]) * rest.size
        figures = ((known_right + right_rest + right_unanswered) / labeled.size).tolist()
        wrong = np.maximum(0.0, rest.size - right_rest - known_wrong) + unanswered.size - right_unanswered
        left = wrong[[0, 2, 1]].tolist()
    else:
        n_unknown = rest.size + unanswered.size
        figures = [np.nan, known_right / labeled.size, (known_right + n_unknown) / labeled.size]
        left = [np.nan, 0.0, float(n_unknown)]
    counts = [int((origin[answered] == kind).sum()) for kind in (RANDOM, LEAST_TRUSTED, LISTED)]
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
    answers = right.to_numpy() if hasattr(right, "to_numpy") else np.asarray(right)
    if answers.ndim != 1 or answers.size != numbers.size:
        raise ValueError(f"right must have one answer for each of the {numbers.size} rows, got shape {answers.shape}.")
    if answers.dtype.kind == "b":
        return np.ones(answers.size, dtype=bool), answers
    if answers.dtype.kind == "f":
        answered = ~np.isnan(answers)
    else:
        answered = np.array([value is not None and value == value and value != "" for value in answers.tolist()])
    values = answers[answered].tolist()
    is_right = np.zeros(answers.size, dtype=bool)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        is_right[answered] = values
    elif label.dtype.kind in "biuf" and answers.dtype.kind in "biuf":
        is_right[answered] = answers[answered] == label[numbers[answered]]
    else:
        is_right[answered] = [
            _text(a) == _text(b) for a, b in zip(values, label[numbers[answered]].tolist(), strict=True)
        ]
    return answered, is_right


def _text(value: Any) -> str:
    """Return a label, or the reviewer's answer, as text: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _share_right(y: BoolArray, t: FloatArray, T: FloatArray) -> tuple[float, float, float]:
    """Return the share of right labels and its 95% interval; ``y`` is a random sample of labels with scores ``T``.

    Prediction-powered inference: the score predicts which labels are right, and the reviews correct it. The sample
    determines its weight; the interval is Wilson's, with the effective number of reviews.
    """
    y = y.astype(np.float64)
    m, n, spread = y.size, T.size, float(T.var())
    about = t - t.mean()
    weight = float(((y - y.mean()) * about).sum() + _PSEUDO_REVIEWS * spread)
    weight = float(np.clip(weight / max(float((about**2).sum()) + _PSEUDO_REVIEWS * spread, 1e-12), 0.0, 1.0))
    if y.min() == y.max():
        weight = 0.0  # all answers are equal, so the score's weight cannot be estimated
    estimate = float(np.clip(y.mean() + weight * (T.mean() - t.mean()), 0.0, 1.0))
    residual, guess = y - weight * t, (y.sum() + 2) / (m + 4)
    pseudo = 4 * guess * (1 - guess)
    ratio = (((residual - residual.mean()) ** 2).sum() + pseudo) / (((y - y.mean()) ** 2).sum() + pseudo)
    effective = m / ratio * (n - 1) / max(n - m, 1)
    if m >= n:
        return float(y.mean()), float(y.mean()), float(y.mean())
    return estimate, *wilson(estimate, float(effective))


def wilson(share: float, m: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share observed in ``m`` reviews."""
    square = _Z95 * _Z95
    center = (share + square / (2 * m)) / (1 + square / m)
    half = _Z95 / (1 + square / m) * np.sqrt(max(share * (1 - share), 0.0) / m + square / (4 * m * m))
    # Rounding must not move a bound away from 0 or 1.
    low = 0.0 if share <= 0.0 else max(float(center - half), 0.0)
    return low, 1.0 if share >= 1.0 else min(float(center + half), 1.0)


def _recalibrate(ranking: FloatArray, codes: IntArray, reviewed: IntArray, y: BoolArray) -> FloatArray:
    """Return the probability (n,) that each label is right, at the posterior mode.

    logit p = z + shift + slope (z - mean z) + cluster effect, with z the logit of the score. Shift, slope and effects
    have standard normal priors.
    """
    inner = ~np.isnan(ranking)
    z = logit(np.clip(np.where(inner, ranking, 0.5), 1e-3, 1 - 1e-3))
    about = z - z[inner].mean()
    cluster = np.maximum(codes, 0)
    b, effects = fit_logistic(
        np.column_stack([np.ones(reviewed.size), about[reviewed]]),
        cluster[reviewed],
        y.astype(np.float64),
        weights=np.ones(reviewed.size),
        offset=z[reviewed],
        penalty=np.eye(2),
        effect_precision=np.ones(int(codes.max(initial=0)) + 1),
    )
    probability = np.where(inner, expit(z + b[0] + b[1] * about + effects[cluster]), np.nan)
    probability[reviewed] = y
    return probability


def _worst_clusters(trust: FloatArray, codes: IntArray, classes: AnyArray, reviewed: IntArray) -> tuple[Any, ...]:
    """Return the clusters that contain most of the remaining wrong labels, if they are few, sorted by name."""
    left = codes >= 0
    left[reviewed] = False
    wrong = np.bincount(codes[left], weights=1.0 - trust[left], minlength=len(classes))
    order = np.argsort(-wrong, kind="stable")
    needed = int(np.searchsorted(np.cumsum(wrong[order]), wrong.sum() / 2.0)) + 1
    if needed > _MAX_NAMED or len(classes) <= needed:
        return ()
    return tuple(classes[place] for place in np.sort(order[:needed]))
