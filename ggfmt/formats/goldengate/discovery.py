"""Discovery of tables whose records, or files, say what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ggfmt.formats.api.reading import DiscoveryResult, SchemaChange
from ggfmt.model.table import Catalog, TableDef


def settle_changes(findings: Sequence[list[SchemaChange]], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
    """The first definition of each table, and a metadata change event wherever another one follows it."""
    first: dict[str, TableDef] = {}
    current: dict[str, TableDef] = {}
    events = []
    for change in (change for split in findings for change in split):
        table = catalog.settle(change.table)
        if table.full_name not in first:
            first[table.full_name] = table
        elif current[table.full_name] != table:
            events.append(replace(change, table=table))
        current[table.full_name] = table
    return DiscoveryResult(tuple(first.values()), tuple(events))
