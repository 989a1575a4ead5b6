import sys
from dataclasses import replace

import numpy as np
import pytest

from allegiance import affinity
from allegiance.calibration import PairCompany
from allegiance.explorer import subject_of_scores
from allegiance.explorer.state import Question, Session, Showing, Subject
from allegiance.explorer.views import Anatomy, Maps, Panels, choices, colouring, headline, text_pieces


@pytest.fixture
def panels(session):
    return Panels(session, Question())


def test_the_nearest_points_are_those_of_the_scaled_features(subject, scored):
    X, _ = scored
    anatomy = Anatomy(subject)
    within = np.sqrt(
        np.mean([(X[row] - X[subject.codes == subject.codes[row]].mean(axis=0)) ** 2 for row in range(300)], axis=0)
    )
    for row, cluster in ((0, 1), (17, int(subject.codes[17]))):
        members = [i for i in np.flatnonzero(subject.codes == cluster) if i != row]
        away = [np.sum(((X[i] - X[row]) / within) ** 2) for i in members]
        assert anatomy.nearest(row, cluster).tolist() == [members[i] for i in np.argsort(away)[:5]]


def test_features_are_told_beside_both_clusters(subject, scored):
    X, _ = scored
    found = Anatomy(subject).deviations(3, 0, 1)
    means = [X[subject.codes == cluster].mean(axis=0) for cluster in (0, 1)]
    for line in found:
        column = int(line.feature[1:])
        assert (line.value, line.own_mean, line.rival_mean) == pytest.approx(
            (X[3, column], means[0][column], means[1][column])
        )
    sizes = [max(abs(line.from_own), abs(line.from_rival)) for line in found]
    assert sizes == sorted(sizes, reverse=True)


def test_the_story_of_trust_ends_with_trust(session, panels, scored):
    _, result = scored
    for row in (0, 5, int(np.argmin(result.trust))):
        session.mark(row)
        told = panels.point()["story"]
        assert f"{result.trust[row]:.2f}" in told[-1]


def test_a_point_of_noise_and_a_result_without_trust(scored, tmp_path):
    X, before = scored
    labels = before.label.copy()
    labels[:5] = -1
    subject = Subject.of_result(affinity(X, labels))
    session = Session(subject, type("Log", (), {"standing": {}, "path": tmp_path, "close": lambda self: None})())
    shown = Panels(session, Question())
    session.mark(0)
    assert shown.point()["label"] == "noise"
    assert "no label to trust" in shown.point()["story"][0]
    assert shown.queue()["standing"] == ["No label was found right or wrong yet."]
    assert headline(subject).startswith("295 labels:")
    assert "noise" in [kind for kind, _ in colouring(session, "verdict").legend]
    assert np.isnan(colouring(session, "cluster").values[0])


def test_clusters_that_come_apart_are_told_so(session, panels):
    session.show_cluster(0)
    assert panels.cluster()["company"]["state"] == "unknown"
    session.pairs = PairCompany(np.array([[0.3, 0.6, 0, 0], [0.6, 0.9, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]), 0.25)
    company = panels.cluster()["company"]
    assert company["split"]
    assert company["merged"] == ["1"]
    assert company["others"][0]["together"] == "60 %"


def test_colours_and_maps_that_are_not_there_are_refused(session):
    with pytest.raises(ValueError, match="cannot be coloured"):
        colouring(session, "feature:5")
    with pytest.raises(ValueError, match="there is no map"):
        Maps(session.subject)["moon"]
    assert [key for key, _ in choices(session)][:3] == ["trust", "cluster", "verdict"]


def test_a_table_of_scores_is_a_subject_without_affinities(scored, subject):
    _, result = scored
    made = subject_of_scores(result.columns(), title="scores")
    np.testing.assert_array_equal(made.codes, subject.codes)
    np.testing.assert_array_equal(made.verdict, subject.verdict)
    np.testing.assert_array_equal(made.rival, subject.rival)
    assert [line[:5] for line in made.clusters] == [line[:5] for line in subject.clusters]
    assert Maps(made).names == ["scores"]
    assert len(made.shares(0)) == 1
    with pytest.raises(ValueError, match="verdict has 'fine'"):
        subject_of_scores({**result.columns(), "verdict": ["fine"] * 300})


def test_counts_of_clusters_are_those_of_the_result(subject, scored):
    _, result = scored
    for line, figures in zip(subject.worst_first(), result.tally().worst_first(), strict=True):
        assert subject.classes[line.cluster] == figures.name
        assert line[1:5] == (figures.points, figures.supported, figures.contested, figures.contradicted)
        assert line.replication == pytest.approx(figures.replication)
        assert line.atypical == figures.atypical
        assert not line.rivals or subject.classes[line.rivals[0][0]] == figures.rival


def test_rows_that_are_not_all_of_the_data_keep_their_numbers(subject):
    some = replace(subject, numbers=np.arange(0, 600, 2), ids={})
    assert some.called(3) == "row 6"
    assert some.row_of(6) == 3
    assert some.row_of(7) is None
    assert some.row_of(10**6) is None


def test_umap_is_offered_where_it_is_installed_and_computed_once(subject, scored, monkeypatch):
    X, _ = scored
    calls = []

    class UMAP:
        def __init__(self, **settings):
            calls.append(settings)

        def fit_transform(self, values):
            np.testing.assert_array_equal(values, X)
            return X[:, :2].astype(np.float32)

    module = type("umap", (), {"UMAP": UMAP, "__spec__": object()})
    monkeypatch.setitem(sys.modules, "umap", module)
    maps = Maps(subject, seed=7)
    assert maps.names == ["PCA", "UMAP"]
    assert not calls
    assert maps["UMAP"] is maps["UMAP"]
    assert calls == [{"random_state": 7, "n_jobs": 1}]
    np.testing.assert_allclose(maps["UMAP"].x, X[:, 0], rtol=1e-6)


def test_a_doubtful_text_has_its_words_for_the_rival():
    texts = ["wave tide", "wave sail", "tide sail", "oven dough", "oven salt", "dough salt"] * 8 + ["Oven <b>dough"]
    places = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.4], [4.0, 4.0], [4.3, 4.1], [4.1, 4.4]] * 8 + [[3.6, 3.7]])
    result = affinity(places, ["sea", "sea", "sea", "kitchen", "kitchen", "kitchen"] * 8 + ["sea"])
    subject = Subject.of_result(result, showing=Showing.of(texts, None, 49))
    assert set(subject.words_for_rival(48)) == {"oven", "dough"}
    assert subject.words_for_rival(0) == []
    assert Subject.of_result(result).words_for_rival(48) == []
    assert Subject.of_result(result, showing=Showing.of(["?"] * 49, None, 49)).words_for_rival(48) == []


def test_words_are_marked_in_the_text():
    assert text_pieces("Oven <b>dough, doughnut", ["dough", "oven"]) == [
        ("Oven", True),
        (" <b>", False),
        ("dough", True),
        (", doughnut", False),
    ]
    assert text_pieces("salt. (c++)", ["(c++)"]) == [("salt. ", False), ("(c++)", True)]
    assert text_pieces("salt", []) == [("salt", False)]
    assert text_pieces(None, ["salt"]) == []
