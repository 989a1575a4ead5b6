"""What is passed along with a result: features, a table, ids, positions on the map, texts, images."""

import base64
import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

from allegiance import affinity
from allegiance.report._inputs import check_features, check_images, check_inputs, check_map


@pytest.fixture(scope="module")
def result():
    return affinity(np.eye(4), [0, 1, 2, 0], random_state=0)


def test_names_of_features():
    assert check_features(np.ones((2, 3)), None, 2).names == ["x0", "x1", "x2"]
    assert not check_features(np.ones((2, 3)), None, 2).are_named
    assert check_features(pd.DataFrame(np.ones((2, 1)), columns=["a"]), None, 2).are_named


COLUMNS = {
    "age": [3, 40, None, 7],
    "price": [1.5, 2.5, float("nan"), 1e9],
    "plan": ["basic", "pro", None, "basic"],
    "since": [datetime.date(2024, 1, 2), None, datetime.date(2024, 1, 3), datetime.date(2025, 12, 31)],
    "note": ["a", "b", "c", "d"],
    "member": [True, False, True, None],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_table_is_read_by_its_kinds(make, result):
    table = make(COLUMNS)
    if isinstance(table, pd.DataFrame):
        table["since"] = pd.to_datetime(table["since"])
        table["plan"] = table["plan"].astype("category")
    columns = check_inputs(result, data=table).columns
    assert {column.name: (column.kind, [column.text(row) for row in range(4)]) for column in columns} == {
        "age": ("number", ["3", "40", None, "7"]),
        "price": ("number", ["1.5", "2.5", None, "1000000000"]),
        "plan": ("category", ["basic", "pro", None, "basic"]),
        "since": ("date", ["2024-01-02", None, "2024-01-03", "2025-12-31"]),
        "note": ("text", ["a", "b", "c", "d"]),
        "member": ("category", ["True", "False", "True", None]),
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_moments_with_microseconds_and_numbers_with_missing_markers_keep_their_kind(make, result):
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    table = make(
        {"at": [moment, None, moment, moment], "age": ["31", "?", "n/a", "54.5"], "code": ["1", "2", "1", "2"]}
    )
    columns = check_inputs(result, data=table).columns
    assert [column.kind for column in columns] == ["date", "number", "category"]
    assert [columns[0].text(row) for row in range(2)] == ["2024-01-02T03:04:05", None]
    np.testing.assert_array_equal(columns[1].values, [31, np.nan, np.nan, 54.5])


def test_X_may_be_a_mixed_frame_or_have_many_features(result, rng):
    mixed = check_inputs(result, pd.DataFrame(COLUMNS))
    assert (mixed.features, len(mixed.columns)) == (None, len(COLUMNS))
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 250))
    X[:, [7, 200]] += 50 * labels[:, None]
    columns = check_inputs(affinity(X[:, :5], labels, random_state=0), X).columns
    assert len(columns) == 200
    assert {"x7", "x200"} <= {column.name for column in columns}  # Those that separate clusters are kept.


TABLE = pd.DataFrame(COLUMNS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"X": np.ones((3, 2))}, "X has 3 rows but the result has 4 points"),
        ({"X": np.full((4, 2), np.nan)}, "X"),
        ({"X": [["a"]] * 4}, "X contains text in column 0"),
        ({"X": np.ones(4)}, "X|2D"),
        ({"X": np.ones((4, 2)), "feature_names": ["a"]}, "feature_names has 1 entries but X has 2 columns"),
        ({"X": np.ones((4, 2)), "feature_names": "ab"}, "feature_names must be one name for each column"),
        ({"feature_names": ["a"]}, "feature_names names the columns of X"),
        ({"data": pd.DataFrame({"a": [1]})}, "data has 1 rows but the result has 4 points"),
        ({"data": [1, 2, 3, 4]}, "data must be a frame"),
        ({"ids": [1, 2]}, "ids has 2 entries but the result has 4 points"),
        ({"ids": "four"}, "ids names the column 'four', which data does not have: pass data="),
        ({"ids": "customer", "data": TABLE}, "'customer', which data does not have"),
        ({"texts": ["a", "b", "c", 5]}, r"texts\[3\] is 5 \(int\)"),
        ({"row_numbers": [0.5, 1, 2, 3]}, "row_numbers must be whole numbers"),
        ({"row_numbers": [1, 1, 2, 3]}, "same number twice"),
        ({"data": TABLE, "describe_by": ["age", "height"]}, "describe_by names 'height'"),
        ({"data": TABLE, "map": ("age", "plan")}, "map names 'plan', which is not a column of numbers"),
        ({"map": np.ones((4, 3))}, r"map must have shape \(4, 2\)"),
        ({"map": np.full((4, 2), np.nan)}, "map contains NaN"),
        ({"map": [["p", "q"]] * 4}, "map must be"),
        ({"images": np.ones((3, 5, 5))}, "images has 3 entries but the result has 4 points"),
        ({"images": ["a.png"] * 3}, "images has 3 entries but the result has 4 points"),
        ({"images": np.ones((4, 25))}, "images must have shape"),
        ({"images": np.ones((4, 5, 5, 4))}, "images must have shape"),
        ({"images": np.ones((4, 0, 5))}, "images must have shape"),
        ({"images": [np.ones((5, 5)), *[np.ones((6, 6))] * 3]}, "the same height"),
        ({"images": np.ones((4, 5, 5), dtype=complex)}, "images must be an array of numbers or paths"),
        ({"images": "photo.png"}, "images must have one entry for each point"),
        ({"images": np.full((4, 5, 5), np.inf)}, "images contains NaN or infinity"),
    ],
)
def test_what_does_not_fit_is_named(settings, message, result):
    with pytest.raises((ValueError, TypeError), match=message):
        check_inputs(result, **settings).images.thumbnail(0)


