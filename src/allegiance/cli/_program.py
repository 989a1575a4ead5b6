"""How the command behaves when something goes wrong: messages, warnings, signals and exit codes."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import click

from ._remedies import in_words_of_the_command

#: Exit codes, by convention: usage errors are 2, and a process ended by signal s exits with 128 + s.
FAILED = 1
UNDER_THRESHOLD = 3
DRIFTED = 4
_INTERRUPTED = 130
_TERMINATED = 143
#: Errors that say what the user can do. Anything else is a defect of ours.
_EXPECTED = (ValueError, TypeError, ImportError, OSError, MemoryError)


class Terminated(BaseException):
    """The process was asked to end: unwind, so that temporary files are removed."""


class Program(click.Group):
    """A group of commands with the error handling of a finished program."""

    debug = False
    command_line = ""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> NoReturn:
        """Run a command and exit.

        Parameters
        ----------
        args
            The words of the command line; those of the process by default.
        *rest, **settings
            For click.
        """
        words = list(sys.argv[1:] if args is None else args)
        self.debug = False
        self.command_line = shlex.join(["allegiance", *words])
        settings |= {"standalone_mode": False, "prog_name": "allegiance"}
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _warner()
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
            click.echo("Interrupted; nothing was left half written.", err=True)
            return _INTERRUPTED
        except Terminated:
            return _TERMINATED
        except BrokenPipeError:
            _silence_stdout()
            return FAILED
        except Exception as error:
            self._show_error(error)
            return FAILED
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    def _show_error(self, error: Exception) -> None:
        if self.debug:
            traceback.print_exception(error)
            return
        if isinstance(error, _EXPECTED):
            click.echo(f"Error: {_words_of(error)}", err=True)
        else:
            click.echo(f"Error: {type(error).__name__}: {error}. Run again with --debug for the details.", err=True)


def _words_of(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory. {error}".strip()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _warner() -> Any:
    """Return what shows warnings: each text once, in one line."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_words_of_the_command(str(message))
        for_developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
        if text not in said and not issubclass(category, for_developers):
            said.add(text)
            click.echo(f"Warning: {text}", err=True)

    return show


def _on_termination() -> Any:
    """Make SIGTERM unwind the stack; return the handler before, or None where handlers cannot be set."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    try:
        return signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread
        return None


def _silence_stdout() -> None:
    """Keep Python from complaining about the closed pipe once more while it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
