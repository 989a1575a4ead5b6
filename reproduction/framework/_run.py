"""Run the experiments one after the other, keep what is finished, write the page."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from allegiance import __version__

from ._page import PICTURES, write_pages
from ._section import Section
from ._setup import Setup
from ._store import Store

#: The experiments in the order of the paper, each a module of ``reproduction.experiments``.
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
    "reduction",
    "readings",
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

    An experiment that finished in an earlier run with the same version and number of seeds is taken from there, and
    long ones keep their steps too. The page shows all that are finished, whichever run they come from.

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
    setup = Setup(folder / PICTURES, n_seeds, Store(folder / "finished", {"version": __version__, "seeds": n_seeds}))
    outcomes = {name: outcome for name in EXPERIMENTS if (outcome := _finished(name, setup)) is not None}
    for done, name in enumerate(names):
        announce(name, done, len(names))
        if fresh:
            setup.store.forget(name)
        if fresh or name not in outcomes:
            outcomes[name] = _run_one(name, setup)
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


def _run_one(name: str, setup: Setup) -> Outcome:
    started, saved = time.perf_counter(), setup.store.seconds_saved
    module = import_module(f"reproduction.experiments.{name.replace('-', '_')}")
    try:
        section: Section = module.run(setup)
    except FileNotFoundError as error:
        return Outcome(name, None, str(error))
    # What an earlier run computed of it counts, so that the page tells the time of a whole run.
    seconds = time.perf_counter() - started + setup.store.seconds_saved - saved
    setup.store.save(name, {"seconds": seconds, "section": section.to_json()})
    return Outcome(name, section, "", seconds)


def _finished(name: str, setup: Setup) -> Outcome | None:
    """Return what an earlier run kept of an experiment, if it is whole and of the same kind."""
    kept = setup.store.load(name)
    if kept is None or not all((setup.pictures / each["file"]).exists() for each in kept["section"]["pictures"]):
        return None
    return Outcome(name, Section.from_json(kept["section"]), "", kept["seconds"], resumed=True)
