"""The service of docs/how-to/behind-an-api.md: many threads and forked workers get the answers of one caller."""

import multiprocessing
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allegiance
from allegiance.io import fit_stream, open_table, propose
from tables import customers

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "behind-an-api.md"


@pytest.fixture(scope="module")
def rows():
    return customers()[["spent", "visits", "plan"]]


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    table = open_table(rows)
    settings = allegiance.AffinityScorer(calibration=3, random_state=0)
    fit_stream(table, settings, plan=propose(table), n_clusters=3).save(folder / "january.model")
    return folder / "january.model"


@pytest.fixture
def scorer(model):
    return allegiance.load(model, n_jobs=1).prepare()


def test_prepared_models_and_many_threads_change_no_score(model, scorer, rows):
    expected, prepared = allegiance.load(model).affinity(rows), scorer.affinity(rows)
    np.testing.assert_array_equal(prepared.affinity, expected.affinity)
    np.testing.assert_array_equal(prepared.trust, expected.trust)
    with ThreadPoolExecutor(8) as pool:
        actual = list(pool.map(lambda row: float(scorer.affinity(rows.iloc[[row]]).trust[0]), range(60)))
    np.testing.assert_array_equal(actual, expected.trust[:60])


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_workers_score_with_a_model_that_was_loaded_before(scorer, rows):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    score = lambda: results.put(scorer.affinity(rows[:40]).trust.tolist())  # noqa: E731
    workers = [context.Process(target=score) for _ in range(2)]
    for worker in workers:
        worker.start()
    actual = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    expected = scorer.affinity(rows[:40]).trust.tolist()
    assert actual == [expected, expected]


def test_one_row_as_a_dict_or_a_frame_gives_the_bits_of_a_table(model, rows):
    loaded = allegiance.load(model)
    expected = loaded.affinity(rows).trust[:40].tolist()
    records = rows[:40].to_dict("records")
    assert [float(loaded.affinity(record).trust[0]) for record in records] == expected
    assert [float(loaded.affinity(rows.iloc[[i]]).trust[0]) for i in range(40)] == expected
    # Values that need the full plan: a gap, an unknown category, a number as text.
    for odd in ({"spent": None}, {"plan": "z"}, {"spent": "1,000"}, {"visits": 3}):
        record = records[0] | odd
        whole = loaded.affinity(pd.DataFrame([record] * 2))
        assert loaded.affinity(record).trust[0] == whole.trust[0], odd
    assert loaded.affinity(rows.iloc[[7]]).frame().index.tolist() == [7]


@pytest.mark.slow
def test_the_service_of_the_page_with_many_threads(model, rows, monkeypatch):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    testing = pytest.importorskip("fastapi.testclient", reason="httpx is not installed")
    monkeypatch.chdir(model.parent)
    namespace: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1], namespace)
    expected = allegiance.load(model).affinity(rows)
    with testing.TestClient(namespace["app"]) as client, ThreadPoolExecutor(8) as pool:
        bodies = [row.to_dict() for _, row in rows[:80].iterrows()]
        answers = list(pool.map(lambda body: client.post("/score", json=body).json(), bodies))
        wrong = [{"spent": 1.0}, bodies[0] | {"spent": "much"}]
        bad = [client.post("/score", json=body) for body in wrong]
        ids = {client.post("/reload").json()["model"], client.get("/health").json()["model"]}
    assert [answer["trust"] for answer in answers] == expected.trust[:80].tolist()
    assert [answer["verdict"] for answer in answers] == expected.verdict[:80].tolist()
    assert [answer.status_code for answer in bad] == [422, 422]
    assert "visits" in bad[0].json()["detail"]
    assert {*ids, *(answer["model"] for answer in answers)} == {allegiance.load(model).id}
