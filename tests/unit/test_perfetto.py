"""The page that hands a trace to Perfetto: who gets it, how often, and how a real browser hands it on."""

import gzip
import http.client
import json
import threading
import webbrowser
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from roofscope.app.cli.export import hand_over
from roofscope.app.presentation.perfetto.page import PERFETTO, page_html
from roofscope.app.presentation.perfetto.server import PerfettoPage
from roofscope.tests.browser import CHROMIUM, Browser
from roofscope.tests.recorded import kept

pytestmark = pytest.mark.listens
TRACE = b'{"traceEvents": []}' * 999
# What Perfetto's page does with what it hears, as far as its documentation says.
_RECEIVER = b"""<!doctype html><title>receiver</title><script>
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", event.origin);
  else if (event.data.perfetto)
    document.title = `${event.data.perfetto.title} ${event.data.perfetto.buffer.byteLength}`;
});
</script>"""


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(_RECEIVER)

    def log_message(self, format: str, *words: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page() -> Iterator[PerfettoPage]:
    opened = PerfettoPage(lambda: TRACE, "softmax")
    yield opened
    opened.close()


def asked(
    page: PerfettoPage, method: str, path: str, headers: dict[str, str] | None = None
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(page.origin.removeprefix("http://"), timeout=60)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def path_of(page: PerfettoPage) -> str:
    return page.url.removeprefix(page.origin)


def test_the_page_may_load_nothing_and_says_where_the_trace_goes(page: PerfettoPage) -> None:
    status, content, headers = asked(page, "GET", path_of(page))
    assert status == 200
    assert PERFETTO.encode() in content
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'self'" in policy
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "roofscope.example:80"}, 403),  # a name that resolves to this machine
        ({"Host": "localhost"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_other_pages_get_nothing(page: PerfettoPage, headers: dict[str, str], status: int) -> None:
    for method, path in (("GET", path_of(page)), ("POST", f"{path_of(page)}trace")):
        found, content, _ = asked(page, method, path, headers)
        assert found == status
        assert TRACE[:20] not in content
    assert not page.was_given


@pytest.mark.parametrize("path", ["/", "/trace", "/x/trace", "//trace", "/../trace", "/%00/trace"])
def test_without_the_token_there_is_nothing(page: PerfettoPage, path: str) -> None:
    for method in ("GET", "POST"):
        assert asked(page, method, path)[0] == 404
    assert asked(page, "GET", f"{path_of(page)}trace")[0] == 404  # a link or an image is a GET
    assert asked(page, "GET", f"{path_of(page)}../page.py")[0] == 404


def test_the_trace_is_given_once_and_then_nobody_listens(page: PerfettoPage) -> None:
    status, content, _ = asked(page, "POST", f"{path_of(page)}trace", {"Origin": page.origin})
    assert (status, content) == (200, TRACE)
    assert page.wait(60)
    with pytest.raises(ConnectionRefusedError):
        asked(page, "POST", f"{path_of(page)}trace")


def test_a_page_that_nobody_opens_ends() -> None:
    page = PerfettoPage(lambda: TRACE, "softmax", open_s=0.0)
    assert page.wait(60)
    assert not page.was_given
    page.close()


def test_a_trace_that_went_is_a_sentence_and_may_be_asked_for_again() -> None:
    reads = iter([OSError("the file is gone"), TRACE])

    def read() -> bytes:
        found = next(reads)
        if isinstance(found, OSError):
            raise found
        return found

    page = PerfettoPage(read, "softmax")
    status, content, _ = asked(page, "POST", f"{path_of(page)}trace")
    assert (status, content) == (500, b"The trace cannot be read: the file is gone")
    assert asked(page, "POST", f"{path_of(page)}trace")[1] == TRACE
    page.close()


def test_export_opens_the_page_and_ends_when_the_trace_is_handed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got: list[bytes] = []

    def browse(url: str) -> bool:
        host = url.split("/")[2]
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("POST", url.removeprefix(f"http://{host}") + "trace")
        got.append(connection.getresponse().read())
        connection.close()
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    session = kept("h200-tour")
    hand_over(session, "softmax/triton_online")
    assert json.loads(gzip.decompress(got[0]))["traceEvents"]
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_a_hostile_name_stays_text() -> None:
    page = page_html("</script><script>alert(1)</script>\u202e", "n")
    assert page.count("</script>") == 1
    assert "\u202e" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_a_browser_hands_the_trace_over(tmp_path: Path, receiver: str) -> None:
    page = PerfettoPage(lambda: TRACE, "softmax & co", perfetto=receiver)
    browser = Browser(tmp_path)
    try:
        browser.open(page.url)
        assert not page.was_given  # nothing goes without the click
        browser.click("#hand-over")
        assert page.wait(120)
        status = "new Promise((done) => { const timer = setInterval(() => {"
        status += "const said = document.getElementById('status').textContent;"
        status += "if (!said.startsWith('Waiting')) { clearInterval(timer); done(said); } }, 20); })"
        assert browser.run(status) == "Handed over. This page may be closed."
        browser.turn_to(receiver)
        until = "new Promise((done) => { const timer = setInterval(() => {"
        until += (
            "if (document.title !== 'receiver') { clearInterval(timer); done(document.title); } }, 20); })"
        )
        assert browser.run(until) == f"softmax & co {len(TRACE)}"
    finally:
        browser.close()
        page.close()
