"""The program: its commands, messages, log, signals and exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sys
import textwrap
import time
import traceback
import warnings
from ast import literal_eval
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import click

from allegiance import __version__

from ._options import Features, Output, Reading, Trust, pick

#: Exit codes. Usage errors are 2, and a process ended by signal s exits with 128 + s.
FAILED, UNDER_THRESHOLD, DRIFTED, NOTED = 1, 3, 4, 5
_INTERRUPTED, _TERMINATED = 130, 143
#: Errors with a message for the user. Any other error is a bug.
_EXPECTED = (ValueError, ImportError, OSError, MemoryError)
#: Events that explain an exit code other than 0, and prefixes of messages, outside of JSON.
_REASONS = ("error", "stopped", "drift", "under", "notes")
_PREFIXES = {"error": "Error: ", "note": "Note: ", "warning": "Warning: "}
#: Characters that control a terminal. Names from the data may contain them.
_CONTROL = dict.fromkeys({*range(32), *range(127, 160)} - {ord("\n")}, " ")
#: An argument in a message of the library, as code; and the options that have other names.
_ARGUMENT = re.compile("`([a-z_]+)=([^`]*)`")
_OPTIONS = {
    "force=True": "--if-exists replace", "dayfirst=True": "--dates dayfirst", "dayfirst=False": "--dates monthfirst",
    "n_clusters": "--clusters", "n_resamples": "--resamples", "clusterer": "--algorithm", "log": "--decisions",
    "allow_hosts": "--allow-host", "format='csv'": "its text on standard input (-)",
}  # fmt: skip
NO_OUTPUT = "No incomplete output was written."
#: Seconds between progress lines in a log.
_PAUSE = 30.0
_COMMANDS = ("score", "check", "audit", "review", "compare", "curve", "model", "watch")
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")

EPILOG = """\b
Examples:
  allegiance check customers.csv
  allegiance score customers.csv --clusters 8 -o scored.csv --report report.html
  allegiance score customers.csv --labels segment --review 50 --review-output review.xlsx
  allegiance score february.csv --model january.model -o february.parquet
"""


class _TerminatedError(BaseException):
    """SIGTERM arrived: unwind, so that temporary files are removed."""


class Log:
    """Messages on standard error (notes, progress, files written), as text or as JSON lines."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False, log_format: str = "text") -> None:
        self.quiet, self.verbose, self.json = quiet, verbose, log_format == "json"
        self.terminal = sys.stderr.isatty() and not self.json
        self.started = self._last = time.perf_counter()
        #: What an interruption leaves behind, and how to resume the run.
        self.resume = NO_OUTPUT
        self.notes: list[str] = []
        #: Warnings that were printed, so that no summary repeats them.
        self.warned: list[str] = []

    def write(self, event: str, text: str, **values: Any) -> None:
        """Write one line. A quiet run writes only the reason for a nonzero exit code."""
        if self.quiet and event not in _REASONS:
            return
        if self.json:
            time = datetime.now(UTC).isoformat(timespec="milliseconds")
            _print_error(_json_text({"time": time, "event": event, "text": with_options(text), **values}))
        else:
            _print_error(f"{_PREFIXES.get(event, '')}{clean(text)}")

    def start(self, command: str, where: str) -> None:
        """Log the start, unless there is a terminal."""
        if not self.terminal:
            self.write("start", f"allegiance {command}: {where}", version=__version__)

    def end(self, **values: Any) -> None:
        """Log the duration and the main figures, unless there is a terminal."""
        if not self.terminal:
            seconds = time.perf_counter() - self.started
            facts = "".join(f", {name} {value:.3f}" for name, value in values.items() if isinstance(value, float))
            self.write("end", f"Finished in {seconds:.1f} s{facts}.", seconds=round(seconds, 3), **values)

    def note(self, *texts: str, write: bool = True) -> None:
        """Write notes once, and add them to the JSON summary; unless ``write``, only add them."""
        for text in map(with_options, texts):
            if text not in self.notes:
                self.notes.append(text)
                if write:
                    self.write("note", text)

    def step(self, text: str) -> None:
        """Log a step and the elapsed seconds with ``--verbose``."""
        if self.verbose:
            seconds = time.perf_counter() - self.started
            self.write("step", f"{seconds:.1f} s: {text}", seconds=round(seconds, 3))

    def wrote(self, path: str | None) -> None:
        """Log an output file, if there is one."""
        if path not in (None, "-"):
            self.write("wrote", f"Wrote {path}", file=path)

    @property
    def progress(self) -> Any:
        """The ``verbose`` argument of the library: a bar on a terminal, elsewhere a line every 30 s."""
        return not self.quiet if self.terminal else self._write_progress

    def _write_progress(self, state: Any) -> None:
        """Log progress every 30 seconds."""
        now = time.perf_counter()
        if now - self._last >= _PAUSE:
            self._last = now
            self.write("progress", str(state), done=state.rows, total=state.total, rate=round(state.rate, 1))


class Run(NamedTuple):
    """One run of a command: its typed options and its log."""

    data: tuple[str, ...]
    reading: Reading
    features: Features
    trust: Trust
    output: Output
    json: bool
    log: Log


