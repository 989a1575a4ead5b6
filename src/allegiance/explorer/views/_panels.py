"""What the panels of the page say, as plain values for the templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from allegiance._core import AnyArray
from allegiance.applications import KEEP, MOVE, TO_NOISE, UNSURE
from allegiance.calibration import Steps
from allegiance.clusterers import ALGORITHMS
from allegiance.domains import DOMAINS
from allegiance.explorer.state import AS_THEY_ARE, Question, Session, Subject
from allegiance.influence import INFLUENCES, WEIGHTS
from allegiance.results import ATYPICAL, SUPPORTED, VERDICTS, count

from ._anatomy import Anatomy

#: Rows of the queue shown around the one that is looked at.
_AROUND = 7
#: Characters of a text, of the point itself and of those beside it.
_TEXT, _EXCERPT = 1200, 140
_LARGE, _SMALL = 320, 64
#: Members of a cluster listed, and points that changed.
_MEMBERS, _CHANGED = 6, 60
#: Decisions, the key of each, and what it is called.
KEYS = ((KEEP, "k", "Keep"), (MOVE, "m", "Move"), (TO_NOISE, "n", "Noise"), (UNSURE, "u", "Unsure"))


class Panels:
    """The panels of a session.

    Parameters
    ----------
    session
        What is shown.
    asked
        How the points were scored, for the form of what if.
    """

    def __init__(self, session: Session, asked: Question) -> None:
        self._session = session
        self._subject: Subject = session.subject
        self._asked = asked
        self._anatomy = None if self._subject.features is None else Anatomy(self._subject)

    # --- points

    def _line(self, row: int, *, picture: bool = True) -> dict[str, Any]:
        """Return a point in one line."""
        subject, decided = self._subject, self._session.log.standing.get(row)
        return {
            "row": row,
            "called": subject.called(row),
            "label": subject.name(int(subject.codes[row])),
            "verdict": VERDICTS[int(subject.verdict[row])],
            "ranking": number(subject.ranking[row]),
            "rival": subject.name(int(subject.rival[row])),
            "decision": None if decided is None else decision_words(decided),
            "text": subject.showing.text(row, _EXCERPT),
            "image": subject.showing.image(row, _SMALL) if picture else None,
            "marked": row == self._session.marked,
        }

    def _lines(self, rows: AnyArray | Sequence[int]) -> list[dict[str, Any]]:
        return [self._line(int(row)) for row in rows]

    def point(self) -> dict[str, Any]:
        """Return the panel of the point that is looked at."""
        session, subject = self._session, self._subject
        row = session.marked
        if row is None:
            return {"row": None}
        own, rival = self._two_clusters(row)
        typicality = np.nan if subject.typicality is None else float(subject.typicality[row])
        shares, words = subject.shares(row), subject.words_for_rival(row)
        return {
            **self._line(row, picture=False),
            "number": subject.number(row),
            "quantity": subject.quantity,
            "own_cluster": int(subject.codes[row]),
            "rival_cluster": int(subject.rival[row]),
            "typicality": number(typicality),
            "atypical": typicality < ATYPICAL,
            "shares": [
                {
                    "name": subject.name(share.cluster),
                    "cluster": share.cluster,
                    "affinity": share.affinity,
                    "low": max(share.affinity - share.half_width, 0.0),
                    "high": min(share.affinity + share.half_width, 1.0),
                    "exact": share.half_width == 0.0,
                    "is_own": share.cluster == subject.codes[row],
                    "is_rival": share.cluster == subject.rival[row] and subject.n_clusters > 1,
                }
                for share in shares
            ],
            "shares_known": subject.result is not None,
            "story": self._story(row),
            "text": text_pieces(subject.showing.text(row, _TEXT), words),
            "words": words,
            "image": subject.showing.image(row, _LARGE),
            "features": None if self._anatomy is None else self._deviations(row, own, rival),
            "near": self._near(row, own, rival),
        }

    def _two_clusters(self, row: int) -> tuple[int, int]:
        """Return the own cluster and the rival; for noise the two largest affinities, as far as they are known."""
        subject = self._subject
        if subject.codes[row] >= 0 or subject.result is None:
            rival = int(subject.rival[row])
            return (int(subject.codes[row]) if subject.codes[row] >= 0 else rival), rival
        return int(subject.result.ranks.first[row]), int(subject.result.ranks.second[row])

    def _deviations(self, row: int, own: int, rival: int) -> list[dict[str, Any]]:
        assert self._anatomy is not None
        return [
            {
                "name": found.feature,
                "value": number(found.value),
                "own": number(found.own_mean),
                "rival": number(found.rival_mean),
                "from_own": f"{found.from_own:+.1f}",
                "from_rival": f"{found.from_rival:+.1f}",
                "closer": "own" if abs(found.from_own) <= abs(found.from_rival) else "rival",
            }
            for found in self._anatomy.deviations(row, own, rival)
        ]

    def _near(self, row: int, own: int, rival: int) -> list[dict[str, Any]]:
        if self._anatomy is None:
            return []
        clusters = [own] if own == rival else [own, rival]
        return [
            {"name": self._subject.name(cluster), "points": self._lines(self._anatomy.nearest(row, cluster))}
            for cluster in clusters
        ]

    def _story(self, row: int) -> list[str]:
        """Say how trust came about."""
        subject, result = self._subject, self._subject.result
        if subject.codes[row] < 0:
            return ["The clustering left this point out of every cluster: it has no label to trust."]
        if result is None or result.trust_map is None:
            return []
        own, close = float(subject.own[row]), float(result.closeness[row])
        steps = result.trust_map.steps(own, close, int(subject.codes[row]), float(result.distance[row]))
        return _told(steps, own, close)

    # --- clusters

    def clusters(self) -> dict[str, Any]:
        """Return the table of the clusters."""
        subject = self._subject
        return {
            "calibrated": subject.calibrated,
            "rows": [
                {
                    **line._asdict(),
                    "name": subject.name(line.cluster),
                    "right": percent(line.replication) if subject.calibrated else number(line.replication),
                    "rival": subject.name(line.rivals[0][0]) if line.rivals else "-",
                }
                for line in subject.worst_first()
            ],
            "noise": int((subject.codes < 0).sum()),
        }

    def cluster(self) -> dict[str, Any]:
        """Return the panel of the cluster that is looked at."""
        session, subject = self._session, self._subject
        if session.cluster is None:
            return {"cluster": None}
        i = session.cluster
        line = subject.clusters[i]
        return {
            **line._asdict(),
            "name": subject.name(i),
            "calibrated": subject.calibrated,
            "right": percent(line.replication) if subject.calibrated else number(line.replication),
            "traits": self._traits(i),
            "has_features": self._anatomy is not None,
            "typical": self._lines(subject.most_typical(i, _MEMBERS)),
            "doubtful": self._lines(subject.least_trusted(i, _MEMBERS)),
            "rivals": [{"cluster": j, "name": subject.name(j), "times": times} for j, times in line.rivals[:5]],
            "company": self._company(i),
            "quantity": subject.quantity,
        }

    def _traits(self, cluster: int) -> list[dict[str, Any]]:
        if self._anatomy is None:
            return []
        assert self._subject.features is not None
        traits, names = self._anatomy.traits, self._subject.features.names
        largest = max(float(np.abs(traits.difference[cluster]).max(initial=0.0)), 1e-9)
        return [
            {
                "name": names[feature],
                "inside": number(inside),
                "outside": number(outside),
                "difference": f"{difference:+.1f}",
                "share": float(difference / largest),
            }
            for feature, inside, outside, difference in zip(*(part[cluster] for part in traits), strict=True)
            if feature >= 0
        ]

    def _company(self, cluster: int) -> dict[str, Any]:
        """Say whether a cluster comes apart, or comes as one with another, when the points are clustered anew."""
        session, pairs, name = self._session, self._session.pairs, self._subject.name
        if pairs is None:
            return {"state": "working" if session.finding_pairs else "unknown"}
        together = pairs.together[cluster]
        others = [j for j in np.argsort(-np.nan_to_num(together, nan=-1.0)).tolist() if j != cluster][:3]
        merged = [name(int(j)) for j in pairs.merged_with(cluster)]
        return {
            "state": "known",
            "split": pairs.is_split(cluster),
            "merged": merged,
            "own": percent(together[cluster]),
            "chance": percent(pairs.chance),
            "others": [{"cluster": j, "name": name(j), "together": percent(together[j])} for j in others],
        }

    # --- review

    def queue(self) -> dict[str, Any]:
        """Return the review queue."""
        session, subject = self._session, self._subject
        queue, decided = session.queue, session.log.standing
        place = queue.place_of(session.marked)
        start = max(0, min((place or 0) - 2, len(queue) - _AROUND))
        last = next(reversed(decided), None)
        return {
            "quantity": subject.quantity,
            "total": len(queue),
            "done": queue.n_done(decided),
            "place": place,
            "budget": "" if queue.budget is None else str(queue.budget),
            "cluster": queue.cluster,
            "cluster_name": None if queue.cluster is None else subject.name(queue.cluster),
            "rows": self._lines(queue.order[start : start + _AROUND]),
            "row": session.marked,
            "keys": KEYS,
            "targets": self._targets(),
            "last": None if last is None else f"{subject.called(last)}: {decision_words(decided[last])}",
            "file": str(session.log.path),
            "standing": self._standing(),
        }

    def _targets(self) -> list[str]:
        """Return where the point can be moved to, the rival first."""
        session, subject = self._session, self._subject
        if session.marked is None:
            return []
        own, rival = int(subject.codes[session.marked]), int(subject.rival[session.marked])
        listed = [share.cluster for share in subject.shares(session.marked)]
        order = dict.fromkeys([rival, *listed, *range(subject.n_clusters)])
        return [subject.name(i) for i in order if i != own]

    def _standing(self) -> list[str]:
        """Say what the review has found so far, and what that means for the rest."""
        found, lines = self._session.standing(), []
        rest = found.rest
        if found.reviewed:
            expected = "" if rest is None else f"; trust expected {found.expected_wrong:.0f}"
            share = percent(found.wrong / found.reviewed)
            lines.append(f"{found.wrong:,} of {count(found.reviewed, 'reviewed label')} wrong ({share}){expected}.")
        else:
            lines.append("No label was found right or wrong yet.")
        if found.unsure:
            lines.append(f"{count(found.unsure, 'label')} left unsure.")
        if rest is None or not rest.labels:
            return lines
        if found.reviewed:
            whole = (
                f"Of the other {count(rest.labels, 'label')}, {rest.wrong:,.0f} ({rest.low:,.0f} to {rest.high:,.0f})"
            )
        else:
            whole = f"By trust alone, {rest.expected_before:,.0f} of {count(rest.labels, 'label')}"
        return [*lines, f"{whole} can be expected to be wrong."]

    def selection(self) -> dict[str, Any]:
        """Return what is selected."""
        session, subject = self._session, self._subject
        rows = session.selected
        if rows is None:
            return {"total": 0}
        verdicts = np.bincount(subject.verdict[rows], minlength=len(VERDICTS))
        named = ", ".join(f"{n:,} {name}" for name, n in zip(VERDICTS, verdicts.tolist(), strict=True) if n)
        ranking = subject.ranking[rows]
        known = ranking[~np.isnan(ranking)]
        mean = number(known.mean()) if known.size else "-"
        return {"total": rows.size, "verdicts": named, "quantity": subject.quantity, "mean": mean}

    # --- what if

    def what_if(self) -> dict[str, Any]:
        """Return the form of what if, and what came of it."""
        session = self._session
        job = session.job
        question = self._asked if job is None else job.question
        return {
            "available": self._subject.features is not None,
            "question": question,
            "influences": list(INFLUENCES),
            "weights": ["none", *WEIGHTS],
            "domains": list(DOMAINS),
            "clusterers": [AS_THEY_ARE, *ALGORITHMS],
            "clusters": question.clusters or self._subject.n_clusters,
            "job": None if job is None else {"running": job.running, "error": job.error, "cancelled": job.cancelled},
            "stage": None if job is None else job.stage,
            "found": self._changes(),
        }

    def _changes(self) -> dict[str, Any] | None:
        session, subject = self._session, self._subject
        job, found = session.job, session.changes
        if found is None or job is None or job.answer is None:
            return None
        answer = job.answer

        def side(row: int) -> dict[str, Any]:
            now = int(found.now[row])
            return {
                **self._line(row),
                "now_label": "noise" if now < 0 else found.names[now],
                "now_verdict": VERDICTS[int(answer.verdict[row])],
                "now_ranking": number(answer.ranking[row]),
            }

        shown = [i for i in range(len(VERDICTS)) if found.verdicts[i].any() or found.verdicts[:, i].any()]
        inside = subject.codes >= 0
        before = float(subject.ranking[inside].mean()) if subject.calibrated and inside.any() else float("nan")
        return {
            "verdicts": [VERDICTS[i] for i in shown],
            "table": [[int(found.verdicts[i, j]) for j in shown] for i in shown],
            "changed": found.rows.size,
            "moved": found.moved,
            "listed": [side(int(row)) for row in found.rows[:_CHANGED]],
            "before": percent(before),
            "after": percent(answer.replication),
            "quantity": subject.quantity,
        }


def decision_words(record: Any) -> str:
    """Return a decision in words."""
    return f"move to {record['new_label']}" if record["decision"] == MOVE else str(record["decision"])


def number(value: float) -> str:
    """Return a number for a person; a dash for none."""
    if np.isnan(value):
        return "-"
    return f"{value:.2f}" if 0.005 <= abs(value) < 1000 or value == 0 else f"{value:.3g}"


def percent(share: float) -> str:
    """Return a share for a person; a dash for none."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f} %"


