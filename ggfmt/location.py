"""Paths and URIs: their schemes, their file systems, and names below them. A silent store fails in seconds."""

from __future__ import annotations

import errno
import io
import os
import posixpath
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote

import pyarrow.fs as pafs

from ggfmt.diagnostics.diagnostic import credentials, without_credentials

# What a URI scheme stands for; the schemes of one store are written in many ways, and mean the same files.
SCHEMES = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "hdfs": "hdfs",
    "viewfs": "viewfs",
    "abfs": "abfs",
    "abfss": "abfss",
}

# Schemes of other programs, which would be taken for local names where no `//` follows.
_FOREIGN = {
    "dbfs": "on Databricks these files are below `/dbfs` too",
    "wasb": "write `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    "wasbs": "write `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    "adl": "write `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    **dict.fromkeys(
        (
            "http",
            "https",
            "ftp",
            "sftp",
            "ssh",
            "jdbc",
            "kafka",
            "oss",
            "obs",
            "cos",
            "cosn",
            "oci",
            "maprfs",
            "alluxio",
        ),
        "copy the files to a directory or to a store that is read",
    ),
}

_URI = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_ONE_SLASH = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):([/\\]?)")
LINE_BUFFER_BYTES = 1 << 20
_PROBE_SECONDS = 4.0
_CONTACT_SECONDS, _CONTACT_ATTEMPTS = 2.0, 2
_CONNECT_SECONDS, _REQUEST_SECONDS = 3.0, 10.0
_GCS_SECONDS = "8"
_HDFS_NEEDS = (
    "hdfs:// needs libhdfs of a Hadoop client and libjvm: set HADOOP_HOME (or ARROW_LIBHDFS_DIR), JAVA_HOME, and "
    "CLASSPATH to what `hadoop classpath --glob` prints"
)
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_ENVIRONMENT = (*_ENDPOINTS, *_REGIONS, *_KEYS)
_NOT_IN_URIS = re.compile(r"""[%?#\s\[\]{}<>"\\^`|]""")
_S3_OPTIONS = {
    "region": str,
    "scheme": str,
    "endpoint_override": str,
    "tls_ca_file_path": str,
    "allow_bucket_creation": bool,
    "allow_bucket_deletion": bool,
    "allow_delayed_open": bool,
    "force_virtual_addressing": bool,
}


class StoreError(OSError):
    """A path or URI that leads to nothing: the message says what is wrong, `help` what to do, and `place` which path it
    is, if it is not the one that was given."""

    def __init__(self, message: str, help: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.help = help
        self.place = place


def is_uri(path: str) -> bool:
    """Whether a path names its file system. A local path may hold colons; `file:` is a URI with any number of slashes.

    StoreError for what looks like another file system's, so that no local directory `dbfs:` is made by surprise.
    """
    if _URI.match(path):
        return True
    found = _ONE_SLASH.match(path)
    if found is None:
        return False
    word, slash = found[1].lower(), found[2]
    if word == "file" and slash:
        return True
    if len(word) == 1 and (os.name == "nt" or not slash):
        return False
    if word in SCHEMES or word in _FOREIGN or slash:
        legal = f"write `{word}://...`" if word in SCHEMES and word != "file" else _FOREIGN.get(word)
        what = "a path of Windows" if len(word) == 1 else f"no URI of `{word}`" if word in SCHEMES else "no local path"
        help = "; ".join(
            filter(None, (legal, f"a local name that begins so is written `./{without_credentials(path)}`"))
        )
        raise StoreError(f"`{without_credentials(path)}` is {what}", help)
    return False


@dataclass(frozen=True)
class Location:
    """A URI in its parts: the `root` of its store with all that it takes to open that, credentials too, and the decoded
    `path` below it, without slashes at its ends."""

    family: str
    root: str
    path: str

    @classmethod
    def of(cls, uri: str) -> Location:
        """The parts of a URI; StoreError for one that leads nowhere."""
        scheme, _, rest = uri.partition(":")
        family = SCHEMES.get(scheme.lower())
        if family is None:
            help = "; ".join(filter(None, (_FOREIGN.get(scheme.lower()), f"known are {_known()}")))
            raise StoreError(f"there is no file system for `{scheme}://`", help)
        if family == "file":
            host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest.lstrip("/"))
            if host not in ("", "localhost") or not slash:
                raise StoreError(f"`file://{host}` names another machine", "write `file:///PATH`, or the path alone")
            return cls(family, "", unquote(path).rstrip("/"))
        base, mark, options = rest[2:].partition("?")
        secret = "" if family == "abfs" else ":".join(filter(None, credentials(f"://{base}")))
        name, _, path = base.removeprefix(f"{secret}@").partition("/")
        if not name and family in ("s3", "gs"):
            raise StoreError("the URI has no bucket", f"write `{family}://BUCKET/PATH`")
        authority = f"{secret}@{name}" if secret else name
        return cls(family, f"{family}://{authority}/{mark}{options}", unquote(path).strip("/"))


