from _marked_page import write_parts

PAGE = """# Title
<!-- first: written by make a -->
old
<!-- first: end -->
Prose.
<!-- second: written by make b -->
<!-- second: end -->
"""


def test_parts_are_replaced_and_prose_is_kept(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    write_parts(path, {"first": "new \\1", "second": "more"})
    text = path.read_text()
    assert text == PAGE.replace("old", "new \\1").replace("make b -->\n", "make b -->\nmore\n")
    write_parts(path, {"first": "old", "second": ""})
    assert "more" not in path.read_text()
