"""Pictures of planes: no text over another, on light and on dark pages."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer
from allegiance.displays import AffinityMapDisplay, DiagramDisplay, SamplesDisplay, StolenAreaDisplay
from allegiance.displays._labels import place_labels

DRAWN = {
    "map": lambda scorer, X: AffinityMapDisplay.from_estimator(scorer, X, resolution=20),
    "heat": lambda scorer, X: AffinityMapDisplay.from_estimator(scorer, X, resolution=20, kind="heat"),
    "diagram": DiagramDisplay.from_estimator,
    "stolen": lambda scorer, X: StolenAreaDisplay.from_estimator(scorer, X.mean(axis=0), X),
    "samples": lambda scorer, X: SamplesDisplay.from_estimator(scorer, X.mean(axis=0), X),
}


@pytest.mark.parametrize(("k", "d", "style"), [(3, 2, "dark_background"), (30, 2, "default"), (5, 6, "default")])
@pytest.mark.parametrize("kind", DRAWN)
def test_texts_do_not_overlap(texts_in_order, kind, k, d, style):
    X, y = make_blobs(600, n_features=d, centers=k, random_state=1)
    scorer = AffinityScorer(eps=0.2, random_state=0).fit(X, y)
    with plt.style.context(style):
        display = DRAWN[kind](scorer, X)
        texts_in_order(display.figure_)
        page = np.array(to_rgb(display.ax_.get_facecolor())).mean()
        for text in display.figure_.findobj(Text):
            if text.get_text():
                assert abs(np.array(to_rgb(text.get_color())).mean() - page) > 0.4


def test_labels_at_one_place_move_apart_or_are_left_out(texts_in_order):
    figure, ax = plt.subplots(figsize=(3, 3))
    written = place_labels(ax, np.full((8, 2), 0.5), [f"label {i}" for i in range(8)])
    assert len(written) == 8
    texts_in_order(figure)
    _, small = plt.subplots(figsize=(0.9, 0.9))
    written = place_labels(small, np.full((50, 2), 0.5), [f"label {i}" for i in range(50)])
    assert len(written) < 50


def test_labels_keep_clear_of_symbols():
    figure, ax = plt.subplots()
    (label,) = place_labels(ax, np.array([[0.5, 0.5]]), ["here"], taken=np.array([[0.5, 0.5]]))
    figure.canvas.draw()
    spot = ax.transData.transform((0.5, 0.5))
    assert not label.get_window_extent().contains(*spot)
