"""Shared by all experiments: the parts of a section, the setup of a run, caching, and the page."""

from __future__ import annotations

import hashlib
import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import joblib
import numpy as np
from numpy.typing import ArrayLike

import allegiance

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Table:
    """A table of text, with the paper's numbers and ours."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, as a file in the picture folder."""

    file: str
    caption: str


@dataclass(frozen=True)
class Check:
    """A number that decides a claim, and its threshold."""

    number: str
    """The meaning of the number."""
    value: float
    relation: str
    """<, <=, > or >=."""
    threshold: float
    form: str = ".3g"
    """Format of both numbers."""

    @property
    def holds(self) -> bool:
        """Whether the number is on the right side of its threshold."""
        return bool(_RELATIONS[self.relation](self.value, self.threshold))

    def __str__(self) -> str:
        return f"{self.number} {self.value:{self.form}}, needs {self.relation} {self.threshold:{self.form}}"


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and the evidence for or against it."""

    claim: str
    checks: tuple[Check, ...]
    """All of them must hold."""
    evidence: str
    numbers: str = "none given"
    """Whether our numbers match the paper's: "match", "differ", or "none given"."""
    timed: bool = False
    """Whether the evidence is a time, which a busy machine distorts."""

    @property
    def confirmed(self) -> bool:
        """Whether the claim holds."""
        return all(check.holds for check in self.checks)

    @property
    def decided_by(self) -> str:
        """The deciding numbers with their thresholds."""
        return "; ".join(str(check) for check in self.checks)


@dataclass(frozen=True)
class Section:
    """The outcome of one experiment."""

    title: str
    method: str
    """What the paper did, and our choices where it does not say how."""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    """Differences from the paper and their likely reasons."""

    @property
    def anchor(self) -> str:
        """The anchor that a Markdown page gives to the title."""
        letters = "".join(letter for letter in self.title.lower() if letter.isalnum() or letter in " -")
        return letters.replace(" ", "-")


def compare_numbers(pairs: Iterable[tuple[float, float]], tolerance: float) -> str:
    """Return "match" if every pair (the paper's number, ours) differs by at most ``tolerance``, else "differ"."""
    return "match" if all(abs(paper - ours) <= tolerance for paper, ours in pairs) else "differ"


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Format a mean and the standard deviation over seeds."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 1:
        return f"{numbers.item():.{digits}f}"
    return f"{numbers.mean():.{digits}f} ± {numbers.std(ddof=1):.{digits}f}"


def percent_spread(shares: ArrayLike) -> str:
    """Format a mean share and its standard deviation over seeds in percent."""
    return f"{spread(100.0 * np.asarray(shares, dtype=np.float64), 1)}%"


def seconds_spread(values: Sequence[float]) -> str:
    """Format a mean time and its standard deviation over runs."""
    return f"{spread(values, 3)} s"


#: Dots per inch of the pictures: sharp enough on a page, small enough for a repository.
DPI = 80


@dataclass(frozen=True)
class Setup:
    """The setup of one run: the picture folder, and the number of seeds."""

    pictures: Path
    n_seeds: int

    @property
    def seeds(self) -> range:
        """The seeds."""
        return range(self.n_seeds)

    def save(self, figure: Any, name: str) -> str:
        """Save a matplotlib figure and return its file name."""
        file = f"{name}.png"
        self.pictures.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.pictures / file, dpi=DPI)
        figure.clear()
        return file


#: The picture folder, relative to the page: the same as in the project's documentation.
PICTURES = Path("images") / "paper"
#: Experiments in the order of the paper, each a module of ``reproduction.experiments``.
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
    """The result of an experiment: a section, or the reason why it was skipped."""

    name: str
    section: Section | None
    skipped: str = ""
    seconds: float = 0.0


def run_paper(
    out: str | os.PathLike[str], *, only: Iterable[str] | None = None, n_seeds: int = 10, jobs: int = 1
) -> list[Outcome]:
    """Run the paper's experiments and write ``paper.md``, with pictures, into a folder.

    Finished experiments are cached under a fingerprint of the source code, so an interrupted run resumes and a changed
    line invalidates them. The page shows every experiment that is finished for the current code.

    Parameters
    ----------
    out
        The folder.
    only
        Names of experiments; None for all.
    n_seeds
        Number of seeds for each random experiment.
    jobs
        Number of experiments to run at a time.
    """
    names = [name for name in EXPERIMENTS if only is None or name in set(only)]
    folder = Path(out)
    memory = joblib.Memory(folder / "cache" / code_fingerprint(), verbose=0)
    setup = Setup(folder / PICTURES, n_seeds)
    run = memory.cache(_run_experiment, ignore=["setup"])
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    outcomes = {
        name: run(name, n_seeds, setup) for name in EXPERIMENTS if run.check_call_in_cache(name, n_seeds, setup)
    }
    waiting = [name for name in names if name not in outcomes]
    for outcome in parallel(joblib.delayed(_run_or_skip)(run, name, n_seeds, setup) for name in waiting):
        outcomes[outcome.name] = outcome
        print(f"{outcome.name}: {outcome.skipped or f'{outcome.seconds:.0f} s'}", file=sys.stderr, flush=True)
        write_page(folder, [outcomes[name] for name in EXPERIMENTS if name in outcomes], n_seeds)
    write_page(folder, [outcomes[name] for name in EXPERIMENTS if name in outcomes], n_seeds)
    return [outcomes[name] for name in names]


def _run_experiment(name: str, n_seeds: int, setup: Setup) -> Outcome:
    started = time.process_time()
    section: Section = import_module(f"reproduction.experiments.{name.replace('-', '_')}").run(setup)
    return Outcome(name, section, "", time.process_time() - started)


def _run_or_skip(run: Callable[..., Outcome], name: str, n_seeds: int, setup: Setup) -> Outcome:
    """Run an experiment; a missing data file skips it, uncached."""
    try:
        return run(name, n_seeds, setup)
    except FileNotFoundError as error:
        return Outcome(name, None, str(error))


def code_fingerprint() -> str:
    """Return a hash of the sources of the package and of the experiments."""
    roots = (Path(allegiance.__file__).parent, Path(__file__).parent)
    sources = [path for root in roots for path in sorted(root.rglob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def commit() -> str:
    """Return the commit of the checkout, with a plus sign if it has changes; "unknown" without git."""
    try:
        words = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
        return subprocess.run(
            words, cwd=Path(__file__).parent, check=True, capture_output=True, text=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write_page(folder: Path, outcomes: Sequence[Outcome], n_seeds: int) -> None:
    """Write ``paper.md``."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = lambda text: text.replace("|", "\\|")
    findings = [finding for outcome in outcomes if outcome.section for finding in outcome.section.findings]
    page = environment.get_template("paper.md.j2").render(
        outcomes=outcomes,
        findings=findings,
        n_seeds=n_seeds,
        version=allegiance.__version__,
        commit=commit(),
        pictures=PICTURES.as_posix(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "paper.md").write_text(page, encoding="utf-8")
