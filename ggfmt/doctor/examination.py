"""All that `ggfmt doctor` finds, in the order of its screen."""

from __future__ import annotations

from ggfmt.doctor import machine
from ggfmt.doctor.archive import find_archive, make_archive
from ggfmt.doctor.cluster import ask_cluster
from ggfmt.doctor.finding import Finding
from ggfmt.spark.session import SparkSettings


def examine(settings: SparkSettings, *, archive: bool = False) -> list[Finding]:
    """What this machine has and, where `settings` name a master, what its cluster has.

    Spark is started for a master, and for `archive`: the class archive is made.
    """
    java, runtime = machine.java(settings.java_home)
    spark, home = machine.spark()
    findings = [machine.python(), machine.ggfmt(), machine.user(), java, spark, *machine.libraries()]
    findings += [machine.native_kernels(), machine.scratch(), machine.cache()]
    findings.append((make_archive if archive else find_archive)(runtime, home))
    if settings.master is not None:
        findings += ask_cluster(settings)
    return findings
