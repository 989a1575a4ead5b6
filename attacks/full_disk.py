"""A disk that is full, as a small file system in memory."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from allegiance import affinity, load
from allegiance.io.streams import score_stream

from ._common import Attack, Tally, prepare, score


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Write to a disk that fills up: the error names the file, nothing is lost, and the next run succeeds."""
    tally = Tally()
    place = folder / "small"
    place.mkdir()
    if not _mount(place, 256):
        tally.skipped = "no file system may be mounted here"
        return tally
    subprocess.run(["umount", str(place)], check=True)
    table, scorer = prepare(folder)
    score(table, scorer, folder / "undisturbed.parquet", 500)
    kinds = (_stream, _save, _report)
    for attempt in range(attempts):
        room = int(rng.integers(8, 200))
        kind = kinds[attempt % len(kinds)]
        with _mounted(place, room):
            problem = kind(place, folder)
        if problem:
            tally.broken.append(f"attempt {attempt}, {room} KiB, {kind.__name__}: {problem}")
        else:
            tally.held[_OUTCOMES[kind]] += 1
    return tally


def _mount(place: Path, kibibytes: int) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(place)]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def _mounted(place: Path, kibibytes: int) -> Iterator[None]:
    _mount(place, kibibytes)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _no_room(write: Callable[[], object], path: Path) -> str | None:
    """Return the problem if writing a file failed in an unexpected way, else None."""
    try:
        write()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return f"{type(error).__name__}: {error}"
        if path.name not in str(error):
            return f"the error does not name the file: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _stream(place: Path, folder: Path) -> str | None:
    """Score until the disk is full, make room, and score again."""
    out = place / "out.parquet"
    table, scorer = folder / "table.parquet", folder / "table.scorer"

    def write() -> None:
        score_stream(table, scorer, out, keep=["id"], batch_rows=500, force=True)

    if problem := _no_room(write, out):
        return problem
    subprocess.run(["mount", "-o", "remount,size=16m", str(place)], check=True)
    score(table, scorer, out, 500)
    same = pq.read_table(out).equals(pq.read_table(folder / "undisturbed.parquet"))
    left = [path.name for path in place.iterdir() if path != out]
    return None if same and not left else f"same output: {same}, left behind: {left}"


def _save(place: Path, folder: Path) -> str | None:
    """Save a scorer over another one."""
    path = place / "a.scorer"
    scorer = load(folder / "table.scorer")
    if problem := _no_room(lambda: scorer.save(path), path):
        return problem
    before = path.read_bytes() if path.exists() else None
    (place / "filler").write_bytes(b"")
    with open(place / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass
    if problem := _no_room(lambda: scorer.save(path), path):
        return problem
    after = path.read_bytes() if path.exists() else None
    left = [other.name for other in place.iterdir() if other.name not in (path.name, "filler")]
    return None if before == after and not left else f"the file changed, or was left behind: {left}"


def _report(place: Path, folder: Path) -> str | None:
    """Write a report, which is larger than the disk."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    path = place / "report.html"
    problem = _no_room(lambda: affinity(X, np.arange(60) % 3, influence="euclidean").report(path, X), path)
    return problem or (f"left behind: {left}" if (left := [other.name for other in place.iterdir()]) else None)


_OUTCOMES = {
    _stream: "scored once there was room",
    _save: "scorer kept",
    _report: "no half report",
}

ATTACKS = {
    "full_disk": Attack(
        "full disk",
        "The error names the file; what was there stays, and nothing is left behind.",
        full=24,
        short=4,
        make=make,
    ),
}
