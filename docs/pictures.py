"""Draw every kind of picture that allegiance makes.

``python docs/pictures.py`` writes the plots of the documentation to ``docs/images``, or to another folder: for light
pages, and as ``NAME_dark.png`` for dark ones. ``--only`` selects some. ``--report`` takes pictures of a notebook card
and of the report of a made-up table of customers instead, with Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityResult, AffinityScorer, stability_curve, trust
from allegiance.calibration import matches
from allegiance.displays import (
    AffinityFieldDisplay,
    AffinityProfileDisplay,
    FlowDisplay,
    GalleryDisplay,
    StabilityCurveDisplay,
)
from allegiance.domains import Polytope

#: Four corners and a center, as in the paper's figures.
CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 6.0], [0.0, 6.0], [3.0, 3.0]])


def five_clusters() -> tuple[np.ndarray, AffinityScorer]:
    """Return five Gaussians of 100 points in the plane, and a scorer of their k-means clusters."""
    X, _ = make_blobs(500, centers=CENTERS, cluster_std=1.0, random_state=1)
    return X, AffinityScorer(KMeans(5, n_init=10, random_state=0)).fit(X)


def contour_map() -> AffinityFieldDisplay:
    """Draw the largest affinity as contours."""
    X, scorer = five_clusters()
    return AffinityFieldDisplay(scorer, X).plot()


def heat_map() -> AffinityFieldDisplay:
    """Draw the largest affinity in gray, lower being brighter."""
    X, scorer = five_clusters()
    return AffinityFieldDisplay(scorer, X).plot(kind="heat")


def trust_map() -> AffinityFieldDisplay:
    """Draw trust in the label that a point would get at each place."""
    X, _ = make_blobs(500, centers=CENTERS, cluster_std=1.0, random_state=1)
    scorer = AffinityScorer(KMeans(5, n_init=10, random_state=0), influence="within", calibration=20).fit(X)
    return AffinityFieldDisplay(scorer, X).plot()


def principal_plane() -> AffinityFieldDisplay:
    """Draw the largest affinity on the plane of the principal axes of four features."""
    X = load_iris(as_frame=True).data
    scorer = AffinityScorer(KMeans(3, n_init=10, random_state=0)).fit(X)
    return AffinityFieldDisplay(scorer, X).plot()


@cache
def digits() -> AffinityResult:
    """Return trust in the labels of the ten k-means clusters of scikit-learn's digits, which are letters."""
    X = load_digits().data
    return trust(X, np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(X)])


def profile() -> AffinityProfileDisplay:
    """Draw the labels of each cluster of digits, sorted by trust."""
    return digits().plot()


def flow() -> FlowDisplay:
    """Draw which clusters of digits are confused."""
    return digits().plot.flow()


def gallery() -> GalleryDisplay:
    """Draw the most and the least trusted digits."""
    return digits().plot.gallery(load_digits().images, cmap="gray_r")


def curve() -> StabilityCurveDisplay:
    """Draw the stability curve of wine, as in ``examples/number_of_clusters.py``."""
    return stability_curve(StandardScaler().fit_transform(load_wine().data), KMeans(n_init=10)).plot()


class _Picture(NamedTuple):
    """A figure, under the name that displays use."""

    figure_: Figure


