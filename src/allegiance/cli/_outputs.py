"""Outputs: check them before the work, write them, and record the run, so that an unchanged rerun can be skipped."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from allegiance import __version__

from ._inputs import find_readable, free_name, is_cells, open_input
from ._messages import json_text, show
from ._program import Run, program

if TYPE_CHECKING:
    from allegiance.io import FeaturePlan, Table
    from allegiance.results import AffinityResult

#: Output columns by score, with and without trust.
_SCORES = {"label": "cluster", "trust": "trust", "verdict": "verdict", "rival": "rival", "priority": "priority"}
_UNCALIBRATED_SCORES = {"label": "cluster", "own_affinity": "own_affinity", "rival": "rival", "priority": "priority"}
#: Fill colors of verdicts in workbooks.
_VERDICT_COLORS = {"borderline": "#fbe8cc", "doubtful": "#f6cdc3"}
#: Marks a file as a run record.
_FORMAT = "allegiance run"
#: Options that do not change an output.
_SILENT = ("n_jobs", "if_exists", "batch_rows")


def check_outputs(run: Run) -> None:
    """Raise unless all outputs can be written and differ from each other."""
    from allegiance.io import open_sink
    from allegiance.io.files import check_writable, is_folder
    from allegiance.io.partitions import PartitionedSink

    output = run.output
    if output.output == "-" and run.json:
        raise click.UsageError("--json and -o - both write to standard output: name a file with -o.")
    if output.output == "-" and sys.stdout.name == os.devnull:
        raise OSError("standard output is closed, so -o - cannot be written.")
    places: dict[str, str] = {}
    for option, path in _paths(run).items():
        place = path if "://" in path else os.path.realpath(path)
        if place in places:
            raise click.UsageError(f"{places[place]} and {option} both write {path}: name two files.")
        places[place] = option
        if option == "the run record":
            _read_record(path)  # raises if it would replace another file
            if not path.endswith("/run.json"):  # the folder of a partitioned output may not exist yet
                check_writable(path, force=True)
        elif option == "-o" and is_folder(path):
            PartitionedSink(path, if_exists=output.if_exists)
        elif option == "-o" and is_cells([path]):
            if not is_cells(run.data):
                raise click.UsageError("-o FILE.h5ad needs one .h5ad file as input: the scores are added to it.")
            check_writable(path, force=output.replaces)
        elif option in ("-o", "--review-output", "--audit-sheet"):
            open_sink(path, force=output.replaces)
        else:
            check_writable(path, force=output.replaces)


def _paths(run: Run) -> dict[str, str]:
    """Return the output files by option, the run record last."""
    from allegiance.io.files import is_folder
    from allegiance.io.partitions import RECORDS

    output = run.output
    paths: dict[str, Any] = {
        "-o": None if output.output == "-" else output.output,
        "--review-output": output.review_output,
        "--audit-sheet": output.audit_sheet,
        "--report": output.report,
        "--save": output.save,
    }
    paths = {option: path for option, path in paths.items() if path is not None}
    if first := next(iter(paths.values()), None):
        is_partitioned = is_folder(first)
        paths["the run record"] = f"{first.rstrip('/')}/{RECORDS}/run.json" if is_partitioned else f"{first}.run.json"
    return paths


def _read_record(path: str) -> dict[str, Any] | None:
    """Return the run record of earlier outputs, None if there is none; raise if the path is another file."""
    from allegiance.io.files import read_file

    content = read_file(path)
    if content is None:
        return None
    with suppress(ValueError):
        record = json.loads(content)
        if isinstance(record, dict) and record.get("format") == _FORMAT:
            return record
    raise FileExistsError(f"{path} exists and is not a run record: move it, or choose another output.")


def check_output_paths(run: Run, table: Table, *others: str) -> None:
    """Raise if an output of the command would replace one of its inputs."""
    from allegiance.io.files import refuse_inputs

    inputs = [path for path in (*table.files, run.trust.centers, run.trust.model) if path]
    for path in (*_paths(run).values(), *others):
        refuse_inputs(path, inputs)


def open_job(run: Run, **more: Any) -> tuple[Table, RunRecord, dict[str, str]]:
    """Check the outputs of a command, and return its table, run record, and skipped input files with the reason.

    ``more`` holds options that only the command has.
    """
    check_outputs(run)
    data, damaged = find_readable(run) if run.reading.on_error == "skip" else (run.data, dict[str, str]())
    table = open_input(run.reading, data)
    check_output_paths(run, table)
    return table, RunRecord(run, table, **more), damaged


def finish_job(run: Run, record: RunRecord, rows: Any, n_rows: int, summary: dict[str, Any], text: str) -> int:
    """Write the output table and the run record of a command, and print its summary."""
    write_rows(run.output.output, rows, run)
    record.write(0, {"rows": n_rows})
    finish(0)
    if run.json:
        print_json({**summary, "notes": run.log.notes, "output": run.output.output})
    elif not run.log.quiet:
        show(*text.splitlines(), err=run.output.output == "-")
    run.log.end()
    return 0


class RunRecord:
    """The record of a run: its inputs and options, its outputs, and its exit code."""

    def __init__(self, run: Run, table: Table, **more: Any) -> None:
        """Describe a run; ``more`` holds options that only its command has."""
        from allegiance.io.files import read_file

        self._run, self._paths = run, _paths(run)
        self._path = self._paths.pop("the run record", None)
        parts = {name: asdict(getattr(run, name)) for name in ("reading", "features", "trust", "output")}
        options = {name: value for part in parts.values() for name, value in part.items() if name not in _SILENT}
        others = [path for path in (run.trust.model, run.trust.centers) if path]
        values = {
            "version": __version__,
            "options": options | more,
            "table": table.fingerprint(),
            "contents": {path: hashlib.sha256(read_file(path) or b"").hexdigest() for path in others},
        }
        self._description = json.loads(json.dumps(values, default=str))

    def skip_if_up_to_date(self) -> int | None:
        """Return the recorded exit code if ``--if-exists update`` is set and all outputs are up to date."""
        if self._run.output.if_exists != "update" or self._path is None:
            return None
        record = _read_record(self._path)
        if record is None or record.get("run") != self._description or record.get("outputs") != self._stamps():
            return None
        code = int(record["exit_code"])
        reason = f" It exited with code {code}." if code else ""
        where = next(iter(self._paths.values()))
        self._run.log.write("skip", f"{where} is up to date: inputs and options are unchanged.{reason}", file=where)
        return code

    def write(self, code: int, summary: dict[str, Any]) -> None:
        """Write the record of the run, after all outputs are complete."""
        from allegiance._core.stored import json_value
        from allegiance.io.files import write_whole
        from allegiance.io.saved import library_versions

        if self._path is None:
            return
        figures = ("rows", "labels", "replication", "replication_interval", "model_id", "skipped")
        values = {
            "format": _FORMAT,
            **provenance(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "exit_code": code,
            "seed": self._run.trust.seed,
            "libraries": library_versions(),
            **{name: summary[name] for name in figures if name in summary},
            "notes": self._run.log.notes,
            "outputs": self._stamps(),
            "run": self._description,
        }
        write_whole(self._path, json.dumps(json_value(values), indent=1, default=str).encode())

    def _stamps(self) -> dict[str, Any]:
        """Return sizes and times of the outputs."""
        from allegiance.io.files import is_folder, stamp, stamp_folder

        return {path: stamp_folder(path) if is_folder(path) else stamp(path) for path in self._paths.values()}


def finish(code: int) -> None:
    """Set the exit code of the command, once all outputs are complete and before the summary is printed."""
    program.code = code


def provenance() -> dict[str, Any]:
    """Return the provenance that a command writes to its outputs: the version and the command line."""
    return {"version": __version__, "command": program.command_line}


def print_json(values: dict[str, Any]) -> None:
    """Write the JSON output of a command with its provenance."""
    click.echo(json_text({**provenance(), **values}, indent=2))


def open_output(path: str, run: Run, settings: dict[str, Any], **facts: Any) -> Any:
    """Return the sink of an output table, with provenance; ``settings`` are attributes of the sink."""
    from allegiance.io import open_sink

    sink = open_sink(path, force=run.output.replaces, metadata=provenance() | facts)
    for name, value in settings.items():
        setattr(sink, name, value)
    return sink


def write_rows(path: str | None, rows: Any, run: Run, **settings: Any) -> None:
    """Write an output table, if a file is named; ``settings`` are attributes of the sink."""
    if path is not None:
        with open_output(path, run, settings) as sink:
            sink.write(rows)
        run.log.wrote(path)


def workbook_settings(names: dict[str, str], plan: FeaturePlan) -> dict[str, Any]:
    """Return how workbooks show the table and its scores, whose output names are ``names``."""
    formats = {"trust": "0%", "own_affinity": "0%", "priority": "0"}
    return {
        "formats": {names[name]: text for name, text in formats.items() if name in names},
        "numbers": [column.name for column in plan.features if column.kind == "number"],
        "colors": {names["verdict"]: _VERDICT_COLORS} if "verdict" in names else {},
    }


def write_cells(path: str, run: Run, result: AffinityResult) -> None:
    """Write the input .h5ad file with the scores, as ``allegiance.anndata.trust`` writes them."""
    from allegiance.anndata import write_result
    from allegiance.io.files import replacing
    from allegiance.io.formats import read_h5ad

    cells = read_h5ad(run.data[0])
    write_result(cells, result, run.features.labels or "cluster", version=provenance()["version"])
    with replacing(path, force=run.output.replaces) as temporary:
        cells.write_h5ad(temporary)


def score_names(columns: Sequence[str], scores: Any, *, with_all: bool) -> dict[str, str]:
    """Return the columns of the command's output by library name, with a prefix if any name is taken."""
    wanted = _SCORES if "trust" in scores else _UNCALIBRATED_SCORES
    names = free_names(columns, {name: output_name for name, output_name in wanted.items() if name in scores})
    others = [name for name in scores if name not in names] if with_all else []
    return names | {name: free_name(name, [*columns, *names.values()]) for name in others}


def free_names(columns: Any, wanted: dict[str, str]) -> dict[str, str]:
    """Return names for output columns: ``wanted``, or with a prefix if the input has any of them."""
    prefix, number = "", 1
    while any(prefix + output_name in columns for output_name in wanted.values()):
        prefix, number = "allegiance_" if number == 1 else f"allegiance{number}_", number + 1
    return {name: prefix + output_name for name, output_name in wanted.items()}
