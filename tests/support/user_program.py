"""A program of a user, with every name of the package: mypy reads it with all other files, and a test runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import ggfmt

TABLE = "GG.TCUSTORD"
KEY = ("CUST_CODE", "ORDER_ID")


def convert(source: Path, handlers: Path, out: Path) -> ggfmt.Result:
    warned: list[ggfmt.Diagnostic] = []
    settings = {"gg.handler.json.format.prettyPrint": False}
    assert ggfmt.convert is ggfmt.run  # its other name
    result = ggfmt.run([source], handlers, out, settings=settings, split_size="64m", master="none", warn=warned.extend)
    run: str = result.manifest["run"]
    operations: int = result.totals["operations_read"]
    files: int = sum(len(manifest["files"]) for manifest in result.manifests.values())
    print(run, operations, files, result.reject_count, [finding.code for finding in warned])
    for reject in result.rejects:
        print(reject.code, reject.reason, reject.file, reject.offset, len(reject.record))
    return result


def consolidate(source: Path, out: Path) -> int:
    manifest = ggfmt.consolidate(
        source, out, key={TABLE: KEY}, table=TABLE, types={"*.PRODUCT_PRICE": "string"}, master="none"
    )
    rows: int = manifest["tables"][TABLE]["rows"]
    return rows


def frames(spark: SparkSession, source: Path) -> Iterator[DataFrame]:
    ggfmt.register(spark)
    yield ggfmt.read(spark, source, table=TABLE, ops=["I"], schema="seq bigint, op_ts timestamp")
    yield ggfmt.current(spark, [source], TABLE, key=KEY, keep=["unresolved"])
    yield ggfmt.history(spark, source, TABLE, key=KEY)
    yield ggfmt.changes(spark, source, TABLE, since="2000-01-01", key=KEY)


def scan(source: Path) -> pa.Table:
    operations: ggfmt.Operations = ggfmt.scan(source, TABLE)
    return operations.read_all()


def look(source: Path, one: Path, other: Path) -> Iterator[str]:
    found: ggfmt.Comparison = ggfmt.compare(one, other, key="ID", ignore_columns=["V"], csv_options={"null": "-"})
    yield f"{found.same} {found.equal} {found.different}"
    yield from (f"{table.table} {table.key}" for table in found.tables)
    shown: ggfmt.Preview = ggfmt.preview(source, to="json", count=2)
    for handler in shown.handlers:
        yield from (table.table for table in handler.tables)
    yield from (f"{file.name} {len(file.content)}" for file in ggfmt.schema(source, kind="json"))
    try:
        yield from ggfmt.apply(source)
    except ggfmt.UsageError as error:  # no database
        yield from map(told, error.diagnostics)
    assert ggfmt.lint is ggfmt.validate_config
    yield from map(
        told, ggfmt.validate_config(text="gg.handlerlist=h\ngg.handler.h.type=hdfs\ngg.handler.h.format=jsn\n")
    )


def told(finding: ggfmt.Diagnostic) -> str:
    severity: ggfmt.Severity = finding.severity
    span: ggfmt.Span | None = finding.span
    return f"{severity.value}[{finding.code}] {finding.message}; {finding.help} ({span.line if span else None})"


def mistake(source: Path, out: Path) -> tuple[int, Sequence[ggfmt.Diagnostic]]:
    """The exit code of the command line for a mistake, and the text of the exception."""
    try:
        ggfmt.convert(source, to="json", output=out, mode="error", master="none")
    except (ggfmt.ConfigurationError, ggfmt.Abend, ggfmt.CommittedWithErrors):
        raise
    except ggfmt.UsageError as error:
        code: int = ggfmt.main(["run", str(source), "--to", "json", "-o", str(out), "--master", "none", "-q"])
        return code, error.diagnostics
    except ggfmt.GgfmtError as error:
        raise SystemExit(f"{ggfmt.__version__}: {error}") from None
    return 0, ()