class Program(click.Group):
    """A group of commands with error handling; commands are loaded when they are used."""

    log: Log
    command_line = ""
    #: The exit code once all outputs are complete. A closed pipe does not change it.
    code: int | None = None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> NoReturn:
        """Run a command and exit."""
        words = list(sys.argv[1:] if args is None else args)
        self.log, self.code = Log(), None
        self.command_line = shlex.join(["allegiance", *words])
        settings |= {"standalone_mode": False, "prog_name": "allegiance"}
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = self._warner()
            sys.exit(self._guarded(words, rest, settings))

    def _guarded(self, words: list[str], rest: tuple[Any, ...], settings: dict[str, Any]) -> int:
        """Run a command and return its exit code, after printing its error."""
        before = _on_termination()
        try:
            code = super().main(words, *rest, **settings)
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.format_message = partial(clean, error.format_message())  # type: ignore[method-assign]
            error.show()
            return error.exit_code
        except (KeyboardInterrupt, click.Abort):
            self.log.write("stopped", f"Interrupted. {self.log.resume}")
            return _INTERRUPTED
        except _TerminatedError:
            self.log.write("stopped", f"Terminated. {self.log.resume}")
            return _TERMINATED
        except (BrokenPipeError, SystemExit):  # click exits if a pipe is closed
            with suppress(OSError, ValueError):  # keeps Python from reporting the closed pipe again while it exits
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED if self.code is None else self.code
        except Exception as error:
            if self.log.verbose:
                traceback.print_exception(error)
            bug = f"{type(error).__name__}: {error}. This is a bug in allegiance. "
            bug += "Rerun with --verbose and please report it."
            self.log.write("error", _error_text(error) if isinstance(error, _EXPECTED) else bug)
            return FAILED
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    def _warner(self) -> Callable[..., None]:
        """Return a function that prints each warning once, in one line."""
        messages: set[str] = set()

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            for_developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
            if str(message) not in messages and not issubclass(category, for_developers):
                messages.add(str(message))
                self.log.write("warning", str(message))
                self.log.warned.append(with_options(str(message)))

        return show


def _error_text(error: Exception) -> str:
    """Return the message of an error of a command."""
    if isinstance(error, MemoryError):
        return f"out of memory. {error}".strip()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def with_options(text: str) -> str:
    """Return a message of the library with command-line options instead of Python arguments."""
    return _ARGUMENT.sub(_option_of, text)


def _option_of(match: re.Match[str]) -> str:
    """Return the command-line option of an argument of the library, and its value."""
    argument, value = match.groups()
    if argument == "missing" and value:
        words = [f"{column}={word}" for column, words in literal_eval(value).items() for word in words]
        return " ".join(f"--missing {shlex.quote(word)}" for word in words)
    option = _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
    return _OPTIONS.get(f"{argument}={value}") or " ".join([option, *shlex.split(value)])


def clean(text: str) -> str:
    """Return text for a terminal: with options, and without characters that control it."""
    return with_options(text).translate(_CONTROL)


def _print_error(text: str) -> None:
    """Print a line on standard error; a full or closed stream does not stop the run."""
    with suppress(OSError, ValueError):
        click.echo(text, err=True)


def _on_termination() -> Any:
    """Make SIGTERM unwind the stack; return the previous handler, or None where handlers cannot be set."""

    def end(number: int, frame: FrameType | None) -> None:
        raise _TerminatedError

    try:
        return signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread
        return None


def open_closed_streams() -> None:
    """Connect standard streams that the caller has closed to the null device, so that no file takes their place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _show_versions(context: click.Context, option: click.Parameter, value: bool) -> None:
    """Print the versions of ``--version`` and exit."""
    if value:
        from importlib.metadata import PackageNotFoundError, version

        click.echo(f"allegiance {__version__}")
        click.echo(f"python {sys.version.split()[0]}")
        for name in _LIBRARIES:
            with suppress(PackageNotFoundError):
                click.echo(f"{name} {version(name)}")
        context.exit()


@click.group(
    cls=Program, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_versions,
    help="Show the versions of allegiance and its main dependencies.",
)  # fmt: skip
def program() -> None:
    """Find out which cluster labels you can trust."""


def begin(values: dict[str, Any], *, where: Sequence[str] = ()) -> Run:
    """Return the typed options of a command and its log."""
    context = click.get_current_context()
    program.log = log = Log(**{name: values[name] for name in ("quiet", "verbose", "log_format")})
    if values["verbose"]:
        from allegiance._core.progress import show_remarks

        context.with_resource(show_remarks())
    data = tuple(values.get("data") or where)
    log.start(context.command.name or "", ", ".join(data))
    parts = pick(Reading, values), pick(Features, values), pick(Trust, values), pick(Output, values)
    return Run(data, *parts, values["json"], log)


def is_beyond(drift: Any, tolerance: float) -> bool:
    """Return whether drift exceeds ``--tolerance``."""
    return bool(drift.drifted and (tolerance == 0 or drift.severity > tolerance))


def finish(code: int) -> None:
    """Record the exit code of the command once all outputs are complete, before the summary is printed."""
    program.code = code


def provenance() -> dict[str, Any]:
    """Return the version and the command line of this run."""
    return {"version": __version__, "command": program.command_line}


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object with its provenance on standard output."""
    click.echo(_json_text({**provenance(), **values}, indent=2))


def _json_text(values: dict[str, Any], indent: int | None = None) -> str:
    """Return printed values as JSON text without control characters."""
    from allegiance._core.stored import json_value

    text = json.dumps(json_value(values), indent=indent, ensure_ascii=False, allow_nan=False, default=str)
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)


def show(*lines: str, bold: bool = False, err: bool = False) -> None:
    """Print lines; on a terminal sentences are wrapped, and tables keep their columns."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else 0
    for line in map(clean, lines):
        wraps = 0 < width < len(line) and "  " not in line.strip()
        text = textwrap.fill(line, width, subsequent_indent="  ") if wraps else line
        click.echo(click.style(text, bold=True) if bold else text, err=err)
