"""Labels against rivals, counted one by one."""

import numpy as np
import pytest

from allegiance import affinity, trust
from allegiance.displays import AffinityMapDisplay, AffinityProfileDisplay, FlowDisplay


@pytest.fixture(params=["trust", "affinity"])
def result(request, rng):
    X = rng.normal(size=(400, 3))
    # Five parts that do not follow the nearest mean everywhere.
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-1.0, -0.3, 0.3, 1.0])
    labels[:30] = -1
    return trust(X, labels, n_resamples=5) if request.param == "trust" else affinity(X, labels)


@pytest.mark.parametrize("which", ["doubtful", "all"])
def test_counts(result, which):
    expected = np.zeros((6, 5), dtype=int)
    for row in range(len(result)):
        if which == "doubtful" and result.verdict[row] == "supported":
            continue
        label = result.label[row]
        ranked = np.argsort(-result.affinity[row], kind="stable")
        rival = ranked[0] if result.classes[ranked[0]] != label else ranked[1]
        expected[label if label >= 0 else 5, rival] += 1
    display = FlowDisplay(result, which=which).plot()
    np.testing.assert_array_equal(display.counts, expected)
    assert display.frame()["label"].unique().tolist() == ["0", "1", "2", "3", "4", "noise"]
    assert (np.diag(display.counts[:5]) == 0).all()
    np.testing.assert_array_equal(display.points, np.bincount(result.label % 6, minlength=6))
    title = " ".join(display.ax_.get_title().split())
    assert (f"{expected[:5].sum()} of 370" if which == "doubtful" else "370 labels") in title
    assert "30 noise points" in title
    frame = display.frame()
    assert len(frame) == 6 * 5 - 5
    assert frame["points"].sum() == expected.sum()
    np.testing.assert_allclose(frame["share"], frame["points"] / np.repeat(display.points, [4, 4, 4, 4, 4, 5]))


def test_numbers_in_the_squares(result):
    display = FlowDisplay(result, which="all").plot()
    assert len(display.texts_) == np.count_nonzero(display.counts)
    for text in display.texts_:
        column, row = (int(value) for value in text.get_position())
        assert text.get_text() == str(display.counts[row, column])


def test_large_counts_are_shortened():
    display = FlowDisplay(affinity([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1]))
    display.counts = np.array([[0, 123_456], [9_999, 0]])
    assert [text.get_text() for text in display.plot().texts_] == ["123k", "9999"]


def test_no_doubtful_points_at_all():
    X = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]])
    display = FlowDisplay(affinity(X, [0, 0, 1, 1])).plot()
    assert display.counts.sum() == 0
    assert [text.get_text() for text in display.texts_] == ["no such points"]


@pytest.mark.parametrize(("k", "names"), [(2, "long"), (8, "long"), (30, "short")])
def test_texts_do_not_overlap(texts_in_order, rng, k, names):
    X = rng.normal(size=(60 * k, 2))
    labels = rng.permutation(np.arange(60 * k) % k)
    labels = np.array([f"a long name of {i}" if names == "long" else f"c{i}" for i in labels])
    texts_in_order(FlowDisplay(affinity(X, labels, eps=0.2), which="all").plot().figure_)


def test_mistakes(result):
    with pytest.raises(ValueError, match="which must be one of"):
        FlowDisplay(result, which="unstable")
    with pytest.raises(ValueError, match="at least two clusters"):
        FlowDisplay(affinity(np.zeros((3, 2)) + np.arange(3)[:, None], [0, 0, 0]))
    for display in (FlowDisplay, AffinityProfileDisplay, AffinityMapDisplay.from_result):
        with pytest.raises(TypeError, match="AffinityResult"):
            display("result")
