"""How the command behaves as a program: help, exit codes, errors, logs, signals, what it imports."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import click
import numpy as np
import pytest
from click.testing import CliRunner

from allegiance import __version__
from allegiance._core.stored import json_value
from allegiance.cli._program import program
from allegiance.influence import INFLUENCES
from cli.command import INSTALLED, call, start

ORDER = ["Clustering:", "Columns:", "Reading DATA:", "Trust:", "Output:", "Running:"]
COMMANDS = ["audit", "check", "compare", "curve", "model", "review", "score", "watch"]


def command(name: str) -> click.Command:
    result = program.get_command(click.Context(program), name)
    assert result is not None
    return result


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_every_option_in_a_group(name):
    text = call(name, "--help").stdout
    assert f"allegiance {name}" in text
    options = [option for option in command(name).params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []
    groups = [line for line in text.splitlines() if line in ORDER]
    assert groups == [group for group in ORDER if group in groups]
    assert groups[-1] == "Running:"


def test_there_are_no_other_commands_few_options_and_the_influences_of_the_library():
    assert sorted(program.list_commands(click.Context(program))) == COMMANDS
    options = command("score").params
    assert len(options) <= 54
    (influence,) = [option for option in options if option.name == "influence"]
    assert set(influence.type.choices) <= set(INFLUENCES)


def test_versions():
    lines = call("--version").stdout.splitlines()
    assert lines[0] == f"allegiance {__version__}"
    assert any(line.startswith("numba ") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        (["--help"], ["numpy", "sklearn", "pyarrow"]),
        (["score", "--help"], ["numpy", "sklearn", "pyarrow"]),
        (["score", "x.csv"], ["numpy", "sklearn", "pyarrow"]),
        (["score", "no-such.csv", "--clusters", "3"], ["sklearn", "numba", "pandas"]),
        (["score", "no-such.csv", "--model", "no-such.model"], ["sklearn", "numba", "pandas", "pyarrow"]),
        (["check", "FILE"], ["sklearn", "numba"]),  # pyarrow itself imports pandas
        (["score", "FILE", "--labels", "species", "--resamples", "2"], ["bokeh", "jinja2", "PIL"]),
    ],
    ids=["help", "help of score", "usage error", "no file", "no model", "check", "summary"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(words, forbidden, flowers):
    script = f"""
        import sys
        sys.argv = ["allegiance", *{[str(flowers) if word == "FILE" else word for word in words]!r}]
        from allegiance.cli import main
        try:
            main()
        except SystemExit:
            pass
        print(*[name for name in {forbidden!r} if name in sys.modules], file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].split() == []


@pytest.mark.slow
def test_without_click_the_command_says_what_to_install():
    script = "import sys; sys.modules['click'] = None; from allegiance.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the command needs click: pip install 'allegiance[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