def _told(steps: Steps, own: float, close: float) -> list[str]:
    told = [f"Own affinity {own:.2f} and closeness {close:.2f} give a chance of {steps.scores:.2f}."]
    if abs(steps.crowding - steps.scores) >= 0.005:
        kind = "large or wide" if steps.crowding < steps.scores else "small and tight"
        told.append(f"Its cluster is {kind}, which makes it {steps.crowding:.2f}.")
    if steps.seen < 1.0:
        told.append(f"It lies farther out than any member seen, which takes it to {steps.crowding * steps.seen:.2f}.")
    return told


def headline(subject: Subject) -> str:
    """Say in a sentence what is explored."""
    inside = subject.codes >= 0
    n = int(inside.sum())
    supported = int((subject.verdict == VERDICTS.index(SUPPORTED)).sum())
    if not n:
        return "No point has a label: all are noise."
    if subject.calibrated:
        right = percent(float(subject.ranking[inside].mean()))
        return f"Expected right: {right} of {count(n, 'label')}. {n - supported:,} not supported."
    return f"{count(n, 'label')}: {n - supported:,} not supported."


def text_pieces(text: str | None, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is one of the words, whatever their case."""
    if not text or not words:
        return [(text, False)] if text else []
    pieces = re.split(rf"(?<!\w)({'|'.join(map(re.escape, words))})(?!\w)", text, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece]
