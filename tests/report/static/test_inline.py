"""The page inside the frame of a notebook, which keeps it from everything around it."""


def test_works_in_the_frame_of_a_notebook(reader, scene, tmp_path):
    page = scene.result.report(X=scene.X, texts=scene.texts, title="Inside")
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><p>before{page._repr_html_()}<p>after", encoding="utf-8")
    reader.driver.get_log("browser")
    reader.driver.get(cell.as_uri())
    reader.driver.switch_to.frame(0)
    try:
        reader.wait("return document.documentElement.dataset.ready === 'true'")
        assert reader.listed() == scene.review.tolist()[:25]
        reader.choose("#listed", "contradicted")
        assert {scene.result.verdict[row] for row in reader.listed()} == {"contradicted"}
        assert reader.run("return origin") == "null"
    finally:
        reader.driver.switch_to.default_content()
    assert [entry for entry in reader.driver.get_log("browser") if entry["level"] == "SEVERE"] == []
