"""The served page in Chromium: a review by key, after a reload, in two tabs, and what it exports."""

import http.server
import json
import re
import threading
import time

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from allegiance.review import apply_decisions
from browsing.accessibility import violations
from browsing.browser import browser  # noqa: F401
from browsing.reader import reader  # noqa: F401

# ruff: noqa: F811
pytestmark = pytest.mark.slow


def log(review):
    with open(review.path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def decided(reader, number):
    """Wait until the server has answered that it keeps so many decisions."""
    reader.wait(
        f"return allegianceReport.decisions.store.last.then(() => allegianceReport.decisions.taken.size === {number})"
    )


def test_a_review_by_key_survives_a_reload_and_two_tabs_agree(reader, serving, scored):
    result, _, _ = scored
    review = serving()
    reader.open(review.url)
    order = [row for row in result.review(240).index.to_numpy().tolist() if result.verdict[row] != "firm"]
    assert reader.listed() == order[:15]
    reader.click("#next")
    for row, key in zip(order, "kmnu", strict=False):
        assert reader.open_row() == row
        reader.press(key)
    decided(reader, 4)
    assert [(record["row"], record["decision"]) for record in log(review)] == [
        (order[0], "keep"), (order[1], "move"), (order[2], "noise"), (order[3], "unsure"),
    ]  # fmt: skip
    reader.press("z")
    decided(reader, 3)
    assert reader.open_row() == order[3]
    first = reader.driver.current_window_handle
    reader.driver.switch_to.new_window("tab")
    try:
        reader.open(review.url)
        assert reader.text("#decision-status") == "3 decided: 1 kept, 1 moved, 1 noise."
        reader.click("#next")
        reader.press("k")
        decided(reader, 4)
    finally:
        reader.driver.close()
        reader.driver.switch_to.window(first)
    reader.open(review.url)
    assert reader.text("#decision-status") == "4 decided: 2 kept, 1 moved, 1 noise."
    labels = apply_decisions(result.label, review.path)
    assert np.flatnonzero(labels != result.label).tolist() == sorted(order[1:3])
    assert (labels == review.labels).all()


def test_a_record_is_whole_and_every_export_is_read_back(reader, serving, scored, tmp_path):
    result, _, table = scored
    review = serving()
    reader.open(review.url)
    reader.click("#next")
    row = reader.open_row()
    reader.wait("return document.querySelectorAll('#point .near button').length === 6")
    card = reader.text("#point")
    revenue, joined = repr(float(table["revenue"][row])), str(table["joined"][row].date())
    for message in (table["customer"][row], revenue, joined, "remark"):
        assert message in card
    reader.press("m")
    reader.press("n")
    decided(reader, 2)
    reader.click("[data-cluster='0']")
    reader.find("#cluster-name").clear()
    reader.find("#cluster-name").send_keys("the sea", Keys.ENTER)
    for name in ("decisions.csv", "table.csv", "table.parquet", "table.xlsx"):
        path = tmp_path / name
        path.write_bytes(reader.export(name))
        assert (apply_decisions(result.label, path) == review.labels).all()
    reader.open(review.url)
    assert "the sea" in reader.text("#clusters")
    assert violations(reader) == []


def test_a_server_that_ends_is_told_and_nothing_is_taken_as_kept(reader, serving):
    review = serving()
    reader.open(review.url)
    reader.click("#next")
    review.close()
    reader.press("k")
    reader.wait("return !document.getElementById('trouble').hidden")
    assert re.search("closed|not responding", reader.text("#trouble"))
    assert reader.text("#decision-status") == "No decisions yet."
    assert log(review) == []
    reader.console_errors()  # The browser tells of the lost connection.


def test_points_and_texts_outside_of_the_page_are_searched_for(reader, serving, monkeypatch):
    for name in ("POINTS", "LISTED", "DOUBTFUL", "FIRM", "NOISE"):
        monkeypatch.setattr(f"allegiance.report._points.MAX_{name}", 10)
    review = serving(texts=[f"document number {row}, of many" for row in range(240)])
    reader.open(review.url)
    missing = min(set(range(240)) - set(reader.rows("allegianceReport.table.order('row')")))
    reader.search(f"c{missing:03d}")
    assert reader.looked_at() == {missing}
    reader.choose("#listed", "selection")
    reader.click("#next")
    assert f"c{missing:03d}" in reader.text("#point h3")
    reader.press("k")
    decided(reader, 1)
    assert log(review)[0]["row"] == missing
    reader.click("#clear")
    reader.choose("#listed", "priority")
    assert missing not in reader.listed()[:10]
    # A slow answer to an older search changes nothing.
    reader.run(
        "const {store} = allegianceReport.decisions, {get} = store;"
        "store.get = (path) => path.endsWith('c00')"
        " ? new Promise(done => setTimeout(done, 500)).then(() => get.call(store, path)) : get.call(store, path)"
    )
    reader.find("#search").send_keys("c00")
    time.sleep(0.3)
    reader.find("#search").send_keys("1")
    time.sleep(1.0)
    assert reader.looked_at() == {1}
    reader.find("#search").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    reader.search(f"number {missing},")
    assert reader.looked_at() == {missing}


def test_a_notebook_of_this_machine_shows_it(reader, serving, tmp_path):
    review = serving()
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><link rel=icon href=data:,>{review._repr_html_()}", encoding="utf-8"
    )

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=tmp_path)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reader.driver.get(f"http://localhost:{server.server_port}/notebook.html")
        reader.driver.switch_to.frame(0)
        try:
            reader.wait("return document.documentElement.dataset.ready === 'true'")
        finally:
            reader.driver.switch_to.default_content()
            server.shutdown()
    assert all("favicon.ico" in message for message in reader.console_errors())  # which this server does not have


def test_an_audit_recalculates_trust_and_the_page_follows(reader, serving, scored):
    result, _, _ = scored
    review = serving()
    reader.open(review.url)
    assert "would hold up" in reader.text("#answer")
    reader.choose("#listed", "audit")
    reader.click("#next")
    for place in range(60):
        reader.press("m" if place % 4 == 0 else "k")
    decided(reader, 60)
    actual = review.audit
    assert (actual.n_random, actual.n_least) == (30, 30)
    reader.wait(f"return document.getElementById('audit-answer').textContent === {json.dumps(actual.sentence())}")
    reader.click("#recalculate")
    reader.wait("return document.documentElement.dataset.ready && allegianceReport.state?.points.page.audited")
    assert reader.text("#answer strong") == actual.sentence()
    assert f"{100 * actual.share_right:.0f}%" in reader.text(".tile-value")
    assert f"Before the audit, {100 * result.replication:.0f}% would hold up" in reader.text(".tile-note")
    rows = reader.rows("allegianceReport.table.order('row')")
    message = reader.run(
        "const {state, table} = allegianceReport; return Array.from(table.order('row'), p => state.points.trust(p))"
    )
    shown = dict(zip(rows, message, strict=True))
    for row in range(240):
        if result.label[row] != "-1":
            # Rounded down, as everywhere: 0.796 is not firm.
            assert shown[row] == f"{int(100 * actual.trust[row] + 1e-4) / 100:.2f}"
    assert reader.text("#decision-status").startswith("60 decided")
