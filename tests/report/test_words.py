"""Words on the page: for the rival of doubtful documents, and of each cluster."""

import json
import re

import numpy as np
import pytest

from allegiance.report import check_texts, render_report
from allegiance.report._words import telling_words

TEXTS = ["wave tide", "wave sail", "tide sail", "oven dough", "oven salt", "dough salt"] * 6 + ["wave oven oven dough"]


@pytest.fixture
def result(make_result):
    """Documents about the sea or the kitchen, and the last one about the kitchen but filed under sea."""
    affinity = np.vstack([np.tile([[0.9, 0.1]] * 3 + [[0.1, 0.9]] * 3, (6, 1)), [[0.2, 0.8]]])
    return make_result(affinity, label=np.array([0, 0, 0, 1, 1, 1] * 6 + [0]), classes=[0, 1])


def test_doubtful_documents_and_clusters_have_words(result):
    rows = np.arange(37)[::-1]
    found = telling_words(result, check_texts(TEXTS, 37), rows, {0: "", 1: "", 35: ""}, np.array([1, 0]))
    assert set(found.points) == {0}
    assert set(found.points[0]) <= {"oven", "dough"}
    assert set(found.clusters[1][:3]) == {"wave", "tide", "sail"}
    assert {"oven", "dough", "salt"} >= set(found.clusters[0][:2])


def test_texts_without_words_have_none(result):
    rows = np.arange(37)
    assert telling_words(result, check_texts(["?"] * 37, 37), rows, {0: "?"}, np.array([0, 1])) is None
    assert telling_words(result, None, rows, None, np.array([0, 1])) is None


def test_the_page_carries_the_words(result):
    page = render_report(result, texts=TEXTS)
    data = json.loads(re.search(r'<script[^>]*id="page-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert len(data["words"]["points"]) == 1
    assert "oven" in data["words"]["clusters"][0] + data["words"]["clusters"][1]
    bare = render_report(result)
    data = json.loads(re.search(r'<script[^>]*id="page-data"[^>]*>(.*?)</script>', bare, re.DOTALL)[1])
    assert data["words"] is None
