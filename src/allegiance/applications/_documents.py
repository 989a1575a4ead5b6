"""Clusters of documents: the words that speak for another topic, documents that do not belong, outliers that might."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import AnyArray, FloatArray, IntArray, check_count, check_number, is_sparse, texts_for_each
from allegiance.results import CONTESTED, CONTRADICTED, AffinityResult

#: Words are told from chance at about this many standard errors.
_LEAST_SCORE = 1.64
#: Most words of the vocabulary that is counted by default: the most frequent ones.
_MOST_WORDS = 50_000
#: Most words that the prior counts for by default.
_MOST_PRIOR = 1000.0
#: Words that a larger share of the documents has are not counted by default.
_COMMON = 0.5
#: An outlier whose topic has fewer members that are as far out does not belong to it.
_LEAST_TYPICALITY = 0.05
#: Characters shown of a document in a table.
_EXCERPT = 200


class WordScores(NamedTuple):
    """Words of one document, the most telling first."""

    words: list[str]
    scores: FloatArray
    """(m,) log-odds of each word in one topic against another, in standard errors."""


class Documents:
    """The documents behind the points of a result.

    Topics may come from anywhere: k-means of embeddings, BERTopic (``topics_``, where -1 are outliers), the largest
    share in a topic model of scikit-learn. What tells two topics apart is the log-odds of each word, with a prior of
    what is usual in all documents, divided by its standard error (Monroe, Colaresi and Quinn, "Fightin' Words", 2008).

    Parameters
    ----------
    result
        What :func:`allegiance.trust` returns for the vectors of the documents and their topics.
    texts
        (n,) the documents.
    vectorizer
        What counts words, a ``CountVectorizer`` of scikit-learn, fitted or not. By default the 50,000 most frequent
        words, without those that more than half of the documents have, in any language.
    prior
        The strength of the prior, in words: a topic with fewer words than this is believed to be like the others. By
        default the words of an average topic, at most 1,000.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import trust
    >>> from allegiance.applications import Documents
    >>> texts = ["cat purrs", "cat sleeps", "cat hides", "dog barks", "dog runs", "dog barks loudly", "cat barks"]
    >>> vectors = np.array([[0.0, 0.1], [0.1, 0.0], [0.2, 0.1], [2.0, 2.1], [2.1, 2.0], [2.2, 2.1], [1.4, 1.3]])
    >>> result = trust(vectors, ["cats"] * 3 + ["dogs"] * 3 + ["cats"], influence="euclidean", n_resamples=4)
    >>> documents = Documents(result, texts, prior=1.0)
    >>> documents.words_for_rival(6, least=0.0).words
    ['barks']
    """

    def __init__(
        self, result: AffinityResult, texts: Any, *, vectorizer: Any = None, prior: float | None = None
    ) -> None:
        self.result = result
        self.texts = texts_for_each(texts, result.n_points)
        given = None if prior is None else check_number(prior, "prior", low=0.0)
        self.counts, self.vocabulary = _count_words(self.texts, vectorizer)
        member = sp.csr_array(
            (np.ones((~result.noise).sum()), (result.codes[~result.noise], np.flatnonzero(~result.noise))),
            shape=(result.n_clusters, result.n_points),
        )
        self._by_topic: FloatArray = np.asarray((member @ self.counts).todense(), dtype=np.float64)
        self._sizes: FloatArray = self._by_topic.sum(axis=1)
        usual = np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()
        total = max(float(usual.sum()), 1.0)
        self._strength: float = min(total / result.n_clusters, _MOST_PRIOR) if given is None else given
        self._prior: FloatArray = self._strength * usual / total

    def words_for_rival(self, row: int, n: int = 5, *, least: float = _LEAST_SCORE) -> WordScores:
        """Return the words of a document that are more typical of its rival than of its own topic.

        The document itself is not counted among those of its topic. An outlier has no topic of its own: its words are
        held against those of all other topics.

        Parameters
        ----------
        row
            The document.
        n
            How many words at most.
        least
            The score from which on a word counts, in standard errors.
        """
        result = self.result
        words, here = self._words_of(row)
        rival, code = int(result.ranks.rival[row]), int(result.codes[row])
        if code < 0:
            own = self._by_topic[:, words].sum(axis=0) - self._by_topic[rival, words]
            size = float(self._sizes.sum() - self._sizes[rival])
        else:
            own, size = self._by_topic[code, words] - here, float(self._sizes[code] - here.sum())
        scores = self._scores(self._by_topic[rival, words], float(self._sizes[rival]), own, size, words)
        return self._largest(words, scores, n, least)

    def words_of_topic(self, topic: Any, n: int = 8) -> WordScores:
        """Return the words that tell a topic from all others.

        Parameters
        ----------
        topic
            Its label.
        n
            How many words at most.
        """
        found = np.flatnonzero(self.result.classes.astype(str) == str(topic))
        if not found.size:
            known = ", ".join(repr(label) for label in self.result.classes.tolist()[:20])
            raise ValueError(f"topic must be the label of a cluster ({known}), got {topic!r}.")
        code = int(found[0])
        words = np.flatnonzero(self._by_topic[code])
        inside = self._by_topic[code, words]
        outside, size = self._by_topic[:, words].sum(axis=0) - inside, float(self._sizes.sum() - self._sizes[code])
        scores = self._scores(inside, float(self._sizes[code]), outside, size, words)
        return self._largest(words, scores, n, 0.0)

    def topics(self, n_words: int = 8) -> Any:
        """Return one row per topic, those with the most trouble first.

        Columns are ``topic``, ``documents``, ``replication``, ``supported``, ``contested``, ``contradicted``,
        ``rival`` and ``words``.

        Parameters
        ----------
        n_words
            How many words of each.
        """
        lines = [line for line in self.result.tally().worst_first() if line.name is not None]
        columns = {
            "topic": [line.name for line in lines],
            "documents": [line.points for line in lines],
            "replication": [line.replication for line in lines],
            **{name: [getattr(line, name) for line in lines] for name in ("supported", "contested", "contradicted")},
            "rival": [line.rival for line in lines],
            "words": [", ".join(self.words_of_topic(line.name, n_words).words) for line in lines],
        }
        return self.result.frame_like.without_index().build({name: _column(values) for name, values in columns.items()})

    def misfits(self, n: int = 5) -> Any:
        """Return the documents that do not belong: of each topic the least trusted ones that are not supported.

        A frame with the index of the data, topic by topic: ``topic``, ``trust``, ``verdict``, ``rival``, ``words`` (for
        the rival) and ``text``.

        Parameters
        ----------
        n
            How many of each topic at most.
        """
        most, result = check_count(n, "n"), self.result
        doubtful = np.flatnonzero((result.verdict == CONTESTED) | (result.verdict == CONTRADICTED))
        order = doubtful[np.lexsort((doubtful, result.ranking[doubtful], result.codes[doubtful]))]
        rank = np.arange(order.size) - np.searchsorted(result.codes[order], result.codes[order])
        rows = order[rank < most]
        value = "trust" if result.calibrated else "own_affinity"
        columns = {"topic": result.label[rows], value: result.ranking[rows], "verdict": result.verdict[rows]}
        return result.frame_like.build_rows(rows, columns | {"rival": result.rival[rows]} | self.columns(rows))

    def outliers(self, n: int | None = None) -> Any:
        """Return the outliers (-1), those that deserve a topic first.

        A frame with the index of the data: ``topic``, the one with the largest affinity; that ``affinity``;
        ``typicality``, the share of the members of the topic that are at least as far out; ``deserves_topic``, whether
        the affinity is the largest beyond its error, and the outlier no farther out than all but a twentieth of the
        members; ``words`` that speak for the topic, and ``text``.

        Parameters
        ----------
        n
            How many; None for all.
        """
        result, standing = self.result, self.result.ranks
        rows = np.flatnonzero(result.noise)
        codes, typical = standing.first[rows], np.full(rows.size, np.nan)
        if result.members is not None:
            typical = result.members.value.typicality(codes, result.distance[rows])
        clear = (standing.largest - standing.second_largest)[rows] > 2.0 * standing.largest_error[rows]
        deserves = clear & (typical >= _LEAST_TYPICALITY)
        order = np.lexsort((rows, -standing.largest[rows], -np.nan_to_num(typical), ~deserves))[:n]
        rows = rows[order]
        columns: dict[str, AnyArray] = {
            "topic": result.owner[rows],
            "affinity": standing.largest[rows],
            "typicality": typical[order],
            "deserves_topic": deserves[order],
        }
        return result.frame_like.build_rows(rows, columns | self.columns(rows))

    def columns(self, rows: IntArray, n_words: int = 5) -> dict[str, AnyArray]:
        """Return for some documents ``words``, those that speak for the rival, and ``text``, its beginning."""
        words = [", ".join(self.words_for_rival(int(row), n_words).words) for row in rows]
        return {"words": _column(words), "text": _column([_excerpt(self.texts[row]) for row in rows])}

    def _words_of(self, row: int) -> tuple[IntArray, FloatArray]:
        """Return the distinct words (m,) of a document, by their numbers, and how often it has them."""
        start, stop = self.counts.indptr[row : row + 2]
        return self.counts.indices[start:stop], self.counts.data[start:stop].astype(np.float64)

    def _scores(
        self, one: FloatArray, one_size: float, other: FloatArray, other_size: float, words: IntArray
    ) -> FloatArray:
        """Return how much more typical words (m,) are of one set of words than of another, in standard errors."""
        prior = self._prior[words]
        here, there = one + prior, other + prior
        rest_here, rest_there = one_size + self._strength - here, other_size + self._strength - there
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(here / rest_here) - np.log(there / rest_there)
            scores = odds / np.sqrt(1.0 / here + 1.0 / there)
        return np.nan_to_num(scores, posinf=np.finfo(float).max, neginf=np.finfo(float).min)

    def _largest(self, words: IntArray, scores: FloatArray, n: int, least: float) -> WordScores:
        order = np.lexsort((self.vocabulary[words], -scores))
        order = order[scores[order] > least][: check_count(n, "n")]
        return WordScores(self.vocabulary[words[order]].tolist(), scores[order])


def _count_words(texts: list[str], vectorizer: Any) -> tuple[Any, AnyArray]:
    """Return counts (n, V) of the words of each text, CSR, and the words (V,)."""
    from sklearn.exceptions import NotFittedError
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(max_df=_COMMON, max_features=_MOST_WORDS) if vectorizer is None else vectorizer
    missing = [name for name in ("fit_transform", "transform", "get_feature_names_out") if not hasattr(counter, name)]
    if missing:
        raise TypeError(f"vectorizer must be a CountVectorizer or the like, got {counter!r} without {missing[0]}.")
    try:
        counts = counter.transform(texts) if hasattr(counter, "vocabulary_") else counter.fit_transform(texts)
    except (NotFittedError, ValueError) as error:
        raise ValueError(f"texts cannot be counted by {counter!r}: {error}") from error
    counts = sp.csr_array(counts) if is_sparse(counts) else sp.csr_array(np.asarray(counts))
    counts.sum_duplicates()
    return counts, np.asarray(counter.get_feature_names_out(), dtype=object)


def _column(values: list[Any]) -> AnyArray:
    """Return values as a column: text as objects, numbers as numbers."""
    return np.array(values, dtype=object if any(isinstance(value, str) for value in values) or not values else None)


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _EXCERPT else flat[: _EXCERPT - 1].rstrip() + "…"
