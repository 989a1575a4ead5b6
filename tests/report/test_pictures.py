import base64
import io

import numpy as np
import pytest
from PIL import Image

from allegiance.report._pictures import encode_pictures


def decoded(picture):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))))


@pytest.mark.parametrize("shape", [(4, 7, 5), (4, 7, 5, 3)], ids=["grey", "colour"])
def test_bytes_are_taken_as_they_are(shape, rng):
    images = rng.integers(10, 200, size=shape, dtype=np.uint8)
    for picture, row in zip(encode_pictures(images, np.array([2, 0])), (2, 0), strict=True):
        np.testing.assert_array_equal(decoded(picture), images[row])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_other_numbers_are_stretched(dtype):
    images = np.array([[[-5, 0]], [[5, 5]]], dtype=dtype)
    assert [decoded(picture).tolist() for picture in encode_pictures(images, np.arange(2))] == [
        [[0, 128]],
        [[255, 255]],
    ]


def test_truth_values_and_constant_images():
    assert decoded(encode_pictures(np.array([[[True, False]]]), np.array([0]))[0]).tolist() == [[255, 0]]
    assert decoded(encode_pictures(np.full((1, 2, 2), 3.0), np.array([0]))[0]).tolist() == [[0, 0], [0, 0]]


def test_large_images_lose_rows_and_columns():
    images = np.arange(300, dtype=np.uint8).repeat(200).reshape(1, 300, 200)
    picture = decoded(encode_pictures(images, np.array([0]))[0])
    np.testing.assert_array_equal(picture, images[0, ::4, ::4])
    assert max(picture.shape) <= 96
