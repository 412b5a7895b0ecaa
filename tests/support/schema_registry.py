"""A schema registry for tests: the endpoints of Confluent's interface, in this process."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class RegistryStub:
    """`subjects`: the ids of the versions of each. `user`: what requests need as user and password. `fixed`: subjects
    that take no other schema. `paths`: the requests. `about`: kinds and references of schemas that are not plain Avro,
    by id."""

    url: str = ""
    user: str = ""
    schemas: dict[int, Any] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    paths: list[str] = field(default_factory=list)
    about: dict[int, dict[str, Any]] = field(default_factory=dict)

    def add(self, schema: Any, *subjects: str, **about: Any) -> int:
        number = next((known for known, found in self.schemas.items() if found == schema), len(self.schemas) + 1)
        self.schemas[number] = schema
        self.about[number] = about
        for subject in subjects:
            self.subjects.setdefault(subject, []).append(number)
        return number

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        about = {name: body[name] for name in ("schemaType", "references") if body.get(name)} if body else {}
        schema = _parsed(body["schema"]) if body else None
        if parts[:2] == ["schemas", "ids"]:
            return self.shown(int(parts[2]))
        if parts[0] == "subjects" and parts[2:3] == ["versions"] and method == "GET":
            numbers = [0, *self.subjects.get(parts[1], ())]
            version = int(parts[3]) if int(parts[3]) < len(numbers) else 0
            status, answer = self.shown(numbers[version])
            return status, answer | {"subject": parts[1], "version": version, "id": numbers[version]}
        if parts[0] == "compatibility":
            if parts[2] not in self.subjects:
                return 404, {"error_code": 40401, "message": "Subject not found"}
            return 200, {"is_compatible": not self.refuses(parts[2], schema)}
        if parts == ["subjects"]:
            return 200, list(self.subjects)
        if parts[0] == "subjects" and parts[-1] == "versions" and method == "POST":
            if self.refuses(parts[1], schema):
                return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
            return 200, {"id": self.add(schema, parts[1], **about)}
        if parts[0] == "subjects" and method == "POST":
            for version, number in enumerate(self.subjects.get(parts[1], ()), 1):
                if self.schemas[number] == schema:
                    return 200, {"subject": parts[1], "version": version, "id": number, "schema": body["schema"]}
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 404, {"error_code": 404, "message": "Not found"}

    def shown(self, number: int) -> tuple[int, dict[str, Any]]:
        found = self.schemas.get(number)
        if found is None:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        text = found if self.about[number].get("schemaType") == "PROTOBUF" else json.dumps(found)
        return 200, {"schema": text, **self.about[number]}

    def refuses(self, subject: str, schema: Any) -> bool:
        return subject in self.fixed and all(self.schemas[known] != schema for known in self.subjects.get(subject, ()))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # of Protobuf
        return text


@contextmanager
def schema_registry(user: str = "") -> Iterator[RegistryStub]:
    stub = RegistryStub(user=user)

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            stub.paths.append(f"{self.command} {self.path}")
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            expected = f"Basic {base64.b64encode(stub.user.encode()).decode()}"
            if stub.user and self.headers.get("Authorization") != expected:
                status, answer = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                status, answer = stub.answer(self.command, self.path, json.loads(data) if data else None)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _reply

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