USAGE_ERRORS = [
    ("score DATA", "pass --clusters K"),
    ("score DATA --clusters 0", "--clusters"),
    ("score DATA --clusters 3 --labels species", "leave out --labels"),
    ("score DATA --algorithm gmm", "--algorithm gmm needs --clusters K"),
    ("score DATA --algorithm hdbscan --clusters 3", "chooses the number of clusters itself"),
    ("score DATA --algorithm nonsense --clusters 3", "nonsense"),
    ("score DATA --labels species --influence nonsense", "euclidean"),
    ("score DATA --labels species --resamples -1", "--resamples"),
    ("score DATA --labels species --review many", "such as 500, nor a share"),
    ("score DATA --labels species --review-output x", "needs --review"),
    ("score DATA --labels species --sep ab", "is not one character"),
    ("score DATA --labels species --report r.html --map width", "does not name two columns"),
    ("score DATA --labels species --map width,height", "--map needs --report"),
    ("score DATA --labels species --encoding zlib_codec", "is not a text encoding"),
    ("score DATA --labels species --on-error skip -o x.csv", "needs -o FOLDER/"),
    ("score DATA --labels species --report r.html -o x/", "needs all rows in memory"),
    ("score DATA --labels species --fail-under 2", "--fail-under"),
    ("score DATA --labels species --fail-on-drift", "needs --model"),
    ("score DATA --labels species --eps 2", "--eps"),
    ("score DATA --labels species --stream --report r.html -o x.csv", "needs all rows in memory"),
    ("score DATA --labels species --stream", "needs -o FILE"),
    ("score DATA --labels species --json -o -", "both write to standard output"),
    ("score", "DATA"),
    ("compare DATA --labels species", "at least two"),
    ("compare DATA --algorithm gmm --algorithm kmeans", "needs --clusters"),
    ("curve DATA --clusters x", "neither a list"),
    ("curve DATA --clusters 5-3", "empty range"),
    ("curve DATA --clusters 1-3", "--clusters must be at least 2"),
    ("model a b", "unexpected extra argument"),
    ("nonsense", "nonsense"),
]
OTHER_ERRORS = [
    ("score DATA --labels spezies", "species"),
    ("score DATA --labels species --features widht", "width"),
    ("score DATA --labels species --centers none.csv", "none.csv does not exist"),
    ("score DATA --model none.model", "none.model does not exist"),
    ("score DATA --labels species -o none/scores.csv", "the folder none does not exist"),
    ("score DATA --labels species -o scores.docx", "scores.docx has no known ending"),
    ("score DATA --clusters 999 --drop species", "--clusters 999 is more than the 60 rows"),
]


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [*((*case, 2) for case in USAGE_ERRORS), *((*case, 1) for case in OTHER_ERRORS)],
)
def test_usage_errors_exit_with_2_and_others_with_1(flowers, words, message, code):
    result = call(*(flowers if word == "DATA" else word for word in words.split()), code=code)
    assert "\nError: " in "\n" + result.stderr
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("kind", [KeyError, TypeError, ValueError, OSError])
def test_a_bug_is_reported_as_one_and_verbose_shows_every_traceback(flowers, monkeypatch, kind, capfd):
    """Tracebacks of ValueError and OSError were never shown, although libraries raise them, too."""

    def fail(*_, **__):
        raise kind("something of ours")

    monkeypatch.setattr("allegiance.io.propose", fail, raising=False)
    words = ["score", str(flowers), "--labels", "species"]
    result = call(*words, code=1)
    assert ("This is a bug in allegiance. Rerun with --verbose" in result.stderr) == (kind in (KeyError, TypeError))
    verbose = CliRunner().invoke(program, [*words, "-v"])
    assert "in fail" in verbose.output


def test_errors_name_options_of_the_command(flowers, monkeypatch):
    def fail(*_, **__):
        raise ValueError(
            "x exists: pass `force=True`, `encoding='cp1252'`, `missing={'a b': ['?']}` or `sheet=`. Read from below "
            "line 3 (`skip_rows=`). format=csv is a cell."
        )

    monkeypatch.setattr("allegiance.io.propose", fail, raising=False)
    text = call("score", flowers, "--labels", "species", code=1).stderr
    assert "x exists: pass --if-exists replace, --encoding cp1252, --missing 'a b=?' or --sheet. " in text
    assert "below line 3 (--skip-rows). format=csv is a cell." in text


