"""Messages of the command: what it prints, and its log on standard error."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import textwrap
import time
from ast import literal_eval
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from allegiance import __version__

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
        """Write one message. A quiet run writes only the reason for a nonzero exit code."""
        if self.quiet and event not in _REASONS:
            return
        line = f"{_PREFIXES.get(event, '')}{clean(text)}"
        if self.json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = json_text({"time": now, "event": event, "text": with_options(text), **values})
        with suppress(OSError, ValueError):  # a full or closed stream does not stop the run
            click.echo(line, err=True)

    def start(self, command: str, where: str) -> None:
        """Write the message that the command starts, unless there is a terminal."""
        if not self.terminal:
            self.write("start", f"allegiance {command}: {where}", version=__version__)

    def end(self, **values: Any) -> None:
        """Write a message with the duration and the main figures, unless there is a terminal."""
        if not self.terminal:
            seconds = time.perf_counter() - self.started
            facts = "".join(f", {name} {value:.3f}" for name, value in values.items() if isinstance(value, float))
            self.write("end", f"Finished in {seconds:.1f} s{facts}.", seconds=round(seconds, 3), **values)

    def note(self, *texts: str, write: bool = True) -> None:
        """Write each note once as a message, and add it to the JSON summary; unless ``write``, only add it."""
        for text in map(with_options, texts):
            if text not in self.notes:
                self.notes.append(text)
                if write:
                    self.write("note", text)

    def step(self, text: str) -> None:
        """Write a message with a step and the elapsed seconds, with ``--verbose``."""
        if self.verbose:
            seconds = time.perf_counter() - self.started
            self.write("step", f"{seconds:.1f} s: {text}", seconds=round(seconds, 3))

    def wrote(self, path: str | None) -> None:
        """Write the message that an output file was written, if there is one."""
        if path not in (None, "-"):
            self.write("wrote", f"Wrote {path}", file=path)

    @property
    def progress(self) -> Any:
        """The ``verbose`` argument of the library: a bar on a terminal, elsewhere a line every 30 s."""
        return not self.quiet if self.terminal else self._write_progress

    def _write_progress(self, state: Any) -> None:
        """Write a message on the progress every 30 seconds."""
        now = time.perf_counter()
        if now - self._last >= _PAUSE:
            self._last = now
            self.write("progress", str(state), done=state.rows, total=state.total, rate=round(state.rate, 1))


def with_options(text: str) -> str:
    """Return a message of the library with command-line options instead of Python arguments."""

    def option_of(match: re.Match[str]) -> str:
        """Return the option in a message that stands for an argument of the library."""
        argument, value = match.groups()
        if argument == "missing" and value:
            words = [f"{column}={word}" for column, words in literal_eval(value).items() for word in words]
            return " ".join(f"--missing {shlex.quote(word)}" for word in words)
        option = _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
        return _OPTIONS.get(f"{argument}={value}") or " ".join([option, *shlex.split(value)])

    return _ARGUMENT.sub(option_of, text)


def clean(text: str) -> str:
    """Return a message for a terminal: with options, and without characters that control it."""
    return with_options(text).translate(_CONTROL)


def show(*lines: str, bold: bool = False, err: bool = False) -> None:
    """Print the lines of a message; on a terminal sentences are wrapped, and tables keep their columns."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else 0
    for line in map(clean, lines):
        wraps = 0 < width < len(line) and "  " not in line.strip()
        text = textwrap.fill(line, width, subsequent_indent="  ") if wraps else line
        click.echo(click.style(text, bold=True) if bold else text, err=err)


def json_text(values: dict[str, Any], indent: int | None = None) -> str:
    """Return a message or summary as JSON text without control characters."""
    from allegiance._core.stored import json_value

    text = json.dumps(json_value(values), indent=indent, ensure_ascii=False, allow_nan=False, default=str)
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)