def _known() -> str:
    return ", ".join(f"`{name}://`" for name in SCHEMES)


def plain(path: str) -> str:
    """A path or URI without credentials and options, the same for all schemes that mean one store."""
    if not is_uri(path):
        return path
    location = Location.of(path)
    if location.family == "file":
        return f"/{location.path}"
    return f"{without_credentials(location.root).partition('?')[0]}{quoted(location.path)}"


def local_path(uri: str) -> str | None:
    """The local path that a `file:` URI stands for; None for all others."""
    return f"/{Location.of(uri).path}" if SCHEMES.get(uri.partition(":")[0].lower()) == "file" else None


def quoted(path: str) -> str:
    """A path of a store as it stands in a URI."""
    return _NOT_IN_URIS.sub(lambda found: quote(found[0], safe=""), path)


def open_store(uri: str) -> tuple[pafs.FileSystem, str]:
    """The file system that a URI names, and the path within it; StoreError if there is none, or nobody answers."""
    location = Location.of(uri)
    if location.family == "file":
        return pafs.LocalFileSystem(), f"/{location.path}"
    fs, root = _opened(location.family, location.root, tuple(map(os.environ.get, _ENVIRONMENT)))
    return fs, f"{root.rstrip('/')}/{location.path}" if location.path and root else location.path or root


@lru_cache(maxsize=64)
def _opened(family: str, root: str, environment: tuple[str | None, ...]) -> tuple[pafs.FileSystem, str]:
    """The file system of a store, and the path of its root. One client serves a process, which opens many files.

    `environment` has what Arrow reads there too, so that another one makes another client.
    """
    try:
        if family == "s3":
            return _s3(root)
        if family == "gs":
            if not _behind_proxy():
                _reach(root, _address(_options(root).get("endpoint_override"), "storage.googleapis.com"))
            if "retry_limit_seconds" not in _options(root):
                root += f"{'&' if '?' in root else '?'}retry_limit_seconds={_GCS_SECONDS}"
        elif host := _authority(root).rpartition("@")[2]:
            azure = family.startswith("abfs")
            if not _behind_proxy() if azure else ":" in host:  # a name without a port may be one of Hadoop's own
                _reach(root, _address(host, host, 443))
        fs, inner = pafs.FileSystem.from_uri(root)
        return fs, inner
    except StoreError:
        raise
    except ValueError as error:  # Arrow's ArrowInvalid is one
        raise StoreError(f"the URI cannot be used: {without_credentials(_line(error))}") from None
    except OSError as error:
        if "libhdfs" in str(error) or "libjvm" in str(error):
            raise StoreError(f"{family}:// cannot be opened: {_line(error)}", _HDFS_NEEDS) from None
        raise StoreError(without_credentials(_line(error))) from None


def _line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _authority(root: str) -> str:
    return root.partition("://")[2].partition("/")[0]


def _options(root: str) -> dict[str, str]:
    return dict(parse_qsl(root.partition("?")[2], keep_blank_values=True))


def _s3(root: str) -> tuple[pafs.FileSystem, str]:
    user, password = credentials(root)
    bucket = _authority(f"://{without_credentials(root).partition('://')[2]}")
    options: dict[str, Any] = {}
    for name, text in _options(root).items():
        if name not in _S3_OPTIONS:
            raise StoreError(
                f"an S3 URI has no option `{name}`", f"options are {', '.join(map('`{}`'.format, _S3_OPTIONS))}"
            )
        options[name] = text.lower() in ("1", "true") if _S3_OPTIONS[name] is bool else text
    if user:
        options |= {"access_key": unquote(user), "secret_key": unquote(password)}
    endpoint = options.get("endpoint_override") or next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    if endpoint is None:
        region = options.get("region")
        amazon = f"s3.{region or 'us-east-1'}.amazonaws.com{'.cn' if str(region).startswith('cn-') else ''}"
        _reach(root, _address(None, amazon))
        options["region"] = region or pafs.resolve_s3_region(bucket)
    else:
        scheme, mark, host = endpoint.rpartition("://")
        if mark:
            options["scheme"] = scheme
        options["endpoint_override"] = host.rstrip("/")
        options.setdefault("region", next(filter(None, map(os.environ.get, _REGIONS)), "us-east-1"))
        _reach(root, _address(host, "", 80 if options.get("scheme") == "http" else 443))
    # A server that takes connections and is silent is found out by one small question, in a short time.
    strategy = pafs.AwsStandardS3RetryStrategy(max_attempts=_CONTACT_ATTEMPTS)
    contact = pafs.S3FileSystem(
        **options, connect_timeout=_CONTACT_SECONDS, request_timeout=_CONTACT_SECONDS, retry_strategy=strategy
    )
    try:
        contact.get_file_info(bucket)
    except OSError as error:
        if "NETWORK_CONNECTION" in str(error):  # anything else is an answer, which may be another one for a path
            reason = str(error).rpartition("Details: ")[2]
            raise _silent(root, options.get("endpoint_override", "Amazon S3"), reason) from None
    return pafs.S3FileSystem(**options, connect_timeout=_CONNECT_SECONDS, request_timeout=_REQUEST_SECONDS), bucket


