"""The program: its commands, messages, log, signals and exit codes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from types import FrameType, SimpleNamespace
from typing import Any, NoReturn

import click

from allegiance import __version__

#: Exit codes: usage errors are 2, and a process ended by signal s exits with 128 + s.
FAILED, UNDER_THRESHOLD, DRIFTED = 1, 3, 4
_INTERRUPTED, _TERMINATED = 130, 143
#: Errors whose text tells the user what to do. Anything else is a defect of ours.
_EXPECTED = (ValueError, ImportError, OSError, MemoryError)
#: Events that say why the exit code is not 0, and what stands before the text of others, outside of JSON.
_REASONS = ("error", "stopped", "drift", "under")
_PREFIXES = {"error": "Error: ", "note": "Note: ", "warning": "Warning: "}
#: Characters that would steer a terminal; names from the data may hold them.
_CONTROL = dict.fromkeys({*range(32), 127, 155} - {ord("\n")}, " ")
#: Seconds between two lines of progress in a log.
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


class _Terminated(BaseException):
    """The process was asked to end: unwind, so that temporary files are removed."""


class Log:
    """What a run says on standard error: notes, progress, files written; as text or as JSON lines."""

    def __init__(self, options: SimpleNamespace) -> None:
        self.quiet, self.verbose, self.json = options.quiet, options.verbose, options.log_format == "json"
        self.terminal = sys.stderr.isatty() and not self.json
        self.started = self._last = time.perf_counter()
        #: What an interrupted run can do next.
        self.resume = ""
        self.notes: list[str] = []
        #: Warnings that were shown, so that no summary says them again.
        self.warned: list[str] = []

    def write(self, event: str, text: str, **values: Any) -> None:
        """Write one line; a quiet run only says why it does not exit with 0."""
        if self.quiet and event not in _REASONS:
            return
        if self.json:
            line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, "text": text}
            click.echo(json.dumps(finite(line | values), ensure_ascii=False, default=str), err=True)
        else:
            click.echo(f"{_PREFIXES.get(event, '')}{text.translate(_CONTROL)}", err=True)

    def start(self, command: str, where: str) -> None:
        """Say what begins, where there is no terminal."""
        if not self.terminal:
            self.write("start", f"allegiance {command}: {where}", version=__version__)

    def end(self) -> None:
        """Say how long it took, where there is no terminal."""
        if not self.terminal:
            seconds = time.perf_counter() - self.started
            self.write("end", f"Finished in {seconds:.1f} s.", seconds=round(seconds, 3))

    def note(self, text: str) -> None:
        """Say something that the user should know; the JSON of the summary lists it, too."""
        if text not in self.notes:
            self.notes.append(text)
            self.write("note", text)

    def step(self, text: str) -> None:
        """Say what begins, and after how many seconds, with ``--verbose``."""
        if self.verbose:
            seconds = time.perf_counter() - self.started
            self.write("step", f"{seconds:.1f} s: {text}", seconds=round(seconds, 3))

    def wrote(self, path: str) -> None:
        """Name a file that was written."""
        if path != "-":
            self.write("wrote", f"Wrote {path}", file=path)

    @property
    def progress(self) -> Any:
        """What the library takes as ``verbose``: a bar on a terminal, elsewhere a line now and then."""
        return not self.quiet if self.terminal else self._tell

    def _tell(self, look: Any) -> None:
        now = time.perf_counter()
        if now - self._last >= _PAUSE:
            self._last = now
            self.write("progress", str(look), done=look.rows, total=look.total, rate=round(look.rate, 1))


class Program(click.Group):
    """A group of commands with the error handling of a finished program; commands are loaded when they are used."""

    log: Log | None = None
    verbose = False
    command_line = ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in _COMMANDS:
            return None
        home = "score" if cmd_name in ("check", "audit") else cmd_name
        command: click.Command = getattr(import_module(f".{home}", __package__), cmd_name)
        return command

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> NoReturn:
        """Run a command and exit."""
        words = list(sys.argv[1:] if args is None else args)
        self.verbose, self.log = False, None
        self.command_line = shlex.join(["allegiance", *words])
        settings |= {"standalone_mode": False, "prog_name": "allegiance"}
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = self._warner()
            sys.exit(self._guarded(words, rest, settings))

    def _guarded(self, words: list[str], rest: tuple[Any, ...], settings: dict[str, Any]) -> int:
        before = _on_termination()
        try:
            code = super().main(words, *rest, **settings)
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (KeyboardInterrupt, click.Abort):
            self._say("Interrupted.")
            return _INTERRUPTED
        except _Terminated:
            self._say("Terminated.")
            return _TERMINATED
        except BrokenPipeError:
            _silence_stdout()
            return FAILED
        except Exception as error:
            if isinstance(error, _EXPECTED):
                self._write("error", _text(error))
                return FAILED
            if self.verbose:
                traceback.print_exception(error)
            name = type(error).__name__
            self._write("error", f"{name}: {error}. This is a defect; run again with --verbose for details.")
            return FAILED
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    def _say(self, text: str) -> None:
        resume = self.log.resume if self.log is not None else ""
        self._write("stopped", f"{text} {resume or 'No incomplete output was written.'}")

    def _write(self, event: str, text: str) -> None:
        if self.log is not None:
            self.log.write(event, text)
        else:
            click.echo(f"{_PREFIXES.get(event, '')}{text}", err=True)

    def _warner(self) -> Callable[..., None]:
        """Return a function that shows warnings: each text once, in one line."""
        shown: set[str] = set()

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            for_developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
            if str(message) not in shown and not issubclass(category, for_developers):
                shown.add(str(message))
                self._write("warning", str(message))
                if self.log is not None:
                    self.log.warned.append(str(message))

        return show


def _text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory. {error}".strip()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _on_termination() -> Any:
    """Make SIGTERM unwind the stack; return the previous handler, or None where handlers cannot be set."""

    def end(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    try:
        return signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread
        return None


def _silence_stdout() -> None:
    """Keep Python from complaining about the closed pipe once more while it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_versions(context: click.Context, option: click.Parameter, value: bool) -> None:
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
    help="Show the versions of allegiance and of its main dependencies.",
)  # fmt: skip
def program() -> None:
    """Say which labels of a clustering can be trusted."""


