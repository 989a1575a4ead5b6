"""Damaged saved scorers, and saved scorers with crafted contents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from allegiance import load
from allegiance.io.saved import write_state

from ._common import Attack, Saved, Tally, finish, get_value, leaves, saved_scorers, start, with_value


def damaged_files(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
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
            same = np.array_equal(load(path).affinity(rows).affinity, affinity)
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
    """Return the kind of damage and the damaged file; ``other`` is another file of the same kind."""
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


#: Files that one process loads and scores with.
_PER_PROCESS = 250
#: Seconds per file after which a process counts as hanging.
_TIMEOUT = 10.0
#: Loads each file, scores rows with it, and prints one line with the outcome.
_VICTIM = """
import json, sys, warnings
import numpy as np
from allegiance import load
warnings.simplefilter("ignore")
for path in json.load(sys.stdin):
    rows = np.load(path + ".npy")
    try:
        scorer = load(path)
    except ValueError:
        print("refused", flush=True)
        continue
    except Exception as error:
        print("broken: loading:", type(error).__name__, str(error)[:200], flush=True)
        continue
    try:
        affinity = scorer.affinity(rows).affinity
    except (ValueError, TypeError, MemoryError):
        print("refused while scoring", flush=True)
        continue
    except Exception as error:
        print("broken: scoring:", type(error).__name__, str(error)[:200].replace(chr(10), " "), flush=True)
        continue
    sane = np.isfinite(affinity).all() and abs(affinity.sum(axis=1) - 1).max() < 1e-9
    print("loaded, sane scores" if sane else "broken: invalid scores", flush=True)
"""


def crafted_files(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Change values of a state at random, write it with valid checksums, and load it in another process."""
    originals = list(saved_scorers().values())
    tally = Tally()
    done = 0
    while done < attempts:
        paths, changes = [], []
        for number in range(min(_PER_PROCESS, attempts - done)):
            path = folder / f"crafted-{number}.scorer"
            changes.append(_craft(originals[int(rng.integers(len(originals)))], path, rng))
            paths.append(str(path))
        outcomes = _victim(paths)
        for text, outcome in zip(changes, outcomes, strict=True):
            if outcome.startswith("broken"):
                tally.broken.append(f"{text}: {outcome}")
            else:
                tally.held[outcome] += 1
        done += len(paths)
    return tally


def _victim(paths: list[str]) -> list[str]:
    """Return the outcome of each file; if the process dies, continue with a new one."""
    outcomes: list[str] = []
    while len(outcomes) < len(paths):
        child = start("-c", _VICTIM, stdin=-1)
        assert child.stdin is not None
        child.stdin.write(json.dumps(paths[len(outcomes) :]))
        child.stdin.close()
        child.stdin = None
        status, output = finish(child, _TIMEOUT * len(paths))
        outcomes += [line for line in output.splitlines() if line.startswith(("refused", "loaded", "broken"))]
        if len(outcomes) < len(paths):
            outcomes.append(f"broken: the process ended with {status}: {output[-200:]}")
    return outcomes


def _craft(saved: Saved, path: Path, rng: np.random.Generator) -> str:
    """Write a state with one to three changed values, and rows for it; return the changes."""
    state = saved.scorer.to_dict()
    places = list(leaves(state))
    changed = []
    for _ in range(int(rng.integers(1, 4))):
        place = places[int(rng.integers(len(places)))]
        kind, value = _other(get_value(state, place), rng)
        state = with_value(state, place, value)
        changed.append(f"{'.'.join(place)} {kind}")
    try:
        write_state(state, path)
    except (TypeError, ValueError):
        write_state(saved.scorer.to_dict(), path)
        changed = ["nothing: the state could not be written"]
    rows = saved.rows.toarray() if hasattr(saved.rows, "toarray") else saved.rows
    np.save(f"{path}.npy", rows)
    return ", ".join(changed)


def _other(value: Any, rng: np.random.Generator) -> tuple[str, Any]:
    """Return a description of a replacement for a value, and the replacement."""
    if isinstance(value, np.ndarray):
        changes = _arrays(value, rng)
    else:
        plain: tuple[Any, ...] = (None, True, 0, -1, 2**70, 0.5, -1e300, "text", "", [], {}, [1, 2], {"kind": "region"})
        changes = {f"= {other!r}"[:30]: other for other in plain}
    kind = list(changes)[int(rng.integers(len(changes)))]
    return kind, changes[kind]


def _arrays(value: Any, rng: np.random.Generator) -> dict[str, Any]:
    def with_entry(entry: Any) -> Any:
        other = value.copy()
        if other.size and other.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                other.flat[int(rng.integers(other.size))] = np.array(entry).astype(other.dtype)
        return other

    entries = {f"with {entry}": with_entry(entry) for entry in (2**40, -(2**40), -1, 0, 1e300, -1e300, 3.7, np.nan)}
    return entries | {
        "a row less": value[:-1] if value.ndim else value,
        "a row more": np.concatenate([value, value[-1:]]) if value.ndim else value,
        "turned": value.T.copy(),
        "a side more": value[None],
        "empty": value[:0] if value.ndim else value,
        "float32": np.zeros(value.shape, np.float32),
        "texts": np.full(value.shape, "1e5"),
        "shuffled": rng.permutation(value) if value.ndim else value,
        "a list": [1.0, 2.0],
    }


ATTACKS = {
    "damaged_files": Attack(
        "damaged saved files",
        "A damaged file is refused with a ValueError, or scores as before to the last bit.",
        full=4_000,
        short=150,
        make=damaged_files,
    ),
    "crafted_files": Attack(
        "crafted saved files",
        "A crafted file is refused with a ValueError, or gives scores that are scores; no process dies.",
        full=1_000,
        short=60,
        make=crafted_files,
    ),
}