def _address(endpoint: str | None, default: str, port: int = 443) -> tuple[str, int]:
    """Host and port of `[scheme://]host[:port][/]`."""
    scheme, _, rest = (endpoint or default).rpartition("://")
    host, colon, number = rest.partition("/")[0].rpartition(":")
    if not colon or not number.isdigit():
        host, number = rest.partition("/")[0], "80" if scheme == "http" else str(port)
    return host.strip("[]"), int(number)


def _behind_proxy() -> bool:
    """Whether the clients of stores that take note of it go through a proxy; that of S3 does not."""
    return any(os.environ.get(name) for name in _PROXIES)


def _reach(root: str, address: tuple[str, int]) -> None:
    """StoreProblem unless something listens at the address: the clients of stores try for minutes without a word."""
    problems: list[str] = []
    answered = threading.Event()

    def knock() -> None:
        try:
            with socket.create_connection(address, timeout=_PROBE_SECONDS):
                answered.set()
        except TimeoutError:
            pass
        except OSError as error:
            problems.append((error.strerror or str(error)).lower())

    thread = threading.Thread(target=knock, daemon=True)  # looking up a name has no time limit of its own
    thread.start()
    thread.join(_PROBE_SECONDS + 0.5)
    if not answered.is_set():
        host, port = address
        reason = problems[0] if problems else f"no answer within {_PROBE_SECONDS:.0f} seconds"
        raise _silent(root, f"{host}:{port}", reason)


def _silent(root: str, host: str, reason: str) -> StoreError:
    help = "check the network, the endpoint (`AWS_ENDPOINT_URL`, `?endpoint_override=`) and its scheme"
    message = f"the store does not answer at `{without_credentials(host)}`: {reason}"
    return StoreError(message, help if root.startswith("s3:") else "check the network and the address")


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI, and the path within it; StoreError (an OSError) if there is none."""
    if not is_uri(path):
        return pafs.LocalFileSystem(), os.path.abspath(path)
    return open_store(path)


def not_writable(directory: str) -> OSError | None:
    """Why a local directory cannot be written to, or made; None if it can, or if it is not local."""
    path = absolute(directory)
    if is_uri(path):
        return None
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        return OSError(errno.ENOTDIR, f"`{path}` is not a directory")
    if hasattr(os, "statvfs") and os.statvfs(path).f_flag & os.ST_RDONLY:
        return OSError(errno.EROFS, f"`{path}` is on a read-only file system")
    if not os.access(path, os.W_OK | os.X_OK):
        return OSError(errno.EACCES, f"`{path}` may not be written to")
    return None


_REMEDIES = {
    errno.ENOTDIR: "a file is in the way: remove it",
    errno.EEXIST: "a file is in the way: remove it",
    errno.EROFS: "mount the file system for writing",
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, or have the quota raised",
}


def remedy(error: BaseException, otherwise: str) -> str | None:
    """What to do about a directory that cannot be written, with another way out; None where the cause is not known."""
    known = _REMEDIES.get(getattr(error, "errno", None) or 0)
    return None if known is None else f"{known}, or {otherwise}"


def is_local(fs: pafs.FileSystem) -> bool:
    return isinstance(fs, pafs.LocalFileSystem)


def absolute(path: str) -> str:
    """The path as any process on any directory may use it; URIs as they are, but those of local files."""
    if not is_uri(path):
        return os.path.abspath(path)
    return local_path(path) or path


def resolved(path: str, root: str) -> str:
    """An absolute path or URI as it is; a relative path below a root, which it may leave by `..`."""
    if is_uri(path) or os.path.isabs(path):
        return path
    names = [name for name in posixpath.normpath(path.replace(os.sep, "/")).split("/") if name != "."]
    return child(root, *names)


def child(path: str, *names: str) -> str:
    """What is called by `names` below a path; the options at the end of a URI stay at its end."""
    base, options = _parted(path)
    return "/".join((base.rstrip("/"), *names)) + options


def below(path: str, root: str) -> str | None:
    """What `child` was given to get from a root to a path; None if the path is not below the root."""
    base, start = _parted(path)[0], _parted(root)[0].rstrip("/") + "/"
    return base.removeprefix(start) if base.startswith(start) else None


def extended(path: str, ending: str) -> str:
    """The path with something added to its last name."""
    base, options = _parted(path)
    return base + ending + options


def _parted(path: str) -> tuple[str, str]:
    base, mark, options = path.partition("?") if is_uri(path) else (path, "", "")
    return base, mark + options


@contextmanager
def lines_of(fs: pafs.FileSystem, inner: str) -> Iterator[Iterator[bytes]]:
    """The lines of a file in a file system, one at a time."""
    with fs.open_input_stream(inner, compression=None) as raw:
        yield iter(io.BufferedReader(cast(io.RawIOBase, raw), LINE_BUFFER_BYTES))
