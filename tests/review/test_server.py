"""The server: who may ask, what it answers, and that nothing malformed changes anything."""

import base64
import http.client
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pandas as pd
import pytest

from allegiance.review import apply_decisions, serve


@pytest.fixture
def review(serving):
    return serving()


class Client:
    """Asks a server as the page does, or as something else would."""

    def __init__(self, review):
        self.review = review
        self.host = f"127.0.0.1:{review.port}"

    def ask(self, method, path, body=None, token=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        sent = {"Host": self.host, "Authorization": f"Bearer {self.review.token if token is None else token}"}
        if method == "POST":
            sent["Origin"] = f"http://{self.host}"
        sent = {name: value for name, value in (sent | headers).items() if value is not None}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        if method == "POST":
            sent.setdefault("Content-Length", str(len(content)))
        for name, value in sent.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(content if method == "POST" else None)
        answer = connection.getresponse()
        actual = answer.status, dict(answer.headers), answer.read()
        connection.close()
        return actual

    def get(self, path):
        status, _, content = self.ask("GET", path)
        assert status == 200, content
        return json.loads(content)

    def post(self, path, message):
        status, _, content = self.ask("POST", path, message)
        assert status == 200, content
        return json.loads(content)


@pytest.fixture
def client(review):
    return Client(review)


@pytest.fixture(scope="module")
def calm(scored, tmp_path_factory):
    """A client of one server for all tests in which nothing is decided."""
    result, X, table = scored
    with serve(result, X, log=tmp_path_factory.mktemp("calm") / "log.jsonl", data=table, open_browser=False) as review:
        yield Client(review)
        assert not review.decisions


def test_nothing_is_told_without_the_token(calm):
    token = calm.review.token
    tokens = ["/?token=", f"/?token={token[:-1]}"]
    for path in ("/", *tokens, "/state", "/record?row=1", "/export/table.csv", "/find?query=c1"):
        status, _, content = calm.ask("GET", path, token="")
        assert status == 403
        assert b"token" in content
    assert calm.ask("POST", "/decide", {"row": 1, "decision": "keep"}, token="x")[0] == 403
    assert calm.ask("GET", f"/?token={token}", token="")[0] == 200


def test_the_page_runs_its_own_scripts_and_nothing_else(calm):
    status, headers, page = calm.ask("GET", f"/?token={calm.review.token}")
    assert status == 200
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["connect-src"]) == ("'none'", "'self'")
    assert policy["script-src"].startswith("'nonce-")
    assert "unsafe-eval" not in headers["Content-Security-Policy"]
    assert policy["frame-ancestors"].split() == ["http://localhost:*", "http://127.0.0.1:*"]
    assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert calm.review.token.encode() not in page


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", None])
def test_a_wrong_host_is_what_is_named(host, calm):
    status, _, content = calm.ask("GET", "/state", Host=host)
    assert status == 403
    assert b"does not accept the host name" in content
    assert b"token" not in content


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
def test_other_pages_may_not_decide(origin, calm):
    assert calm.ask("POST", "/decide", {"row": 1, "decision": "keep"}, Origin=origin)[0] == 403


def test_all_addresses_and_proxies_can_be_allowed(serving):
    review = serving(host="0.0.0.0", allow_hosts=["lab.example", "hub.example:443"])
    client = Client(review)
    port = review.port
    assert review.url.startswith("http://127.0.0.1:")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LAB.example:{port}", "lab.example", "hub.example:443"):
        assert client.ask("GET", "/state", Host=host)[0] == 200
    assert client.ask("GET", "/state", Host=f"0.0.0.0:{port}")[0] == 403


NONSENSE = [
    *(b"", b"{", b"[]", b"1", b'"decide"', b"\xff\xfe", b"[" * 50_000, b"{}", b'{"row": [], "decision": {}}'),
    *(json.dumps({"row": row, "decision": "keep"}).encode() for row in (1.9, "1", True, -1, 10**30, None)),
    *(json.dumps({"row": 1, "decision": decision}).encode() for decision in ("delete", "undo", "name", [], "move")),
    *(json.dumps({"row": 1, "decision": "move", "new_label": label}).encode() for label in (99, "nowhere")),
    *(
        json.dumps({"label": label, "name": name}).encode()
        for label, name in (("nowhere", "x"), ([], "x"), ("east", 5), ("east", "x" * 1000))
    ),
]


def test_malformed_messages_are_answered_and_change_nothing(client):
    before = client.get("/state")
    for path in ("/decide", "/name", "/undo", "/nothing", "/../decide", "/decide/", "/export/table.csv"):
        for message in NONSENSE:
            if path == "/undo" and message.startswith(b"{") and message != b"{":
                continue  # Undo takes any object.
            status, _, content = client.ask("POST", path, message)
            assert 400 <= status < 500, (path, message, content)
    for query in ("", "?row=x", "?row=1.9", "?row=99999", "?row=" + "9" * 40):
        assert 400 <= client.ask("GET", f"/record{query}")[0] < 500
    for path in ("/export/x.csv", "/x"):
        assert 400 <= client.ask("GET", path)[0] < 500
    assert client.get("/state") == before
    assert Path(client.review.path).read_text() == ""


