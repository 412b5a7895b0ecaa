"""The commands that read or write rows or outputs, and `ggfmt doctor`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ggfmt.cli.output import ReportFile, interrupt_before_commit, open_page, progress_bar
from ggfmt.commands import declaration
from ggfmt.commands.application import ApplyRequest, run_application
from ggfmt.commands.arguments import Properties, pairs
from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, RowsManifest, run_consolidation
from ggfmt.commands.declaration import Argument, OldName, Option
from ggfmt.diagnostics.diagnostic import UsageError

if TYPE_CHECKING:
    from ggfmt.render.report.page import Report

OutputFormat = Literal["text", "json"]


def consolidate(
    request: ConsolidateRequest,
    report: Annotated[Path | None, declaration.REPORT] = None,
    open_report: Annotated[bool, declaration.OPEN] = False,
    progress: Annotated[bool | None, declaration.PROGRESS] = None,
) -> None:
    """Write the rows of tables as they are after all changes.

    `ggfmt consolidate changes/ -o out`

    `ggfmt consolidate changes/ -o out --as-of 2026-01-31T12:00:00 --to csv`

    `ggfmt consolidate changes/ -o out --history --key 'S.ORDERS=ID'`

    ggfmt writes unresolved rows to `out/_unresolved`.
    """
    from ggfmt.spark.target import detect_spark

    there = detect_spark()
    shown = False if progress is None and there is not None and there.shows_progress else progress
    to = ReportFile("consolidate", report, open_report, str(request.output))
    with to.failures(), progress_bar(shown) as progress_callback, interrupt_before_commit():
        manifest = run_consolidation(replace(request, progress=progress_callback))
    to.write(lambda: _page_of_rows("consolidate", manifest, manifest.directory), lambda: json.dumps(manifest, indent=2))
    if manifest.get("rejects") or manifest.get("set_aside"):
        raise typer.Exit(4)


def apply(
    request: ApplyRequest,
    report: Annotated[Path | None, declaration.REPORT] = None,
    open_report: Annotated[bool, declaration.OPEN] = False,
    progress: Annotated[bool | None, declaration.PROGRESS] = None,
) -> None:
    """Apply change files to the tables of a PostgreSQL or MariaDB database.

    `ggfmt apply changes/ postgresql://USER@HOST/DATABASE`

    `ggfmt apply changes/ postgresql://USER@HOST/DATABASE --dry-run`

    `ggfmt apply out --print-sql snowflake`

    A run is one transaction. The database remembers which files were read, so that each is applied once.
    """
    from ggfmt.render.terminal import write_text

    to = ReportFile("apply", report, open_report)
    with to.failures(), progress_bar(progress) as progress_callback, interrupt_before_commit():
        statements = run_application(replace(request, progress=progress_callback))
    ending = "Rolled back" if request.dry_run else "Committed" if request.print_sql is None else "Printed"
    to.write(
        lambda: _page_of_rows("apply", statements.manifest, statements.database, ending, statements),
        lambda: json.dumps({"statements": statements, **statements.manifest}, indent=2),
        commits=ending == "Committed",
    )
    if request.dry_run or request.print_sql is not None:
        write_text("".join(f"{statement}\n" for statement in statements), sys.stdout)
    if statements.set_aside:
        raise typer.Exit(4)


def _page_of_rows(
    command: str, manifest: RowsManifest, where: str, ending: str = "Committed", statements: Sequence[str] = ()
) -> Report:
    from ggfmt.render.report.manifests import run_report
    from ggfmt.sinks.messages.run_history import run_of

    if manifest.is_unchanged:
        ending = "Nothing to do since this run"
    known = {"consolidated": {"kind": "current", "to": ""}, **manifest}
    if command == "apply":
        known["files"] = []  # of the state in the database
    return run_report(run_of(where, known), command, ending, statements)


def compare(
    request: CompareRequest,
    output_format: Annotated[
        Literal["text", "json", "github"], Option(panel="Display", help="Format of the result.")
    ] = "text",
    report: Annotated[Path | None, declaration.REPORT] = None,
    open_report: Annotated[bool, declaration.OPEN] = False,
) -> None:
    """Compare two sets of rows, such as a consolidated result and a dump of the database.

    `ggfmt compare out dump --key ID`

    `ggfmt compare out/GG.ORDERS orders.csv --key ID --ignore-column UPDATED_AT`

    `ggfmt compare out dump --csv-option b.dialect=mysql --output-format github`

    Exit code 0: both have the same rows. Exit code 1: the rows differ, or files were skipped. Exit code 2: ggfmt found
    nothing to compare. Exit code 3: a file cannot be read.
    """
    from ggfmt.render.comparison import comparison_github, comparison_json, print_comparison
    from ggfmt.render.report.comparison import comparison_report
    from ggfmt.render.terminal import write_text

    to = ReportFile("compare", report, open_report)
    begun = time.perf_counter()
    with to.failures():
        found = run_comparison(request)
    seconds = time.perf_counter() - begun
    if output_format == "json":
        write_text(comparison_json(found), sys.stdout)
    elif output_format == "github":
        write_text(comparison_github(found), sys.stdout)
    else:
        print_comparison(found, sys.stdout)
    to.write(lambda: comparison_report(found, seconds), lambda: comparison_json(found).rstrip(), commits=False)
    if not found.same:
        raise typer.Exit(1 if found.differing or found.equal else 2)


def verify(
    output: Annotated[str, Argument(metavar="DIR", help="An output directory, as a path or a URI; `kafka://BROKER`.")],
    output_format: Annotated[OutputFormat, Option(panel="Display", help="Format of the result.")] = "text",
    job: Annotated[str | None, declaration.JOB] = None,
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None,
) -> None:
    """Read an output back, and report what differs from its manifests.

    `ggfmt verify out`

    `ggfmt verify out --output-format json`

    `ggfmt verify kafka://broker:9092 --job orders`

    Nothing is changed. Ends with 0 if all is well, with 1 if not, with 2 if the directory is not an output of ggfmt.
    """
    from ggfmt.kafka import is_kafka
    from ggfmt.kafka.address import parse_cluster
    from ggfmt.render.runs import print_verification, verification_json
    from ggfmt.render.terminal import write_text
    from ggfmt.sinks.messages.verification import verify as verify_output

    if is_kafka(output):
        from ggfmt.config.kafka_producer import client_of
        from ggfmt.sinks.kafka.verification import verify as verify_topics

        found = verify_topics(client_of(parse_cluster(output), producer_config), job)
    else:
        found = verify_output(output)
    if output_format == "json":
        write_text(verification_json(found), sys.stdout)
    else:
        print_verification(found, sys.stdout)
    if found.findings:
        raise typer.Exit(1)


def report(
    output: Annotated[str, Argument(metavar="DIR", help="An output directory, as a path or a URI.")],
    html: Annotated[
        Path | None, Option(metavar="FILE", help="Write a page for a browser; `-`: to standard output.")
    ] = None,
    run: Annotated[
        str | None, Option(metavar="RUN", help="The id of a run or its first characters. Default: the last run.")
    ] = None,
    open_report: Annotated[bool, declaration.OPEN] = False,
) -> None:
    """Show what a run did, from its manifest.

    `ggfmt report out`

    `ggfmt report out --html report.html`

    `ggfmt report out --run 2026-01-31_18-30`

    The page is one file that needs no network. Ends with 0, or with 2 if the directory is not an output of ggfmt.
    """
    from ggfmt.render.pager import paged
    from ggfmt.render.report.manifests import run_report
    from ggfmt.render.report.page import check_place, page, write_report
    from ggfmt.render.runs import run_text
    from ggfmt.render.wrapping import write_lines
    from ggfmt.sinks.messages.run_history import read_run

    if open_report and (html is None or str(html) == "-"):
        raise UsageError("GG565", "`--open` needs a page", help="give `--html FILE`")
    found = read_run(output, run)
    if html is None:
        with paged():
            write_lines(run_text(found), sys.stdout)
    elif str(html) == "-":
        sys.stdout.buffer.write(page(run_report(found)).encode())
    else:
        check_place(html, output)
        write_report(page(run_report(found)), html)
        if open_report:
            open_page(html)


def doctor(
    master: Annotated[
        str | None,
        Option(
            metavar="URL", panel="Spark", help="Also run a small job on this Spark master.", complete="spark_masters"
        ),
    ] = None,
    spark_conf: Annotated[Properties, declaration.SPARK_CONF] = None,
    java_home: Annotated[str | None, declaration.JAVA_HOME] = None,
    remote: Annotated[str | None, declaration.REMOTE] = None,
    kafka: Annotated[str | None, Option(metavar="BROKER", panel="Kafka", help="Also check this cluster.")] = None,
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None,
    schema_registry: Annotated[
        str | None, Option(metavar="URL", panel="Kafka", help="Also check this schema registry.")
    ] = None,
    output: Annotated[
        str | None,
        Option("-o", "--output", metavar="DIR", panel="Output", help="Also show interrupted runs to this directory."),
    ] = None,
    output_format: Annotated[
        OutputFormat, Option(panel="Display", help="Format of the findings."), OldName("json", "json")
    ] = "text",
) -> None:
    """Check that this machine has what a run needs, and say how to fix what is missing.

    `ggfmt doctor`

    `ggfmt doctor --master local[1]`

    `ggfmt doctor --kafka broker:9092 --producer-config producer.properties`

    `ggfmt doctor --output-format json`

    With `--master` or `--remote`, the command also reports what every executor has. Ends with 1 if something that a run
    needs is missing; warnings do not count.
    """
    from ggfmt.doctor.examination import examine
    from ggfmt.doctor.finding import State, worst
    from ggfmt.render.doctor import findings_json, print_findings
    from ggfmt.render.terminal import write_text
    from ggfmt.spark.target import SparkSettings

    of_kafka = {"--producer-config": producer_config, "--schema-registry": schema_registry}
    for option, value in of_kafka.items():
        if kafka is None and value is not None:
            raise UsageError("GG565", f"`{option}` needs `--kafka`", help="name a broker by `--kafka`")
    findings = examine(SparkSettings(master, pairs(spark_conf, "`--spark-conf`"), java_home, remote=remote))
    if kafka is not None:
        from ggfmt.config.kafka_producer import producer_properties
        from ggfmt.doctor.kafka import ask_kafka
        from ggfmt.kafka import is_kafka
        from ggfmt.kafka.address import parse_cluster

        given = None if producer_config is None else str(producer_config)
        address = parse_cluster(kafka if is_kafka(kafka) else f"kafka://{kafka}")
        findings += ask_kafka(address, producer_properties(None, (), (), given, os.environ), schema_registry)
    if output is not None:
        from ggfmt.doctor.interrupted import check_output

        findings += check_output(output)
    if output_format == "json":
        write_text(findings_json(findings), sys.stdout)
    else:
        print_findings(findings, sys.stdout)
    if worst(findings) is State.PROBLEM:
        raise typer.Exit(1)
