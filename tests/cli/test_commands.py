"""The other commands: each gives what the library gives."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from allegiance import (
    AffinityScorer,
    ConsensusClustering,
    compare_clusterings,
    stability_curve,
    trust,
    validate_consensus,
)
from allegiance.cli._clustering import clusterer
from allegiance.io._old_tables import open_source
from cli.command import call


@pytest.fixture
def two_labels(tmp_path, points):
    X, groups = points
    np.savez(tmp_path / "two.npz", X=X, first=groups, second=(X[:, 0] > 3).astype(int) + 2 * (X[:, 1] > 3))
    return tmp_path / "two.npz"


def page_data(page):
    """Return what the scripts of a report know."""
    return json.loads(page.read_text().split('id="page-data">')[1].split("</script>")[0])


@pytest.mark.parametrize("command", [("report", "-o"), ("score", "--report")], ids=["report", "score"])
def test_rows_that_are_images_are_shown_as_such(command, flowers, tmp_path):
    page = tmp_path / "page.html"
    name, option = command
    call(name, flowers, "--labels", "species", "--id", "name", "--image-shape", "1x2", option, page)
    assert all(image.startswith("data:image/png;base64,") for image in page_data(page)["images"].values())


def test_an_image_shape_that_does_not_fit_the_rows_is_a_usage_error(flowers, tmp_path):
    words = ("report", flowers, "--labels", "species", "--id", "name", "-o", tmp_path / "page.html", "--image-shape")
    assert "3x3 is 9 numbers, but rows have 2" in call(*words, "3x3", code=2).stderr
    assert "'3' is not of the form HEIGHTxWIDTH" in call(*words, "3", code=2).stderr
    assert not (tmp_path / "page.html").exists()


def test_report_writes_a_page(flowers, tmp_path):
    page = tmp_path / "page.html"
    result = call("report", flowers, "--labels", "species", "--id", "name", "--title", "A <title>", "-o", page)
    text = page.read_text()
    assert "A &lt;title&gt;" in text
    assert "width" in text
    assert str(page) in result.stderr
    assert result.stdout == ""


def test_compare_gives_what_the_library_gives(two_labels, points, tmp_path):
    X, groups = points
    words = ["compare", two_labels, "--labels", "first", "--labels", "second", "--algorithm", "kmeans", "--clusters", 3]
    found = json.loads(call(*words, "-o", tmp_path / "compared.csv", "--json").stdout)
    second = (X[:, 0] > 3).astype(int) + 2 * (X[:, 1] > 3)
    candidates = {"first": groups, "second": second, "kmeans": clusterer("kmeans", 3, 0)}
    expected = compare_clusterings(X, candidates)
    assert [line["name"] for line in found["candidates"]] == ["first", "second", "kmeans"]
    assert [line["above_chance"] for line in found["candidates"]] == expected.above_chance.tolist()
    assert found["best"] == expected.best
    table = open_source(tmp_path / "compared.csv").read()
    assert table["best"].to_pylist() == expected.best_by_point.tolist()
    np.testing.assert_array_equal(table["trust_second"], expected.results["second"].trust)
    assert table["verdict_first"].to_pylist() == expected.results["first"].verdict.tolist()
    text = call(*words).stdout
    assert text.startswith(f"Most trust above chance: {expected.best}.\nOf 60 points, ")
    assert "have a supported label in every candidate" in text


def test_compare_puts_labels_above_the_same_labels_shuffled(points, tmp_path, rng):
    X, groups = points
    np.savez(tmp_path / "labels.npz", X=X, right=groups, shuffled=rng.permutation(groups))
    text = call("compare", tmp_path / "labels.npz", "--labels", "shuffled", "--labels", "right").stdout
    assert text.startswith("Most trust above chance: right.")
    assert "shuffled: The labels look unrelated to the data" in text


def test_consensus_gives_what_the_library_gives(two_labels, points, tmp_path):
    X, groups = points
    words = ["consensus", two_labels, "--clusters", 3, "--labels", "first", "--labels", "second", "--by", "hac"]
    found = json.loads(call(*words, "-o", tmp_path / "agreed.csv", "--json").stdout)
    second = (X[:, 0] > 3).astype(int) + 2 * (X[:, 1] > 3)
    model = ConsensusClustering({"first": groups, "second": second}, 3, method="hac", random_state=0).fit(X)
    validation = validate_consensus(X, model.labelings_, model.labels_)
    assert found["verdict"] == validation.verdict
    assert [line["clustering"] for line in found["clusterings"]] == ["first", "second", "consensus"]
    table = open_source(tmp_path / "agreed.csv").read()
    assert table["consensus"].to_pylist() == model.labels_.tolist()
    assert table["supported"].to_pylist() == validation.consensus_supported.tolist()
    assert table["label_first"].to_pylist() == groups.tolist()
    other = json.loads(call(*words, "--kernel", "laplacian:gamma=2", "--json").stdout)
    assert [line["clustering"] for line in other["clusterings"]] == ["first", "second", "consensus"]


def test_consensus_of_the_usual_five(flowers):
    result = call("consensus", flowers, "--clusters", 3, "--drop", "species", "--id", "name")
    for name in ["k-means", "single", "average", "complete", "ward", "consensus"]:
        assert name in result.stdout


def test_curve_gives_what_the_library_gives(flowers, points, tmp_path):
    X, _ = points
    words = ["curve", flowers, "--drop", "species", "--id", "name", "--clusters", "2-3,5", "--references", 2]
    words += ["--resamples", 4]
    result = call(*words, "-o", tmp_path / "curve.csv", "--json")
    scorer = AffinityScorer(calibration=4)
    expected = stability_curve(X, lambda k: clusterer("kmeans", k, 0), [2, 3, 5], n_references=2, scorer=scorer)
    assert json.loads(result.stdout)["suggested"] == expected.suggestion
    table = open_source(tmp_path / "curve.csv").read()
    assert table["n_clusters"].to_pylist() == [2, 3, 5]
    np.testing.assert_allclose(table["above_chance"], expected.above_chance)
    text = call(*words).stdout
    assert "above chance" in text
    assert ("Suggested: " in text) == (expected.suggestion is not None)
    # Not silent where there is no terminal, but quiet if told to be.
    assert "Clustering DATA and 2 tables without clusters" in result.stderr
    assert call(*words, "--quiet").stderr == ""


@pytest.mark.parametrize("kind", ["map", "heat", "diagram", "profile", "flow", "gallery", "stolen", "samples"])
def test_every_kind_of_picture(flowers, tmp_path, kind):
    out = tmp_path / "picture.png"
    call("plot", flowers, "--clusters", 4, "--drop", "species", "--id", "name", "--kind", kind, "-o", out, "--dpi", 50)
    assert out.read_bytes().startswith(b"\x89PNG")


def test_pictures_show_the_names_of_the_features(flowers, tmp_path):
    common = ["plot", flowers, "--labels", "species", "--id", "name"]
    call(*common, "-o", tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text()
    assert "<!-- width -->" in text
    assert "<!-- height -->" in text
    call(*common, "--kind", "gallery", "-o", tmp_path / "gallery.svg")
    assert "<!-- width -->" in (tmp_path / "gallery.svg").read_text()
    call(*common, "-o", tmp_path / "map.pdf", "--slice", "height,width")
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    assert "Did you mean 'width'" in call(*common, "-o", tmp_path / "x.png", "--slice", "height,widht", code=1).stderr
    assert not (tmp_path / "x.png").exists()


def test_pictures_of_images_and_single_rows(points, tmp_path, rng):
    X, groups = points
    np.savez(tmp_path / "images.npz", X=rng.uniform(size=(60, 12)) + X[:, :1], groups=groups)
    common = ["plot", tmp_path / "images.npz", "--labels", "groups", "--dpi", 50]
    call(*common, "--kind", "gallery", "--image-shape", "3x4", "--count", 3, "-o", tmp_path / "gallery.png")
    assert (
        "beyond the last row, 59"
        in call(*common, "--kind", "stolen", "--row", 60, "-o", tmp_path / "stolen.png", code=2).stderr
    )


def test_several_files_are_one_table(flowers, points, tmp_path):
    X, groups = points
    header, *rows = flowers.read_text().splitlines()
    for number, part in enumerate([rows[:25], rows[25:]]):
        (tmp_path / f"part-{number}.csv").write_text("\n".join([header, *part]))
    parts = [tmp_path / "part-0.csv", tmp_path / "part-1.csv"]
    found = json.loads(call("score", *parts, "--labels", "species", "--id", "name", "--json").stdout)
    assert found["replication"] == trust(X, groups).replication


@pytest.fixture
def album(tmp_path):
    """A table of two features, a text, an image file and a place for each row; one row lacks a feature."""
    from PIL import Image

    rng = np.random.default_rng(0)
    folder = tmp_path / "album"
    folder.mkdir()
    lines = ["name,a,b,group,comment,file,u,v"]
    for row in range(40):
        group = row % 2
        a, b = rng.normal(size=2) + 3 * group
        Image.new("RGB", (20, 10), (row, 0, 0)).save(folder / f"{row}.png")
        file = "" if row == 5 else f"{row}.png"
        lines.append(f'n{row},{"" if row == 0 else a},{b},{group},"comment <{row}>",{file},{row},{-row}')
    (folder / "album.csv").write_text("\n".join(lines) + "\n")
    return folder / "album.csv"


def test_report_shows_texts_image_files_and_own_coordinates(album, tmp_path):
    page = tmp_path / "page.html"
    words = ["--labels", "group", "--id", "name", "--impute", "drop", "--text", "comment", "--image-column", "file"]
    call("report", album, *words, "--coordinates", "u,v", "-o", page)
    text = page.read_text()
    assert "comment \\u003c7\\u003e" in text
    assert "Map: u and v, as given" in text
    data = page_data(page)
    assert len(data["images"]) == 38
    assert data["idNames"] == ["name"]
    assert "n0" not in data["ids"][0]
    # The row without a feature is left out, and the others keep their numbers.
    assert sorted(base64.b64decode(data["columns"]["row"]["data"])) == list(range(1, 40))
    assert data["features"] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--text", "nothing"], "nothing", 1),
        (["--coordinates", "u"], "'u' is not the names of two columns", 2),
        (["--coordinates", "u,comment"], "comment", 1),
        (["--image-column", "comment"], "names 'comment <0>' in row 0, which is not a file in", 1),
        (["--image-column", "file", "--image-shape", "1x2"], "leave one of them out", 2),
    ],
    ids=["text", "one coordinate", "coordinates", "image", "two images"],
)
def test_what_a_page_cannot_show_is_an_error_before_the_work(options, message, code, album, tmp_path):
    features = ["--features", "a,b", "--impute", "median"]
    result = call("report", album, "--labels", "group", *features, *options, "-o", tmp_path / "p.html", code=code)
    assert message in result.stderr
    assert not (tmp_path / "p.html").exists()


def test_a_page_of_rows_scored_by_a_model_shows_what_the_model_does_not_know(album, tmp_path):
    model, page = tmp_path / "album.model", tmp_path / "page.html"
    call("score", album, "--clusters", 2, "--features", "a,b", "--impute", "median", "--id", "name", "--save", model)
    call("score", album, "--model", model, "--text", "comment", "--coordinates", "u,v", "--report", page)
    data = page_data(page)
    assert sorted(data["texts"].values()) == sorted(f"comment <{row}>" for row in range(40))
    assert data["features"] == ["a", "b"]
    assert "Map: u and v, as given" in page.read_text()