@pytest.mark.parametrize("size", ["100001", "-1", "many", "", "1" * 30])
def test_oversized_messages_are_refused_and_not_read(size, client):
    assert client.ask("POST", "/decide", b"{}", Content_Length=size)[0] == 413
    assert client.post("/decide", {"row": 1, "decision": "keep"})["record"]["decision"] == "keep"


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", b"POST /decide HTTP/1.1\r\n", b"A" * 70_000 + b"\r\n\r\n"],
    ids=["binary", "version", "cut", "long"],
)
def test_garbage_on_the_wire_does_no_harm(garbage, calm, capfd):
    with socket.create_connection(("127.0.0.1", calm.review.port), timeout=5) as wire:
        wire.sendall(garbage)
    assert calm.get("/state")["decisions"] == []
    assert capfd.readouterr().err == ""


def test_an_error_of_ours_is_logged_without_the_token(client, monkeypatch, capfd, caplog):
    monkeypatch.setattr(client.review._page, "record", lambda row: 1 / 0)
    status, _, content = client.ask("GET", f"/record?row=1&token={client.review.token}")
    assert status == 500
    assert b"terminal" in content
    assert "ZeroDivisionError" in caplog.text
    assert client.review.token not in caplog.text + capfd.readouterr().err


def test_decide_undo_clear_and_name(client, scored):
    label, rival = (str(values[1]) for values in (scored[0].label, scored[0].rival))
    record = client.post("/decide", {"row": 1, "decision": "move", "new_label": rival})["record"]
    assert (record["label"], record["new_label"], record["customer"]) == (label, rival, "c001")
    client.post("/decide", {"row": 2, "decision": "noise"})
    client.post("/decide", {"row": 1, "decision": "keep"})
    assert client.post("/undo", {})["record"]["decision"] == "move"
    assert client.post("/undo", {})["row"] == 2
    client.post("/decide", {"row": 1, "decision": ""})
    client.post("/name", {"label": "east", "name": "  the   sea "})
    state = client.get("/state")
    assert (state["decisions"], state["names"], state["canUndo"]) == ([], {"east": "the sea"}, False)
    assert "row" not in client.post("/undo", {})


def test_a_record_is_complete(calm, scored):
    result, _, table = scored
    record, row = calm.get("/record?row=10"), table.iloc[10]
    texts = [repr(float(row["revenue"])), row["plan"], str(row["joined"].date()), str(row["label"]), row["remark"]]
    assert record["values"] == ["c010", *texts]
    for rows, cluster in zip(record["near"], (result.label[10], result.rival[10]), strict=True):
        assert len(rows) == 3
        assert set(result.label[rows]) == {cluster}
    assert 10 not in record["near"][0]