def test_outputs_are_checked_before_any_work(flowers, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the data was read")

    monkeypatch.setattr("allegiance.io.open_table", fail, raising=False)
    (tmp_path / "there.csv").write_text("old")
    for option in ("-o", "--report", "--save"):
        words = ["score", flowers, "--labels", "species", option, tmp_path / "there.csv"]
        assert "already exists" in call(*words, code=1).stderr
    assert (tmp_path / "there.csv").read_text() == "old"


def test_logs_off_a_terminal(flowers, tmp_path, monkeypatch):
    words = ["score", flowers, "--labels", "species", "--resamples", 3, "-o"]
    lines = call(*words, tmp_path / "a.csv").stderr.splitlines()
    assert lines[0] == f"allegiance score: {flowers}"
    assert lines[-1].startswith("Finished in ")
    assert "replication 0." in lines[-1] or "replication 1." in lines[-1]
    logged = call(*words, tmp_path / "b.csv", "--log-format", "json").stderr
    records = [json.loads(line) for line in logged.splitlines()]
    assert [record["event"] for record in records] == ["start", "wrote", "end"]
    assert (records[-1]["rows"], 0 <= records[-1]["replication"] <= 1) == (60, True)
    assert all(record["time"] for record in records)
    steps = [line.partition(": ")[2] for line in call(*words, tmp_path / "v.csv", "-v").stderr.splitlines()]
    assert "planned 2 features of" in steps[1]
    assert "fitting clusters and trust to 60 rows" in steps[2]
    assert call(*words, tmp_path / "c.csv", "-q").stderr == ""
    monkeypatch.setattr("allegiance.cli._messages._PAUSE", 0.0)
    assert "60 of 60 rows" in call(*words, tmp_path / "d.csv", "--stream").stderr
    error = json.loads(call("score", "no.csv", "--clusters", 2, "--log-format", "json", code=1).stderr.splitlines()[-1])
    assert (error["event"], error["text"]) == ("error", "no.csv does not exist.")


def test_names_from_the_data_do_not_control_the_terminal(tmp_path):
    rows = "\n".join(f"{i},{i % 7}" for i in range(40))
    (tmp_path / "t.csv").write_text(f"a\x1b[31m\x9b\x9d,b\n{rows}\n")
    for words in (["check"], ["check", "--json"], ["score", "--labels", "a"]):
        output = call(words[0], tmp_path / "t.csv", *words[1:], code=1 if words[0] == "score" else 0).output
        assert not {"\x1b", "\x9b", "\x9d"} & {*output}
    assert "a [31m" in call("check", tmp_path / "t.csv").stdout


def test_json_has_no_infinity():
    text = json.dumps(json_value({"a": [np.inf, -np.inf, np.nan, np.float32(1.5)]}), allow_nan=False)
    assert json.loads(text) == {"a": [None, None, None, 1.5]}


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "2>/dev/full", "| true"])
def test_closed_streams_do_not_stop_a_run(flowers, tmp_path, closed):
    words = f"{INSTALLED} score {flowers} --labels species --resamples 0 -o {tmp_path}/out.csv {closed}"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {words}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").exists()
    assert (tmp_path / "out.csv.run.json").exists()
    refused = subprocess.run(["bash", "-c", f"{INSTALLED} score - --clusters 2 <&-"], capture_output=True, check=False)
    assert b"standard input is closed" in refused.stderr


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(flowers):
    words = f"{INSTALLED} score {flowers} --labels species --resamples 0 -o - --quiet | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,width")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of its own")
def test_lines_are_bold_and_wrapped_on_a_terminal_only(flowers):
    words = [INSTALLED, "score", flowers, "--labels", "species", "--resamples", "3"]
    piped = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    assert "on a fresh sample (90% prediction" in piped
    reader, terminal = os.openpty()
    subprocess.run(words, stdout=terminal, stderr=subprocess.DEVNULL, env=os.environ | {"COLUMNS": "60"}, check=True)
    os.close(terminal)
    bold = [text.partition("\x1b[0m")[0] for text in os.read(reader, 10_000).decode().split("\x1b[1m")[1:]]
    assert all(len(line) <= 60 for text in bold for line in text.splitlines())
    assert all(" ".join(text.split()) in piped for text in bold)


#: The command, except that writing stops in the middle and says so.
SLOW_WRITER = """
    import sys, time
    from allegiance.io.sinks import Sink
    write = Sink.write
    def slow(self, rows):
        write(self, rows)
        print("writing", flush=True)
        # A signal just before a long sleep would be noticed after it only.
        for _ in range(1200):
            time.sleep(0.05)
    Sink.write = slow
    from allegiance.cli import main
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--in-memory", "--stream"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_writing_leaves_no_half_file(flowers, tmp_path, number, code, way):
    out = tmp_path / "scores.parquet"
    out.write_text("old")
    words = ["score", flowers, "--labels", "species", "--resamples", 0, way, "-o", out, "--if-exists", "replace"]
    script = [sys.executable, "-c", textwrap.dedent(SLOW_WRITER), *map(str, words)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"No incomplete output" in errors
    assert b"Traceback" not in errors
    assert set(os.listdir(tmp_path)) == {"flowers.csv", out.name}
    assert out.read_text() == "old"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.4, 0.7, 1.0])
def test_an_early_interruption_shows_no_traceback(flowers, seconds):
    with start("score", flowers, "--labels", "species") as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    # Python itself may be what was interrupted, before it has read a line of ours.
    if b"allegiance/cli" in errors or b"Interrupted" in errors:
        assert b"Traceback" not in errors
        assert process.returncode == 130


@pytest.mark.slow
def test_standard_input_that_never_ends_can_be_interrupted(tmp_path):
    with start("score", "-", "--clusters", 2, "-o", tmp_path / "scores.csv") as process:
        assert process.stdin is not None
        process.stdin.write(b"a,b\n1,2\n")
        process.stdin.flush()
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) in (143, -signal.SIGTERM)
    assert os.listdir(tmp_path) == []