def test_ids_are_values_columns_of_the_table_or_an_index(result):
    frame = pd.DataFrame(COLUMNS)
    assert check_inputs(result, ids=(7, 8, 9, 1)).ids == {"id": [7, 8, 9, 1]}
    assert check_inputs(result, ids=["p", "q", "r", "s"]).ids == {"id": ["p", "q", "r", "s"]}
    named = check_inputs(result, data=frame, ids="note")
    assert named.ids == {"note": ["a", "b", "c", "d"]}
    assert "note" not in [column.name for column in named.columns]
    two = check_inputs(result, ids=pa.table({"shop": [1, 2, 3, 4], "label": [5, 6, 7, 8]}))
    assert list(two.ids) == ["shop", "label (id)"]
    X = pd.DataFrame(np.eye(4), index=list("wxyz"))
    assert check_inputs(affinity(X, [0, 1, 2, 0], random_state=0), X).ids == {"id": ["w", "x", "y", "z"]}
    assert check_inputs(result, pl.DataFrame(np.eye(4))).ids == {}


def test_positions_are_named_by_their_frame_or_are_two_columns(result):
    frame = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["umap 1", "umap 2"])
    values, names = check_map(frame, 4)
    assert values.tolist() == frame.to_numpy().tolist()
    assert names == ("umap 1", "umap 2")
    values, names = check_inputs(result, data=pd.DataFrame(COLUMNS), map=("age", "price")).coordinates
    assert names == ("age", "price")
    assert values[[0, 1, 3], 0].tolist() == [3, 40, 7]
    assert values[2].tolist() == [7, 2.5]  # The medians, where a value is missing.


def decode_pixels(thumbnail):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(thumbnail.partition(",")[2]))))


@pytest.mark.parametrize("shape", [(4, 7, 5), (4, 7, 5, 3)], ids=["grey", "colour"])
def test_bytes_are_taken_as_they_are(shape, rng):
    pixels = rng.integers(10, 200, size=shape, dtype=np.uint8)
    images = check_images(pixels, 4)
    for row in (2, 0):
        np.testing.assert_array_equal(decode_pixels(images.thumbnail(row)), pixels[row])


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        *((np.array([[[-5, 0, 5]]], dtype=dtype), [[0, 128, 255]]) for dtype in (np.float64, np.float32, np.int64)),
        ([[[True, False]]], [[255, 0]]),
        (np.full((1, 2, 2), 3.0), [[0, 0], [0, 0]]),
    ],
    ids=["double", "single", "whole", "truth", "constant"],
)
def test_other_numbers_are_stretched(pixels, expected):
    assert decode_pixels(check_images(pixels, 1).thumbnail(0)).tolist() == expected


def test_an_array_on_disk_is_not_read_whole(tmp_path, rng):
    pixels = rng.integers(255, size=(50, 8, 8), dtype=np.uint8)
    np.save(tmp_path / "pixels.npy", pixels)
    images = check_images(np.load(tmp_path / "pixels.npy", mmap_mode="r"), 50)
    assert isinstance(images._source, np.memmap)
    np.testing.assert_array_equal(decode_pixels(images.thumbnail(31)), pixels[31])


@pytest.fixture
def album(tmp_path, rng):
    """Four image files of different kinds, and a point without one."""
    photo = rng.integers(255, size=(300, 400, 3), dtype=np.uint8)
    Image.fromarray(photo).save(tmp_path / "photo.jpg")
    Image.fromarray(photo[:10, :20]).save(tmp_path / "small.png")
    half = np.zeros((40, 40, 4), dtype=np.uint8)
    half[:, :20] = (255, 0, 0, 255)
    Image.fromarray(half).save(tmp_path / "half.png")
    turned = Image.fromarray(photo)
    exif = turned.getexif()
    exif[274] = 6  # Hold the picture a quarter turned.
    turned.save(tmp_path / "turned.jpg", exif=exif)
    names = ["photo.jpg", "small.png", None, "half.png", "turned.jpg", ""]
    return check_images([name and tmp_path / name for name in names], 6)


def test_files_become_small_upright_images_on_white(album):
    sizes = [decode_pixels(album.thumbnail(row)).shape[:2] for row in (0, 1, 3, 4)]
    assert sizes == [(72, 96), (10, 20), (40, 40), (96, 72)]
    half = decode_pixels(album.thumbnail(3))
    assert half[0, 0].tolist() == [255, 0, 0]
    assert half[0, 39].tolist() == [255, 255, 255]
    assert album.thumbnail(2) is None
    assert album.thumbnail(5) is None
    assert [album.thumbnail(row)[11:15] for row in (0, 1)] == ["jpeg", "png;"]
    assert max(decode_pixels(album.thumbnail(0, longest=24)).shape) == 24


@pytest.mark.parametrize("name", ["missing.png", "text.png", "cut.png", "program.eps"])
def test_a_file_that_is_not_an_image_is_named_with_its_row(name, tmp_path):
    (tmp_path / "text.png").write_text("not an image")
    Image.new("RGB", (50, 50)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:60])
    (tmp_path / "program.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    images = check_images([None, str(tmp_path / name)], 2)
    with pytest.raises(ValueError, match=rf"images: row 1 names '.*{name}', which cannot be read as an image"):
        images.thumbnail(1)
