"""The labels to review."""

import numpy as np
from selenium.webdriver.common.keys import Keys

from allegiance import trust


def test_lists_the_labels_to_review_least_trusted_first(reader, scene):
    reader.open(scene.path)
    result = scene.result
    assert reader.listed() == scene.review.tolist()[:25]
    assert reader.text("#review-status") == f"{scene.review.size} labels that are not supported."
    row = scene.review[0]
    cells = reader.run("return Array.from(document.querySelector('#review tbody tr').cells, c => c.innerText)")
    assert cells[1:3] == [str(row), f"width{row}"]
    assert cells[3].startswith(f"width text number {row}")
    assert cells[4:9] == [
        str(result.label[row]),
        f"{result.trust[row]:.2f}",
        result.verdict[row],
        str(result.rival[row]),
        f"{result.own_affinity[row]:.2f}",
    ]
    assert cells[9] == f"{result.typicality[row]:.2f}"
    assert "sd" in cells[10]


def test_other_lists_can_be_chosen(reader, scene):
    reader.open(scene.path)
    options = reader.run("return Array.from(document.querySelector('#listed').options, o => o.value)")
    assert options == ["doubtful", "contradicted", "below", "decided", "all"]
    reader.choose("#listed", "contradicted")
    assert {scene.result.verdict[row] for row in reader.listed()} == {"contradicted"}
    reader.choose("#listed", "decided")
    assert "You have not decided about any point." in reader.text("#review")
    reader.choose("#listed", "all")
    assert reader.listed() == scene.result.least_trusted(25).tolist()
    assert reader.text("#review-status") == "240 points."


def test_more_rows_come_on_request_in_the_flow_of_the_page(reader, scene):
    reader.open(scene.path)
    reader.choose("#listed", "all")
    for shown in (25, 125, 225, 240):
        assert reader.listed() == scene.result.least_trusted(shown).tolist()
        if shown < 240:
            reader.find("#more").send_keys(Keys.ENTER)
    assert not reader.find("#more").is_displayed()
    inner = "return Array.from(document.querySelectorAll('main *')).filter(e => e.scrollHeight > e.clientHeight + 4 &&"
    assert reader.run(inner + "['auto', 'scroll'].includes(getComputedStyle(e).overflowY)).map(e => e.className)") == []


def test_the_table_sorts_by_its_headings(reader, scene):
    reader.open(scene.path)
    rows = sorted(scene.review.tolist())
    reader.click("th[data-key='row'] button")
    assert reader.listed() == rows[:25]
    reader.find("th[data-key='row'] button").send_keys(Keys.ENTER)
    assert reader.listed() == rows[::-1][:25]
    assert reader.run("return document.querySelector('th[data-key=row]').ariaSort") == "descending"
    reader.click("th[data-key='label'] button")
    labels = [str(scene.result.label[row]) for row in reader.listed()]
    assert labels == sorted(labels)
    reader.click("th[data-key='id-0'] button")
    assert reader.listed() == rows[:25]


def test_a_row_number_opens_its_details_and_marks_the_point(reader, scene):
    reader.open(scene.path)
    row = scene.review[0]
    button = reader.find("#review button.open")
    button.send_keys(Keys.ENTER)
    reader.settle()
    assert button.get_attribute("aria-expanded") == "true"
    assert scene.texts[row].strip() in reader.text("#review tr.details")
    assert reader.data("ring-data", "x") == [scene.X[row, 0]]
    assert reader.data("edge-ring-data", "x") == [scene.result.trust[row]]
    button.send_keys(Keys.ENTER)
    reader.settle()
    assert button.get_attribute("aria-expanded") == "false"
    assert reader.run("return document.querySelectorAll('tr.marked, tr.details').length") == 0
    assert reader.console_errors() == []


def test_words_that_speak_for_the_rival_are_marked(reader, tmp_path):
    """One document about the kitchen is filed under sea; a word with signs of patterns in it does no harm."""
    texts = ["wave tide", "wave sail", "tide sail", "oven dough", "oven salt", "dough salt"] * 8 + [
        "Oven? overn dough."
    ]
    places = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.4], [4.0, 4.0], [4.3, 4.1], [4.1, 4.4]] * 8 + [[3.6, 3.7]])
    result = trust(places, ["sea", "sea", "sea", "kitchen", "kitchen", "kitchen"] * 8 + ["sea"])
    reader.open(result.report(tmp_path / "texts.html", texts=texts))
    assert reader.run("return Array.from(document.querySelectorAll('#review mark'), m => m.innerText)") == [
        "Oven",
        "dough",
    ]
