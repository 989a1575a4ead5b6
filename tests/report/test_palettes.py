import colorsys
from itertools import pairwise

import numpy as np
import pytest

from allegiance.report import VERDICT_COLOURS, cluster_colours, trust_palette
from browsing.colours import contrast, luminance

PAGES = ("#ffffff", "#14171d")


@pytest.mark.parametrize(
    "colours", [trust_palette(), VERDICT_COLOURS, cluster_colours(200)], ids=["trust", "verdict", "cluster"]
)
def test_every_colour_can_be_seen_on_a_light_and_on_a_dark_page(colours):
    assert min(contrast(colour, page) for colour in colours for page in PAGES) > 3


def test_trust_goes_from_strong_orange_to_calm_blue():
    colours = trust_palette()
    channels = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours])
    warmth = channels[:, 0] - channels[:, 2]
    assert warmth[0] > 100
    assert warmth[-1] < -50
    assert (np.diff(warmth[len(warmth) // 4 :]) <= 0).all()
    assert luminance(colours[0]) < luminance(colours[-1])


def test_neighbouring_clusters_are_told_apart():
    hues = [colorsys.rgb_to_hls(*(int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0] for c in cluster_colours(60)]
    apart = [min(abs(a - b), 1 - abs(a - b)) for a, b in pairwise(hues[10:])]
    assert min(apart) > 0.3
    assert len(set(cluster_colours(60))) == 60
