"""Schemas without a run: of tables that files define, or that are found in the data."""

from __future__ import annotations

from collections.abc import Sequence

from ggfmt.config.handler import Configuration
from ggfmt.engine.discover import find_definitions
from ggfmt.engine.plan import plan_inputs, plan_splits
from ggfmt.engine.runner import InProcess
from ggfmt.errors import Diagnostic, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.base import Context, SchemaFile
from ggfmt.model.table import Catalog, TableDef

# The format whose schemas are made, with default options, where no handler is configured.
DEFAULT_FORMATS = {"json": "json"}


def schemas(
    inputs: Sequence[str],
    configuration: Configuration | None,
    definitions: dict[str, TableDef],
    input_format: str,
    kind: str | None,
) -> list[SchemaFile]:
    """The schema files of all tables, for every handler whose format has schemas of the kind wanted.

    With inputs, the tables are those met in the data, each with its last definition; else those of `definitions`.
    """
    if not inputs and not definitions:
        help = "give INPUT or `--definitions`"
        raise UsageError(Diagnostic("GG310", "there is nothing to make schemas of", help=help))
    if configuration is None:
        names = [DEFAULT_FORMATS[kind]] if kind else list(DEFAULT_FORMATS.values())
        described = [(FORMATS[name], FORMATS[name].options(), Context()) for name in names]
    else:
        described = [
            (FORMATS[handler.format], handler.options, Context(release=configuration.run.compatibility))
            for handler in configuration.handlers
            if FORMATS[handler.format].schema is not None and kind in (None, FORMATS[handler.format].schema_kind)
        ]
        if not described:
            shown = ", ".join(f"`{handler.format}`" for handler in configuration.handlers)
            message = f"formats without such schemas: {shown}"
            raise UsageError(Diagnostic("GG106", message, help="configure another format, or give another `--kind`"))
    tables = list(definitions.values()) if not inputs else _found(inputs, definitions, input_format)
    files: dict[str, SchemaFile] = {}
    for format, options, context in described:
        assert format.schema is not None
        for table in tables:
            files |= {file.name: file for file in format.schema(table, options, context)}
    return list(files.values())


def _found(inputs: Sequence[str], definitions: dict[str, TableDef], input_format: str) -> list[TableDef]:
    input_format, _, planned = plan_inputs(inputs, input_format)
    catalog = Catalog(definitions)
    found = find_definitions(input_format, catalog, plan_splits(planned, 1), InProcess())
    return list(catalog.with_tables([*found.tables, *(event.table for event in found.events)]).tables())
