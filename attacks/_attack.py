"""What an attack is, and what it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

#: Every kind of attack, in the order in which they are told of.
MODULES = (
    "random_calls",
    "damaged_files",
    "crafted_files",
    "kills",
    "one_output",
    "full_disk",
    "forks_and_threads",
    "hostile_tables",
    "injection",
)


@dataclass
class Tally:
    """What became of the attempts of an attack."""

    held: Counter[str] = field(default_factory=Counter)
    """Attempts after which the promise held, by what happened."""
    broken: list[str] = field(default_factory=list)
    """What happened in the others, with all that is needed to see it again."""
    skipped: str | None = None
    """Why the attack could not be made here."""

    @property
    def attempts(self) -> int:
        """How many there were."""
        return self.held.total() + len(self.broken)


@dataclass(frozen=True)
class Attack:
    """One kind of attack.

    Attributes
    ----------
    name
        What its table calls it.
    promise
        What must hold after every attempt.
    full, short
        How many attempts a whole run makes, and how many the slow tests make.
    make
        Makes so many attempts with random numbers from a generator, in an empty folder.
    """

    name: str
    promise: str
    full: int
    short: int
    make: Callable[[int, np.random.Generator, Path], Tally]


def load(module: str) -> Attack:
    """Return the attack of a module of this folder."""
    found: Attack = import_module(f"attacks.{module}").ATTACK
    return found


def generator(seed: int, module: str) -> np.random.Generator:
    """Return the random numbers of one attack: the same whether the others are made or not."""
    return np.random.default_rng([seed, *module.encode()])
