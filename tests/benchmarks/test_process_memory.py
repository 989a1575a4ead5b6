"""Peaks are those of the process itself, whatever the process that started it has used."""

import numpy as np

from peak_memory import run_with_peak


def test_a_peak_is_not_inherited():
    ballast = np.ones(10**8 // 2)
    printed, peak = run_with_peak("print('here')")
    assert printed == "here\n"
    assert 10**6 < peak < ballast.nbytes / 4


def test_a_peak_counts_what_was_freed_again():
    _, peak = run_with_peak("filled = bytearray(b'x') * 200_000_000\ndel filled")
    assert peak > 200_000_000
