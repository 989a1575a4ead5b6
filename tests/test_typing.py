"""What type checkers say about calls of the package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import allegiance

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

#: Lines of a user's program, and what mypy must say about each; None if it must accept it.
CALLS = {
    "affinity(X, labels)": None,
    "affinity(X, epps=1)": 'Unexpected keyword argument "epps"',
    "affinity(X, labels, method='exact')": 'Unexpected keyword argument "method"',
    "affinity(X, labels, eps='small')": "has incompatible type",
    "affinity(X, labels, influence=KL(smoothing=0.5), domain=Box(margin=0.2), engine=Exact(), weights='size')": None,
    "affinity(X, labels, influence=Box())": "has incompatible type",
    "affinity(X, labels, domain=KL())": "has incompatible type",
    "affinity(X, labels, calibration=Calibration(5), top=3)": None,
    "trust(X, labels, n_resamples=5)": None,
    "trust(X, labels, n_resample=5)": 'Unexpected keyword argument "n_resample"',
    "AffinityScorer(influence='within', calibration=20).fit(X, labels).score(X)": None,
    "AffinityScorer(method='exact')": 'Unexpected keyword argument "method"',
    "KL(smoothing=0.5)": None,
    "KL(smooting=0.5)": 'Unexpected keyword argument "smooting"',
    "Kernel('rbf', gamma=0.5, approximation='nystroem')": None,
    "Kernel()": 'Missing positional argument "name"',
}
TYPES = {
    "affinity(X, labels)": "AffinityResult",
    "affinity(X, labels, top=2)": "AffinityResult",
    "affinity(X, labels, top=None)": "AffinityResult",
    "trust(X, labels)": "AffinityResult",
    "trust(X, labels).review(5)": "DataFrame|Any",
    "load('x.model')": "Any",
    "AffinityScorer().fit(X, labels)": "AffinityScorer",
    "AffinityScorer().affinity(X)": "AffinityResult",
    "AffinityScorer().affinity(X, top=2)": "AffinityResult",
    "AffinityScorer().fit_affinity(X, labels, top=2)": "AffinityResult",
}
HEAD = """
from allegiance import AffinityScorer, Calibration, affinity, load, trust
from allegiance.domains import Box
from allegiance.engines import Exact
from allegiance.influence import KL, Kernel

X = [[0.0], [1.0], [9.0]]
labels = [0, 0, 1]
"""


@pytest.fixture(scope="module")
def message(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy says about each line, in one run, for it reads the whole package first."""
    folder = tmp_path_factory.mktemp("typing")
    lines = [*HEAD.splitlines(), *CALLS, *(f"reveal_type({call})" for call in TYPES)]
    (folder / "program.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "program.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(Path(allegiance.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "program.py" in done.stdout, done.stdout + done.stderr
    actual = dict.fromkeys(lines, "")
    for number, message in re.findall(r"^program\.py:(\d+): (.*)$", done.stdout, flags=re.MULTILINE):
        actual[lines[int(number) - 1]] += message + "\n"
    return actual


@pytest.mark.parametrize("call", CALLS)
def test_wrong_calls_are_found_and_right_ones_accepted(message, call):
    expected = CALLS[call]
    assert (message[call] == "") if expected is None else (expected in message[call]), message[call]


@pytest.mark.parametrize("call", TYPES)
def test_results_have_their_type(message, call):
    assert re.search(rf'Revealed type is "[\w.]*\b({TYPES[call]})"', message[f"reveal_type({call})"])


def test_the_program_itself_is_fine(message):
    assert [line for line in HEAD.splitlines() if message[line]] == []
