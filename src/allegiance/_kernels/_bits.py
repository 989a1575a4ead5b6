"""Bits of words: which samples of a block fulfil a condition."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

#: Words of bits for a block, and bits in a word.
WORDS = 16


def _count_bits(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a uint32 are set: one instruction, which Python has no name for that numba knows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint32(types.uint32), generate


count_bits: Any = intrinsic(_count_bits)
