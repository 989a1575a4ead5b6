"""Search, clusters and threshold: everything on the page follows."""

import numpy as np
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


def doubtful(scene, rows):
    return [row for row in scene.review.tolist() if row in rows]


def test_a_click_on_a_cluster_filters_everything(reader, scene):
    reader.open(scene.path)
    reader.click("[data-cluster='0']")
    reader.settle()
    inside = scene.members(0)
    assert reader.looked_at() == inside
    assert reader.listed() == doubtful(scene, inside)[:25]
    assert set(reader.data("dots-data", "row")) == inside
    assert reader.text("#count-all") == "60"
    below = (scene.result.trust[sorted(inside)] <= 0.5).sum()
    assert reader.text("#count-below") == str(below)
    assert sum(reader.data("bins-data", "chosen")) == 60
    card = reader.text("#cluster")
    assert f"Cluster {scene.order[0]}" in card
    assert "Features against the rest" in card
    assert "width" in card
    members = reader.run("return Array.from(document.querySelectorAll('#cluster button.member'), b => b.innerText)")
    assert len(members) == 6
    assert all("text number" in member for member in members)
    reader.screenshot("report-cluster")
    reader.click("[data-cluster='0']")
    assert reader.looked_at() == set(range(240))
    assert not reader.find("#cluster").is_displayed()


def test_clusters_can_be_added_and_chosen_by_keyboard(reader, scene):
    reader.open(scene.path)
    reader.find("[data-cluster='1']").send_keys(Keys.ENTER)
    assert reader.looked_at() == scene.members(1)
    button = reader.find("[data-cluster='3']")
    ActionChains(reader.driver).key_down(Keys.CONTROL).click(button).key_up(Keys.CONTROL).perform()
    assert reader.looked_at() == scene.members(1) | scene.members(3)
    assert "2 clusters: 120 points" in reader.text("#filter-status")
    reader.press(Keys.ESCAPE)
    assert reader.looked_at() == set(range(240))


def test_search_finds_rows_ids_clusters_and_texts(reader, scene):
    reader.open(scene.path)
    for query, expected in (
        ("number 77,", {77}),
        ("WIDTH23", {23, *range(230, 240)}),
        (scene.order[2].upper(), scene.members(2)),
        ("nothing like it", set()),
    ):
        reader.search(query)
        assert reader.looked_at() == expected
        reader.find("#search").send_keys(Keys.CONTROL, "a", Keys.DELETE)
        reader.wait("return !allegianceReport.state.search")
    reader.search("width23")
    reader.click(f"[data-cluster='{scene.order.index(scene.result.label[23])}']")
    assert 23 in reader.looked_at()
    assert len(reader.looked_at()) < 11
    assert "“width23”" in reader.text("#filter-status")
    reader.click("#clear")
    assert reader.find("#search").get_attribute("value") == ""


def test_the_slider_changes_counts_and_table_from_the_keyboard(reader, scene):
    reader.open(scene.path)
    slider = reader.find("#threshold")
    trust = scene.result.trust
    for keys, threshold in (
        (Keys.ARROW_RIGHT * 3, 0.53),
        (Keys.ARROW_LEFT * 10, 0.43),
        (Keys.END, 1.0),
        (Keys.HOME, 0),
    ):
        slider.send_keys(keys)
        reader.settle()
        below = int((trust <= threshold).sum())
        assert reader.text("#threshold-value") == f"{threshold:.2f}"
        assert reader.text("#count-below") == str(below)
        assert reader.text("#count-above") == str(240 - below)
        assert reader.text("#share-below") == f"{100 * below / 240:.1f} %"
        above = trust[trust > threshold]
        assert reader.text("#right-above") == (f"{100 * above.mean():.0f} %" if above.size else "-")
        assert len(reader.listed()) == min(below, 25)
        assert reader.run("return Bokeh.documents[0].get_model_by_name('threshold-profile').location") == threshold
    assert "No label is at or below the threshold." in reader.text("#review")


def test_the_verdict_and_the_threshold_do_not_say_the_same_twice(reader, scene):
    reader.open(scene.path)
    headings = reader.run("return Array.from(document.querySelectorAll('#clusters thead th'), c => c.innerText.trim())")
    assert "supported" in headings
    assert not any("threshold" in heading for heading in headings)


def test_scaled_counts_where_the_page_holds_a_sample(reader, tmp_path, scene, monkeypatch):
    for name, limit in (("POINTS", 100), ("LISTED", 20), ("DOUBTFUL", 20), ("SUPPORTED", 40)):
        monkeypatch.setattr(f"allegiance.report._shown.MAX_{name}", limit)
    reader.open(scene.result.report(tmp_path / "sample.html", scene.X))
    assert "a random sample of" in reader.text("#shown-note")
    reader.click("[data-cluster='0']")
    assert reader.text("#count-all") == "60"
    reader.click("#clear")
    reader.brush("map", scene.X.min(axis=0) - 0.1, scene.X.max(axis=0) + 0.1)
    assert reader.text("#count-all") == "about 240"
    chosen = np.array(reader.data("bins-data", "chosen"))
    np.testing.assert_allclose(chosen.sum(), 240)
