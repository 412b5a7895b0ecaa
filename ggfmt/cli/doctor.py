"""`ggfmt doctor`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ggfmt.commands import options
from ggfmt.commands.arguments import Properties, pairs
from ggfmt.commands.declaration import Option


def doctor(
    master: Annotated[
        str | None,
        Option(
            metavar="URL",
            panel="Spark",
            help="Also run a small job on this Spark master.",
            complete="spark_masters",
        ),
    ] = None,
    spark_conf: Annotated[Properties, options.SPARK_CONF] = None,
    java_home: Annotated[str | None, options.JAVA_HOME] = None,
    class_archive: Annotated[bool, Option(help="Make the class archive, with which Spark starts faster.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Tell what this machine has of what a run needs, and what to do about the rest.

    `ggfmt doctor`

    `ggfmt doctor --master local[1]`

    `ggfmt doctor --class-archive`

    `ggfmt doctor --json`

    With `--master`, every executor tells what it has. Nothing is changed but by `--class-archive`. Ends with 1 if a run
    lacks something; warnings do not count.
    """
    from ggfmt.doctor.examination import examine
    from ggfmt.doctor.finding import State, worst
    from ggfmt.render.diagnostics import write_text
    from ggfmt.render.doctor import findings_json, print_findings
    from ggfmt.spark.session import SparkSettings

    findings = examine(SparkSettings(master, pairs(spark_conf, "the Spark property"), java_home), archive=class_archive)
    if as_json:
        write_text(findings_json(findings), sys.stdout)
    else:
        print_findings(findings, sys.stdout)
    if worst(findings) is State.PROBLEM:
        raise typer.Exit(1)
