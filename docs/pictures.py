"""Draw every kind of picture that allegiance makes.

``python docs/pictures.py`` writes the pictures of ``docs/plots.md`` to ``docs/images``; a folder may be named
instead, and ``--style dark_background`` draws them for dark pages.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs

from allegiance import AffinityResult, AffinityScorer, trust
from allegiance.displays import AffinityMapDisplay, AffinityProfileDisplay, FlowDisplay, GalleryDisplay

#: Four corners and a centre, as in the paper's figures.
CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 6.0], [0.0, 6.0], [3.0, 3.0]])


def five_clusters() -> tuple[np.ndarray, AffinityScorer]:
    """Return five Gaussians of 100 points in the plane, and a scorer of their k-means clusters."""
    X, _ = make_blobs(500, centers=CENTERS, cluster_std=1.0, random_state=1)
    return X, AffinityScorer(KMeans(5, n_init=10, random_state=0)).fit(X)


def contour_map() -> AffinityMapDisplay:
    """Draw the largest affinity as contours."""
    X, scorer = five_clusters()
    return AffinityMapDisplay.from_estimator(scorer, X)


def heat_map() -> AffinityMapDisplay:
    """Draw the largest affinity in grey, lower being brighter."""
    X, scorer = five_clusters()
    return AffinityMapDisplay.from_estimator(scorer, X, kind="heat")


def trust_map() -> AffinityMapDisplay:
    """Draw trust in the label that a point would get at each place."""
    X, _ = make_blobs(500, centers=CENTERS, cluster_std=1.0, random_state=1)
    scorer = AffinityScorer(KMeans(5, n_init=10, random_state=0), influence="within", calibration=20).fit(X)
    return AffinityMapDisplay.from_estimator(scorer, X)


def principal_plane() -> AffinityMapDisplay:
    """Draw the largest affinity on the plane of the principal axes of four features."""
    X = load_iris(as_frame=True).data
    scorer = AffinityScorer(KMeans(3, n_init=10, random_state=0)).fit(X)
    return AffinityMapDisplay.from_estimator(scorer, X)


@cache
def digits() -> AffinityResult:
    """Return trust in the labels of the ten k-means clusters of scikit-learn's digits, which are letters."""
    X = load_digits().data
    return trust(X, np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(X)])


def profile() -> AffinityProfileDisplay:
    """Draw the labels of each cluster of digits, sorted by trust."""
    return AffinityProfileDisplay.from_result(digits())


def flow() -> FlowDisplay:
    """Draw which clusters of digits are confused."""
    return FlowDisplay.from_result(digits())


def gallery() -> GalleryDisplay:
    """Draw the most and the least trusted digits."""
    return GalleryDisplay.from_result(digits(), load_digits().images, cmap="gray_r")


PICTURES: dict[str, Callable[[], object]] = {
    "map_contour": contour_map,
    "map_heat": heat_map,
    "map_trust": trust_map,
    "map_pca": principal_plane,
    "profile": profile,
    "flow": flow,
    "gallery_images": gallery,
}


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description="Draw every kind of picture that allegiance makes.")
    here = Path(__file__).resolve().parent / "images"
    parser.add_argument("folder", nargs="?", type=Path, default=here, help="where to (default: docs/images)")
    parser.add_argument("--style", default="default", help="a style of matplotlib, such as dark_background")
    parser.add_argument("--transparent", action="store_true", help="leave the background out")
    arguments = parser.parse_args()
    mpl.use("Agg")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with plt.style.context(arguments.style):
        for name, draw in PICTURES.items():
            figure = draw().figure_
            figure.savefig(arguments.folder / f"{name}.png", dpi=75, transparent=arguments.transparent)
            plt.close(figure)
            print(arguments.folder / f"{name}.png")


if __name__ == "__main__":
    main()
