import base64
import io

import numpy as np
import pytest
from PIL import Image

from allegiance.report import check_images


def decoded(thumbnail):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(thumbnail.partition(",")[2]))))


@pytest.mark.parametrize("shape", [(4, 7, 5), (4, 7, 5, 3)], ids=["grey", "colour"])
def test_bytes_are_taken_as_they_are(shape, rng):
    pixels = rng.integers(10, 200, size=shape, dtype=np.uint8)
    images = check_images(pixels, 4)
    for row in (2, 0):
        np.testing.assert_array_equal(decoded(images.thumbnail(row)), pixels[row])


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
    assert decoded(check_images(pixels, 1).thumbnail(0)).tolist() == expected


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (np.ones((3, 5, 5)), ValueError, "images has 3 entries but the result has 4 points"),
        (["a.png"] * 3, ValueError, "images has 3 entries but the result has 4 points"),
        (np.ones((4, 25)), ValueError, "images must have shape"),
        (np.ones((4, 5, 5, 4)), ValueError, "images must have shape"),
        (np.ones((4, 0, 5)), ValueError, "images must have shape"),
        ([np.ones((5, 5)), np.ones((6, 6)), np.ones((5, 5)), np.ones((5, 5))], ValueError, "the same height"),
        (np.ones((4, 5, 5), dtype=complex), TypeError, "images must be an array of numbers or paths"),
        ("photo.png", TypeError, "images must have one entry for each point"),
        (np.full((4, 5, 5), np.inf), ValueError, "images contains NaN or infinity"),
    ],
    ids=["length", "paths", "flat", "channels", "empty", "ragged", "complex", "one path", "infinite"],
)
def test_bad_images_are_named(images, error, message):
    with pytest.raises(error, match=message):
        check_images(images, 4).thumbnail(0)


def test_an_array_on_disk_is_not_read_whole(tmp_path, rng):
    pixels = rng.integers(255, size=(50, 8, 8), dtype=np.uint8)
    np.save(tmp_path / "pixels.npy", pixels)
    images = check_images(np.load(tmp_path / "pixels.npy", mmap_mode="r"), 50)
    assert isinstance(images._source, np.memmap)
    np.testing.assert_array_equal(decoded(images.thumbnail(31)), pixels[31])


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
    sizes = [decoded(album.thumbnail(row)).shape[:2] for row in (0, 1, 3, 4)]
    assert sizes == [(72, 96), (10, 20), (40, 40), (96, 72)]
    half = decoded(album.thumbnail(3))
    assert half[0, 0].tolist() == [255, 0, 0]
    assert half[0, 39].tolist() == [255, 255, 255]
    assert album.thumbnail(2) is None
    assert album.thumbnail(5) is None
    assert [album.thumbnail(row)[11:15] for row in (0, 1)] == ["jpeg", "png;"]
    assert max(decoded(album.thumbnail(0, longest=24)).shape) == 24


@pytest.mark.parametrize("name", ["missing.png", "text.png", "cut.png", "program.eps"])
def test_a_file_that_is_not_an_image_is_named_with_its_row(name, tmp_path):
    (tmp_path / "text.png").write_text("not an image")
    Image.new("RGB", (50, 50)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:60])
    (tmp_path / "program.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    images = check_images([None, str(tmp_path / name)], 2)
    with pytest.raises(ValueError, match=rf"images: row 1 names '.*{name}', which cannot be read as an image"):
        images.thumbnail(1)
