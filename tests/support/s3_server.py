"""What tests do with S3 alone (moto's server): count requests, refuse keys."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from stores import KEY, SECRET, STORES, AnyStore, StartServer, running

__all__ = ["KEY", "SECRET"]


@dataclass(frozen=True)
class S3Server:
    """A running server; `port` is where it listens on the loopback address, and `log` has a line for each request."""

    port: int
    log: Path

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
def s3_server(store_servers: StartServer) -> S3Server:
    return S3Server(*store_servers("s3"))


@contextmanager
def running_server(log: Path) -> Iterator[S3Server]:
    with running(STORES["s3"], log) as port:
        yield S3Server(port, log)


class Store(AnyStore):
    """A bucket of S3, and its server, whose requests tests count and whose faults they choose."""

    def __init__(self, server: S3Server, bucket: str) -> None:
        super().__init__("s3", server.port, bucket, server.log)
        self.server = server


@pytest.fixture
def store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Store:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return Store(s3_server, f"b{abs(hash(request.node.name)):x}")
