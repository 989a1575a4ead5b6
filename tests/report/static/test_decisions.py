"""Deciding by mouse and keyboard, keeping the decisions, and taking them away."""

import csv
import io
import re

from selenium.webdriver.common.keys import Keys


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def decisions(reader):
    reader.click("#export-decisions")
    return table(reader.downloaded("decisions.csv"))


def test_decisions_by_mouse_are_exported_and_survive_a_reload(reader, scene):
    reader.open(scene.path)
    assert reader.text("#decision-status") == "No decisions yet."
    rows = scene.review[:3].tolist()
    other = next(
        i
        for i, name in enumerate(scene.order)
        if name not in (scene.result.label[rows[1]], scene.result.rival[rows[1]])
    )
    for row, value in zip(rows, ("keep", f"move {other}", "noise"), strict=True):
        reader.choose(f"#review tr:has(button.open) select[aria-label='decision about row {row}']", value)
    assert reader.text("#decision-status") == "3 decided: 1 kept, 1 moved, 1 noise."
    for _ in range(2):
        records = decisions(reader)
        assert list(records[0]) == ["row", "height", "label", "decision", "new_label", "decided_at"]
        assert [int(record["row"]) for record in records] == rows
        assert [record["height"] for record in records] == [f"width{row}" for row in rows]
        assert [record["label"] for record in records] == [str(scene.result.label[row]) for row in rows]
        assert [record["decision"] for record in records] == ["keep", "move", "noise"]
        assert [record["new_label"] for record in records] == ["", scene.order[other], ""]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["decided_at"]) for record in records)
        reader.open(scene.path)
        assert reader.text("#decision-status") == "3 decided: 1 kept, 1 moved, 1 noise."
    reader.choose("#listed", "decided")
    assert set(reader.listed()) == set(rows)


def test_one_key_decides_and_goes_on(reader, scene):
    reader.open(scene.path)
    rows = scene.review[:4].tolist()
    reader.find("#review button.open").send_keys("k")
    reader.press("m")
    reader.press("u")
    reader.press("n")
    records = decisions(reader)
    assert [int(record["row"]) for record in records] == rows
    assert [record["decision"] for record in records] == ["keep", "move", "unsure", "noise"]
    assert records[1]["new_label"] == str(scene.result.rival[rows[1]])
    reader.run("document.querySelector('#review button.open').focus()")
    reader.press(Keys.ARROW_DOWN)
    reader.press(Keys.BACKSPACE)
    assert [int(record["row"]) for record in decisions(reader)] == [rows[0], *rows[2:]]
    reader.click("#undo")
    assert reader.text("#decision-status") == "4 decided: 1 kept, 1 moved, 1 noise, 1 unsure."


def test_decisions_in_the_card_and_in_the_table_are_the_same(reader, scene):
    reader.open(scene.path)
    row = scene.review[0]
    reader.click_figure("map", *scene.X[row])
    reader.choose("#point select.decision", "unsure")
    in_table = reader.find(f"#review tr[data-point] select[aria-label='decision about row {row}']")
    assert in_table.get_attribute("value") == "unsure"
    reader.click("#undo")
    assert in_table.get_attribute("value") == ""
    assert reader.find("#point select.decision").get_attribute("value") == ""


def test_a_browser_that_stores_nothing_says_so(reader, scene):
    reader.open(scene.path)
    reader.run("Storage.prototype.setItem = () => { throw new Error('not allowed') }")
    reader.find("#review button.open").send_keys("k")
    assert "This browser does not store them" in reader.text("#decision-status")
    assert len(decisions(reader)) == 1


def test_the_list_and_a_selection_are_exported(reader, scene):
    reader.open(scene.path)
    reader.click("#export-list")
    records = table(reader.downloaded("review.csv"))
    result = scene.result
    names = ["row", "height", "label", "trust", "verdict", "rival", "own_affinity", "typicality"]
    assert list(records[0]) == names
    assert [int(record["row"]) for record in records] == scene.review.tolist()
    assert [float(record["trust"]) for record in records] == result.trust[scene.review].tolist()
    reader.choose("#listed", "all")
    reader.click("[data-cluster='1']")
    reader.click("#export-list")
    assert {int(record["row"]) for record in table(reader.downloaded("review.csv"))} == scene.members(1)


def test_hostile_names_are_quoted(reader, hostile_scene):
    scene = hostile_scene
    reader.open(scene.path)
    reader.find("#review button.open").send_keys("m")
    (record,) = decisions(reader)
    row = int(record["row"])
    assert record["label"] == str(scene.result.label[row])
    assert record["new_label"] == str(scene.result.rival[row])
    assert reader.console_errors() == []
