"""What a handler says of the names of its files: what ggfmt does otherwise than GoldenGate, and what it does not do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ggfmt.config.handler_options import HandlerOptions
from ggfmt.options.templates import NameTemplate

PATH, FILE = "pathMappingTemplate", "fileNameMappingTemplate"


@dataclass(frozen=True)
class LayoutProblem:
    """What is wrong, and with which property: its name below the handler."""

    property: str
    message: str
    help: str


def templates(handler: HandlerOptions) -> Iterator[tuple[str, NameTemplate]]:
    for property, template in ((PATH, handler.path_mapping_template), (FILE, handler.file_name_mapping_template)):
        if template is not None:
            yield property, template


def not_done(handler: HandlerOptions, group: str | None) -> Iterator[LayoutProblem]:
    """Layouts that GoldenGate may have and ggfmt does not: a run refuses them. `group` is `ggfmt.groupName`."""
    help = "use the name of the table, the time, or a text of your own"
    for property, template in templates(handler):
        for unknown in template.unknown_values:
            yield LayoutProblem(property, f"`${{{unknown.keyword}}}` {unknown.reason}", help)
        if template.names_group and not group:
            yield LayoutProblem(property, "`${groupName}` has no value", "set `ggfmt.groupName`")
    yield from _divided(handler)


def _divided(handler: HandlerOptions) -> Iterator[LayoutProblem]:
    given = dict(templates(handler))
    if not handler.partition_by_table:
        help = "remove `partitionByTable=false`, or choose names that are the same for all tables"
        for property, template in given.items():
            if template.names_table or template.column_values:
                message = "names that tables differ in, where all tables share their files by `partitionByTable`"
                yield LayoutProblem(property, message, help)
        for table, _ in handler.partitioner:
            yield LayoutProblem(f"partitioner.{table}", "with `partitionByTable=false` nothing divides a table", help)
        return
    used = [(property, value) for property, template in given.items() for value in template.column_values]
    if used and not handler.partitioner:
        message = "`${columnValue[]}` is of one operation, unless `partitioner` divides the rows of the table"
        help = f"add `partitioner.<TABLE>={used[0][1].column or 'COLUMN'}`"
        yield LayoutProblem(used[0][0], message, help)
        return
    for table, columns in handler.partitioner:
        named = {(column or "").upper() for _, value in used if (column := value.column_of(table))}
        for column in columns:
            if column.upper() not in named:
                message = f"no template has the value of `{column}`: how GoldenGate names such files is not known"
                help = f"write `${{columnValue[{column}]}}` into `{PATH}` or `{FILE}`"
                yield LayoutProblem(f"partitioner.{table}", message, help)


def shared_names(handler: HandlerOptions) -> LayoutProblem | None:
    """Names that are the same for every table, where tables have files of their own."""
    given = dict(templates(handler))
    if (
        not given.keys() >= {PATH, FILE}
        or not handler.partition_by_table
        or any(item.names_table for item in given.values())
    ):
        return None
    help = "add `${fullyQualifiedTableName}`, unless there is one table only"
    return LayoutProblem(FILE, "gives the files of all tables one name", help)


def absolute_paths(handler: HandlerOptions) -> Iterator[LayoutProblem]:
    """Paths of the machine that GoldenGate runs on."""
    help = "write a path without a `/` in front, if the file is for ggfmt alone"
    message = "is a path from the root of a file system: ggfmt takes it as one below its output"
    template = handler.path_mapping_template
    if template is not None and template.is_absolute:
        yield LayoutProblem(PATH, message, help)
