"""Object stores for tests, each declared once: how its server is started, and how ggfmt and tests address it.

`STORES` has them by name. A test with the fixture `any_store` runs in all of them. Each server starts when a test needs
it first, once for all modules of a process.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.fs as pafs
import pytest
from places import ROOT

from ggfmt.location import AZURE_KEY

KEY, SECRET = "AKIAEXAMPLE", "q9vK/long+secret"  # of S3
AZURITE_START = Path(__file__).with_name("azurite_start.cjs")
AZURITE = ROOT / ".azurite" / "node_modules" / ".bin" / "azurite-blob"  # where `.ci/run` installs it
ACCOUNT = "devstoreaccount1"
# The key of Azurite's account, which is the same everywhere.
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_START_SECONDS = 60.0


@dataclass(frozen=True)
class StoreKind:
    """A kind of store.

    schemes      of its URIs, the usual one first
    command      starts a server, by its port
    client       a file system of the tests' own, by the port
    uri          what follows the scheme of a URI, by the port, the bucket and the quoted path
    uri_of_keys  likewise, with the keys in the URI
    put          puts an object whose key Arrow may not write, by the port, the bucket, the key and the data
    make_bucket  makes a bucket, by the client, the port and its name
    environment  what a process needs, by the port
    missing      why there is no server here; None if there is one
    """

    schemes: tuple[str, ...]
    command: Callable[[int], list[str]]
    client: Callable[[int], pafs.FileSystem]
    uri: Callable[[int, str, str], str]
    uri_of_keys: Callable[[int, str, str], str]
    put: Callable[[int, str, str, bytes], None]
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


def _send(url: str, body: bytes, method: str = "POST", **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with urllib.request.urlopen(urllib.request.Request(url, body, named, method=method), timeout=10):
        pass


def _s3_put(port: int, bucket: str, key: str, data: bytes) -> None:
    import boto3

    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys).put_object(Bucket=bucket, Key=key, Body=data)


def _gcs_put(port: int, bucket: str, key: str, data: bytes) -> None:
    query = f"uploadType=media&name={quote(key, safe='')}"
    _send(f"http://127.0.0.1:{port}/upload/storage/v1/b/{bucket}/o?{query}", data, Content_Type="text/plain")


def _gcs_uri(port: int, bucket: str, path: str) -> str:
    return f"anonymous@{bucket}/{path}?scheme=http&endpoint_override=127.0.0.1:{port}"


def _gcs_bucket(fs: pafs.FileSystem, port: int, bucket: str) -> None:
    body = json.dumps({"name": bucket}).encode()
    _send(f"http://127.0.0.1:{port}/storage/v1/b?project=tests", body, Content_Type="application/json")


def _azure_put(port: int, bucket: str, key: str, data: bytes) -> None:
    path = f"/{ACCOUNT}/{bucket}/{quote(key)}"
    headers = {"x-ms-blob-type": "BlockBlob", "x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = [*("PUT", "", "", str(len(data) or ""), "", "text/plain", *[""] * 6), *map(":".join, headers.items())]
    text = "\n".join([*signed, f"/{ACCOUNT}{path}"]).encode()
    signature = base64.b64encode(hmac.digest(base64.b64decode(ACCOUNT_KEY), text, hashlib.sha256)).decode()
    headers |= {"Content-Type": "text/plain", "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
    _send(f"http://127.0.0.1:{port}{path}", data, "PUT", **headers)


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
        ("s3", "s3n", "s3a"),
        lambda port: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        _s3_client,
        lambda port, bucket, path: f"{bucket}/{path}",
        lambda port, bucket, path: f"{KEY}:{SECRET}@{bucket}/{path}",
        _s3_put,
        environment=lambda port: {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
        },
    ),
    "gcs": StoreKind(
        ("gs", "gcs"),
        lambda port: [
            *(sys.executable, "-m", "gcp_storage_emulator", "start"),
            *("--host", "127.0.0.1", "--port", str(port), "--in-memory"),
        ],
        _gcs_client,
        _gcs_uri,
        _gcs_uri,
        _gcs_put,
        _gcs_bucket,
    ),
    "azure": StoreKind(
        ("abfs",),  # `abfss` counts as another store
        lambda port: [
            *("node", "--require", str(AZURITE_START), str(_azurite())),
            *("--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"),
            *("--skipApiVersionCheck", "--disableTelemetry"),
        ],
        _azure_client,
        lambda port, bucket, path: f"{ACCOUNT}@127.0.0.1:{port}/{bucket}/{path}?enable_tls=false",
        lambda port, bucket, path: (
            f"{ACCOUNT}:{quote(ACCOUNT_KEY, safe='')}@127.0.0.1:{port}/{bucket}/{path}?enable_tls=false"
        ),
        _azure_put,
        environment=lambda port: {AZURE_KEY: ACCOUNT_KEY},
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

    def __init__(self, name: str, port: int, bucket: str, log: Path) -> None:
        self.name, self.kind, self.port, self.bucket, self._log = name, STORES[name], port, bucket, log
        self.fs = self.kind.client(port)
        self.kind.make_bucket(self.fs, port, bucket)

    def uri(self, path: str, scheme: str | None = None, with_keys: bool = False) -> str:
        rest = (self.kind.uri_of_keys if with_keys else self.kind.uri)(self.port, self.bucket, quote(path))
        return f"{scheme or self.kind.schemes[0]}://{rest}"

    def put(self, key: str, data: bytes) -> None:
        with self.fs.open_output_stream(f"{self.bucket}/{key}", compression=None) as stream:
            stream.write(data)

    def put_as_it_is(self, key: str, data: bytes) -> None:
        """Puts an object whose key Arrow would not write."""
        self.kind.put(self.port, self.bucket, key, data)

    def requests(self) -> list[tuple[str, str]]:
        """The requests to the server so far: the method, and the path with its query."""
        return re.findall(r"([A-Z]+) (\S+) HTTP/", self._log.read_text(errors="replace"))

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


def put_operations(store: AnyStore, name: str, files: int, tables: int) -> None:
    from runs import operation  # not with this module, which is loaded before any test

    for number in range(files):
        records = [operation(number, f"GG.T{table}") for table in range(tables)]
        store.put(f"{name}/in/{number:05}.json", b"".join(json.dumps(record).encode() + b"\n" for record in records))


StartServer = Callable[[str], tuple[int, Path]]


@pytest.fixture(scope="session")
def store_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts the server of a kind, if it is not there; gives its port, and its log."""
    with ExitStack() as servers:

        @cache
        def start(name: str) -> tuple[int, Path]:
            log = tmp_path_factory.mktemp(name) / "server.log"
            return servers.enter_context(running(STORES[name], log)), log

        yield start


@pytest.fixture(params=STORES)
def any_store(store_servers: StartServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> AnyStore:
    name: str = request.param
    missing = STORES[name].missing()
    if missing is not None:
        pytest.skip(f"no server of {name}: {missing}")
    port, log = store_servers(name)
    for variable, value in STORES[name].environment(port).items():
        monkeypatch.setenv(variable, value)
    return AnyStore(name, port, f"b{abs(hash(request.node.name)):x}", log)
