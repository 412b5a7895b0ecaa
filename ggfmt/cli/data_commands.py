"""The commands that read or write data, and `ggfmt doctor`."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ggfmt.cli.output import emit_warnings, interrupt_before_commit
from ggfmt.commands import options
from ggfmt.commands.application import ApplyRequest, run_application
from ggfmt.commands.arguments import Properties, pairs
from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import After, Argument, OldName, Option
from ggfmt.commands.inspection import PreviewRequest, SchemaRequest, make_schemas, run_preview
from ggfmt.diagnostics.diagnostic import ConfigurationError, UsageError
from ggfmt.spark.target import detect_spark


def run(
    request: ConvertRequest,
    report: Annotated[
        Path | None, Option(metavar="FILE", panel="Output", help="Write the totals as JSON."), After("max_record")
    ] = None,
    progress: Annotated[bool | None, options.PROGRESS] = None,
) -> None:
    """Convert change files to the messages of the configured handlers.

    `ggfmt run changes.json --to delimitedtext -o out`

    `ggfmt init json -o json.properties`

    `ggfmt run changes/ -c json.properties -o out --dry-run`

    `ggfmt run changes/ -c json.properties -o out`
    """
    from ggfmt.render.progress import progress_bar

    if report is not None:
        _check_writable(report, "--report")
    with interrupt_before_commit():
        import ggfmt.config.handlers
        import ggfmt.sinks.messages.run  # noqa: F401 - both are much to load
    there = detect_spark()
    shown = False if request.dry_run or (progress is None and there is not None and there.shows_progress) else progress
    with (
        progress_bar(shown, request.output == "-" and sys.stdout.isatty()) as progress_callback,
        interrupt_before_commit(),
    ):
        result = run_conversion(replace(request, warn=emit_warnings, progress=progress_callback))
    if request.dry_run:
        from ggfmt.render.runs import dry_run_text, topics_text
        from ggfmt.render.wrapping import write_lines

        whole = logging.getLogger("ggfmt").isEnabledFor(logging.DEBUG)
        text = topics_text(result.topics) if result.plan is None else dry_run_text(result.plan, whole)
        write_lines(text, sys.stdout)
        return
    if report is not None:
        _write_report(report, result.totals)
    if sys.stdout.isatty() and not request.checkpoint:
        from ggfmt.render.runs import first_message_text
        from ggfmt.render.terminal import write_text

        write_text(first_message_text(result.manifests), sys.stdout, is_data=True)
    if result.reject_count:
        raise typer.Exit(4)


def _write_report(file: Path, totals: object) -> None:
    from ggfmt.diagnostics.diagnostic import CommittedWithErrors

    try:
        file.write_text(json.dumps(totals, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"the run is committed, but its report cannot be written: {error.strerror}"
        help = "do not run it again: the manifest in the output directory has the same totals"
        raise CommittedWithErrors("GG506", message, str(file), help) from None


def _check_writable(file: Path, option: str) -> None:
    if file.is_dir() or not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise typer.BadParameter(f"`{file}` cannot be written", param_hint=option)


def preview(request: PreviewRequest) -> None:
    """Show the first messages of each table as a run would write them, and write nothing.

    `ggfmt preview changes.json --to delimitedtext`

    `ggfmt init avro_row -o avro.properties`

    `ggfmt preview changes.json -c avro.properties --table orders -n 1`

    Only the beginning of the inputs is read, but with `--table` as much as it takes. Ends with 4 if a record cannot be
    read or written.
    """
    from ggfmt.render.pager import paged
    from ggfmt.render.preview import print_preview

    result = run_preview(replace(request, warn=emit_warnings))
    with paged():
        print_preview(result, sys.stdout)
    if result.rejected:
        raise typer.Exit(4)


def consolidate(request: ConsolidateRequest, progress: Annotated[bool | None, options.PROGRESS] = None) -> None:
    """Write the rows of tables as they are after all changes.

    `ggfmt consolidate changes/ -o out`

    `ggfmt consolidate changes/ -o out --as-of 2026-01-31T12:00:00 --to csv`

    `ggfmt consolidate changes/ -o out --history --key 'S.ORDERS=ID'`

    ggfmt writes unresolved rows to `out/_unresolved`.
    """
    from ggfmt.render.progress import progress_bar

    there = detect_spark()
    shown = False if progress is None and there is not None and there.shows_progress else progress
    with progress_bar(shown) as progress_callback, interrupt_before_commit():
        manifest = run_consolidation(replace(request, progress=progress_callback))
    if manifest.get("rejects") or manifest.get("set_aside"):
        raise typer.Exit(4)


def apply(request: ApplyRequest, progress: Annotated[bool | None, options.PROGRESS] = None) -> None:
    """Apply change files to the tables of a PostgreSQL database.

    `ggfmt apply changes/ postgresql://USER@HOST/DATABASE`

    `ggfmt apply changes/ postgresql://USER@HOST/DATABASE --dry-run`

    `ggfmt apply out --print-sql snowflake`

    A run is one transaction. The database remembers which files were read, so that each is applied once.
    """
    from ggfmt.render.progress import progress_bar
    from ggfmt.render.terminal import write_text

    with progress_bar(progress) as progress_callback, interrupt_before_commit():
        statements = run_application(replace(request, progress=progress_callback))
    if request.dry_run or request.print_sql is not None:
        write_text("".join(f"{statement}\n" for statement in statements), sys.stdout)


def schema(
    request: SchemaRequest,
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="DIR", panel="Output", help="Write files here; default: print them."),
    ] = None,
    check: Annotated[
        bool, Option(panel="Checks", help="Write nothing; end with 1 if the files in the `-o` directory differ.")
    ] = False,
) -> None:
    """Print or write the schemas of the messages, for the tables of `--definitions` or those found in the inputs.

    `ggfmt schema changes.json --kind json`

    `ggfmt init json -o json.properties`

    `ggfmt schema changes.json -c json.properties -o dirdef`

    `ggfmt schema changes.json -c json.properties -o dirdef --check`

    Ends with 3 if a record cannot be read. With `--on-reject quarantine`, such records are left out, and it ends with
    4.
    """
    from ggfmt.java.text import visible
    from ggfmt.sinks.schema import drift, write

    files_of_schemas = make_schemas(replace(request, warn=emit_warnings))
    if check:
        if output is None:
            raise typer.BadParameter("give the directory to compare with", param_hint="-o")
        drifts = list(drift(files_of_schemas, output))
        for _, difference in drifts:
            typer.echo("\n".join(map(visible, difference.split("\n"))))
        if drifts:
            raise ConfigurationError.of(*(diagnostic for diagnostic, _ in drifts))
    elif output is None:
        for file in files_of_schemas:
            typer.echo(file.content.decode("utf-8", "replace"))
    else:
        try:
            for path in write(files_of_schemas, output):
                typer.echo(str(path))
        except OSError as error:
            raise typer.BadParameter(f"`{output}` cannot be written: {error.strerror}", param_hint="-o") from None
    if files_of_schemas.rejected:
        raise typer.Exit(4)


def compare(
    request: CompareRequest,
    output_format: Annotated[
        Literal["text", "json", "github"], Option(panel="Display", help="Format of the result.")
    ] = "text",
) -> None:
    """Compare two sets of rows, such as a consolidated result and a dump of the database.

    `ggfmt compare out dump --key ID`

    `ggfmt compare out/GG.ORDERS orders.csv --key ID --ignore-column UPDATED_AT`

    `ggfmt compare out dump --csv-option b.dialect=mysql --output-format github`

    Exit code 0: both have the same rows. Exit code 1: the rows differ, or files were skipped. Exit code 2: ggfmt found
    nothing to compare. Exit code 3: a file cannot be read.
    """
    from ggfmt.render.comparison import comparison_github, comparison_json, print_comparison
    from ggfmt.render.terminal import write_text

    found = run_comparison(request)
    if output_format == "json":
        write_text(comparison_json(found), sys.stdout)
    elif output_format == "github":
        write_text(comparison_github(found), sys.stdout)
    else:
        print_comparison(found, sys.stdout)
    if not found.same:
        raise typer.Exit(1 if found.differing or found.equal else 2)


OutputFormat = Literal["text", "json"]


def verify(
    output: Annotated[str, Argument(metavar="DIR", help="An output directory, as a path or a URI; `kafka://BROKER`.")],
    output_format: Annotated[OutputFormat, Option(panel="Display", help="Format of the result.")] = "text",
    job: Annotated[str | None, options.JOB] = None,
    producer_config: Annotated[Path | None, options.PRODUCER_CONFIG] = None,
) -> None:
    """Read an output back, and report what differs from its manifests.

    `ggfmt verify out`

    `ggfmt verify out --output-format json`

    `ggfmt verify kafka://broker:9092 --job orders`

    Nothing is changed. Ends with 0 if all is well, with 1 if not, with 2 if the directory is not an output of ggfmt.
    """
    from ggfmt.kafka.address import is_kafka, parse_cluster
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
) -> None:
    """Show what a run did, from its manifest.

    `ggfmt report out`

    `ggfmt report out --html report.html`

    `ggfmt report out --run 2026-01-31_18-30`

    The page is one file that needs no network. Ends with 0, or with 2 if the directory is not an output of ggfmt.
    """
    from ggfmt.render.pager import paged
    from ggfmt.render.report.page import page, write_page
    from ggfmt.render.runs import run_text
    from ggfmt.render.wrapping import write_lines
    from ggfmt.sinks.messages.run_history import read_run

    found = read_run(output, run)
    if html is None:
        with paged():
            write_lines(run_text(found), sys.stdout)
    elif str(html) == "-":
        sys.stdout.buffer.write(page(found).encode())
    else:
        write_page(found, html)


def doctor(
    master: Annotated[
        str | None,
        Option(
            metavar="URL", panel="Spark", help="Also run a small job on this Spark master.", complete="spark_masters"
        ),
    ] = None,
    spark_conf: Annotated[Properties, options.SPARK_CONF] = None,
    java_home: Annotated[str | None, options.JAVA_HOME] = None,
    kafka: Annotated[str | None, Option(metavar="BROKER", panel="Kafka", help="Also check this cluster.")] = None,
    producer_config: Annotated[Path | None, options.PRODUCER_CONFIG] = None,
    schema_registry: Annotated[
        str | None, Option(metavar="URL", panel="Kafka", help="Also check this schema registry.")
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

    With `--master`, the command also reports what every executor has. Ends with 1 if something that a run needs is
    missing; warnings do not count.
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
    findings = examine(SparkSettings(master, pairs(spark_conf, "`--spark-conf`"), java_home))
    if kafka is not None:
        from ggfmt.config.kafka_producer import producer_properties
        from ggfmt.doctor.kafka import ask_kafka
        from ggfmt.kafka.address import is_kafka, parse_cluster

        given = None if producer_config is None else str(producer_config)
        address = parse_cluster(kafka if is_kafka(kafka) else f"kafka://{kafka}")
        findings += ask_kafka(address, producer_properties(None, (), (), given, os.environ), schema_registry)
    if output_format == "json":
        write_text(findings_json(findings), sys.stdout)
    else:
        print_findings(findings, sys.stdout)
    if worst(findings) is State.PROBLEM:
        raise typer.Exit(1)
