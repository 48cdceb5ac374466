"""Serves the page and one trace on 127.0.0.1, once, to a page that knows the token.

Other pages that a browser shows can reach a port of this machine, too. So the address holds a random token;
the header Host must name this address, which a name that resolves to 127.0.0.1 does not (DNS rebinding); a
request of another page has that page's Origin and is refused. The trace is given once; then, or after some
minutes, the server ends.
"""

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn

from roofscope.app.presentation.perfetto.page import PERFETTO, page_html
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.results.session_reader import SessionError

OPEN_S = 600.0  # for the click; a page that was forgotten leaves no open port
_HOST = "127.0.0.1"
_POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REQUEST_S = 30.0  # a peer that says nothing holds its thread no longer


class PerfettoPage:
    """One trace at one address. ``close`` may be called at any time, and more than once."""

    def __init__(
        self, read: Callable[[], bytes], title: str, perfetto: str = PERFETTO, open_s: float = OPEN_S
    ) -> None:
        """``read`` gives the trace, JSON or gzip of it, in a thread; what it raises, the page shows."""
        self._token = secrets.token_urlsafe(24)
        nonce = secrets.token_urlsafe(16)
        self._page = page_html(title, nonce, perfetto).encode()
        self._policy = _POLICY.format(nonce=nonce)
        self._read = read
        self._given = threading.Lock()
        self._ended = threading.Event()
        self.was_given = False
        self._server = _Server((_HOST, 0), _handler(self))
        threading.Thread(target=self._serve, args=(open_s,), name="perfetto page", daemon=True).start()

    @property
    def origin(self) -> str:
        return f"http://{_HOST}:{self._server.server_port}"

    @property
    def url(self) -> str:
        """What the browser is asked to open."""
        return f"{self.origin}/{self._token}/"

    def wait(self, seconds: float | None = None) -> bool:
        """Until the server has ended; False where the seconds passed first."""
        return self._ended.wait(seconds)

    def close(self) -> None:
        """No request is begun after it."""
        self._stopping = True
        self._ended.wait()

    _stopping = False

    def _serve(self, open_s: float) -> None:
        """Answers until the trace was given and the page had the time to hand it on, or nobody came."""
        self._server.timeout = 0.1
        until = time.monotonic() + open_s
        try:
            while not self._stopping and not self.was_given and time.monotonic() < until:
                self._server.handle_request()
        finally:
            self._server.server_close()  # waits for the requests in flight
            self._ended.set()

    def answer(self, method: str, path: str, host: str, origin: str | None) -> "_Answer":
        """What a request gets: of another host, page or token nothing."""
        if host != self.origin.removeprefix("http://") or origin not in (None, self.origin):
            return _Answer(HTTPStatus.FORBIDDEN, b"This address is for its own page only.")
        token, _, rest = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return _Answer(HTTPStatus.NOT_FOUND, b"There is nothing here.")
        if (method, rest) == ("GET", ""):
            return _Answer(HTTPStatus.OK, self._page, "text/html; charset=utf-8", self._policy)
        if (method, rest) == ("POST", "trace"):
            return self._trace()
        return _Answer(HTTPStatus.NOT_FOUND, b"There is nothing here.")

    def _trace(self) -> "_Answer":
        if not self._given.acquire(blocking=False):
            return _Answer(HTTPStatus.GONE, b"The trace was handed over; open it again in Roofscope.")
        try:
            content = self._read()
        except (OSError, SessionError, TraceError) as error:  # such as of a file that went meanwhile
            self._given.release()
            return _Answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"The trace cannot be read: {error}".encode())
        return _Answer(HTTPStatus.OK, content, "application/octet-stream", is_trace=True)


class _Answer:
    def __init__(
        self,
        status: HTTPStatus,
        content: bytes,
        kind: str = "text/plain; charset=utf-8",
        policy: str = "default-src 'none'",
        *,
        is_trace: bool = False,
    ) -> None:
        self.status, self.content, self.kind, self.policy = status, content, kind, policy
        self.is_trace = is_trace


class _Server(ThreadingMixIn, HTTPServer):
    """A request a thread: a connection that a browser opens ahead and leaves silent holds up no other."""

    daemon_threads = True
    block_on_close = False


def _handler(page: PerfettoPage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_S
        server_version, sys_version = "Roofscope", ""

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            found = page.answer(method, self.path, self.headers.get("Host", ""), self.headers.get("Origin"))
            self.send_response(found.status)
            self.send_header("Content-Type", found.kind)
            self.send_header("Content-Length", str(len(found.content)))
            self.send_header("Content-Security-Policy", found.policy)
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            self.wfile.write(found.content)
            if found.is_trace:
                self.wfile.flush()
                page.was_given = True

        def log_message(self, format: str, *words: object) -> None:
            """Nothing: stderr is the user's."""

    return Handler
