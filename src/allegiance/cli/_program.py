"""The program: its commands, warnings, signals and exit codes."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import click

from allegiance import __version__

from ._messages import Log, clean, with_options
from ._options import Features, Output, Reading, Trust, pick

#: Exit codes. Usage errors are 2, and a process ended by signal s exits with 128 + s.
FAILED, UNDER_THRESHOLD, DRIFTED, NOTED = 1, 3, 4, 5
_INTERRUPTED, _TERMINATED = 130, 143
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
            warnings.showwarning = self._show_warning
            sys.exit(self._guarded(words, rest, settings))

    def _guarded(self, words: list[str], rest: tuple[Any, ...], settings: dict[str, Any]) -> int:
        """Run a command and return its exit code, after printing its error."""

        def terminate(number: int, frame: FrameType | None) -> None:
            """End the program on SIGTERM."""
            raise _TerminatedError

        before = None
        with suppress(ValueError):  # handlers can only be set in the main thread
            before = signal.signal(signal.SIGTERM, terminate)
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
            text = str(error)
            if isinstance(error, MemoryError):
                text = f"out of memory. {error}".strip()
            elif isinstance(error, OSError) and error.filename is not None:
                text = f"{error.filename}: {error.strerror}."
            elif not isinstance(error, (ValueError, ImportError, OSError)):
                text = f"{type(error).__name__}: {error}. This is a bug in allegiance. "
                text += "Rerun with --verbose and please report it."
            self.log.write("error", text)
            return FAILED
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    def _show_warning(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """Print each warning once, in one line, except those for developers."""
        for_developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
        text = with_options(str(message))
        if text not in self.log.warned and not issubclass(category, for_developers):
            self.log.warned.append(text)
            self.log.write("warning", text)


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
    """Return the run of a command: its typed options and its log."""
    context = click.get_current_context()
    program.log = log = Log(**{name: values[name] for name in ("quiet", "verbose", "log_format")})
    if values["verbose"]:
        from allegiance._core.progress import show_remarks

        context.with_resource(show_remarks())
    data = tuple(values.get("data") or where)
    log.start(context.command.name or "", ", ".join(data))
    parts = pick(Reading, values), pick(Features, values), pick(Trust, values), pick(Output, values)
    return Run(data, *parts, values["json"], log)
