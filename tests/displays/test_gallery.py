"""The most and the least trusted rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from allegiance import affinity, trust
from allegiance.displays import GalleryDisplay


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    X, y = data.data[:300], data.target[:300]
    return X, trust(X, y, n_resamples=5, eps=0.1)


def test_extremes_overall(digits):
    X, result = digits
    display = GalleryDisplay(result, X, image_shape=(8, 8), n=6).plot()
    examples = display.examples
    order = np.sort(result.trust)
    most, least = examples["group"] == "most trusted", examples["group"] == "least trusted"
    np.testing.assert_array_equal(examples["trust"][most], order[::-1][:6])
    np.testing.assert_array_equal(examples["trust"][least], order[:6])
    rows = examples["row"]
    np.testing.assert_array_equal(examples["label"], result.label[rows])
    np.testing.assert_array_equal(examples["rival"], result.rival[rows])
    np.testing.assert_array_equal(examples["verdict"], result.verdict[rows])
    for text, row in zip(display.texts_, rows, strict=False):
        assert text.get_text() == f"{result.label[row]}: {result.trust[row]:.2f}\nrival {result.rival[row]}"


def test_without_calibration_rows_are_ranked_by_own_affinity(digits):
    X, result = digits
    plain = affinity(X, result.label, eps=0.1)
    display = GalleryDisplay(plain, X, image_shape=(8, 8), n=3).plot()
    np.testing.assert_array_equal(display.frame()["own_affinity"][3:], np.sort(plain.own_affinity)[:3])
    assert "label and own affinity" in display.ax_.get_title()


@pytest.mark.parametrize("per_cluster", [False, True])
def test_every_row_is_shown_once_and_noise_never(digits, per_cluster):
    X, result = digits
    labels = np.where(np.arange(300) % 3 == 0, -1, result.label)
    examples = GalleryDisplay(
        affinity(X, labels, eps=0.1), X, image_shape=(8, 8), n=200, per_cluster=per_cluster
    ).examples
    assert sorted(examples["row"]) == np.flatnonzero(labels >= 0).tolist()


def test_extremes_of_each_cluster(digits):
    X, result = digits
    examples = GalleryDisplay(result, X, image_shape=(8, 8), n=3, per_cluster=True).examples
    for name in range(10):
        order = np.sort(result.trust[result.label == name])
        mine = examples["cluster"] == str(name)
        np.testing.assert_array_equal(examples["trust"][mine], [*order[::-1][:3], *order[:3]])
        assert (examples["label"][mine] == name).all()


def test_images_are_those_of_the_rows(digits):
    X, result = digits
    display = GalleryDisplay(result, X, image_shape=(8, 8), n=4).plot()
    assert len(display.images_) == 8
    for image, row in zip(display.images_, display.examples["row"], strict=True):
        np.testing.assert_array_equal(image.get_array(), X[row].reshape(8, 8))
    for same in (X.reshape(-1, 8, 8), sp.csr_matrix(X)):
        shape = None if same.ndim == 3 else (8, 8)
        again = GalleryDisplay(result, same, image_shape=shape, n=4)
        np.testing.assert_array_equal(again.images, display.images)
    colors = np.repeat(X[:, :, None] * 15.9, 3, axis=2).reshape(-1, 8, 8, 3)
    display = GalleryDisplay(result, colors.reshape(300, -1), image_shape=(8, 8, 3), n=2).plot()
    np.testing.assert_allclose(display.images_[0].get_array(), colors[display.examples["row"][0]] / 255)


@pytest.mark.parametrize("names", ["short", "long"])
@pytest.mark.parametrize("per_cluster", [False, True])
def test_texts_do_not_overlap(texts_in_order, per_cluster, names):
    data = load_digits(n_class=4)
    X = data.data[:120]
    labels = np.array([f"the cluster called {c}" if names == "long" else str(c) for c in data.target[:120]])
    result = affinity(X, labels, eps=0.1)
    display = GalleryDisplay(result, X, image_shape=(8, 8), n=3, per_cluster=per_cluster).plot()
    texts_in_order(display.figure_)


def test_mistakes(digits):
    X, result = digits
    with pytest.raises(ValueError, match="X has 299 rows but result has 300 points"):
        GalleryDisplay(result, X[1:])
    for shape in (None, (8, 9), 64, (8, 8, 1)):
        with pytest.raises(ValueError, match="image_shape"):
            GalleryDisplay(result, X, image_shape=shape)
    with pytest.raises(ValueError, match="n must be at least 1"):
        GalleryDisplay(result, X, image_shape=(8, 8), n=0)
