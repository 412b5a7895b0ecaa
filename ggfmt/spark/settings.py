"""How Spark is to be started, where ggfmt starts one itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SparkSettings:
    """How to start Spark. `master` None is this machine; `conf` is Spark configuration and wins over ggfmt's own.

    `remote` is the address of a Spark Connect server (`sc://HOST:PORT`), in place of a master. With `archive_to`, the
    JVM leaves a class archive as this file when it ends; there is none where that fails.
    """

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    java_home: str | None = None
    app_name: str = "ggfmt"
    archive_to: Path | None = None
    remote: str | None = None

    @property
    def named_master(self) -> str | None:
        """The master that is asked for, by name or as a property."""
        return self.master or dict(self.conf).get("spark.master")
