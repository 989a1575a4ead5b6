import json
import struct

import numpy as np

from allegiance.explorer.app._wire import pack


def test_a_message_is_a_header_and_aligned_arrays(rng):
    arrays = {"x": rng.normal(size=3), "chosen": np.arange(3, dtype=np.int32), "pixels": np.arange(5, dtype=np.uint8)}
    message = pack({"kind": "dots", "title": "ä"}, arrays)
    length = struct.unpack("<I", message[:4])[0]
    header = json.loads(message[4 : 4 + length])
    assert header["kind"] == "dots"
    at = 4 + length
    for name, (kind, size) in header["arrays"].items():
        assert at % 8 == 0
        found = np.frombuffer(message, kind, size, at)
        np.testing.assert_array_equal(found, arrays[name])
        at += -(-found.nbytes // 8) * 8
    assert at == len(message)
