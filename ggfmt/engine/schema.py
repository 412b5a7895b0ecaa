"""Schemas without a run: of tables that files define, or that are found in the data."""

from __future__ import annotations

from collections.abc import Sequence

from ggfmt.config.handler import HandlerConfig
from ggfmt.engine.discover import find_definitions
from ggfmt.engine.plan import plan_inputs, plan_splits
from ggfmt.engine.runner import InProcess
from ggfmt.errors import Diagnostic, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.base import SchemaFile
from ggfmt.model.table import Catalog, TableDef

# The format whose default options a kind of schema is made with where no handler is configured.
KINDS = {"json": "json"}


def schemas(
    inputs: Sequence[str],
    handlers: Sequence[HandlerConfig],
    definitions: dict[str, TableDef],
    input_format: str,
    kind: str | None,
) -> list[SchemaFile]:
    """The schema files of all tables, for every handler whose format has schemas of the kind wanted.

    With inputs, the tables are those met in the data, each with its last definition; else those of `definitions`.
    """
    if not inputs and not definitions:
        raise UsageError(
            Diagnostic("GG310", "there is nothing to make schemas of", help="give INPUT or `--definitions`")
        )
    wanted = [KINDS[kind]] if kind else list(KINDS.values())
    configured = [(FORMATS[h.format], h.options) for h in handlers if h.format in wanted]
    if not handlers:
        configured = [(FORMATS[name], FORMATS[name].options()) for name in wanted]
    if not configured:
        shown = ", ".join(f"`{handler.format}`" for handler in handlers)
        raise UsageError(Diagnostic("GG106", f"formats without such schemas: {shown}", help="configure another format"))
    tables = list(definitions.values()) if not inputs else _found(inputs, definitions, input_format)
    files = {}
    for format, options in configured:
        assert format.schema is not None
        for table in tables:
            file = format.schema(table, options)
            if file is not None:
                files[file.name] = file
    return list(files.values())


def _found(inputs: Sequence[str], definitions: dict[str, TableDef], input_format: str) -> list[TableDef]:
    input_format, _, planned = plan_inputs(inputs, input_format)
    catalog = Catalog(definitions)
    found = find_definitions(input_format, catalog, plan_splits(planned, 1), InProcess())
    return list(catalog.with_tables([*found.tables, *(event.table for event in found.events)]).tables())