def begin(values: dict[str, Any], *, where: Any) -> tuple[SimpleNamespace, Log]:
    """Return the options of a command by name, and its log."""
    options = SimpleNamespace(**values)
    context = click.get_current_context()
    root: Any = context.find_root().command
    root.verbose = options.verbose
    root.log = log = Log(options)
    if options.verbose:
        from allegiance._core.progress import watched

        context.with_resource(watched())
    log.start(context.command.name or "", where if isinstance(where, str) else ", ".join(where))
    return options, log


def provenance() -> dict[str, Any]:
    """Return the version, and the command as it was given."""
    root: Any = click.get_current_context().find_root().command
    return {"version": __version__, "command": root.command_line}


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object on standard output, with its provenance."""
    click.echo(json.dumps(finite({**provenance(), **values}), indent=2, ensure_ascii=False, default=str))


def finite(value: Any) -> Any:
    """Return values without NaN and NumPy's types, which JSON does not know."""
    if isinstance(value, dict):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value


def show(*lines: str, bold: bool = False, err: bool = False) -> None:
    """Print lines; on a terminal sentences are wrapped between words, and tables keep their columns."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else 0
    for line in (line.translate(_CONTROL) for line in lines):
        wraps = 0 < width < len(line) and "  " not in line.strip()
        text = textwrap.fill(line, width, subsequent_indent="  ") if wraps else line
        click.echo(click.style(text, bold=True) if bold else text, err=err)
