"""The front door: a result, and what shows its points, become a running explorer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from allegiance._core import IntArray, in_notebook, require
from allegiance.calibration import Calibration, PairCompany
from allegiance.explorer.state import DecisionLog, Question, Session, Showing, Subject
from allegiance.explorer.views import Maps
from allegiance.report import Coordinates, Features, check_coordinates, check_features, point_ids
from allegiance.results import AffinityResult

from .app import Explorer

#: The heading of the page unless another one is given.
TITLE = "Clusters under review"
#: Where decisions go unless a file is named.
DECISIONS_FILE = "decisions.jsonl"


def explore(
    result: AffinityResult,
    X: Any = None,
    *,
    ids: Any = None,
    texts: Any = None,
    images: Any = None,
    coordinates: Any = None,
    feature_names: Any = None,
    title: str | None = None,
    decisions: str | os.PathLike[str] = DECISIONS_FILE,
    budget: int | str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool | None = None,
) -> Explorer:
    """Start a local web application to look at a result and to review its labels.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    X
        (n, d) the data that was scored. Without it there are no features, no nearest points and no what if.
    ids
        (n,) what identifies the points, or a frame of such columns; by default the index of the frame scored, or of X.
    texts
        (n,) texts of the points.
    images
        (n, height, width) or (n, height, width, 3) images of the points, or n paths of image files.
    coordinates
        (n, 2) where to draw the points, or the names of two columns of X. Otherwise two principal components, and UMAP
        if it is installed.
    feature_names
        (d,) names of the columns of X; by default those of a frame.
    title
        The heading of the page.
    decisions
        The file to which each decision is appended at once. If it exists, the review goes on where it stopped.
    budget
        How many labels to review, as in 500, or which share, as in "5%"; by default all that are not supported.
    host, port
        Where to listen: by default on a free port of this machine, which others cannot reach.
    open_browser
        Whether to open the page in a browser; by default unless this is a notebook, which shows it in the cell.

    Returns
    -------
    Explorer
        With ``url``, ``decisions``, ``labels`` and ``close()``. It runs until it is closed or the process ends.

    See Also
    --------
    allegiance.apply_decisions : Apply the decisions of a review to labels.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import trust
    >>> from allegiance.explorer import explore
    >>> X = load_iris().data
    >>> result = trust(X, KMeans(3, random_state=0).fit_predict(X))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with explore(result, X, decisions=f"{folder}/decisions.jsonl", open_browser=False) as explorer:
    ...         explorer.labels.shape  # the decisions so far applied
    (150,)
    """
    features = check_features(X, feature_names, result.n_points)
    named = point_ids(result, X, ids)
    subject = Subject.of_result(
        result,
        features=features,
        ids={} if named is None else dict(zip(named.names, named.columns, strict=True)),
        showing=Showing.of(texts, images, result.n_points),
        title=title or TITLE,
    )
    made = serve(
        subject,
        coordinates=check_coordinates(coordinates, features, result.n_points),
        decisions=decisions,
        budget=budget,
        host=host,
        port=port,
    )
    if not in_notebook() if open_browser is None else open_browser:
        made.open()
    return made


def serve(
    subject: Subject,
    *,
    coordinates: Coordinates | None = None,
    decisions: str | os.PathLike[str] = DECISIONS_FILE,
    budget: int | str | None = None,
    asked: Mapping[str, Any] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_hosts: Iterable[str] = (),
) -> Explorer:
    """Start an explorer of a subject.

    Parameters
    ----------
    subject
        What is explored.
    coordinates
        Where the user wants the points on the map.
    decisions, budget, host, port
        As in :func:`explore`.
    asked
        How the points were scored, as fields of a question, for what if.
    allow_hosts
        Further names under which the server may be asked for.
    """
    for library in ("bokeh", "jinja2", "tornado"):
        require(library, "explorer", "explore()")
    pairs = None if subject.features is None else partial(_pairs, subject, subject.features)
    session = Session(subject, DecisionLog(decisions, subject), budget, pairs)
    seed = 0 if subject.result is None else subject.result.how.seed
    try:
        return Explorer(
            session,
            Maps(subject, coordinates, seed),
            Question(**(asked or {})),
            host=host,
            port=port,
            allow_hosts=allow_hosts,
        )
    except BaseException:
        session.close()
        raise


def subject_of_scores(
    scores: Mapping[str, Any],
    *,
    features: Features | None = None,
    ids: Mapping[str, Sequence[Any]] | None = None,
    numbers: IntArray | None = None,
    showing: Showing | None = None,
    title: str | None = None,
) -> Subject:
    """Return the subject of a table of scores, as ``allegiance score`` writes it.

    Parameters
    ----------
    scores
        Columns (n,): ``label``, ``verdict``, ``rival``, ``own_affinity``; ``trust`` and ``typicality`` if known.
    features, ids, numbers, showing, title
        As in :class:`Subject`.
    """
    from allegiance.fitting import Labels
    from allegiance.results import VERDICTS

    n = len(scores["label"])
    labels = Labels.of(scores["label"], n)
    rivals = Labels.of(scores["rival"], n)
    classes = Labels.of([*labels.values.tolist(), *rivals.values.tolist()], 2 * n).classes
    verdict = np.asarray(scores["verdict"])
    unknown = ~np.isin(verdict, VERDICTS)
    if unknown.any():
        raise ValueError(f"verdict has {str(verdict[unknown][0])!r}: use a table that allegiance score wrote.")
    codes = labels.codes(classes)
    calibrated = "trust" in scores
    ranking = np.asarray(scores["trust" if calibrated else "own_affinity"], dtype=np.float64)
    return Subject(
        classes=classes,
        codes=codes,
        ranking=np.where(codes >= 0, ranking, np.nan),
        calibrated=calibrated,
        verdict=np.select([verdict == name for name in VERDICTS], range(len(VERDICTS))),
        rival=rivals.codes(classes),
        own=np.asarray(scores["own_affinity"], dtype=np.float64),
        typicality=np.asarray(scores["typicality"], dtype=np.float64) if "typicality" in scores else None,
        features=features,
        ids=ids or {},
        numbers=numbers,
        showing=showing or Showing(),
        title=title or TITLE,
    )


def _pairs(subject: Subject, features: Features) -> PairCompany:
    """Cluster halves of the points anew in the space of "within", as trust does by default."""
    from allegiance import AffinityScorer

    scorer = AffinityScorer(influence="within")
    fitted = scorer.fit(features.rows, subject.labels).fitted_
    return fitted.pair_company(features.rows, subject.labels, Calibration())
