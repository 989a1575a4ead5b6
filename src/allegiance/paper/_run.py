"""Run the experiments one after the other, keep what is finished, write the page."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from allegiance import __version__
from allegiance.io import write_whole

from ._page import PICTURES, write_pages
from ._section import Section
from ._setup import Setup

#: The experiments in the order of the paper, each a module here with ``run(setup) -> Section``.
EXPERIMENTS = (
    "power-diagram",
    "stolen-area",
    "distance",
    "maps",
    "density",
    "hit-and-run",
    "active",
    "consensus",
    "incremental",
    "digits",
    "running-times",
    "rejections",
    "ratios",
    "growth",
    "choices",
)


class Outcome(NamedTuple):
    """How an experiment ended."""

    name: str
    section: Section | None
    skipped: str = ""
    """Why it could not run here, if so."""
    seconds: float = 0.0
    resumed: bool = False


def run_paper(
    out: str | os.PathLike[str],
    *,
    only: Iterable[str] | None = None,
    n_seeds: int = 10,
    fresh: bool = False,
    announce: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Outcome]:
    """Run the paper's experiments and write ``paper.md`` and ``paper.html``, with pictures, into a folder.

    An experiment that finished in an earlier run with the same version and number of seeds is taken from there. The
    page shows all that are finished, whichever run they come from.

    Parameters
    ----------
    out
        The folder.
    only
        Names of experiments; by default all.
    n_seeds
        How many seeds each random experiment is repeated with.
    fresh
        Run everything again.
    announce
        Called before each experiment with its name, how many are done, and how many there are.
    """
    names = _check_names(EXPERIMENTS if only is None else only)
    folder = Path(out)
    setup = Setup(folder / PICTURES, n_seeds)
    outcomes = {name: outcome for name in EXPERIMENTS if (outcome := _finished(name, setup, folder)) is not None}
    for done, name in enumerate(names):
        announce(name, done, len(names))
        if fresh or name not in outcomes:
            outcomes[name] = _run_one(name, setup, folder)
        # After each experiment, so that an interrupted run leaves a page of what it finished.
        write_pages(folder, [outcomes[each] for each in EXPERIMENTS if each in outcomes], n_seeds)
    return [outcomes[name] for name in names]


def _check_names(only: Iterable[str]) -> list[str]:
    names = [only] if isinstance(only, str) else list(only)
    for name in names:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"only: there is no experiment {name!r}.{hint} There are: {', '.join(EXPERIMENTS)}.")
    return [name for name in EXPERIMENTS if name in names]


def _fingerprint(setup: Setup) -> dict[str, Any]:
    """Return what a kept outcome must have been made with."""
    return {"version": __version__, "seeds": setup.n_seeds}


def _kept(name: str, folder: Path) -> Path:
    return folder / "finished" / f"{name}.json"


def _run_one(name: str, setup: Setup, folder: Path) -> Outcome:
    started = time.perf_counter()
    module = import_module(f"allegiance.paper._{name.replace('-', '_')}")
    try:
        section: Section = module.run(setup)
    except FileNotFoundError as error:
        return Outcome(name, None, str(error))
    seconds = time.perf_counter() - started
    kept = _kept(name, folder)
    kept.parent.mkdir(parents=True, exist_ok=True)
    content = {**_fingerprint(setup), "seconds": seconds, "section": section.to_json()}
    write_whole(kept, json.dumps(content, indent=1).encode())
    return Outcome(name, section, "", seconds)


def _finished(name: str, setup: Setup, folder: Path) -> Outcome | None:
    """Return what an earlier run kept of an experiment, if it is whole and of the same kind."""
    try:
        content: dict[str, Any] = json.loads(_kept(name, folder).read_text())
    except (OSError, ValueError):
        return None
    same = all(content.get(key) == value for key, value in _fingerprint(setup).items())
    pictures = content.get("section", {}).get("pictures", ())
    if not same or not all((setup.pictures / picture["file"]).exists() for picture in pictures):
        return None
    return Outcome(name, Section.from_json(content["section"]), "", content["seconds"], resumed=True)
