"""`ggfmt doctor`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ggfmt.api.arguments import pairs
from ggfmt.cli import completion
from ggfmt.cli.parameters import JavaHome, SparkConf


def doctor(
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="Also run a small job on this Spark master.",
            autocompletion=completion.spark_masters,
        ),
    ] = None,
    spark_conf: SparkConf = None,
    java_home: JavaHome = None,
    class_archive: Annotated[
        bool, typer.Option("--class-archive", help="Make the class archive, with which Spark starts faster.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
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
    from ggfmt.render.diagnostics.text import write_text
    from ggfmt.render.doctor import findings_json, print_findings
    from ggfmt.spark.session import SparkSettings

    findings = examine(SparkSettings(master, pairs(spark_conf, "the Spark property"), java_home), archive=class_archive)
    if as_json:
        write_text(findings_json(findings), sys.stdout)
    else:
        print_findings(findings, sys.stdout)
    if worst(findings) is State.PROBLEM:
        raise typer.Exit(1)
