"""Cards are well-formed HTML in which data stays text."""

from html.parser import HTMLParser

import numpy as np

from allegiance.notebook import Card, element, histogram_picture, markup, share_bar

VOID = {"br", "img", "meta", "link", "hr", "input"}


class Balanced(HTMLParser):
    """Collects tags and texts, and checks that every tag is closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_text_is_escaped_wherever_it_stands():
    evil = "<script>alert('x')</script>&\""
    card = Card(evil, [evil], share_bar({evil: 1.0}), [evil, "b"], [[evil, element("b", evil)]], [], [evil], [evil])
    page = Balanced(card.html())
    assert "script" not in page.tags
    assert sum(evil in text for text in page.texts) == 8
    assert page.tags.count("style") == 1


def test_text_follows_elements_in_order():
    assert markup(element("p", "a", element("b", "c"), "d", "e", class_="f")) == '<p class="f">a<b>c</b>de</p>'


def test_a_share_bar_divides_its_width():
    bar = share_bar({"good": 3, "so so": 0, "bad": 1}, width=100)
    rects = [each.attrib for each in bar if each.tag == "rect"]
    assert [(each["x"], each["width"]) for each in rects] == [("0", "75"), ("75", "25")]
    assert len({each["fill"] for each in rects}) == 2
    assert not [each for each in share_bar({"none": 0}) if each.tag == "rect"]


def test_a_histogram_counts_what_there_is():
    picture = histogram_picture(np.array([2, 0, 0, 2]), "trust")
    rects = [each.attrib for each in picture if each.tag == "rect"]
    assert picture[0].text == "distribution of trust: 2, 0, 0, 2"
    assert [each["height"] for each in rects] == ["52", "52"]
    assert [each for each in histogram_picture(np.zeros(4, int), "trust") if each.tag == "rect"] == []


def test_text_has_the_same_table_without_pictures():
    rows = [["a", share_bar({"x": 1.0}), "1,000"], ["long name", share_bar({"x": 2.0}), "7"]]
    card = Card(
        "Title", ["line"], None, ["name", "", "count"], rows, words=["name"], notes=["", "note"], details=["how"]
    )
    lines = ["Title", "line", "", "name       count", "a          1,000", "long name      7", "", "note", "", "how"]
    assert card.text().splitlines() == lines
    assert Card("Title").text() == "Title"
