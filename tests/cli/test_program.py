"""How the command behaves as a program: help, exit codes, errors, completion, what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import click
import pytest

from allegiance import __version__
from allegiance.cli._main import program
from cli.command import INSTALLED, call

COMMANDS = [
    "compare",
    "completion",
    "consensus",
    "curve",
    "explore",
    "info",
    "model",
    "plot",
    "report",
    "score",
    "warmup",
    "watch",
]


def test_all_commands_are_there():
    assert sorted(program.commands) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_describes_every_option(command):
    text = call(command, "--help").stdout
    assert "Examples:" in text
    assert f"allegiance {command}" in text
    options = [option for option in program.commands[command].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_help_and_version_of_the_installed_command():
    def out(*words):
        return subprocess.run([INSTALLED, *words], capture_output=True, text=True, check=True).stdout

    assert "Examples:" in out("--help")
    assert "Examples:" in out("score", "-h")
    assert out("--version") == f"allegiance {__version__}\n"


#: The kinds that an option takes are those that the library knows, so that listing them loads some of it.
OF_THE_REGISTRIES = ["numpy", "sklearn", "scipy", "pandas"]


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--help"], []),
        (["completion", "bash"], []),
        (["score"], []),
        (["info", "--help"], []),
        (["score", "--help"], OF_THE_REGISTRIES),
    ],
)
def test_help_loads_no_heavy_library(words, allowed):
    script = f"""
        import sys
        sys.argv = ["allegiance", *{words!r}]
        from allegiance.cli import main
        try:
            main()
        except SystemExit:
            pass
        heavy = ["numba", "numpy", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "bokeh", "rich.console"]
        print(*[name for name in heavy if name in sys.modules], file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert set(done.stderr.splitlines()[-1].split()) <= set(allowed)


@pytest.mark.parametrize("library", ["click", "rich"])
def test_without_its_libraries_the_command_says_what_to_install(library):
    script = f"import sys; sys.modules[{library!r}] = None; from allegiance.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{library} is missing. pip install 'allegiance[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "DATA"], "use --labels COLUMN, --centers FILE, or --clusters K"),
        (["score", "DATA", "--clusters", "0"], "--clusters"),
        (["score", "DATA", "--clusters", "3", "--labels", "species"], "leave out --labels and --centers"),
        (["score", "DATA", "--algorithm", "gmm"], "--algorithm gmm needs --clusters K"),
        (["score", "DATA", "--algorithm", "hdbscan", "--clusters", "3"], "finds the number of clusters itself"),
        (["score", "DATA", "--algorithm", "nonsense", "--clusters", "3"], "nonsense"),
        (["score", "DATA", "--labels", "species", "--influence", "nonsense"], "one of 'euclidean'"),
        (["score", "DATA", "--labels", "species", "--influence", "kl:smoothing"], "name:key=value,key=value"),
        (
            ["score", "DATA", "--labels", "species", "--influence", "kl:smooth=1"],
            "unexpected keyword argument 'smooth'",
        ),
        (["score", "DATA", "--labels", "species", "--influence", "kl:smoothing=-1"], "smoothing"),
        (["score", "DATA", "--labels", "species", "--influence", "mahalanobis"], "needs covariance"),
        (["score", "DATA", "--labels", "species", "--weights", "size:scale=x"], "scale of Weights"),
        (["score", "DATA", "--labels", "species", "--domain", "box:margin=x"], "margin"),
        (["score", "DATA", "--labels", "species", "--engine", "shared:max_samples=0"], "max_samples"),
        (["score", "DATA", "--labels", "species", "--representative", "mode"], "'mean', 'median'"),
        (["score", "DATA", "--labels", "species", "--resamples", "1"], "--resamples"),
        (["score", "DATA", "--labels", "species", "--review", "5"], "name a file with -o"),
        (["score", "DATA", "--labels", "species", "--review", "many", "-o", "o.csv"], "such as 500, nor a share"),
        (["score", "DATA", "--labels", "species", "--review", "5.5", "-o", "o.csv"], "such as 500, nor a share"),
        (["score", "DATA", "--labels", "species", "--top", "2"], "add --details"),
        (["score", "DATA", "--labels", "species", "--fail-under", "2"], "--fail-under"),
        (["score"], "DATA"),
        (["compare", "DATA", "--labels", "species"], "at least two"),
        (["compare", "DATA", "--algorithm", "gmm", "--algorithm", "kmeans"], "needs --clusters"),
        (["curve", "DATA", "--clusters", "x"], "neither a range"),
        (["curve", "DATA", "--clusters", "5-3"], "empty range"),
        (["plot", "DATA", "--labels", "species", "-o", "p.bmp"], "must end in .png, .svg or .pdf"),
        (["plot", "DATA", "--labels", "species", "-o", "p.png", "--image-shape", "8"], "HEIGHTxWIDTH"),
        (["completion", "tcsh"], "tcsh"),
        (["nonsense"], "nonsense"),
    ],
)
def test_usage_errors_exit_with_2(flowers, words, message):
    result = call(*(flowers if word == "DATA" else word for word in words), code=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "spezies"], "Did you mean 'species'?"),
        (["--labels", "species", "--features", "widht"], "Did you mean 'width'?"),
        (["--labels", "species", "--centers", "none.csv"], "none.csv does not exist"),
        (["--labels", "name"], "'species' (string)"),
        (["--labels", "species", "--id", "name", "--eps", "2"], "eps must be in [1e-09, 1), got 2.0"),
        (["--labels", "species", "--id", "name", "-o", "none/scores.csv"], "the folder none does not exist"),
        (["--labels", "species", "--id", "name", "-o", "scores.xlsx"], "the ending of scores.xlsx"),
        (["--clusters", "999", "--id", "name", "--drop", "species"], "n_samples=60"),
    ],
)
def test_other_errors_exit_with_1(flowers, words, message):
    result = call("score", flowers, *words, code=1)
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stdout == ""


