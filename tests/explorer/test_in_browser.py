"""The explorer in a real browser, by mouse and by keyboard.

Screenshots go to the folder named by ``ALLEGIANCE_SCREENSHOTS``, by default ``out/screenshots``.
"""

import json

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from allegiance import apply_decisions, trust
from explorer.conftest import overlapping


def records(explorer):
    """Return the lines of the log."""
    return [json.loads(line) for line in explorer._session.log.path.read_text().splitlines()]


def test_the_map_shows_points_under_the_pointer_and_marks_the_one_clicked(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    assert browser.run("return document.getElementById('map').dataset.kind") == "dots"
    lonely = int(np.argmax(explorer._commands._maps["PCA"].x))
    browser.point_at(browser.place_of(lonely, explorer))
    browser.until(lambda: browser.find("#tooltip").is_displayed(), "the tooltip is there")
    assert browser.texts("#tooltip div")[0] == f"row {lonely}"
    browser.point_at(browser.place_of(lonely, explorer), press=True)
    browser.until(lambda: browser.row() == lonely, "the point is marked")
    ring = browser.run("return Array.from(window.allegianceExplorer.map.sources.marked.data.x)")
    assert ring == [explorer._commands._maps["PCA"].x[lonely]]
    browser.point_at(browser.place(1.15, 0.5))
    browser.until(lambda: not browser.find("#tooltip").is_displayed(), "the tooltip is gone")


def test_colours_and_maps_can_be_chosen(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X, coordinates=X[:, 3:5], feature_names=list("abcde"))
    browser.open(explorer.url)
    assert browser.texts("#map-choice option")[:2] == ["own columns", "PCA"]
    assert browser.texts("#colour-choice option") == ["trust", "cluster", "verdict", *"abcde"]
    for key, words in (("cluster", "0123"), ("verdict", "supportedcontestedcontradictednoise"), ("feature:2", "c ")):
        browser.redrawn_after(lambda key=key: browser.choose("#colour-choice", key))
        assert browser.text("#legend").startswith(words)
    browser.redrawn_after(lambda: browser.choose("#map-choice", "PCA"))
    browser.until(lambda: "principal components" in browser.text("#map-said"), "the other map is shown")
    assert browser.run("return window.allegianceExplorer.map.sources.names.data.name.length") == 4


def test_box_and_lasso_select_points_to_review(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    browser.redrawn_after(lambda: browser.drag_map((0.02, 0.02), (0.98, 0.98)))
    assert explorer._session.selected.size == len(X)
    browser.press(Keys.ESCAPE)
    browser.until(lambda: explorer._session.selected is None, "the selection is cleared")
    browser.use_tool("LassoSelectTool")
    browser.lasso_map((0.5, 0.02), (0.98, 0.02), (0.98, 0.98), (0.5, 0.98))
    browser.until(lambda: explorer._session.selected is not None, "the lasso selects")
    left, right, *_ = browser.run("return window.allegianceExplorer.map.window")
    chosen = explorer._session.selected
    assert 0 < chosen.size < len(X)
    assert (explorer._commands._maps["PCA"].x[chosen] >= (left + right) / 2 - 0.02 * (right - left)).all()
    browser.until(lambda: f"{chosen.size:,} selected" in browser.text("#panel-selection"), "the selection is counted")
    browser.click("#panel-selection button")
    browser.until(lambda: len(explorer._session.queue) == chosen.size, "the selection is the queue")


def test_the_point_panel_tells_where_trust_comes_from(browser, serving, scored):
    X, result = scored
    # Measured by samples, so that there are error bars.
    result, rng = trust(X, result.label, engine="shared"), np.random.default_rng(0)
    explorer = serving(
        result,
        X,
        images=rng.integers(255, size=(len(X), 8, 6), dtype=np.uint8),
        texts=[f"text {i}" for i in range(len(X))],
    )
    browser.open(explorer.url)
    row = browser.row()
    assert row == explorer._session.queue.order[0]
    shares = browser.texts("#affinities tr")
    assert len(shares) == 4
    assert " to " in shares[0]
    assert browser.all("#affinities svg line")
    assert browser.texts("#point .facts dd")[2] == f"{result.trust[row]:.2f}"
    assert f"Own affinity {result.own_affinity[row]:.2f}" in browser.text(".story")
    assert len(browser.texts("#features tbody tr")) == 5
    assert [len(group.find_elements("tag name", "li")) for group in browser.all("#point .near > div")] == [5, 5]
    assert browser.text("#point blockquote") == f"text {row}"
    assert browser.run("return document.querySelector('.exhibit img').naturalWidth") == 6
    near = browser.all("#point .near li button")[0]
    browser.run("arguments[0].click()", near)
    browser.until(lambda: browser.row() != row, "a nearest point is looked at")


def test_the_cluster_panel_tells_what_a_cluster_is_like(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X, feature_names=["alpha", "beta", "gamma", "delta", "epsilon"])
    browser.open(explorer.url)
    browser.click("#cluster-table tbody tr:nth-child(1) button")
    browser.until(lambda: browser.all("#company"), "the points were clustered anew")
    assert "stay together in" in browser.text("#company")
    assert len(browser.all("#traits tbody tr")) == 5
    assert len(browser.all("#cluster .near li")) == 12
    worst = explorer._session.subject.worst_first()[0].cluster
    assert browser.run("return Number(document.getElementById('cluster').dataset.cluster)") == worst
    browser.click("#cluster [data-do=enqueue]")
    browser.until(lambda: explorer._session.queue.cluster == worst, "its labels are reviewed")
    browser.until(lambda: browser.row() == explorer._session.marked, "its first label is shown")
    browser.press("c")
    browser.until(
        lambda: explorer._session.cluster == explorer._session.subject.codes[browser.row()], "c opens a cluster"
    )
    browser.click("#cluster .close")
    browser.until(lambda: not browser.all("#cluster"), "the cluster is closed")


def test_a_review_by_keyboard(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    order = explorer._session.queue.order.tolist()
    for number, key in enumerate("kmnu", start=1):
        browser.press(key)
        browser.until(lambda number=number: len(records(explorer)) == number, f"{key} decides")
        browser.until(lambda number=number: browser.row() == order[number], "the next label is there")
    made = records(explorer)
    assert [record["row"] for record in made] == order[:4]
    assert [record["decision"] for record in made] == ["keep", "move", "noise", "unsure"]
    assert made[1]["new_label"] == result.rival[order[1]]
    browser.press("z")
    browser.until(lambda: browser.row() == order[3], "undo goes back")
    browser.press(Keys.ARROW_RIGHT)
    browser.until(lambda: browser.row() == order[4], "right goes on")
    browser.press(Keys.ARROW_LEFT)
    browser.until(lambda: browser.row() == order[3], "left goes back")
    browser.press("2")
    other = browser.run("return document.getElementById('move-to').value")
    browser.press("m")
    browser.until(lambda: len(records(explorer)) == 6, "m moves to the second choice")
    assert str(records(explorer)[-1]["new_label"]) == other
    browser.press("j")
    browser.until(lambda: browser.row() == order[5], "j skips to an open label")
    assert "2 of 4 reviewed labels" not in browser.text("#standing")
    assert "3 of 4 reviewed labels wrong" in browser.text("#standing")
    assert " to " in browser.text("#standing")
    # Letters typed into a field are text, not decisions.
    browser.run("document.querySelector('.choose').open = true")
    browser.find("#budget").send_keys("k")
    browser.press(Keys.ESCAPE)
    assert len(records(explorer)) == 6


def test_a_review_by_mouse_and_what_comes_of_it(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X, budget=5)
    browser.open(explorer.url)
    order = explorer._session.queue.order.tolist()
    assert "0 of 5 reviewed" in browser.text("#panel-queue")
    browser.choose("#move-to", browser.texts("#move-to option")[-1].removeprefix("to "))
    browser.click("#decide-move")
    browser.until(lambda: len(records(explorer)) == 1, "the label is moved")
    browser.click("#decide-noise")
    browser.until(lambda: len(records(explorer)) == 2, "the label is noise")
    browser.click("#undo")
    browser.until(lambda: len(records(explorer)) == 3, "the decision is undone")
    browser.until(lambda: "1 of 5 reviewed" in browser.text("#panel-queue"), "one is left")
    moved = apply_decisions(result.label, explorer._session.log.path)
    assert np.flatnonzero(moved != result.label).tolist() == [order[0]]
    assert (explorer.labels == moved).all()
    browser.run("document.querySelector('.choose').open = true")
    browser.find("#budget").send_keys("10%")
    browser.click(".choose form button")
    browser.until(lambda: len(explorer._session.queue) == 30, "the budget is a share")
    browser.write("#budget", "many")
    browser.click(".choose form button")
    browser.until(lambda: "'many' is not a whole number" in browser.text("#status"), "nonsense is refused in words")


@pytest.mark.slow
def test_what_if_shows_then_and_now(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    browser.choose("#ask-clusterer", "kmeans")
    browser.write("#ask-clusters", "3")
    browser.click("#question button")
    browser.until(lambda: browser.all("#cancel"), "it is being computed")
    browser.until(lambda: browser.all("#found"), "the answer is there", seconds=120)
    changes = explorer._session.changes
    assert f"{changes.rows.size:,} points change" in browser.text("#found")
    assert browser.text("#changed tbody tr button") == f"row {changes.rows[0]}"
    browser.until(
        lambda: (
            "changed"
            in browser.run("return Array.from(document.getElementById('colour-choice').options, (o) => o.value)")
        ),
        "the map offers it",
    )
    browser.redrawn_after(lambda: browser.choose("#colour-choice", "changed"))
    assert "as before" in browser.text("#legend")
    browser.choose("#ask-clusterer", "spectral")
    browser.click("#question button")
    browser.until(lambda: browser.all("#cancel"), "it is being computed again")
    browser.click("#cancel")
    browser.until(lambda: "Cancelled" in browser.text("#panel-what-if"), "it is cancelled")
    browser.write("#ask-influence", "nearness")
    browser.click("#question button")
    browser.until(lambda: "influence must be one of" in browser.text("#status"), "nonsense is refused in words")


def test_two_tabs_show_the_same_review(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.open(explorer.url)
    row = browser.row()
    browser.press("k")
    browser.until(lambda: browser.row() != row, "decided in the second tab")
    following = browser.row()
    browser.driver.switch_to.window(first)
    browser.until(lambda: browser.row() == following, "the first tab follows")
    assert "1 of" in browser.text("#panel-queue")
    browser.press("z")
    browser.until(lambda: browser.row() == row, "undone in the first tab")
    browser.driver.switch_to.window(browser.driver.window_handles[1])
    browser.until(lambda: browser.row() == row, "the second tab follows")


def test_a_decision_made_without_a_connection_is_carried_out_once_it_is_back(browser, serving, scored):
    X, result = scored
    explorer = serving(result, X)
    browser.open(explorer.url)
    row = browser.row()
    # Cut the connection and keep the next attempts from succeeding for a while.
    browser.run("""
        const { connection } = window.allegianceExplorer.map;
        window.real = connection.connect.bind(connection);
        connection.connect = () => { connection.socket = { readyState: 3 }; };
        connection.socket.close();
    """)
    browser.until(lambda: "connection to the server is lost" in browser.text("#status"), "the loss is told")
    browser.press("k")
    assert not records(explorer)
    browser.run("window.allegianceExplorer.map.connection.connect = window.real; window.real()")
    browser.until(lambda: len(records(explorer)) == 1, "the decision arrives")
    browser.until(lambda: browser.row() != row and not browser.text("#status"), "all is well again")
    assert records(explorer)[0]["row"] == row


def test_names_from_the_data_stay_names(browser, serving):
    hostile = [
        "<script>window.hacked = 1</script>",
        "</script><img src=x onerror='window.hacked = 2'>",
        r"$$\frac{1}{2}$$",
        "\"><svg onload='window.hacked = 3'>" + "x" * 300,
    ]
    X, labels = overlapping(names=hostile)
    ids = [f"<b onmouseover='window.hacked = 4'>{row}</b>" for row in range(len(X))]
    explorer = serving(
        trust(X, labels), X, ids=ids, texts=ids, feature_names=[f"<i>{name}</i>" for name in "abcde"], title=hostile[1]
    )
    browser.open(explorer.url)
    browser.click("#cluster-table tbody tr:nth-child(1) button")
    browser.until(lambda: browser.all("#company"), "the cluster is shown")
    browser.press("m")
    browser.until(lambda: len(records(explorer)) == 1, "a hostile name is moved to")
    assert records(explorer)[0]["new_label"] in hostile
    browser.drag_map((0.02, 0.02), (0.98, 0.98))
    browser.point_at(browser.place_of(browser.row(), explorer))
    browser.until(lambda: browser.find("#tooltip").is_displayed(), "the tooltip is there")
    assert browser.texts("#tooltip div")[0].startswith("<b onmouseover")
    assert browser.run("return window.hacked") is None
    assert not browser.all("main b[onmouseover], main img, main svg[onload], main i:not(#legend i), main script")
    assert browser.text("h1") == hostile[1]
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_without_data_the_page_says_what_is_missing(browser, serving, scored):
    _, result = scored
    explorer = serving(result)
    browser.open(explorer.url)
    assert "started without the data" in browser.text(".warning")
    assert not browser.all("#question, #features")
    browser.press("k")
    browser.until(lambda: len(records(explorer)) == 1, "a review works all the same")
