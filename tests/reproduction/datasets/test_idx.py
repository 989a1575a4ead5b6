"""The IDX format: there and back, and files that lie about themselves."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from reproduction.datasets._idx import format_idx, parse_idx

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
CONTENT = struct.pack(">IIII", 2051, 2, 3, 4) + bytes(range(24))


def test_reads_the_published_layout():
    np.testing.assert_array_equal(parse_idx(CONTENT, 3, "images"), IMAGES)
    np.testing.assert_array_equal(parse_idx(struct.pack(">II", 2049, 3) + b"\x05\x00\x09", 1, "labels"), [5, 0, 9])


def test_writes_the_published_layout():
    assert format_idx(IMAGES) == CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "magic number 0, expected 2051", id="empty"),
        pytest.param(b"<html>not found</html>", "magic number", id="a web page"),
        pytest.param(CONTENT[:10], "not an IDX file", id="half a header"),
        pytest.param(struct.pack(">II", 2049, 3) + b"\x05\x00\x09abcdefgh", "magic number 2049", id="labels"),
        pytest.param(CONTENT[:-1], r"shape \(2, 3, 4\) but holds 23", id="one byte short"),
        pytest.param(CONTENT + b"\x00", "holds 25", id="one byte more"),
        pytest.param(
            struct.pack(">IIII", 2051, *[2**32 - 1] * 3) + bytes(9),
            "holds 9",
            id="a size that overflows",
        ),
    ],
)
def test_a_wrong_file_is_named(content, message):
    with pytest.raises(ValueError, match=rf"pictures.*{message}"):
        parse_idx(content, 3, "pictures")
