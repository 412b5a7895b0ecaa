"""What ggfmt needs which Spark for."""

from __future__ import annotations

import re

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import UsageError


@dataclass(frozen=True)
class Feature:
    name: str
    least: tuple[int, int]
    what: str

    def is_there(self, version: str) -> bool:
        """Return whether a Spark of this version has it; also if the version is not a number."""
        found = re.match(r"(\d+)\.(\d+)", version)
        return found is None or (int(found[1]), int(found[2])) >= self.least

    @property
    def need(self) -> str:
        return ".".join(map(str, self.least))


RUNS = Feature("runs", (3, 5), "`ggfmt run`, `ggfmt consolidate`, `ggfmt.run`, `ggfmt.consolidate`, `spark-submit`")
FRAMES = Feature("DataFrames", (4, 0), '`ggfmt.read`, `current`, `history`, `changes`, `register`, `format("ggfmt")`')
STREAMS = Feature("streams", (4, 2), "`readStream`")
FEATURES = (RUNS, FRAMES, STREAMS)


def lacking(version: str) -> str:
    return ", ".join(f"no {it.name} (Spark {it.need})" for it in FEATURES if not it.is_there(version))


def require(feature: Feature, spark: object) -> None:
    import pyspark

    for version in (pyspark.__version__, str(getattr(spark, "version", ""))):
        if not feature.is_there(version):
            message = f"this is Spark {version}, and {feature.name} need Spark {feature.need}"
            help = f"take a Spark of {feature.need} or later; `ggfmt.run` and `ggfmt run` work from {RUNS.need} on"
            raise UsageError("GG531", message, help=help)
