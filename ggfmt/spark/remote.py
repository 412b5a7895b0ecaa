"""The addresses of Spark Connect servers. Nothing here loads Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.spark.settings import SparkSettings

REMOTE = "SPARK_REMOTE"
_PORT = 15002  # where a server listens if it is not told otherwise
_ADDRESS = re.compile(r"sc://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/;@\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?:/(?:;.*)?)?")


@dataclass(frozen=True)
class RemoteAddress:
    """A server: what Spark's client is given, and for people what of it is no secret; `conf` is for the session."""

    url: str
    host: str
    port: int
    conf: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        return f"sc://{self.host}:{self.port}"


def remote_address(settings: SparkSettings, environment: Mapping[str, str] = os.environ) -> RemoteAddress | None:
    """The server of `--remote`, or of SPARK_REMOTE where no master is asked for. UsageError GG524 if it is none."""
    url, origin = settings.remote, "--remote"
    if url is None and settings.named_master is None:
        url, origin = environment.get(REMOTE) or None, REMOTE
    if url is None:
        return None
    found = _ADDRESS.fullmatch(url)
    port = int(found["port"] or _PORT) if found else 0
    if found is None or not 0 < port < 65536:
        help = f"give it as `sc://HOST` or `sc://HOST:PORT`{'' if settings.remote else f', or unset {REMOTE}'}"
        raise UsageError(Diagnostic("GG524", f"{origin} is not the address of a Spark Connect server", help=help))
    return RemoteAddress(url, found["host"], port, settings.conf)
