"""Locations: a path or URI, parsed once, and the file system that opens it; a dead store fails in seconds.

Commands parse what users write; everything below takes a `Location`, so that no step asks again what a text means.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import credentials, without_credentials
from ggfmt.lazy import lazy_regex
from ggfmt.machine import refusal

T = TypeVar("T")

# The family of each URI scheme: several schemes of one store name the same files.
SCHEMES = {"file": "file", **dict.fromkeys(("s3", "s3a", "s3n"), "s3"), **dict.fromkeys(("gs", "gcs"), "gs")}
SCHEMES |= {scheme: scheme for scheme in ("hdfs", "viewfs", "abfs", "abfss")}

_NO_STORES = "http https ftp sftp ssh jdbc kafka oss obs cos cosn oci maprfs alluxio"

# Schemes of other programs, which would be local names if no `//` follows.
_FOREIGN = {
    "dbfs": "on Databricks, use the path below `/dbfs`",
    "wasb": "write `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    "wasbs": "write `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    "adl": "write `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`",
    **dict.fromkeys(_NO_STORES.split(), "copy the files to a local directory or to a supported store"),
}

_URI = lazy_regex(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_ONE_SLASH = lazy_regex(r"([a-zA-Z][a-zA-Z0-9+.-]*):([/\\]?)")
_AUTHORITY_OF_URI = lazy_regex(r"([a-zA-Z][a-zA-Z0-9+.-]+)://([^/?]*)")
_AZURE = lazy_regex(r"abfss?://", re.IGNORECASE)
_AZURE_KEY = lazy_regex(r":[^/@]*@")
_PROBE_SECONDS = 4.0
_CONTACT_SECONDS, _CONTACT_ATTEMPTS = 2.0, 2
_CONNECT_SECONDS, _REQUEST_SECONDS = 3.0, 10.0
REQUESTS_AT_ONCE = 128  # of one process to a store; a copy of a large object takes half a second
_REQUEST_ATTEMPTS = 10  # with pauses that double, from `_PAUSE_SECONDS` to 13 seconds
_PAUSE_SECONDS = 0.025
_GCS_SECONDS = "120"  # of attempts, with growing pauses too
_HDFS_NEEDS = (
    "hdfs:// needs libhdfs of a Hadoop client and libjvm: set HADOOP_HOME (or ARROW_LIBHDFS_DIR), JAVA_HOME, and "
    "CLASSPATH to the output of `hadoop classpath --glob`"
)
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
AZURE_KEY = "AZURE_STORAGE_KEY"  # of the account, as other tools of Azure call it
_ENVIRONMENT = (*ENDPOINTS, *REGIONS, *_KEYS, AZURE_KEY)
_NOT_IN_URIS = lazy_regex(r"""[%?#\s\[\]{}<>"\\^`|]""")
_S3_SWITCHES = ("allow_bucket_creation", "allow_bucket_deletion", "allow_delayed_open", "force_virtual_addressing")
_S3_OPTIONS = ("region", "scheme", "endpoint_override", "tls_ca_file_path", *_S3_SWITCHES)


class StoreError(OSError):
    """A path or URI that ggfmt cannot use; `place`: the path, if it is not the one that the user gave."""

    def __init__(self, message: str, help: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.help = help
        self.place = place


def is_uri(path: str) -> bool:
    """Return whether a text is a URI. A local path may contain colons.

    Raises: StoreError for a text that looks like a URI of another file system, so that ggfmt makes no directory
    `dbfs:`.
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
        if len(word) == 1:
            legal = f"in WSL, write `/mnt/{word}/...`"
        what = (
            "a Windows path" if len(word) == 1 else f"not a URI of `{word}`" if word in SCHEMES else "not a local path"
        )
        help = "; ".join(filter(None, (legal, f"for a local file, write `./{without_credentials(path)}`")))
        raise StoreError(f"`{without_credentials(path)}` is {what}", help)
    return False


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where a store is. All locations of one store share the object.

    family   `s3`, `hdfs` and so on, whatever the scheme of the URI; `file` for the local disks
    root     the URI of the store's root, with credentials and options, as Arrow opens it; empty for local disks
    prefix   what precedes a path in URIs, as the user wrote it; empty for local paths
    options  what follows a path in URIs, with its `?`
    """

    family: str
    root: str = ""
    prefix: str = ""
    options: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        return StoreAddress, (self.family, self.root, self.prefix, self.options)


_DISK = StoreAddress("file")
_FILE_URI = StoreAddress("file", prefix="file://")


@dataclass(frozen=True, slots=True, repr=False)
class Location:
    """A local path or a URI, parsed once. As text it has no credentials; only `address` has them.

    store  the store that holds it
    path   the path in the store: of a local file absolute, of a URI as the user wrote it, with escapes and slashes
    """

    store: StoreAddress
    path: str

    @classmethod
    def of(cls, text: str) -> Location:
        """Parse a path, which may be relative, or a URI. Raises: StoreError for one that leads nowhere."""
        if not is_uri(text):
            return cls(_DISK, os.path.abspath(text))
        scheme, _, rest = text.partition(":")
        family = SCHEMES.get(scheme.lower())
        if family is None:
            help = "; ".join(filter(None, (_FOREIGN.get(scheme.lower()), f"supported are {_known()}")))
            raise StoreError(f"ggfmt does not support `{scheme}://`", help)
        if family == "file":
            return cls(_DISK, f"/{unquote(_path_of_file_uri(rest)).rstrip('/')}")
        base, mark, options = rest[2:].partition("?")
        secret = "" if family == "abfs" else ":".join(filter(None, credentials(f"://{base}")))
        authority, slash, path = base.removeprefix(f"{secret}@").partition("/")
        if not authority and family in ("s3", "gs"):
            raise StoreError("the URI has no bucket", f"write `{family}://BUCKET/PATH`")
        authority = f"{secret}@{authority}" if secret else authority
        prefix = text[: len(scheme) + 3 + len(base) - len(slash + path)]
        store = StoreAddress(family, f"{family}://{authority}/{mark}{options}", prefix, mark + options)
        return cls(store, slash + path)

    @classmethod
    def local(cls, path: str) -> Location:
        return cls(_DISK, path)

    @classmethod
    def of_record(cls, text: str, known: Iterable[Location]) -> Location:
        """Parse a text that `recorded` made, with the credentials of a known location of its host or bucket."""
        bucket = _bucket(text)
        for other in known:
            user, password = credentials(other.address)
            if bucket is not None and user and _bucket(other.recorded) == bucket:
                start = text.index("://") + 3
                secret = f"{user}:{password}" if password else user
                return cls.of(f"{text[:start]}{secret}@{text[start:].removeprefix(f'{user}@')}")
        return cls.of(text)

    def __hash__(self) -> int:
        return hash(self.path)  # lists of inputs have 100,000 of them, most in one store

    def __reduce__(self) -> tuple[object, ...]:
        return Location, (self.store, self.path)

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Location({self.shown!r})"

    @property
    def is_local(self) -> bool:
        return self.store.family == "file"

    @property
    def address(self) -> str:
        """Return the absolute local path, or the URI with credentials and options, as any process may use it."""
        store = self.store
        return f"{store.prefix}{self.path}{store.options}" if store.prefix else self.path

    @property
    def shown(self) -> str:
        return without_credentials(self.address)

    @property
    def recorded(self) -> str:
        return strip_credentials(self.address)

    @property
    def canonical(self) -> str:
        """Return the address without credentials and options, the same for all schemes of one store."""
        if self.is_local:
            return self.inner
        return f"{without_credentials(self.store.root).partition('?')[0]}{quoted(self.key)}"

    @property
    def key(self) -> str:
        """Return the path in the store without escapes, and without slashes at its ends."""
        return (unquote(self.path) if self.store.prefix else self.path).strip("/")

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> Location | None:
        """Return the directory that has this location; None at the root of a store."""
        above, slash, name = self.path.rstrip("/").rpartition("/")
        if not name:
            return None
        return Location(self.store, above or ("/" if slash and not self.store.prefix else ""))

    def child(self, *names: str) -> Location:
        return Location(self.store, "/".join((self.path.rstrip("/"), *names)))

    def entry(self, name: str) -> Location:
        """Return the location that a store lists as `name`, without escapes."""
        return self.child(quoted(name) if self.store.prefix else name)

    def extended(self, ending: str) -> Location:
        return Location(self.store, self.path + ending)

    def resolve(self, text: str) -> Location:
        """Parse a text that may be relative to this location. Absolute paths and local URIs keep their form."""
        if is_uri(text):
            scheme, _, rest = text.partition(":")
            return Location(_FILE_URI, f"/{_path_of_file_uri(rest)}") if scheme.lower() == "file" else Location.of(text)
        if os.path.isabs(text):
            return Location(_DISK, text)
        parts = posixpath.normpath(text.replace(os.sep, "/")).split("/")
        return self.child(*(name for name in parts if name != "."))

    def name_below(self, root: Location) -> str | None:
        """Return what `child` of the root takes to make this location; None if it is not below."""
        if self.store.prefix != root.store.prefix:
            return None
        start = root.path.rstrip("/") + "/"
        return self.path.removeprefix(start) if self.path.startswith(start) else None

    def entry_below(self, root: Location) -> str | None:
        """Return what `entry` of the root takes to make this location; None if it is not below."""
        name = self.name_below(root)
        return unquote(name) if name is not None and self.store.prefix else name

    def show(self, name: str) -> str:
        """Return the address of a name below this location, without secrets of the location."""
        base, mark, options = self.shown.partition("?") if self.store.prefix else (self.shown, "", "")
        return f"{base.rstrip('/')}/{name}{mark}{options}"

    @property
    def inner(self) -> str:
        """Return the path within the file system. Raises: StoreError as of `file_system`."""
        if self.is_local:
            return f"/{self.key}" if self.store.prefix else self.path
        return self.file_system()[1]

    def file_system(self) -> tuple[pafs.FileSystem, str]:
        """Return the file system and the path in it. Raises: StoreError if there is none or the store does not
        respond."""
        if self.is_local:
            return pafs.LocalFileSystem(), self.inner
        fs, root = _opened(self.store.family, self.store.root, tuple(map(os.environ.get, _ENVIRONMENT)))
        key = self.key
        return fs, f"{root.rstrip('/')}/{key}" if key and root else key or root

    def info(self) -> pafs.FileInfo:
        fs, inner = self.file_system()
        return fs.get_file_info(inner)

    def exists(self) -> bool:
        return bool(self.info().type != pafs.FileType.NotFound)

    def is_there(self) -> bool:
        """As `exists`, of a file that may be missing: for a key that is missing, a store looks for a directory, too."""
        if self.is_local:
            return self.exists()
        try:
            self.open_file().close()
        except FileNotFoundError:
            return False
        return True

    def open_stream(self) -> pa.NativeFile:
        fs, inner = self.file_system()
        return fs.open_input_stream(inner, compression=None)

    def open_file(self) -> pa.NativeFile:
        fs, inner = self.file_system()
        return fs.open_input_file(inner)

    def create(self) -> pa.NativeFile:
        fs, inner = self.file_system()
        return fs.open_output_stream(inner, compression=None)


def strip_credentials(address: str) -> str:
    return _AZURE_KEY.sub("@", address) if _AZURE.match(address) else without_credentials(address)


def _path_of_file_uri(rest: str) -> str:
    """Return the path of a `file:` URI without its first slash; `rest` follows the colon."""
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest.lstrip("/"))
    if host not in ("", "localhost") or not slash:
        raise StoreError(f"`file://{host}` names another machine", "write `file:///PATH`, or the path alone")
    return path


def _bucket(address: str) -> tuple[str, str] | None:
    """Return the store that a URI without credentials names; None for a path."""
    found = _AUTHORITY_OF_URI.match(address)
    return None if found is None else (SCHEMES.get(found[1].lower(), found[1].lower()), found[2])


def _known() -> str:
    return ", ".join(f"`{name}://`" for name in SCHEMES)


def quoted(path: str) -> str:
    return _NOT_IN_URIS.sub(lambda found: quote(found[0], safe=""), path)


def has_clients() -> bool:
    """Return whether this process has a client of a store, whose threads a fork would lack."""
    return bool(_opened.cache_info().currsize)


@lru_cache(maxsize=64)
def _opened(family: str, root: str, environment: tuple[str | None, ...]) -> tuple[pafs.FileSystem, str]:
    """Open a store once for a process. `environment` has what Arrow reads there, which makes another client."""
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
        if family.startswith("abfs") and (key := unquote(credentials(root)[1]) or os.environ.get(AZURE_KEY)):
            return _azure(root, key)
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
        options[name] = text.lower() in ("1", "true") if name in _S3_SWITCHES else text
    if user:
        options |= {"access_key": unquote(user), "secret_key": unquote(password)}
    endpoint = options.get("endpoint_override") or next(filter(None, map(os.environ.get, ENDPOINTS)), None)
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
        options.setdefault("region", next(filter(None, map(os.environ.get, REGIONS)), "us-east-1"))
        _reach(root, _address(host, "", 80 if options.get("scheme") == "http" else 443))
    # One small request with a short timeout detects a server that accepts connections and does not respond.
    strategy = pafs.AwsStandardS3RetryStrategy(max_attempts=_CONTACT_ATTEMPTS)
    contact = pafs.S3FileSystem(
        **options, connect_timeout=_CONTACT_SECONDS, request_timeout=_CONTACT_SECONDS, retry_strategy=strategy
    )
    try:
        contact.get_file_info(bucket)
    except OSError as error:
        if "NETWORK_CONNECTION" in str(error):  # any other error is a response, and a path may get another one
            reason = str(error).rpartition("Details: ")[2]
            raise _silent(root, options.get("endpoint_override", "Amazon S3"), reason) from None
    if int(pa.__version__.partition(".")[0]) >= 21:
        options["allow_delayed_open"] = True  # one request for a small file, and not three
    threads = pa.io_thread_count()
    pa.set_io_thread_count(max(threads, REQUESTS_AT_ONCE))  # a client has so many connections, for as long as it lives
    try:
        fs = pafs.S3FileSystem(
            **options,
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_REQUEST_SECONDS,
            # The strategy "standard" would end all retries after the first hundred of a process.
            retry_strategy=pafs.AwsDefaultS3RetryStrategy(max_attempts=_REQUEST_ATTEMPTS),
        )
    finally:
        pa.set_io_thread_count(threads)
    return fs, bucket


def _azure(root: str, key: str) -> tuple[pafs.FileSystem, str]:
    """Open a store of Azure with the key of its account, which Arrow does not take from a URI."""
    user, host, options = credentials(root)[0] or _authority(root).partition("@")[0], _authority(root), _options(root)
    host = host.rpartition("@")[2]
    unknown = [name for name in options if name != "enable_tls"]
    if unknown:
        raise StoreError(f"with a key, an Azure URI has no option `{unknown[0]}`", "the only option is `enable_tls`")
    scheme = "http" if options.get("enable_tls") == "false" else "https"
    named: dict[str, Any] = {"blob_storage_scheme": scheme, "dfs_storage_scheme": scheme}
    account, _, domain = host.partition(".")
    if domain.endswith("core.windows.net"):
        container = user if "@" in _authority(root) else ""
    else:  # an emulator, such as Azurite, or `ACCOUNT@CONTAINER`
        account, container = user, "" if ":" in host else host
        named |= dict.fromkeys(("blob_storage_authority", "dfs_storage_authority"), host) if ":" in host else {}
    return pafs.AzureFileSystem(account_name=account, account_key=key, **named), container


def retried(read: Callable[[], T]) -> T:
    """Call `read`, and again where Arrow does not try again: the text of an error is longer than what it reads."""
    for attempt in range(_REQUEST_ATTEMPTS - 1):
        try:
            return read()
        except OSError as error:
            if "Failed to flush response stream" not in str(error):
                raise
        time.sleep(_PAUSE_SECONDS * 2**attempt)
    return read()


def _address(endpoint: str | None, default: str, port: int = 443) -> tuple[str, int]:
    """Return host and port of `[scheme://]host[:port][/]`."""
    scheme, _, rest = (endpoint or default).rpartition("://")
    host, colon, number = rest.partition("/")[0].rpartition(":")
    if not colon or not number.isdigit():
        host, number = rest.partition("/")[0], "80" if scheme == "http" else str(port)
    return host.strip("[]"), int(number)


def _behind_proxy() -> bool:
    return any(os.environ.get(name) for name in _PROXIES)


def _reach(root: str, address: tuple[str, int]) -> None:
    """Raises: StoreError unless something listens: clients of stores would retry for minutes in silence."""
    silent = f"no response within {_PROBE_SECONDS:.0f} seconds"
    reason = refusal([address], _PROBE_SECONDS, silent, silent)
    if reason is not None:
        raise _silent(root, "{}:{}".format(*address), reason)


def _silent(root: str, host: str, reason: str) -> StoreError:
    help = "check the network, the endpoint (`AWS_ENDPOINT_URL`, `?endpoint_override=`) and its scheme"
    message = f"the store does not respond at `{without_credentials(host)}`: {reason}"
    return StoreError(message, help if root.startswith("s3:") else "check the network and the address")


def local_status(path: str, follow: bool = False) -> os.stat_result | None:
    """Return the status of a local path, of a link itself unless `follow`; None if there is nothing. Raises: OSError if
    ggfmt cannot find out: an error never says that nothing is there."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.stat(path, follow_symlinks=follow)
    return None


def is_link(path: str) -> bool:
    """Return whether a local path is a symbolic link. Raises: OSError as of `local_status`."""
    status = local_status(path)
    return status is not None and stat.S_ISLNK(status.st_mode)


def is_directory(path: str) -> bool:
    """Return whether a local path is, or leads to, a directory. Raises: OSError as of `local_status`."""
    status = local_status(path, follow=True)
    return status is not None and stat.S_ISDIR(status.st_mode)


def write_problem(location: Location) -> OSError | None:
    """Return why ggfmt cannot write to a local directory, or make it."""
    if not location.is_local:
        return None
    path = os.path.abspath(location.inner)
    while local_status(path) is None:
        path = os.path.dirname(path)
    if not is_directory(path):
        return OSError(errno.ENOTDIR, f"`{path}` is not a directory")
    if hasattr(os, "statvfs") and os.statvfs(path).f_flag & os.ST_RDONLY:
        return OSError(errno.EROFS, f"`{path}` is on a read-only file system")
    if not os.access(path, os.W_OK | os.X_OK):
        return OSError(errno.EACCES, f"`{path}` is not writable")
    return None


_REMEDIES = {
    errno.ENOTDIR: "remove the file at this path",
    errno.EEXIST: "remove the file at this path",
    errno.EROFS: "mount the file system with write access",
    errno.EACCES: "grant this user write access",
    errno.EPERM: "grant this user write access",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, or raise the quota",
}

# Amazon S3 answers many requests without a body, so that its client knows the status alone.
_STORE_REMEDIES = (
    (
        lazy_regex(r"HTTP status 400|EXPIRED_?TOKEN|TOKEN.{0,20}EXPIRED", re.IGNORECASE),
        "the credentials have probably expired: renew them (AWS_SESSION_TOKEN, or the profile), and run again",
    ),
    (
        lazy_regex(r"HTTP status 40[13]|ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH", re.IGNORECASE),
        "check the credentials, and what they permit",
    ),
    (
        lazy_regex(r"HTTP status (429|50[023])|SLOW_DOWN|SERVICE_UNAVAILABLE|THROTTL", re.IGNORECASE),
        "the store is overloaded: run again later, or with fewer tasks at the same time",
    ),
)


def reason(error: BaseException) -> str:
    """Return what an error of a disk or a store says, in a line."""
    return getattr(error, "strerror", None) or str(error).split("\n", 1)[0]


def store_remedy(error: BaseException) -> str | None:
    """Return advice for an error of a store, if the cause is known."""
    given: str | None = getattr(error, "help", None)
    text = str(error)
    return given or next((advice for pattern, advice in _STORE_REMEDIES if pattern.search(text)), None)


def remedy(error: BaseException, otherwise: str) -> str | None:
    """Return advice for a directory that ggfmt cannot write, with an alternative, if the cause is known."""
    known = _REMEDIES.get(getattr(error, "errno", None) or 0)
    return store_remedy(error) if known is None else f"{known}, or {otherwise}"


def is_database(given: str) -> bool:
    return re.match(r"postgres(?:ql)?://", given) is not None
