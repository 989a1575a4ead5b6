"""What a fitted scorer is made of, as plain values and arrays: to be sent to workers, or kept for years."""

from ._containers import encode_transformer
from ._encoding import decode, encode
from ._file import FORMAT, VERSION, check_header, fingerprint, read_state, write_state
from ._scorer_state import decode_scorer, encode_scorer

__all__ = [
    "FORMAT",
    "VERSION",
    "check_header",
    "decode",
    "decode_scorer",
    "encode",
    "encode_scorer",
    "encode_transformer",
    "fingerprint",
    "read_state",
    "write_state",
]
