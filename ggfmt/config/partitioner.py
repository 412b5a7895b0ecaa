"""The keys `gg.handler.<name>.partitioner.<TABLE>`: columns by whose values the rows of a table go to files of their
own."""

from __future__ import annotations

from collections.abc import Mapping

from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import trim
from ggfmt.options.value_types import Keys

_PREFIX = "partitioner."


def is_partitioner(property: str) -> bool:
    """Whether the rest of a key below a handler names a table whose rows are divided."""
    return property.lower().startswith(_PREFIX) and len(property) > len(_PREFIX)


def partitioner_property(property: str) -> str:
    """The same with the first word as it is written; the name of a table keeps its case."""
    return _PREFIX + property[len(_PREFIX) :]


def read_partitioner(given: Mapping[str, Entry], illegal: set[str], findings: list[Diagnostic]) -> Keys:
    """The tables with their columns; GG103 for what are no columns, whose properties are added to `illegal`."""
    found = []
    for property, entry in given.items():
        if not is_partitioner(property):
            continue
        columns = tuple(map(trim, entry.value.split(",")))
        if all(columns) and len(set(columns)) == len(columns):
            found.append((property[len(_PREFIX) :], columns))
        else:
            illegal.add(property)
            help = "give columns of the table, divided by commas"
            findings.append(Diagnostic("GG103", f"`{entry.key}` does not list columns", entry.value_span, help))
    return tuple(found)
