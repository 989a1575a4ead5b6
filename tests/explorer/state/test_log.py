import json
import subprocess
import sys
from dataclasses import replace

import pytest

from allegiance import apply_decisions
from allegiance.explorer.state import DecisionLog


def test_a_decision_has_the_agreed_keys_in_their_order(subject, tmp_path):
    log = DecisionLog(tmp_path / "log.jsonl", subject)
    log.decide(7, "move", 2)
    record = json.loads((tmp_path / "log.jsonl").read_text())
    assert list(record) == ["row", "customer", "label", "decision", "new_label", "decided_at"]
    assert (record["row"], record["customer"], record["label"]) == (7, "c7", subject.label(7))
    assert record["decided_at"].endswith("+00:00")
    log.close()


def test_an_identifier_cannot_take_the_place_of_the_row(subject, tmp_path):
    named = replace(subject, ids={"row": list(range(1000, 1300)), "label": ["x"] * 300})
    log = DecisionLog(tmp_path / "log.jsonl", named)
    record = log.decide(7, "keep")
    log.close()
    assert list(record) == ["row", "row (id)", "label (id)", "label", "decision", "new_label", "decided_at"]
    assert (record["row"], record["row (id)"]) == (7, 1007)
    assert list(DecisionLog(tmp_path / "log.jsonl", named).standing) == [7]


def test_a_log_is_taken_up_where_it_ended_even_after_a_cut_line(subject, tmp_path):
    path = tmp_path / "log.jsonl"
    log = DecisionLog(path, subject)
    log.decide(7, "move", 2)
    log.decide(3, "keep")
    log.close()
    with path.open("a") as file:
        file.write('{"row": 5, "label"')
    again = DecisionLog(path, subject)
    assert list(again.standing) == [7, 3]
    again.decide(5, "noise")
    again.close()
    assert [json.loads(line)["row"] for line in path.read_text().splitlines()] == [7, 3, 5]
    labels = apply_decisions(subject.labels, path)
    assert (labels[7], labels[5], labels[3]) == (2, -1, subject.label(3))


def test_undo_is_appended_and_brings_back_what_was(subject, tmp_path):
    log = DecisionLog(tmp_path / "log.jsonl", subject)
    assert log.undo() is None
    log.decide(7, "keep")
    log.decide(3, "keep")
    log.decide(7, "noise")
    assert log.undo() == 7
    assert log.standing[7]["decision"] == "keep"
    assert log.undo() == 7
    assert list(log.standing) == [3]
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 5
    log.close()


def test_a_log_of_other_labels_or_in_use_is_refused(subject, tmp_path):
    path = tmp_path / "log.jsonl"
    other = (subject.label(0) + 1) % 4
    path.write_text(json.dumps({"row": 0, "label": other, "decision": "keep"}) + "\n")
    with pytest.raises(ValueError, match="another clustering"):
        DecisionLog(path, subject)
    path.write_text("")
    log = DecisionLog(path, subject)
    with pytest.raises(ValueError, match="in use by another explorer"):
        DecisionLog(path, subject)
    log.close()
    DecisionLog(path, subject).close()


def test_what_was_decided_survives_a_kill(tmp_path):
    program = """
import os, signal, sys
import numpy as np
from allegiance.explorer.state import DecisionLog, Subject
codes = np.zeros(9, dtype=int)
subject = Subject(np.array([0, 1]), codes, codes + .5, True, codes, codes + 1, codes + .5, None)
log = DecisionLog(sys.argv[1], subject)
for row in range(5):
    log.decide(row, "keep")
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "log.jsonl"
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -9
    assert [json.loads(line)["row"] for line in path.read_text().splitlines()] == list(range(5))
