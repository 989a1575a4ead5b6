import json
import socket
import urllib.error
import urllib.request

import pytest
import tornado.ioloop
import tornado.websocket
from tornado.httpclient import HTTPClientError, HTTPRequest

from allegiance.explorer.app._security import Access


def get(url, **headers):
    """Return status, headers and text of a page."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def connect(url, origin, *messages):
    """Open a web socket, send messages, and return what comes back to them."""

    async def talk():
        headers = {} if origin is None else {"Origin": origin}
        connection = await tornado.websocket.websocket_connect(HTTPRequest(url, headers=headers))
        found = [json.loads(await connection.read_message())]
        for message in messages:
            await connection.write_message(json.dumps(message))
            while "id" not in (answer := json.loads(await connection.read_message())):
                pass
            found.append(answer)
        connection.close()
        return found

    return tornado.ioloop.IOLoop(make_current=False).run_sync(talk, timeout=20)


@pytest.fixture
def explorer(serving, scored):
    X, result = scored
    return serving(result, X)


@pytest.fixture
def addresses(explorer):
    """Return the page without its token, the token, and the web socket."""
    page, token = explorer.url.split("?token=")
    return page, token, f"ws{page.removeprefix('http')}socket?token={token}"


def test_nothing_is_told_without_the_token(addresses):
    page, token, _ = addresses
    for address in (
        page,
        f"{page}?token=",
        f"{page}?token={token[:-1]}",
        f"{page}export/decisions.csv",
        f"{page}socket",
    ):
        status, _, text = get(address)
        assert status == 403
        assert "points" not in text
    assert get(f"{page}?token={token}")[0] == 200


def test_the_page_allows_its_own_scripts_and_nothing_else(addresses):
    page, token, _ = addresses
    _, headers, text = get(f"{page}?token={token}")
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe-eval" not in headers["Content-Security-Policy"]
    # Notebooks of this machine may show the page.
    assert policy["frame-ancestors"].split() == ["http://localhost:*", "http://127.0.0.1:*"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Server"] is None
    assert token not in text


def test_other_names_and_other_pages_are_refused(addresses, explorer):
    page, token, socket_address = addresses
    assert get(f"{page}?token={token}", Host="evil.example")[0] == 403
    assert get(f"{page}static/explorer.css", Host="evil.example")[0] == 403
    for origin in ("http://evil.example", f"http://evil.example:{explorer.port}", "null", None):
        with pytest.raises(HTTPClientError):
            connect(socket_address, origin)
    with pytest.raises(HTTPClientError):
        connect(socket_address[:-1], page.rstrip("/"))
    assert "html" in connect(socket_address, page.rstrip("/"))[0]
    assert "html" in connect(socket_address, f"http://localhost:{explorer.port}")[0]


def test_it_listens_on_the_loopback_address_only(explorer):
    assert explorer._socket.getsockname()[0] == "127.0.0.1"
    with socket.create_connection(("127.0.0.1", explorer.port), timeout=5):
        pass


def test_files_beside_the_scripts_are_not_served(addresses):
    page, token, _ = addresses
    for path in (
        "static/../templates/page.html.j2",
        "static/%2e%2e/__init__.py",
        "bokeh/..%2f..%2fcss",
        "static/",
        "x",
    ):
        assert get(f"{page}{path}?token={token}")[0] in (400, 403, 404)
    assert get(f"{page}static/explorer.js")[0] == 200


def test_commands_that_make_no_sense_are_answered_in_words(addresses, explorer):
    page, _, socket_address = addresses
    nonsense = [
        {"id": 1, "do": "__init__"},
        {"id": 2, "do": "mark", "row": 10**9},
        {"id": 3, "do": "mark"},
        {"id": 4, "do": "view", "map": "PCA", "colour": "feature:99", "window": [0, 1, 0, 1, 300, 300]},
        {"id": 5, "do": "view", "map": "PCA", "colour": "trust", "window": [1, 0, 0, 1, 300, 300]},
        {"id": 6, "do": "view", "map": "../x", "colour": "trust", "window": [0, 1, 0, 1, 9, 9]},
        {"id": 7, "do": "select", "map": "PCA", "xs": [1], "ys": [1]},
        {"id": 8, "do": "decide", "row": 0, "decision": "move", "new_label": None},
        {"id": 9, "do": "enqueue", "budget": "-3"},
        [1, 2],
    ]
    for answer in connect(socket_address, page.rstrip("/"), *nonsense)[1:]:
        assert answer["error"]
    assert not explorer.decisions


def test_names_of_proxies_and_of_this_machine():
    access = Access.of("0.0.0.0", 8000, ["lab.example", "hub.example:443"])
    assert access.knows_host("127.0.0.1:8000")
    assert access.knows_host("[::1]:8000")
    assert access.knows_host("LAB.example:8000")
    assert access.knows_origin("https://hub.example:443")
    assert access.knows_origin("https://lab.example")
    assert not access.knows_host("0.0.0.0:8000")
    assert not access.knows_host("127.0.0.1:8001")
    assert not access.knows_host(None)
    assert not access.knows_token(None)
    assert Access.of("127.0.0.1", 1).token != access.token
