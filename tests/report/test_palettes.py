from itertools import pairwise

from allegiance.report._palettes import palettes
from report.colours import contrast

PAGES = {"light": "#ffffff", "dark": "#14171d"}


def test_low_trust_stands_out_most_on_either_page_and_everything_can_be_seen():
    for theme, colours in palettes().items():
        seen = [contrast(colour, PAGES[theme]) for colour in colours]
        assert seen[0] > 10
        assert min(seen) > 1.9
        # Rounding to whole numbers of a channel aside.
        assert all(one >= other - 0.03 for one, other in pairwise(seen))


def test_orange_is_low_and_blue_is_high_on_either_page():
    for colours in palettes().values():
        warmth = [int(colour[1:3], 16) - int(colour[5:7], 16) for colour in colours]
        assert warmth[0] > 80
        assert warmth[len(warmth) // 2] > 80
        assert warmth[-1] < -50