def test_points_that_are_not_on_the_page_are_found(serving, monkeypatch):
    for name in ("POINTS", "LISTED", "DOUBTFUL", "FIRM", "NOISE"):
        monkeypatch.setattr(f"allegiance.report._points.MAX_{name}", 10)
    review = serving()
    client = Client(review)
    _, _, page = client.ask("GET", f"/?token={review.token}")
    data = json.loads(re.search(rb'<script[^>]*id="page-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    shown = set(base64.b64decode(data["columns"]["row"]["data"]))
    missing = next(row for row in range(240) if row not in shown)
    actual = client.get(f"/find?query=c{missing:03d}")
    assert (actual["rows"], actual["ids"]) == ([missing], [[f"c{missing:03d}"]])
    assert set(actual["columns"]) == set(client.get(f"/find?query={missing}")["columns"])
    assert client.get("/find?query=nothing+like+it")["rows"] == client.get("/find")["rows"] == []
    there = next(iter(shown))
    actual = client.get(f"/find?query=c{there:03d}")
    assert actual["rows"] == [there]
    assert "columns" not in actual


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_the_table_is_the_users_own_with_corrected_labels(format, client, scored, tmp_path):
    result, _, table = scored
    client.post("/decide", {"row": 1, "decision": "move", "new_label": "west"})
    client.post("/decide", {"row": 2, "decision": "noise"})
    client.post("/name", {"label": "west", "name": "=the far west"})
    status, _, content = client.ask("GET", f"/export/table.{format}")
    assert status == 200
    path = tmp_path / f"table.{format}"
    path.write_bytes(content)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": partial(pd.read_excel, engine="calamine")}[format]
    actual = read(path)
    np.testing.assert_allclose(actual[["revenue", "trust"]], np.column_stack([table["revenue"], result.trust]))
    assert actual[["label (yours)", "plan"]].to_numpy().tolist() == table[["label", "plan"]].to_numpy().tolist()
    assert actual["remark"].isna().tolist() == table["remark"].isna().tolist()
    assert (actual["remark"][1], actual["cluster_name"][1]) == ("=remark, 1", "=the far west")
    assert [str(label) for label in actual["label"][:3]] == [result.label[0], "west", "-1"]
    after = apply_decisions(result.label, path)
    assert (after == client.review.labels).all()
    assert np.flatnonzero(after != result.label).tolist() == [1, 2]


def test_many_clients_decide_at_once(client):
    def decide(row):
        return client.post("/decide", {"row": row, "decision": "keep"})["row"]

    with ThreadPoolExecutor(60) as clients:
        assert list(clients.map(decide, range(60))) == list(range(60))
    assert sorted(record["row"] for record in client.get("/state")["decisions"]) == list(range(60))


def test_a_server_that_cannot_start_says_so_at_once_and_lets_go_of_the_log(review, scored, tmp_path):
    result, X, _ = scored
    for port in (review.port, 70_000):
        with pytest.raises((OSError, ValueError), match="`port="):
            serve(result, X, log=tmp_path / "second.jsonl", port=port, open_browser=False)
    serve(result, X, log=tmp_path / "second.jsonl", open_browser=False).close()


def test_it_listens_on_this_machine_only_and_ends(serving):
    review = serving()
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", review.port), timeout=2)
    assert review.url in repr(review)
    assert review.url.split("token=")[1] == review.token
    assert "<iframe" in review._repr_html_()
    waiting = threading.Thread(target=review.wait)
    waiting.start()
    review.close()
    waiting.join(5)
    assert not waiting.is_alive()
    assert "closed" in review._repr_html_()
    with pytest.raises(OSError, match=r"refused|timed out"):
        socket.create_connection(("127.0.0.1", review.port), timeout=2)


def test_the_audit_speaks_through_labels_drawn_at_random(client, scored):
    result, _, _ = scored
    assert client.get("/audit") == {"audit": None}
    assert client.ask("POST", "/recalculate", {})[0] == 400
    sample = result.audit_sample(60)
    random = sample.rows[sample.origin == "random"].tolist()
    for place, row in enumerate(random[:12]):
        message = {"row": row, "decision": "noise" if place < 3 else "unsure" if place == 3 else "keep"}
        assert "audit" not in client.post("/decide", message)  # Which takes long for many labels.
        assert (client.get("/audit")["audit"] is None) == (place < 10)
    outside = next(row for row in result.review(240).index.tolist()[::-1] if row not in sample.rows)
    client.post("/decide", {"row": outside, "decision": "keep"})
    client.post("/decide", {"row": 5, "decision": "keep"})  # Noise has no label to audit.
    answers = np.full(len(sample), None, dtype=object)
    for place, row in enumerate(random[:12]):
        if place != 3:
            answers[sample.rows.tolist().index(row)] = place > 3
    expected = result.audit(sample.with_rows([outside]), [*answers.tolist(), True])
    assert client.get("/audit")["audit"] == expected.sentence()
    assert (expected.n_random, expected.n_listed) == (11, 1)
    assert client.post("/recalculate", {}) == {}
    page = client.ask("GET", f"/?token={client.review.token}")[2].decode()
    assert "right, by the audit" in page
    assert client.get("/audit")["audit"] == expected.sentence()
    for name in result.classes.tolist():
        mean = expected.trust[result.label == name].mean()
        assert re.search(rf">{name}</span></button></th>\s.*\s+<td[^>]*>{100 * mean:.0f}\W", page), (name, mean)
    content = client.ask("GET", "/export/table.csv")[2]
    np.testing.assert_allclose(pd.read_csv(io.BytesIO(content))["trust"], expected.trust)


def test_the_token_is_not_in_the_command_line_of_the_browser(serving, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    review = serving(open_browser=True)
    (address,) = opened
    assert review.token not in address
    path = Path(url2pathname(urlsplit(address).path))
    assert review.url in path.read_text(encoding="utf-8")
    assert os.name == "nt" or path.parent.stat().st_mode & 0o077 == 0
    review.close()
    assert not path.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files")
def test_a_log_that_was_deleted_is_an_error(client):
    Path(client.review.path).unlink()
    status, _, content = client.ask("POST", "/decide", {"row": 1, "decision": "keep"})
    assert (status, b"not saved" in content) == (500, True)


@pytest.mark.slow
def test_a_kill_loses_no_acknowledged_decision(tmp_path):
    program = """
import sys
import numpy as np
from allegiance import trust
from allegiance.review import serve
X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
review = serve(trust(X, np.repeat([0, 1, 2], 20)), X, log=sys.argv[1], open_browser=False)
print(review.port, review.token, flush=True)
review.wait()
"""
    path = tmp_path / "log.jsonl"
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as server:
        port, token = server.stdout.readline().split()
        client = Client(SimpleNamespace(port=port, token=token))
        kept = [client.post("/decide", {"row": row, "decision": "keep"})["row"] for row in range(30)]
        server.kill()
    assert [json.loads(line)["row"] for line in path.read_text().splitlines()] == kept
    assert (apply_decisions(np.repeat([0, 1, 2], 20), path) == np.repeat([0, 1, 2], 20)).all()