def two_samples() -> _Picture:
    """Draw a sample with its clusters, and the same points with the clusters of another sample."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4), sharex=True, sharey=True, layout="constrained")
    centers = [[0, 0], [3, 0], [1.5, 2.6], [6, 3]]
    samples = [make_blobs(240, centers=centers, cluster_std=1.0, random_state=seed)[0] for seed in (1, 2)]
    first, second = (KMeans(4, n_init=10, random_state=0).fit(X) for X in samples)
    X, labels = samples[0], first.labels_
    ink = plt.rcParams["text.color"]
    same = matches(labels, second.predict(X))
    axes[0].set_title("a sample, clustered")
    axes[1].set_title(f"another sample: {same.mean():.0%} of the labels hold up")
    for place, fitted, other in zip(axes, (first, second), (None, samples[1]), strict=True):
        grid = np.stack(np.meshgrid(np.linspace(-3.5, 9.5, 300), np.linspace(-3.5, 6.5, 300)), axis=-1)
        cells = fitted.predict(grid.reshape(-1, 2)).reshape(300, 300)
        place.contour(grid[..., 0], grid[..., 1], cells, levels=np.arange(3) + 0.5, colors="0.6", linewidths=0.8)
        if other is not None:
            place.scatter(*other.T, s=6, color=ink, alpha=0.2, linewidths=0)
        place.scatter(*X[same].T, s=12, c=labels[same], cmap="tab10", vmin=0, vmax=9)
        place.scatter(*X[~same].T, s=36, c=labels[~same], cmap="tab10", vmin=0, vmax=9, marker="X", edgecolors=ink)
        place.set_xticks([])
        place.set_yticks([])
    return _Picture(figure)


def territory(sites: list[list[float]], query: list[float], reach: float) -> _Picture:
    """Draw the territory of one point in a square around the origin, colored by the cluster each part is taken from."""
    centers, colors = np.array(sites), np.array(mpl.color_sequences["tab10"][: len(sites)])
    square = Polytope.box([-reach, -reach], [reach, reach])
    scorer = AffinityScorer(centers=centers, domain=square, engine="exact", influence="euclidean").fit(centers)
    axis = np.linspace(-reach, reach, 801)
    places = np.stack(np.meshgrid(axis, axis), axis=-1)
    distance = np.linalg.norm(places[..., None, :] - centers, axis=-1)
    taken = np.linalg.norm(places - query, axis=-1) < distance.min(axis=-1)
    figure, ax = plt.subplots(figsize=(5.4, 5.4), layout="constrained")
    owner = distance.argmin(axis=-1)
    pixels = np.concatenate([colors[owner], np.where(taken, 0.8, 0.2)[..., None]], axis=-1)
    ax.imshow(pixels, origin="lower", extent=(-reach, reach, -reach, reach))
    ink = plt.rcParams["text.color"]
    ax.contour(axis, axis, owner, levels=np.arange(len(sites) - 1) + 0.5, colors=ink, linewidths=0.8)
    ax.scatter(*centers.T, marker="x", color=ink)
    ax.scatter(*query, marker="*", s=130, color=ink)
    for number, (center, share) in enumerate(zip(centers, scorer.transform([query])[0], strict=True), 1):
        text = f"c{number}: {share:.0%}"
        ax.annotate(text, center, (0, 8), textcoords="offset points", ha="center", fontweight="bold")
    ax.set_xticks([])
    ax.set_yticks([])
    return _Picture(figure)


def affinity_of_a_point() -> _Picture:
    """Draw what a point between three clusters takes from each."""
    return territory([[-3, -3], [3, -2], [-0.5, 3]], [-0.4, -0.8], 5)


def affinity_is_not_distance() -> _Picture:
    """Draw what a point takes from four clusters, as in ``examples/affinity_is_not_distance.py``."""
    return territory([[0, -2], [-3, 0], [3, 0], [3, 3]], [0, 0], 6)


PICTURES: dict[str, Callable[[], object]] = {
    "map_contour": contour_map,
    "map_heat": heat_map,
    "map_trust": trust_map,
    "map_pca": principal_plane,
    "profile": profile,
    "flow": flow,
    "gallery_images": gallery,
    "two_samples": two_samples,
    "stability_curve": curve,
    "affinity": affinity_of_a_point,
    "affinity_is_not_distance": affinity_is_not_distance,
}


def customers(path: Path) -> Path:
    """Write a made-up table of 3,000 customers of five kinds, which overlap."""
    rng = np.random.default_rng(7)
    # Of each kind: orders a year, basket, share on discount, months as a customer, share bought on a phone.
    kinds = np.array([[3, 55, 0.1, 20, 0.3], [14, 40, 0.15, 50, 0.5], [7, 160, 0.05, 40, 0.2], [9, 30, 0.6, 15, 0.85],
                      [2, 90, 0.45, 60, 0.4]])  # fmt: skip
    kind = rng.choice(5, size=3000, p=[0.3, 0.25, 0.15, 0.2, 0.1])
    orders, basket, discount, months, phone = kinds[kind].T
    returns = rng.beta(2, 14, size=kind.size) * np.where(kind == 3, 2.0, 1.0)
    table = {
        "customer_id": [f"C{number:05d}" for number in rng.permutation(kind.size) + 10_000],
        "orders_per_year": 1 + rng.poisson(orders * rng.lognormal(0, 0.4, kind.size)),
        "average_basket": (basket * rng.lognormal(0, 0.45, kind.size)).round(2),
        "discount_share": np.clip(rng.normal(discount, 0.18), 0, 1).round(2),
        "months_as_customer": np.clip(rng.normal(months, 18), 1, None).round().astype(int),
        "phone_share": np.clip(rng.normal(phone, 0.25), 0, 1).round(2),
        "return_rate": np.clip(returns, 0, 1).round(3),
        "newsletter": np.where(rng.random(kind.size) < np.where(kind == 1, 0.8, 0.35), "yes", "no"),
        "region": rng.choice(["North", "South", "East", "West"], size=kind.size),
    }
    pd.DataFrame(table).to_csv(path, index=False)
    return path


#: Styles of plots and themes of pages, with the ending of the file name.
STYLES = {"default": "", "dark_background": "_dark"}
THEMES = {"light": "", "dark": "_dark"}
#: Pictures of the report: width and height of the window, and the element at the top.
SCREENS = {
    "report": (1400, 1050, None),
    "report_map": (1400, 1050, "#views-heading"),
    "report_columns": (1400, 820, "#heat-section"),
    "report_phone": (390, 1100, None),
}


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"))) as driver:
        yield driver


def screenshots(folder: Path) -> None:
    """Take pictures of a notebook card and of the report of a table of customers."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    with tempfile.TemporaryDirectory() as temporary, browser() as driver:
        card = Path(temporary) / "card.html"
        wine = load_wine(as_frame=True).data
        wine = (wine - wine.mean()) / wine.std()
        html = trust(wine, KMeans(3, n_init=10, random_state=0).fit_predict(wine))._repr_html_()
        style = "color-scheme: light dark; background: Canvas; color: CanvasText"
        style += "; display: inline-block; padding: 8px; font-family: sans-serif"
        card.write_text(f"<!doctype html><div id=card style='{style}'>{html}</div>", encoding="utf-8")
        driver.set_window_size(840, 1200)
        for theme, ending in THEMES.items():
            show(driver, card, theme)
            driver.find_element(By.ID, "card").screenshot(str(folder / f"card{ending}.png"))
            reduce_colors(folder / f"card{ending}.png")
        page = Path(temporary) / "report.html"
        table = customers(Path(temporary) / "customers.csv")
        command = [sys.executable, "-m", "allegiance", "score", table, "--clusters", "5", "--report", page]
        subprocess.run(command, check=True)
        for (name, (width, height, target)), (theme, ending) in product(SCREENS.items(), THEMES.items()):
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            show(driver, page, theme)
            ready = "return document.documentElement.dataset.ready === 'true'"
            WebDriverWait(driver, 60).until(lambda driver, ready=ready: driver.execute_script(ready))
            if target is not None:
                driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", target)
            driver.execute_async_script("setTimeout(arguments[0], 500)")
            driver.save_screenshot(str(folder / f"{name}{ending}.png"))
            reduce_colors(folder / f"{name}{ending}.png")


def show(driver: Any, page: Path, theme: str) -> None:
    """Open a page in the light or the dark theme."""
    features = [{"name": "prefers-color-scheme", "value": theme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get(page.as_uri())


def reduce_colors(path: Path) -> None:
    """Rewrite a picture with 256 colors, rare ones included, in a third of its size."""
    picture = Image.open(path).convert("RGB")
    picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(path)


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description="Draw every kind of picture that allegiance makes.")
    here = Path(__file__).resolve().parent / "images"
    parser.add_argument("folder", nargs="?", type=Path, default=here, help="output folder (default: docs/images)")
    parser.add_argument("--only", nargs="+", choices=PICTURES, metavar="NAME", default=list(PICTURES))
    parser.add_argument("--report", action="store_true", help="take pictures of a report instead")
    arguments = parser.parse_args()
    mpl.use("Agg")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.report:
        screenshots(arguments.folder)
        return
    for name, (style, ending) in product(arguments.only, STYLES.items()):
        with plt.style.context(style):
            figure = PICTURES[name]().figure_
            figure.savefig(arguments.folder / f"{name}{ending}.png", dpi=75)
            plt.close(figure)
        reduce_colors(arguments.folder / f"{name}{ending}.png")


if __name__ == "__main__":
    main()
