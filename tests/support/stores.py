"""Object stores for tests, each declared once: how its server is started, and how ggfmt and tests address it.

`STORES` has them by name. A test with the fixture `any_store` runs in all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.fs as pafs
import pytest
from places import ROOT

KEY, SECRET = "AKIAEXAMPLE", "q9vK/long+secret"  # of S3
AZURITE = ROOT / ".azurite" / "node_modules" / ".bin" / "azurite-blob"  # where `.ci/run` installs it
ACCOUNT = "devstoreaccount1"
# The key of Azurite's account, which is the same everywhere.
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_START_SECONDS = 60.0


@dataclass(frozen=True)
class StoreKind:
    """A kind of store.

    command      starts a server, by its port
    client       a file system of the tests' own, by the port
    uri          the URI of a path in a bucket, by the port, the bucket and the path
    make_bucket  makes a bucket, by the client, the port and its name
    environment  what a process needs, by the port
    missing      why there is no server here; None if there is one
    """

    command: Callable[[int], list[str]]
    client: Callable[[int], pafs.FileSystem]
    uri: Callable[[int, str, str], str]
    make_bucket: Callable[[pafs.FileSystem, int, str], None] = lambda fs, port, bucket: fs.create_dir(bucket)
    environment: Callable[[int], Mapping[str, str]] = lambda port: {}
    missing: Callable[[], str | None] = lambda: None


def _s3_client(port: int) -> pafs.FileSystem:
    return pafs.S3FileSystem(
        access_key=KEY,
        secret_key=SECRET,
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )


def _gcs_client(port: int) -> pafs.FileSystem:
    return pafs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}")


def _gcs_bucket(fs: pafs.FileSystem, port: int, bucket: str) -> None:
    url = f"http://127.0.0.1:{port}/storage/v1/b?project=tests"
    body = json.dumps({"name": bucket}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=10):
        pass


def _azure_client(port: int) -> pafs.FileSystem:
    address: dict[str, Any] = dict.fromkeys(("blob_storage_authority", "dfs_storage_authority"), f"127.0.0.1:{port}")
    address |= dict.fromkeys(("blob_storage_scheme", "dfs_storage_scheme"), "http")
    return pafs.AzureFileSystem(account_name=ACCOUNT, account_key=ACCOUNT_KEY, **address)


def _azurite() -> str | None:
    return str(AZURITE) if AZURITE.exists() else shutil.which("azurite-blob")


def _no_azurite() -> str | None:
    if _azurite() is not None:
        return None
    if os.environ.get("CI") and shutil.which("npm"):
        pytest.fail("`.ci/run` has not installed Azurite")
    return "Azurite is not installed: `npm install --prefix .azurite azurite@3`"


STORES: Mapping[str, StoreKind] = {
    "s3": StoreKind(
        lambda port: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        _s3_client,
        lambda port, bucket, path: f"s3://{bucket}/{quote(path)}",
        environment=lambda port: {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
        },
    ),
    "gcs": StoreKind(
        lambda port: [
            *(sys.executable, "-m", "gcp_storage_emulator", "start"),
            *("--host", "127.0.0.1", "--port", str(port), "--in-memory"),
        ],
        _gcs_client,
        lambda port, bucket, path: (
            f"gs://anonymous@{bucket}/{quote(path)}?scheme=http&endpoint_override=127.0.0.1:{port}"
        ),
        _gcs_bucket,
    ),
    "azure": StoreKind(
        lambda port: [
            *(str(_azurite()), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"),
            *("--silent", "--skipApiVersionCheck", "--disableTelemetry"),
        ],
        _azure_client,
        lambda port, bucket, path: (
            f"abfs://{ACCOUNT}:{quote(ACCOUNT_KEY, safe='')}@127.0.0.1:{port}/{bucket}/{quote(path)}?enable_tls=false"
        ),
        missing=_no_azurite,
    ),
}
SECRETS = (SECRET, ACCOUNT_KEY, quote(ACCOUNT_KEY, safe=""))


@contextmanager
def running(kind: StoreKind, log: Path) -> Iterator[int]:
    """Start a server, and yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with log.open("wb") as output:
        environment = {**os.environ, **kind.environment(port)}
        process = subprocess.Popen(kind.command(port), stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


class AnyStore:
    """A bucket of any kind of store, and its content by key."""

    def __init__(self, name: str, port: int, bucket: str) -> None:
        self.name, self.kind, self.port, self.bucket = name, STORES[name], port, bucket
        self.fs = self.kind.client(port)
        self.kind.make_bucket(self.fs, port, bucket)

    def uri(self, path: str) -> str:
        return self.kind.uri(self.port, self.bucket, path)

    def put(self, key: str, data: bytes) -> None:
        with self.fs.open_output_stream(f"{self.bucket}/{key}", compression=None) as stream:
            stream.write(data)

    def files(self, below: str = "") -> dict[str, bytes]:
        """Keys below a path, from there on, with their bytes."""
        top = f"{self.bucket}/{below}".rstrip("/")
        found = self.fs.get_file_info(pafs.FileSelector(top, recursive=True, allow_not_found=True))
        return {
            info.path.removeprefix(f"{top}/"): self.fs.open_input_stream(info.path, compression=None).read()
            for info in sorted(found, key=lambda info: info.path)
            if info.type == pafs.FileType.File
        }

    def numbers(self, below: str) -> list[int]:
        """The operations of the handler `j` by their numbers, in order."""
        lines = b"".join(self.files(f"{below}/j").values()).splitlines()
        return [int(json.loads(line)["pos"]) for line in lines]


@pytest.fixture(scope="session", params=STORES)
def store_server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    kind = STORES[request.param]
    missing = kind.missing()
    if missing is not None:
        pytest.skip(f"no server of {request.param}: {missing}")
    with running(kind, tmp_path_factory.mktemp(request.param) / "server.log") as port:
        yield request.param, port


@pytest.fixture
def any_store(
    store_server: tuple[str, int], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AnyStore:
    name, port = store_server
    for variable, value in STORES[name].environment(port).items():
        monkeypatch.setenv(variable, value)
    return AnyStore(name, port, f"b{abs(hash(request.node.name)):x}")
