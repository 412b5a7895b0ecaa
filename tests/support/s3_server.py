"""An object store for tests: moto's server, which speaks the protocol of S3, as a process of its own."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
import pyarrow.fs as pafs
import pytest
from stores import KEY, SECRET, STORES, running

__all__ = ["KEY", "SECRET"]


@dataclass(frozen=True)
class S3Server:
    """A running server; `port` is where it listens on the loopback address, and `log` has a line for each request."""

    port: int
    log: Path

    def requests(self) -> list[tuple[str, str]]:
        """The requests so far: the method, and the path with its query."""
        return re.findall(r"([A-Z]+) (\S+) HTTP/", self.log.read_text(errors="replace"))

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs that is to use this server, and no other, with good keys."""
        return STORES["s3"].environment(self.port)

    def client(self) -> pafs.FileSystem:
        """A file system of the tests' own, which may make buckets."""
        return STORES["s3"].client(self.port)

    def demand_keys(self, demanded: bool) -> None:
        """From now on keys that the server does not know, and it knows none, are refused; or taken again."""
        free = 0 if demanded else 1_000_000_000
        url = f"http://127.0.0.1:{self.port}/moto-api/reset-auth"
        request = urllib.request.Request(url, str(free).encode(), {"Content-Type": "text/plain"})
        with urllib.request.urlopen(request, timeout=10):
            pass


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """The server of this session; the test fails, and is not skipped, if it does not start."""
    with running_server(tmp_path_factory.mktemp("s3") / "server.log") as server:
        yield server


@contextmanager
def running_server(log: Path) -> Iterator[S3Server]:
    with running(STORES["s3"], log) as port:
        yield S3Server(port, log)


class Store:
    """A bucket, and its content by key."""

    def __init__(self, server: S3Server, bucket: str) -> None:
        self.server = server
        self.bucket = bucket
        self.fs = server.client()
        self.fs.create_dir(bucket)

    def put(self, key: str, data: bytes) -> None:
        with self.fs.open_output_stream(f"{self.bucket}/{key}") as stream:
            stream.write(data)

    def put_as_it_is(self, key: str, data: bytes) -> None:
        """Puts an object whose key Arrow would not write."""
        boto3.client(
            "s3",
            endpoint_url=self.server.environment["AWS_ENDPOINT_URL"],
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        ).put_object(Bucket=self.bucket, Key=key, Body=data)

    def files(self, below: str) -> dict[str, bytes]:
        """Keys below a path, from there on, with their bytes."""
        top = f"{self.bucket}/{below}"
        found = self.fs.get_file_info(pafs.FileSelector(top, recursive=True, allow_not_found=True))
        return {
            info.path.removeprefix(f"{top}/"): self.fs.open_input_stream(info.path).read()
            for info in sorted(found, key=lambda info: info.path)
            if info.type == pafs.FileType.File
        }

    def numbers(self, below: str) -> list[int]:
        """The operations of the handler `j` by their numbers, in order."""
        lines = b"".join(self.files(f"{below}/j").values()).splitlines()
        return [int(json.loads(line)["pos"]) for line in lines]


@pytest.fixture
def store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Store:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return Store(s3_server, f"b{abs(hash(request.node.name)):x}")
