"""Bits of words."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _count_bits(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a uint64 are set: one instruction, which Python has no name for that numba knows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


count_bits: Any = intrinsic(_count_bits)
