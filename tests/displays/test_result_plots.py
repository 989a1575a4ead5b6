"""Pictures as methods of a result."""

import numpy as np
import pytest

from allegiance import affinity, trust
from allegiance.displays import AffinityMapDisplay, AffinityProfileDisplay, FlowDisplay, GalleryDisplay


@pytest.fixture
def result(blobs):
    return trust(*blobs, n_resamples=3)


def test_the_usual_picture_is_the_profile(result):
    assert isinstance(result.plot(), AffinityProfileDisplay)
    np.testing.assert_array_equal(result.plot().frame()["row"], result.plot.profile().frame()["row"])


def test_other_pictures(result, blobs):
    assert isinstance(result.plot.flow(), FlowDisplay)
    assert isinstance(result.plot.gallery(blobs[0], n=2), GalleryDisplay)
    assert "plot.map(X)" in repr(result.plot)


def test_a_map_shows_trust_of_the_points(result, blobs):
    display = result.plot.map(blobs[0])
    assert isinstance(display, AffinityMapDisplay)
    frame = display.frame()
    np.testing.assert_array_equal(frame["trust"], result.trust)
    # Principal axes turn the data, so that distances stay.
    lengths = np.linalg.norm(frame[["x", "y"]].to_numpy() - frame[["x", "y"]].to_numpy()[0], axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(blobs[0] - blobs[0][0], axis=1))


def test_a_map_of_coordinates_or_of_affinities(result, blobs):
    places = np.random.default_rng(0).normal(size=(160, 2))
    np.testing.assert_array_equal(result.plot.map(projection=places).frame()[["x", "y"]], places)
    assert result.plot.map(which=2).frame()["affinity_2"].equals(result.frame(details=True)["affinity_2"])


def test_a_map_says_what_it_needs(result, blobs):
    with pytest.raises(ValueError, match="X has 3 rows"):
        result.plot.map(blobs[0][:3])
    with pytest.raises(ValueError, match="at least two columns"):
        result.plot.map(blobs[0][:, :1])
    with pytest.raises(ValueError, match="with all affinities"):
        affinity(*blobs, top=2).plot.map()
