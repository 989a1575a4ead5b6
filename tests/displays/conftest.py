import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer


@pytest.fixture(autouse=True)
def figures():
    """Draw without a screen, and leave no figure behind."""
    import matplotlib.pyplot as plt

    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    plt.close("all")
    mpl.use(before)


@pytest.fixture
def blobs():
    """Four clusters in the plane, of positive numbers."""
    return make_blobs(160, centers=[[2.0, 2.0], [6.0, 3.0], [3.0, 7.0], [8.0, 8.0]], cluster_std=0.4, random_state=0)


@pytest.fixture
def scorer(blobs):
    return AffinityScorer().fit(*blobs)


def overlaps(texts):
    """Return the pairs of texts whose boxes intersect by more than half a pixel."""
    boxes = np.array([text.get_window_extent().extents for text in texts])
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    first, second = np.nonzero(np.triu((high - low > 0.5).all(axis=2), 1))
    return [(texts[i].get_text(), texts[j].get_text()) for i, j in zip(first, second, strict=True)]


@pytest.fixture
def texts_in_order(monkeypatch):
    """Draw a figure, and raise unless all its texts are inside it and none overlaps another."""
    from matplotlib.text import Text

    texts_by_id = {}
    draw = Text.draw

    def draw_and_remember(text, *args, **kw):
        texts_by_id[id(text)] = text
        return draw(text, *args, **kw)

    def check(figure):
        figure.canvas.draw()
        texts_by_id.clear()
        monkeypatch.setattr(Text, "draw", draw_and_remember)
        figure.canvas.draw()
        monkeypatch.undo()
        texts = [text for text in texts_by_id.values() if text.get_visible() and text.get_text().strip()]
        assert texts
        assert overlaps(texts) == []
        whole = figure.bbox
        for text in texts:
            box = text.get_window_extent()
            assert box.x0 >= whole.x0 - 1, text
            assert box.x1 <= whole.x1 + 1, text
            assert box.y0 >= whole.y0 - 1, text
            assert box.y1 <= whole.y1 + 1, text

    return check
