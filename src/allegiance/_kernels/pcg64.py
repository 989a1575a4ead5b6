"""Uniform numbers of NumPy's PCG64, computed several at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray

from .jit import jit

#: Numbers of a stream computed at a time: several vectors, of which none waits for another.
_AT_A_TIME = 32
#: The multiplier of PCG64, and what that many of its steps do together: multiply the state, and the increment.
_MULTIPLIER = (2549297995355413924 << 64) + 4865540595714422341
_JUMP = pow(_MULTIPLIER, _AT_A_TIME, 2**128)
_SUM = sum(pow(_MULTIPLIER, i, 2**128) for i in range(_AT_A_TIME)) % 2**128
_STEPS = np.array([[each >> 64, each % 2**64] for each in (_MULTIPLIER, _JUMP, _SUM)], np.uint64)
_LOW, _HALF, _ROTATION, _WORD = np.uint64(2**32 - 1), np.uint64(32), np.uint64(58), np.uint64(64)


@jit()
def draw_uniform(state: AnyArray, drop: int, out: AnyArray) -> None:
    """Fill ``out`` (m,) float32 with uniform numbers between -1 and 1, two from each number of NumPy's PCG64.

    ``state`` (2, 2) uint64 are the state and the increment of the generator, the high half of each first. Of 32 bits
    ``drop`` are left out: 0, or 8 for numbers that need no rounding. An even number is written.
    """
    high = np.empty(_AT_A_TIME, np.uint64)
    low = np.empty(_AT_A_TIME, np.uint64)
    words = np.empty(_AT_A_TIME, np.uint64)
    one, jump, jump_sum, increment = _STEPS[0], _STEPS[1], _STEPS[2], state[1]
    h, w = state[0, 0], state[0, 1]
    for j in range(_AT_A_TIME):
        h, w = _step(h, w, one[0], one[1], increment[0], increment[1])
        high[j] = h
        low[j] = w
    jump_h, jump_w = jump[0], jump[1]
    add_h, add_w = _step(increment[0], increment[1], jump_sum[0], jump_sum[1], np.uint64(0), np.uint64(0))
    numbers, shift = words.view(np.uint32), np.uint32(drop)
    half = np.int32((1 << (31 - drop)) * (drop > 0))
    scale = np.float32(2.0 ** (drop - 31))
    for first in range(0, out.shape[0], 2 * _AT_A_TIME):
        for j in range(_AT_A_TIME):
            h, w = high[j], low[j]
            mixed, rotation = h ^ w, h >> _ROTATION
            words[j] = (mixed >> rotation) | (mixed << ((_WORD - rotation) & (_WORD - np.uint64(1))))
            high[j], low[j] = _step(h, w, jump_h, jump_w, add_h, add_w)
        some = out[first : first + 2 * _AT_A_TIME]
        for j in range(some.shape[0]):
            some[j] = np.float32(np.int32(numbers[j] >> shift) - half) * scale


@jit(inline=True)
def _step(h: Any, w: Any, by_h: Any, by_w: Any, add_h: Any, add_w: Any) -> tuple[Any, Any]:
    """Multiply a number of 128 bits with another and add a third, modulo 2**128; each is given as two halves."""
    below = (w & _LOW) * (by_w & _LOW)
    one = (w & _LOW) * (by_w >> _HALF)
    two = (w >> _HALF) * (by_w & _LOW)
    middle = (below >> _HALF) + (one & _LOW) + (two & _LOW)
    carried = (w >> _HALF) * (by_w >> _HALF) + (one >> _HALF) + (two >> _HALF) + (middle >> _HALF)
    result = w * by_w + add_w
    return carried + h * by_w + w * by_h + add_h + np.uint64(result < add_w), result
