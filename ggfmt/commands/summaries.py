"""Summaries of the results of `ggfmt.convert` and `ggfmt.consolidate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ggfmt.commit.names import counted
from ggfmt.location import strip_credentials
from ggfmt.model.change import OP_TYPES
from ggfmt.summary import Summary, SummaryTable

if TYPE_CHECKING:
    from ggfmt.commands.conversion import Result


def conversion_summary(result: Result) -> Summary:
    name = "ggfmt.Result"
    if result.plan is not None:
        return Summary(name, ["a dry run, which wrote nothing"])
    totals = result.totals
    handlers = totals["handlers"]
    read = counted(totals["operations_read"], "operation")
    if result.manifests:
        read += f" read from {counted(len(result.manifest.get('inputs', ())), 'file')}"
    written = counted(sum(handler["messages"] for handler in handlers.values()), "message")
    files = counted(sum(handler["files"] for handler in handlers.values()), "file")
    rejected = counted(result.reject_count, "record") + " rejected"
    facts = [
        f"{read} ({counted(totals['input_bytes'], 'byte')})",
        f"{written} written to {files}",
        f"{rejected}, see `rejects`" if result.reject_count else rejected,
        *(f"in {strip_credentials(directory)}" for directory in result.manifests),
    ]
    by_table = [(table, *(of_type.get(op, 0) for op in OP_TYPES)) for table, of_type in totals["operations"].items()]
    by_handler = [
        (name, handler["messages"], handler["files"], handler["bytes"], sum(handler["rejects"].values()))
        for name, handler in handlers.items()
    ]
    tables = [
        SummaryTable(("table", *OP_TYPES), by_table),
        SummaryTable(("handler", "messages", "files", "bytes", "rejected"), by_handler),
    ]
    return Summary(name, facts, tables)


def rows_summary(manifest: Mapping[str, Any], directory: str) -> Summary:
    tables = manifest.get("tables", {})  # nothing if there was nothing to read
    facts = [
        f"{counted(sum(table['rows'] for table in tables.values()), 'row')} of {counted(len(tables), 'table')}",
        f"{sum(table['unresolved'] for table in tables.values()):,} unresolved",
        f"{counted(sum(manifest.get('rejects', {}).values()), 'record')} rejected",
        *(f"{name} set aside" for name in manifest.get("set_aside", {})),
        f"in {strip_credentials(directory)}",
    ]
    rows = [
        (name, sum(table["operations"].values()), table["rows"], table["unresolved"], ", ".join(table["key"]))
        for name, table in tables.items()
    ]
    columns = ("table", "operations", "rows", "unresolved", "key")
    return Summary("ggfmt.consolidate", facts, [SummaryTable(columns, rows)])