def test_debug_shows_the_traceback(flowers):
    words = [INSTALLED, "score", flowers, "--labels", "none", "--debug"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "TableError" in done.stderr


def test_a_defect_is_reported_without_a_traceback(flowers, monkeypatch):
    def fail(*_, **__):
        raise KeyError("something of ours")

    monkeypatch.setattr("allegiance.io._old_tables.plan_features", fail)
    result = call("score", flowers, "--labels", "species", code=1)
    assert "KeyError" in result.stderr
    assert "--debug" in result.stderr


def test_what_cannot_be_written_is_known_before_the_work(flowers, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the data was read")

    monkeypatch.setattr("allegiance.io._old_tables.open_source", fail)
    (tmp_path / "there.csv").write_text("old")
    common = ["score", flowers, "--labels", "species"]
    assert "exists already" in call(*common, "-o", tmp_path / "there.csv", code=1).stderr
    assert "exists already" in call(*common, "--report", tmp_path / "there.csv", code=1).stderr
    assert (tmp_path / "there.csv").read_text() == "old"


def test_warnings_are_one_line_on_standard_error(tmp_path, rng):
    import numpy as np

    np.save(tmp_path / "points.npy", rng.normal(size=(30, 6)))
    common = ["score", tmp_path / "points.npy", "--clusters", 8, "--eps", 0.001, "--engine", "auto:max_samples=2000"]
    result = call(*common, "--json")
    [line] = [line for line in result.stderr.splitlines() if "did not reach eps" in line]
    assert line.startswith("Warning: ")
    assert line.endswith("raise --eps, or allow more samples, as in --engine auto:max_samples=10000000.")
    json.loads(result.stdout)


def test_no_colour_in_pipes_or_if_unwanted():
    def out(**variables):
        return subprocess.run([INSTALLED, "info"], capture_output=True, env=os.environ | variables, check=True).stdout

    assert b"\x1b" not in out()
    assert b"\x1b[1m" in out(FORCE_COLOR="1")
    assert b"\x1b[3" not in out(FORCE_COLOR="1", NO_COLOR="1")


def test_python_runs_the_command_too():
    command = [sys.executable, "-m", "allegiance", "score", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: allegiance score" in done.stdout


def test_a_reader_that_goes_away_is_not_an_error_to_talk_about(flowers):
    words = f"{INSTALLED} score {flowers} --labels species --id name -o - --quiet | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,label")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    text = call("completion", shell).stdout
    assert "_ALLEGIANCE_COMPLETE" in text


def test_completion_completes():
    environment = os.environ | {
        "_ALLEGIANCE_COMPLETE": "bash_complete",
        "COMP_WORDS": "allegiance score --stan",
        "COMP_CWORD": "2",
    }
    done = subprocess.run([INSTALLED], capture_output=True, text=True, env=environment, check=True)
    assert "--standardize" in done.stdout


def test_info_shows_versions_and_extras():
    text = call("info").stdout
    assert f"allegiance {__version__}" in text
    assert "numba" in text
    found = json.loads(call("info", "--json").stdout)
    assert found["allegiance"] == __version__
    assert found["extras"]["io"]["pyarrow"]


@pytest.mark.parametrize(
    ("variable", "value", "said"), [("NUMBA_CACHE_DIR", "x", "x/"), ("ALLEGIANCE_CACHE", "0", "off")]
)
def test_info_says_where_kernels_are_kept(tmp_path, variable, value, said):
    environment = os.environ | {variable: value}
    command = [INSTALLED, "info", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, check=True)
    assert json.loads(done.stdout)["kernel_cache"].startswith(said)


def test_info_describes_a_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,größe,flag,when,nothing\na,1.5,true,2024-01-01,\nb,,false,2024-01-02,\n,3,,,\n")
    found = json.loads(call("info", path, "--json").stdout)
    assert found["rows"] == 3
    columns = {column["column"]: column for column in found["columns"]}
    assert {name: column["missing"] for name, column in columns.items()} == {
        "id": 1,
        "größe": 1,
        "flag": 1,
        "when": 1,
        "nothing": 3,
    }
    assert (columns["größe"]["min"], columns["größe"]["max"]) == (1.5, 3.0)
    text = call("info", path).stdout
    assert "3 rows, 5 columns" in text
    assert "größe" in text


@pytest.mark.parametrize("stdin", [False, True], ids=["file", "pipe"])
def test_info_shows_numbers_and_codes_as_they_are_written(tmp_path, stdin):
    path = tmp_path / "table.csv"
    path.write_text("id,count,x\n00100000,100000,1.50\n00100001,200000,2e3\n")
    result = call("info", "-", stdin=path.read_bytes()) if stdin else call("info", path)
    assert "100,000" not in result.stdout
    if not stdin:
        assert "00100000" in result.stdout
        columns = json.loads(call("info", path, "--json").stdout)["columns"]
        assert [column["type"] for column in columns] == ["string", "int64", "double"]


def test_names_from_the_data_are_not_markup(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("[bold]a,group\n1,[red]x\n2,[red]x\n9,[/]y\n")
    text = call("score", path, "--labels", "group").stdout
    assert "[red]x" in text
    assert "[/]y" in text
    assert "[bold]a" in call("info", path).stdout


def test_warmup_says_that_it_is_done():
    result = call("warmup")
    assert "Kernels are ready" in result.stderr
    assert result.stdout == ""
