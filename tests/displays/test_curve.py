"""The curve of trust above chance, and labels that do not overlap."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans

from allegiance import stability_curve
from allegiance.applications import StabilityCurve
from allegiance.displays import StabilityCurveDisplay


@pytest.fixture
def curve(blobs):
    return stability_curve(blobs[0], KMeans(n_init=2), range(2, 7), n_references=2)


def test_draws_the_numbers_of_the_curve(curve):
    _, ax = plt.subplots()
    display = curve.plot(ax=ax)
    assert isinstance(display, StabilityCurveDisplay)
    assert display.ax_ is ax
    columns = list(curve.columns().values())
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack(columns[:2]))
    assert display.suggestion_.get_xydata()[0, 0] == 4
    assert len(display.reference_) == 2
    np.testing.assert_array_equal(display.frame()["above_chance"], columns[1])
    assert display.frame()["suggested"].sum() == 1


def test_a_curve_over_another_parameter_without_a_suggestion():
    flat = StabilityCurve(
        np.array([0.1, 0.3, 1.0]), np.arange(3), np.full((3, 4), 0.4), np.full((2, 3), 0.4), "resolution"
    )
    display = flat.plot()
    assert display.suggestion_ is None
    assert display.ax_.get_xlabel() == "resolution"
    assert not display.frame()["suggested"].any()
