"""Decisions: read from everywhere, applied to labels, and kept in a log that survives a kill."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from allegiance.review import DecisionLog, apply_decisions

MADE = [
    {"row": row, "label": label, "decision": decision, "new_label": new, "decided_at": "2026-01-01T00:00:00+00:00"}
    for row, label, decision, new in [
        (1, "b", "move", "a"),
        (2, "c", "noise", None),
        (0, "a", "keep", None),
        (3, "c", "unsure", None),
    ]
]
LABELS = np.array(["a", "b", "c", "c"])


def as_file(path):
    if path.suffix in (".csv", ".tsv"):
        pd.DataFrame(MADE).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".json":
        path.write_text(json.dumps(MADE))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in MADE))
    return path


def test_decisions_from_everywhere_say_the_same(tmp_path):
    files = [as_file(tmp_path / f"decisions.{ending}") for ending in ("csv", "tsv", "json", "jsonl")]
    for decisions in (MADE, pd.DataFrame(MADE), pl.DataFrame(MADE), *files):
        assert apply_decisions(LABELS, decisions).tolist() == ["a", "a", "-1", "c"]


def test_numbers_stay_numbers_however_a_table_stored_them():
    log = [{"row": 0, "label": 3.0, "decision": "move", "new_label": "7"}, {"row": 1, "decision": "noise"}]
    labels = apply_decisions(np.array([3, 4], dtype=np.uint8), log)
    assert labels.tolist() == [7, -1]
    assert labels.dtype.kind == "i"


def test_a_series_comes_back_with_its_index_and_name():
    series = pd.Series(LABELS, index=list("wxyz"), name="segment")
    labels = apply_decisions(series, MADE)
    assert labels.loc["x"] == "a"
    assert labels.name == "segment"
    assert series.loc["x"] == "b"
    assert apply_decisions(pl.Series("s", LABELS.tolist()), MADE).to_list() == ["a", "a", "-1", "c"]


def test_a_table_with_corrected_labels_is_read_back():
    after, decisions = ["a", "a", "-1", "c"], [None, "move", "noise", "unsure"]
    table = pd.DataFrame({"row": range(4), "label": after, "label_before": LABELS, "decision": decisions})
    assert apply_decisions(LABELS, table.assign(verdict="borderline")).tolist() == after
    numbers = pd.DataFrame({"row": [0, 1], "label": [1.0, 5.0], "label_before": [1, 2], "decision": ["keep", "move"]})
    assert apply_decisions([1, 2], numbers).tolist() == [1, 5]


def test_a_line_cut_by_a_kill_is_left_out_and_other_damage_is_not(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(MADE[0]) + "\n" + json.dumps(MADE[1])[:30])
    assert apply_decisions(LABELS, log).tolist() == ["a", "a", "c", "c"]
    log.write_text('{"row": 1, "dec\n' + json.dumps(MADE[1]) + "\n")
    with pytest.raises(ValueError, match="not a decision log"):
        apply_decisions(LABELS, log)


@pytest.mark.parametrize(
    ("labels", "record", "message"),
    [
        (LABELS, {"row": 9, "decision": "keep"}, "row 9 but labels has 4 entries"),
        (LABELS, {"row": -1, "decision": "keep"}, "whole numbers from 0"),
        (LABELS, {"row": 0, "decision": "delete"}, "use one of keep, move, noise, unsure"),
        (LABELS, {"row": 0, "decision": "move"}, "no new_label"),
        (LABELS, {"row": 0, "label": "b", "decision": "keep"}, "has the label 'b'"),
        ([0, 1], {"row": 0, "decision": "move", "new_label": "x"}, "'x' is not a number"),
    ],
)
def test_decisions_that_do_not_fit_are_refused(labels, record, message):
    with pytest.raises(ValueError, match=message):
        apply_decisions(labels, [record])


def labels_of(n=10):
    return dict(enumerate(["east", "west"] * (n // 2)))


@pytest.fixture
def log(tmp_path):
    log = DecisionLog(tmp_path / "log.jsonl", labels_of())
    yield log
    log.close()


def test_a_decision_has_the_agreed_keys_in_their_order(log):
    log.decide(7, "move", "east", {"customer": "c7"})
    record = json.loads(log.path.read_text())
    assert list(record) == ["row", "customer", "label", "decision", "new_label", "decided_at"]
    assert (record["row"], record["label"], record["new_label"]) == (7, "west", "east")
    assert record["decided_at"].endswith("+00:00")


def test_undo_takes_the_last_decision_back_even_after_a_row_was_decided_twice(log):
    assert log.undo() is None
    for row, decision in ((1, "keep"), (2, "keep"), (1, "noise")):
        log.decide(row, decision)
    assert log.undo() == 1
    assert log.final[1]["decision"] == "keep"
    assert log.undo() == 2
    assert list(log.final) == [1]
    assert [log.undo(), log.undo()] == [1, None]
    assert not log.final
    assert len(log.path.read_text().splitlines()) == 6


def test_a_log_is_resumed_even_after_a_cut_line_and_keeps_names(log):
    log.decide(7, "move", "east")
    log.rename("east", "the sea")
    log.close()
    with log.path.open("a") as file:
        file.write('{"row": 5, "label"')
    again = DecisionLog(log.path, labels_of())
    assert list(again.final) == [7]
    assert again.names == {"east": "the sea"}
    again.decide(5, "noise")
    again.close()
    labels = apply_decisions(list(labels_of().values()), log.path)
    assert (labels[7], labels[5], labels[3]) == ("east", "-1", "west")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps({"row": 0, "label": "west", "decision": "keep"}), "another clustering"),
        (json.dumps({"row": 99, "label": "west", "decision": "keep"}), "that row does not exist"),
        (json.dumps({"row": 0, "label": "east", "decision": "move", "new_label": "moon"}), "not a cluster here"),
        ("[]", "not a decision log"),
        ("1", "not a decision log"),
        ("[" * 100_000, "not a decision log"),
        ("one\ntwo", "not a decision log"),
        ('{"row": 1, "label": "west", "decision": "keep"}\ntwo', "not a decision log"),
        ("no line end", "not a decision log"),
        ('{"row": 1.9, "decision": "keep"}', "whole numbers"),
        ('{"row": true, "decision": "keep"}', "whole numbers"),
    ],
)
def test_a_file_that_is_not_a_log_of_these_labels_is_refused(content, message, tmp_path):
    path = tmp_path / "other.jsonl"
    for end in ("\n", ""):
        path.write_text(content + end)
        if end == "" and content.startswith("{") and content.endswith("}"):
            continue  # An unfinished line of a log, which does not count.
        with pytest.raises(ValueError, match=message):
            DecisionLog(path, labels_of())
        assert path.read_text() == content + end


@pytest.mark.parametrize("change", ["truncate", *([] if os.name == "nt" else ["delete", "replace"])])
def test_a_log_that_changes_under_the_server_is_an_error(change, log):
    log.decide(1, "keep")
    log.decide(3, "keep")
    if change == "truncate":
        log.path.write_text(log.path.read_text()[:30])
    else:
        log.path.rename(log.path.with_suffix(".old"))
        if change == "replace":
            log.path.write_text("")
    with pytest.raises(OSError, match="this decision is not saved"):
        log.decide(5, "keep")
    assert list(log.final) == [1, 3]


def test_a_log_in_use_is_refused(log):
    with pytest.raises(ValueError, match="in use by another server"):
        DecisionLog(log.path, labels_of())


def test_a_log_in_use_is_refused_on_windows(tmp_path, monkeypatch):
    """An imitation of msvcrt, whose locks keep every other descriptor from a byte of a file."""
    locks = {}

    def locking(descriptor, mode, n_bytes):
        byte = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR), n_bytes
        if locks.setdefault(byte, descriptor) != descriptor:
            raise PermissionError(13, "Permission denied")
        if mode == "unlock":
            del locks[byte]

    imitation = SimpleNamespace(locking=locking, LK_NBLCK="lock", LK_UNLCK="unlock")
    monkeypatch.setattr("allegiance.io.files.sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr("allegiance.io.files.msvcrt", imitation, raising=False)
    for _ in range(2):
        log = DecisionLog(tmp_path / "decisions.jsonl", labels_of())
        with pytest.raises(ValueError, match="in use by another server"):
            DecisionLog(log.path, labels_of())
        log.decide(1, "keep")
        log.close()
    assert not locks
    assert log.path.read_bytes().count(b"\n") == 2
