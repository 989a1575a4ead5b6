import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from allegiance import apply_decisions
from allegiance.applications import read_decisions, standing_decisions

MADE = [
    {"row": 1, "label": "b", "decision": "move", "new_label": "a", "decided_at": "2026-01-01T00:00:00+00:00"},
    {"row": 2, "label": "c", "decision": "noise", "new_label": None, "decided_at": "2026-01-01T00:00:01+00:00"},
    {"row": 0, "label": "a", "decision": "keep", "new_label": None, "decided_at": "2026-01-01T00:00:02+00:00"},
    {"row": 3, "label": "c", "decision": "unsure", "new_label": None, "decided_at": "2026-01-01T00:00:03+00:00"},
]
LABELS = np.array(["a", "b", "c", "c"])


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "csv", "parquet", "jsonl"])
def test_decisions_from_everywhere_say_the_same(kind, tmp_path):
    frame, path = pd.DataFrame(MADE), tmp_path / f"decisions.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in MADE))
    decisions = {"list": MADE, "pandas": frame, "polars": pl.DataFrame(MADE)}.get(kind, path)
    assert apply_decisions(LABELS, decisions).tolist() == ["a", "a", "-1", "c"]


def test_numbers_stay_numbers_however_a_table_stored_them():
    made = [{"row": 0, "label": 3.0, "decision": "move", "new_label": "7"}, {"row": 1, "decision": "noise"}]
    moved = apply_decisions(np.array([3, 4], dtype=np.uint8), made)
    assert moved.tolist() == [7, -1]
    assert moved.dtype.kind == "i"


def test_a_series_comes_back_with_its_index_and_name():
    series = pd.Series(LABELS, index=list("wxyz"), name="segment")
    moved = apply_decisions(series, MADE)
    assert moved.loc["x"] == "a"
    assert moved.name == "segment"
    assert series.loc["x"] == "b"
    assert apply_decisions(pl.Series("s", LABELS.tolist()), MADE).to_list() == ["a", "a", "-1", "c"]


def test_the_last_decision_counts_and_undo_brings_the_one_before_back():
    first, second = {**MADE[0]}, {**MADE[0], "decision": "noise", "new_label": None}
    undo = {"row": 1, "decision": "undo"}
    assert apply_decisions(LABELS, [first, second])[1] == "-1"
    assert apply_decisions(LABELS, [first, second, undo])[1] == "a"
    assert apply_decisions(LABELS, [first, second, undo, undo])[1] == "b"
    order = standing_decisions(read_decisions([MADE[0], MADE[2], {**MADE[0], "decision": "keep"}]))
    assert list(order) == [0, 1]


def test_a_line_cut_by_a_kill_is_left_out_and_other_damage_is_not(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(MADE[0]) + "\n" + json.dumps(MADE[1])[:30])
    assert len(read_decisions(log)) == 1
    log.write_text('{"row": 1, "dec\n' + json.dumps(MADE[1]) + "\n")
    with pytest.raises(ValueError, match="not a log of decisions"):
        read_decisions(log)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"row": 9, "decision": "keep"}, "row 9 but labels has 4 entries"),
        ({"row": -1, "decision": "keep"}, "whole numbers from 0"),
        ({"row": 0, "decision": "delete"}, "use one of keep, move, noise, unsure"),
        ({"row": 0, "decision": "move"}, "no new_label"),
        ({"row": 0, "label": "b", "decision": "keep"}, "had the label 'b'"),
    ],
)
def test_decisions_that_do_not_fit_are_refused(record, message):
    with pytest.raises(ValueError, match=message):
        apply_decisions(LABELS, [record])


def test_a_name_among_numbers_is_refused():
    with pytest.raises(ValueError, match="'x' is not a number"):
        apply_decisions([0, 1], [{"row": 0, "decision": "move", "new_label": "x"}])
