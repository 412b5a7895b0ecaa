"""A proxy before an object store that answers some requests with an error, and counts requests."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OF_CONNECTION = ("expect", "transfer-encoding")


class UnreliableStore:
    """Passes requests on to the store at `port`, unless `answer(method, path, count)` returns a status, and `body`.

    `count`: how many requests with this method and path came before.
    """

    def __init__(self, port: int, answer: Callable[[str, str, int], int | None], body: bytes = b"") -> None:
        self._target = port
        self._answer = answer
        self._body = body
        self._counts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def handle_any(self) -> None:
                store._pass_on(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def _pass_on(self, request: BaseHTTPRequestHandler) -> None:
        body = _body(request)
        key = request.command, request.path.partition("?")[0]
        with self._lock:
            count = self._counts.get(key, 0)
            self._counts[key] = count + 1
        status = self._answer(*key, count)
        if status is not None:
            request.send_response(status)
            request.send_header("Content-Length", str(len(self._body)))
            request.end_headers()
            request.wfile.write(self._body if request.command != "HEAD" else b"")
            return
        connection = http.client.HTTPConnection("127.0.0.1", self._target, timeout=30)
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_CONNECTION}
            connection.request(request.command, request.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                request.send_header(name, value)
        request.send_header("Content-Length", answer.getheader("Content-Length") or str(len(data)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(data)

    @contextmanager
    def running(self) -> Iterator[UnreliableStore]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    chunks = []
    while size := int(request.rfile.readline(), 16):
        chunks.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(chunks)
