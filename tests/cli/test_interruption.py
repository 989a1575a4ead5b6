"""A run that is ended from outside leaves nothing half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from cli.command import start

#: The command, except that writing stops in the middle and says so.
SLOW_WRITER = """
    import sys, time
    from allegiance.io._old_tables import Sink
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


@pytest.mark.parametrize(
    ("number", "code", "message", "ending"),
    [(signal.SIGINT, 130, b"Interrupted", "csv"), (signal.SIGTERM, 143, b"", "parquet")],
    ids=["interrupted", "terminated"],
)
def test_a_signal_while_writing_leaves_no_half_file(flowers, tmp_path, number, code, message, ending):
    out = tmp_path / f"scores.{ending}"
    out.write_text("old")
    words = ["score", flowers, "--labels", "species", "--id", "name", "-o", out, "--force"]
    command = [sys.executable, "-c", textwrap.dedent(SLOW_WRITER), *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 3
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert message in errors
    assert b"Traceback" not in errors
    assert sorted(os.listdir(tmp_path)) == ["flowers.csv", out.name]
    assert out.read_text() == "old"


def test_standard_input_that_never_ends_can_be_interrupted(tmp_path):
    with start("score", "-", "--clusters", 2, "-o", tmp_path / "scores.csv") as process:
        assert process.stdin is not None
        process.stdin.write(b"a,b\n1,2\n")
        process.stdin.flush()
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) in (143, -signal.SIGTERM)
    assert os.listdir(tmp_path) == []
