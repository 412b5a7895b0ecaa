"""An S3 server that holds objects in memory, and answers each request after a given time.

usage: python tests/support/slow_store.py SECONDS [BUCKET/KEY=FILE ...]

It prints its port, and at its end the number of requests of each kind. It knows as much of S3 as Arrow asks for, and no
keys: it is for measurements.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

MOMENT = 1_700_000_000
_NO_HEADERS: Mapping[str, str] = {}


class SlowStore(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def __init__(self, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = seconds
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.requests: Counter[str] = Counter()
        self.uploads = count(1)
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SlowStore

    def log_message(self, *arguments: object) -> None:
        pass

    def _take(self) -> tuple[str, dict[str, list[str]], bytes]:
        """Return the key, the query and the content of the request, once its time has passed."""
        parts = urlsplit(self.path)
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            content = _unwrapped(content)
        with self.server.lock:
            self.server.requests[self.command] += 1
        time.sleep(self.server.seconds)
        return unquote(parts.path).lstrip("/"), parse_qs(parts.query, keep_blank_values=True), content

    def _answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] = _NO_HEADERS) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _object(self, key: str) -> None:
        found = self.server.objects.get(key)
        headers = {"Last-Modified": formatdate(MOMENT, usegmt=True), "ETag": '"1"'}
        if found is None:
            self._answer(404 if "/" in key.rstrip("/") else 200)  # a bucket is always there
        elif self.command == "HEAD":
            self._answer(200, headers={"Content-Length": str(len(found)), **headers})
        elif asked := re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            first, last = int(asked[1]), min(int(asked[2]), len(found) - 1)
            place = f"bytes {first}-{last}/{len(found)}"
            self._answer(206, found[first : last + 1], {"Content-Range": place, **headers})
        else:
            self._answer(200, found, headers)

    def do_HEAD(self) -> None:
        self._object(self._take()[0])

    def do_GET(self) -> None:
        key, query, _ = self._take()
        if "prefix" not in query and "list-type" not in query:
            self._object(key)
            return
        key = key.rstrip("/")
        prefix, mark = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        contents, prefixes = [], set()
        for path in sorted(path for path in self.server.objects if path.startswith(f"{key}/{prefix}")):
            name = path.removeprefix(f"{key}/")
            rest = name[len(prefix) :]
            if mark and mark in rest:
                prefixes.add(prefix + rest.partition(mark)[0] + mark)
            else:
                size = len(self.server.objects[path])
                moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(MOMENT))
                contents.append(
                    f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size><LastModified>{moment}</LastModified></Contents>"
                )
        common = "".join(
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in sorted(prefixes)
        )
        counts = f"<IsTruncated>false</IsTruncated><KeyCount>{len(contents) + len(prefixes)}</KeyCount>"
        body = f"<ListBucketResult>{counts}{''.join(contents)}{common}</ListBucketResult>"
        self._answer(200, body.encode())

    def do_PUT(self) -> None:
        key, query, content = self._take()
        if source := self.headers.get("x-amz-copy-source"):
            content = self.server.objects[unquote(source).strip("/")]
        if "partNumber" in query:
            self.server.parts[query["uploadId"][0]][int(query["partNumber"][0])] = content
        else:
            self.server.objects[key] = content
        self._answer(200, b"<CopyObjectResult><ETag>1</ETag></CopyObjectResult>" if source else b"", {"ETag": '"1"'})

    def do_POST(self) -> None:
        key, query, content = self._take()
        if "uploads" in query:
            upload = str(next(self.server.uploads))
            self.server.parts[upload] = {}
            body = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
        elif "uploadId" in query:
            parts = self.server.parts.pop(query["uploadId"][0])
            self.server.objects[key] = b"".join(parts[number] for number in sorted(parts))
            body = "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"
        else:
            key = key.rstrip("/")
            for name in re.findall(rb"<Key>([^<]*)</Key>", content):
                self.server.objects.pop(f"{key}/{name.decode()}", None)
            body = "<DeleteResult/>"
        self._answer(200, body.encode())

    def do_DELETE(self) -> None:
        self.server.objects.pop(self._take()[0], None)
        self._answer(204)


def _unwrapped(content: bytes) -> bytes:
    """Return the content of chunks that the client has signed."""
    found, place = [], 0
    while (end := content.find(b"\r\n", place)) > 0:
        size = int(content[place:end].split(b";")[0], 16)
        found.append(content[end + 2 : end + 2 + size])
        place = end + 4 + size
        if not size:
            break
    return b"".join(found)


def main() -> None:
    store = SlowStore(float(sys.argv[1]))
    for given in sys.argv[2:]:
        key, _, file = given.partition("=")
        store.objects[key] = Path(file).read_bytes()
    store.objects.setdefault("bucket/.keep", b"")
    print(store.server_port, flush=True)
    threading.Thread(target=store.serve_forever, daemon=True).start()
    sys.stdin.read()
    print(dict(store.requests), flush=True)


if __name__ == "__main__":
    main()
