"""The curve of trust above chance."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from allegiance import stability_curve
from allegiance.displays import StabilityCurveDisplay


@pytest.fixture
def curve(blobs):
    return stability_curve(blobs[0], KMeans(n_init=2), range(2, 7), n_references=2)


def test_draws_the_numbers_of_the_curve(curve):
    display = curve.plot()
    assert isinstance(display, StabilityCurveDisplay)
    assert display.frame().equals(curve.frame())
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([curve.n_clusters, curve.above_chance]))
    assert display.suggestion_.get_xydata().tolist() == [[4, curve.above_chance[2]]]
    assert len(display.reference_) == 2


def test_draws_on_axes_of_the_users(curve):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = curve.plot(ax=ax, show_reference=False)
    assert display.ax_ is ax
    assert display.reference_ == []


def test_a_curve_without_a_suggestion_has_none_to_mark():
    flat = {name: np.full(3, 0.4) for name in ("above_chance", "low", "high", "reference", "reference_high")}
    assert StabilityCurveDisplay(n_clusters=np.arange(2, 5), **flat).plot().suggestion_ is None


def test_shows_itself_in_a_notebook(curve):
    shown = curve._repr_html_()
    assert "<svg" in shown
    assert curve.verdict in shown
