"""What all experiments share: the parts of a section, the setting of a run, running and resuming, the page."""

from __future__ import annotations

import json
import operator
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import numpy as np
from numpy.typing import ArrayLike

from allegiance import __version__
from reproduction import datasets
from reproduction.arrays import AnyArray, FloatArray
from reproduction.files import write_whole

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Table:
    """A table of text, with the paper's numbers and ours."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, as a file in the folder of pictures."""

    file: str
    caption: str


@dataclass(frozen=True)
class Check:
    """A number that decides on a claim, and the threshold it is held against."""

    number: str
    """What the number is."""
    value: float
    relation: str
    """<, <=, > or >=."""
    threshold: float
    form: str = ".3g"
    """How both numbers are written, as in a format string."""

    @property
    def holds(self) -> bool:
        """Whether the number is on the right side of its threshold."""
        return bool(_RELATIONS[self.relation](self.value, self.threshold))

    def __str__(self) -> str:
        return f"{self.number} {self.value:{self.form}}, needs {self.relation} {self.threshold:{self.form}}"


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and what decides on it."""

    claim: str
    checks: tuple[Check, ...]
    """All of them must hold."""
    evidence: str
    timed: bool = False
    """Whether the evidence are times, which a busy machine can spoil."""

    @property
    def confirmed(self) -> bool:
        """Whether what was measured confirms the claim."""
        return all(check.holds for check in self.checks)

    @property
    def decided_by(self) -> str:
        """The deciding numbers with their thresholds."""
        return "; ".join(str(check) for check in self.checks)


@dataclass(frozen=True)
class Section:
    """What one experiment found."""

    title: str
    asks: str
    """What the paper did, and what we do where it does not say how."""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    """Where ours differ from the paper's, and why."""

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dictionaries."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Section:
        """Undo :meth:`to_json`."""
        return cls(
            title=content["title"],
            asks=content["asks"],
            tables=tuple(
                Table(tuple(table["columns"]), tuple(tuple(row) for row in table["rows"]), table["caption"])
                for table in content["tables"]
            ),
            pictures=tuple(Picture(**picture) for picture in content["pictures"]),
            findings=tuple(
                Finding(**{**finding, "checks": tuple(Check(**check) for check in finding["checks"])})
                for finding in content["findings"]
            ),
            remarks=tuple(content["remarks"]),
        )


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Write a mean and the standard deviation over seeds."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 1:
        return f"{numbers.item():.{digits}f}"
    return f"{numbers.mean():.{digits}f} ± {numbers.std(ddof=1):.{digits}f}"


def percent_spread(shares: ArrayLike) -> str:
    """Write a mean share and its standard deviation over seeds in percent."""
    return f"{spread(100.0 * np.asarray(shares, dtype=np.float64), 1)} %"


def seconds_spread(values: Sequence[float]) -> str:
    """Write a mean time and its standard deviation over runs."""
    return f"{spread(values, 3)} s"


class Store:
    """Results by name in a folder; those made with another fingerprint do not count.

    Parameters
    ----------
    folder
        Where the files are.
    fingerprint
        What a kept result must have been made with.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any]) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self.seconds_saved = 0.0
        """How long it took to compute what :meth:`once` found saved."""

    def load(self, name: str) -> Any:
        """Return what was saved under a name, or None if nothing whole of the same kind was."""
        try:
            kept = json.loads(self._path(name).read_text())
        except (OSError, ValueError):
            return None
        return kept["result"] if kept.get("made_with") == self._fingerprint else None

    def save(self, name: str, result: Any) -> None:
        """Keep a result of plain lists, dictionaries, texts and numbers."""
        kept = {"made_with": self._fingerprint, "result": result}
        write_whole(self._path(name), json.dumps(kept, indent=1).encode())

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what was saved under a name, or compute and save it."""
        kept = self.load(name)
        if kept is not None:
            self.seconds_saved += kept["seconds"]
        else:
            started = time.perf_counter()
            kept = {"value": compute(), "seconds": time.perf_counter() - started}
            self.save(name, kept)
        return kept["value"]

    def forget(self, name: str) -> None:
        """Remove a result and those of its steps, whose names begin with its own and a slash."""
        self._path(name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


#: Dots per inch of the pictures: sharp enough on a page, small enough for a repository.
DPI = 80


class DataSet(NamedTuple):
    """A labelled data set under the paper's name."""

    name: str
    X: FloatArray
    reference: AnyArray

    @property
    def n_clusters(self) -> int:
        """The number of reference classes."""
        return int(np.unique(self.reference).size)


@dataclass(frozen=True)
class Setup:
    """The setting of one run.

    Parameters
    ----------
    pictures
        Folder for figures.
    n_seeds
        How many seeds each random experiment is repeated with.
    store
        What is kept between runs. A long experiment keeps its steps here, under ``name/step``.
    """

    pictures: Path
    n_seeds: int
    store: Store

    @property
    def seeds(self) -> range:
        """The seeds themselves."""
        return range(self.n_seeds)

    @cached_property
    def gaussians(self) -> DataSet:
        """2D5C-500."""
        return _labelled("2D5C-500", datasets.load_2d5c(500))

    @cached_property
    def dense_gaussians(self) -> DataSet:
        """2D5C-2100."""
        return _labelled("2D5C-2100", datasets.load_2d5c(2100))

    @cached_property
    def gaussians_3d(self) -> DataSet:
        """3D5C-500."""
        return _labelled("3D5C-500", datasets.load_3d5c())

    @cached_property
    def iris(self) -> DataSet:
        """Iris."""
        return _labelled("Iris", datasets.load_iris())

    @cached_property
    def soybean(self) -> DataSet:
        """Soybean (small)."""
        return _labelled("Soybean", datasets.load_soybean())

    @cached_property
    def mnist(self) -> DataSet:
        """The test set of MNIST, pixels from 0 to 1, in single precision."""
        loaded = _labelled("MNIST test data", datasets.load_mnist_test())
        return loaded._replace(X=(loaded.X / 255.0).astype(np.float32))

    def sets(self, *names: str) -> tuple[list[DataSet], list[str]]:
        """Return those of the data sets that are at hand, and a sentence for each of the others."""
        present, missing = [], []
        for name in names:
            try:
                present.append(getattr(self, name))
            except FileNotFoundError as error:
                missing.append(f"Skipped: {name}. {error}")
        return present, missing

    def save(self, figure: Any, name: str) -> str:
        """Save a matplotlib figure and return the name of its file."""
        file = f"{name}.png"
        self.pictures.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.pictures / file, dpi=DPI)
        figure.clear()
        return file


def _labelled(name: str, bunch: Any) -> DataSet:
    return DataSet(name, np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target))


#: The folder of pictures, relative to the page: the same in the project's own documentation.
PICTURES = Path("images") / "paper"


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
    content: dict[str, Any] = {
        "outcomes": outcomes,
        "n_seeds": n_seeds,
        "version": __version__,
        "pictures": PICTURES.as_posix(),
    }
    write_whole(folder / "paper.md", environment.get_template("paper.md.j2").render(content).encode())


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
    """Run the paper's experiments and write ``paper.md``, with pictures, into a folder.

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
        write_page(folder, [outcomes[each] for each in EXPERIMENTS if each in outcomes], n_seeds)
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
