"""Saved scorers with flipped bits, missing ends, and pieces out of place."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allegiance import AffinityScorer

from ._attack import Attack, Tally
from ._scorers import saved_scorers


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Damage saved scorers and load them: the same scores to the last bit, or a ValueError."""
    originals = []
    for name, (scorer, rows) in saved_scorers().items():
        scorer.save(folder / f"{name}.scorer")
        originals.append(((folder / f"{name}.scorer").read_bytes(), scorer.affinity(rows).affinity, rows))
    tally, path = Tally(), folder / "damaged.scorer"
    for attempt in range(attempts):
        content, affinity, rows = originals[attempt % len(originals)]
        kind, damaged = _damaged(content, originals[int(rng.integers(len(originals)))][0], rng)
        path.write_bytes(damaged)
        try:
            same = np.array_equal(AffinityScorer.load(path).affinity(rows).affinity, affinity)
        except ValueError:
            tally.held[f"{kind}: refused"] += 1
            continue
        except Exception as error:
            tally.broken.append(f"attempt {attempt}, {kind}: {type(error).__name__}: {error}")
            continue
        if same:
            tally.held[f"{kind}: harmless"] += 1
        else:
            tally.broken.append(f"attempt {attempt}, {kind}: loaded, and scores differently")
    return tally


def _damaged(content: bytes, other: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """Return what was done to a file, and what is left of it; ``other`` is another file of the kind."""
    start, stop = np.sort(rng.integers(0, len(content), 2)).tolist()
    kind = ("flips", "truncation", "splice", "other file", "zeros")[int(rng.integers(5))]
    if kind == "flips":
        changed = bytearray(content)
        for place in rng.integers(0, len(content), int(rng.integers(1, 5))):
            changed[place] ^= 1 << int(rng.integers(8))
        return kind, bytes(changed)
    if kind == "truncation":
        return kind, content[:start] if rng.random() < 0.5 else content[start:]
    if kind == "splice":
        place = int(rng.integers(len(content)))
        return kind, content[:place] + content[start:stop] + content[place + int(rng.integers(0, 200)) :]
    if kind == "other file":
        # The end of a file says where its parts begin: with all of them before it, it would be the other file, whole.
        place = int(rng.integers(len(content) // 2, len(content)))
        return kind, content[:place] + other[place:]
    return kind, content[:start] + bytes(stop - start) + content[stop:]


ATTACK = Attack(
    "damaged saved files",
    "A damaged file is refused with a ValueError, or scores as before to the last bit.",
    full=4_000,
    short=150,
    make=make,
)
