"""Table definitions from files: DEFGEN's `.def`, and GoldenGate's JSON and Avro schemas.

The content of a file decides its kind. A ConfigurationError contains all problems at once: GG201 (the file cannot be
read, as a MissingFileError, or is of no known kind), GG202 (an entry is invalid) and GG203 (two files contradict each
other).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ggfmt.definitions.defgen import is_defgen, parse_defgen
from ggfmt.definitions.schemas import (
    WrittenMetadata,
    is_avro_schema,
    is_json_schema,
    parse_avro_schema,
    parse_json_schema,
)
from ggfmt.definitions.source import DefinitionFile
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, MissingFileError, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.model.table import Column, TableDef

__all__ = ["load_definitions", "read_definitions"]

SUFFIXES = (".def", ".avsc", ".schema.json")
VERSION = re.compile(
    r"_[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}\.[0-9]{3}\."
)  # copies of `versionSchemas`
KNOWN_FILES = "a DEFGEN file, a GoldenGate JSON schema or an Avro schema of a record"

_DEFGEN, _AVRO, _JSON = range(3)  # kinds of files, the most detailed first


class _FileContent(NamedTuple):
    """The kind of a file (`_DEFGEN`, `_AVRO` or `_JSON`), its tables, and doubts about them."""

    kind: int
    tables: list[TableDef]
    doubts: Sequence[Diagnostic]


@dataclass(frozen=True)
class _Definition:
    """A table as defined by the most trusted file."""

    kind: int
    file: str
    table: TableDef
    doubts: Sequence[Diagnostic]


def read_definitions(path: str, source: WriterSettings = DEFAULT_SETTINGS) -> list[TableDef]:
    """Return the tables that a local file defines, in file order; none for the schema of the generic wrapper.

    `source` describes the messages to which the file may belong.

    Raises:
        ConfigurationError: every problem of the file, GG201 or GG202.
    """
    content = _read(path, WrittenMetadata.of(source))
    if content.doubts:
        raise ConfigurationError(*content.doubts)
    return content.tables


def _read(path: str, written: WrittenMetadata | None) -> _FileContent:
    try:
        with open(path, "rb") as file:
            source = DefinitionFile(path, file.read())
    except (OSError, ValueError) as error:
        raise MissingFileError(_unreadable(path, error)) from error
    kind, tables = _parse(source, written)
    if source.problems:
        raise ConfigurationError(*source.problems)
    return _FileContent(kind, tables, source.doubts)


def load_definitions(paths: Iterable[str], source: WriterSettings = DEFAULT_SETTINGS) -> dict[str, TableDef]:
    """Return the tables of files and directories by full name, in the order in which they occur.

    Of a directory, the `*.def`, `*.avsc` and `*.schema.json` files are read in name order, except copies with a time
    stamp. Several files may define a table: a DEFGEN file is trusted more than an Avro schema, and an Avro schema more
    than a JSON schema; schemas lack keys and some types. Files of one kind must agree. `source` describes the messages
    to which the files may belong.

    Raises:
        ConfigurationError: the problems of all files, GG201, GG202 and GG203.
    """
    written = WrittenMetadata.of(source)
    problems: list[Diagnostic] = []
    raised = ConfigurationError
    definitions: dict[str, _Definition] = {}
    for path in paths:
        try:
            files = _files(path)
        except ConfigurationError as error:
            problems.extend(error.diagnostics)
            raised = MissingFileError if isinstance(error, MissingFileError) else raised
            continue
        for file in files:
            try:
                content = _read(file, written)
            except ConfigurationError as error:
                problems.extend(error.diagnostics)
                raised = MissingFileError if isinstance(error, MissingFileError) else raised
                continue
            for table in content.tables:
                found = _Definition(content.kind, file, table, content.doubts)
                known = definitions.setdefault(table.full_name, found)
                if found.kind < known.kind:
                    definitions[table.full_name] = found
                elif found.kind == known.kind and known.table != table and not (known.doubts or found.doubts):
                    problems.append(_conflict(known.file, known.table, file, table))
    problems += [doubt for known in definitions.values() for doubt in known.doubts]
    if problems:
        raise raised(*problems)
    return {name: known.table for name, known in definitions.items()}


def _files(path: str) -> list[str]:
    """Return the path itself, or the definition files in it if it is a directory."""
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise MissingFileError(_unreadable(path, error)) from error
    names = [name for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    files = [os.path.join(path, name) for name in names if not VERSION.search(name)]
    files = [file for file in files if not os.path.isdir(file)]
    if not files:
        expected = ", ".join(f"`*{suffix}`" for suffix in SUFFIXES)
        message = "the directory holds no definitions"
        raise ConfigurationError(Diagnostic("GG201", message, Span(path), f"its files should be named {expected}"))
    return files


def _unreadable(path: str, error: Exception) -> Diagnostic:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return Diagnostic("GG201", f"the definitions cannot be read: {reason}", Span(path))


def _parse(source: DefinitionFile, written: WrittenMetadata | None) -> tuple[int, list[TableDef]]:
    if source.text.lstrip().startswith(("{", "[")):
        try:
            document = json.loads(source.text)
        except json.JSONDecodeError as error:
            line, column = source.place(error.pos)
            source.problem(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", line=line, column=column)
            return _JSON, []
        except (ValueError, RecursionError):
            source.problem("not JSON that can be read: it is nested too deeply, or a number has too many digits")
            return _JSON, []
        if is_avro_schema(document):
            return _AVRO, parse_avro_schema(source, document, written)
        if is_json_schema(document):
            return _JSON, parse_json_schema(source, document, written)
    elif is_defgen(source.text):
        return _DEFGEN, parse_defgen(source)
    source.problems.append(
        Diagnostic("GG201", "no definitions are recognised", Span(source.path), f"give {KNOWN_FILES}")
    )
    return _JSON, []


def _conflict(first_file: str, first: TableDef, second_file: str, second: TableDef) -> Diagnostic:
    message = f"`{first_file}` and `{second_file}` define the table differently: {_difference(first, second)}"
    return Diagnostic("GG203", message, Span(second_file, table=second.full_name), "leave one of the files out")


def _difference(first: TableDef, second: TableDef) -> str:
    """Describe the first difference between two definitions of a table."""
    for place, (ours, theirs) in enumerate(zip(first.columns, second.columns, strict=False), 1):
        if ours.name != theirs.name:
            return f"column {place} is `{ours.name}` in the first and `{theirs.name}` in the second"
        if ours != theirs:
            return (
                f"column `{ours.name}` is {_trait(ours, theirs)} in the first and {_trait(theirs, ours)} in the second"
            )
    longer, which = (first, "first") if len(first.columns) > len(second.columns) else (second, "second")
    column = longer.columns[min(len(first.columns), len(second.columns))]
    return f"column `{column.name}` is in the {which} only"


def _trait(column: Column, other: Column) -> str:
    """Describe how a column differs from the other one of the same name."""
    if column.type != other.type:
        return f"`{column.type}`"
    if column.key != other.key:
        return f"column {column.key} of the key" if column.key else "not in the key"
    return "nullable" if column.nullable else "not nullable"
