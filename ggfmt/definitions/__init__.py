"""Table definitions from files: DEFGEN's `.def`, SQL, and JSON and Avro schemas.

The content of a file decides its kind. A ConfigurationError contains all problems at once: GG201 (the file cannot be
read, as a MissingFileError, or is of no known kind), GG202 (an entry is invalid) and GG203 (two files contradict each
other).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ggfmt.dataclasses import dataclass, field
from ggfmt.definitions.source import DefinitionFile, is_charset, warn_of_unknown_types
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, MissingFileError, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Column, Kind, SqlType, TableDef

__all__ = ["load_definitions", "read_definitions"]

SUFFIXES = (".def", ".sql", ".avsc", ".schema.json")
VERSION = lazy_regex(
    r"_[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}\.[0-9]{3}\."
)  # copies of `versionSchemas`
KNOWN_FILES = (
    "a DEFGEN file, `CREATE TABLE` in SQL, a GoldenGate JSON schema, an Avro schema of a record, or a CSV file "
    "with a header line"
)

_DEFGEN, _SQL, _AVRO, _JSON, _HEADER = range(5)  # kinds of files, the most detailed first

# Table definitions from DEFGEN's source-definitions files (`.def`). There is no public specification. The comments at
# the head of a file list the fields of an entry. This list, not the version, defines the numbers of a column entry
# (seen in public samples of 11.1, 2.0 and 5.0). The file does not contain nullability (field 7 is always 1, so every
# column is nullable) and the precision of numbers. If a table has no primary key or unique index, all its columns are
# marked as keys, as GoldenGate treats them.
#
# Data types (`scale`, `length` are the entry's Scale and External Length):
#
#     0, 64 and any other           STRING(length)
#       sub type 2 (FLOAT)          NUMBER; FLOAT or DOUBLE for Oracle's BINARY_FLOAT and BINARY_DOUBLE
#       sub type 3 (FIXED_PREC)     DECIMAL(scale)
#       sub type 4 (BINARY)         BINARY(length); also Oracle's RAW, LONG RAW and BLOB
#     130 to 135                    INTEGER, with a scale DECIMAL(scale)
#     140, 141                      FLOAT, DOUBLE
#     150 to 155                    DECIMAL(scale)
#     192                           DATE, TIME or TIMESTAMP
#     195                           INTERVAL
#
# Oracle's DATE is a DATE although it has a time of day. For other databases the parts of the value decide: up to the
# day a DATE, from the hour on a TIME, else a TIMESTAMP.

DEFGEN_MARK = lazy_regex(
    r"^(?:\*\+- Defgen version\b|\* *Field descriptions\b|Definition for table\s)", re.MULTILINE | re.IGNORECASE
)
ENCODING = lazy_regex(r"\*\+- *Defgen version[^,\r\n]*, *Encoding +([^\s,]+)", re.IGNORECASE)
FIELD_LIST = lazy_regex(r"\*\s*Field descriptions\b", re.IGNORECASE)
FIELD = lazy_regex(r"\*\s*([0-9]{1,3})\s+(\S.*)")
TABLE = lazy_regex(r"Definition for table\s+(\S.*)", re.IGNORECASE)
TABLE_NAME_PART = lazy_regex(r'"((?:[^"]|"")*)"')
END = lazy_regex(r"End of definition", re.IGNORECASE)
PROPERTY = lazy_regex(r"([A-Za-z][A-Za-z ]*):(?:\s+(.*))?")
WORD = lazy_regex(r"\S+", re.ASCII)
ENTRY_FIELD = lazy_regex(r'"(?:[^"]|"")*"|\S+', re.ASCII)
NUMBER = lazy_regex(r"-?[0-9]{1,9}")
HEADER_NAME = lazy_regex(r"[^\W\d][\w$# ]*")
BLANKS = " \t\v\f"

REQUIRED = ("Name", "Data Type", "External Length", "Scale", "Key Column")
OPTIONAL = ("Sub Data Type", "Native Data Type", "Most Significant DT", "Least Significant DT")

FLOAT, FIXED_PREC, BINARY = 2, 3, 4  # sub data types; 4 is an assumption, no public file shows it
DAY, HOUR, SECOND = 2, 3, 5  # in Most and Least Significant DT, counted from 0, the year
ORACLE_DATE = 12  # Oracle's native types are codes of its call interface (OCI)
ORACLE_TIMESTAMP = {180, 181, 187, 188, 231, 232}
ORACLE_ZONED = {181, 188}  # not those with a local zone, whose texts have none
ORACLE_BINARY = {23, 24, 113}
ORACLE_FLOATS = {100: Kind.FLOAT, 101: Kind.DOUBLE}


def parse_defgen(source: DefinitionFile) -> list[TableDef]:
    """Return the tables of a DEFGEN file; the last definition of one counts (APPEND). Problems are GG202."""
    named = ENCODING.match(source.text)
    if named:
        encoding = named[1]
        if not is_charset(encoding):
            help = "convert the file to UTF-8 and name that in its first line"
            place = named.start(1) + 1
            source.problem(f"the encoding `{encoding}` is not known", help, line=1, column=place, length=len(encoding))
            return []
        if not source.decode(encoding):
            return []
    return _FileParser(source).parse()


@dataclass
class _Block:
    table: str
    line: int
    declared: int | None = None
    entries: int = 0
    columns: list[Column] = field(default_factory=list)
    sound: bool = True


class _FileParser:
    def __init__(self, source: DefinitionFile) -> None:
        self.source = source
        self.fields: list[str] = []
        self.in_field_list = False
        self.oracle = True  # if a file does not name the database, it is Oracle's in all samples
        self.block: _Block | None = None
        self.tables: dict[str, TableDef] = {}

    def parse(self) -> list[TableDef]:
        for number, line in enumerate(self.source.lines, 1):
            text = line.strip(BLANKS)
            if text.startswith("*"):
                self._comment(text)
            elif match := TABLE.fullmatch(text):
                self._close(ended=False)
                if not self._open(match[1], number):
                    break
            elif END.fullmatch(text):
                self._close(ended=True)
            elif match := PROPERTY.fullmatch(text):
                self._property(match[1].casefold(), match[2] or "", number)
            elif text and self.block:
                self._entry(self.block, line, number)
            elif text:
                self.source.problem(
                    "a line outside of the table definitions that is neither a comment nor a property",
                    line=number,
                    column=len(line) - len(line.lstrip(BLANKS)) + 1,
                    length=len(text),
                )
        self._close(ended=False)
        return list(self.tables.values())

    def _comment(self, text: str) -> None:
        if FIELD_LIST.match(text):
            self.fields, self.in_field_list = [], True
        elif self.in_field_list and (match := FIELD.fullmatch(text)) and int(match[1]) == len(self.fields) + 1:
            self.fields.append(" ".join(match[2].split()))

    def _open(self, name: str, number: int) -> bool:
        """Start a table; False, with a problem, if the comments so far do not describe its entries."""
        self.in_field_list = False
        lacking = [field for field in REQUIRED if field not in self.fields]
        if not self.fields or lacking or self.fields[0] != REQUIRED[0]:
            message = "no list of field descriptions comes before the table"
            if self.fields:
                message = f"the field descriptions lack `{lacking[0]}`" if lacking else "`Name` is not field 1"
            self.source.problem(
                message, "keep the comments that DEFGEN writes at the head of the file", line=number, column=1
            )
            return False
        table = TABLE_NAME_PART.sub(lambda part: part[1].replace('""', '"'), name)
        self.block = _Block(table, number)
        return True

    def _property(self, name: str, value: str, number: int) -> None:
        if name == "database type":
            self.oracle = value.strip(BLANKS).upper() == "ORACLE"
        elif name == "columns" and self.block:
            if not value.isascii() or not value.isdigit() or len(value) > 9:
                self.block.sound = False
                self.source.problem(
                    f"`Columns` cannot be `{value}`", "give a number", line=number, column=1, table=self.block.table
                )
            else:
                self.block.declared = int(value)

    def _entry(self, block: _Block, line: str, number: int) -> None:
        """Read a column entry: a name, in quotes if it contains blanks, and a number for every other field."""
        block.entries += 1
        words = list(WORD.finditer(line))
        width = len(self.fields)
        numbers = words[len(words) - width + 1 :] if len(words) >= width else []
        end = numbers[0].start() if numbers else 0
        name = line[words[0].start() : end].rstrip(BLANKS)
        quoted = len(name) > 1 and name[0] == name[-1] == '"'
        if not name or (not quoted and (len(words) > width or name[0] == '"')):
            block.sound = False
            count = len(ENTRY_FIELD.findall(line))
            self.source.problem(
                f"the entry has {count} field{'s' * (count != 1)}, but the field descriptions name {width}",
                line=number,
                column=words[0].start() + 1,
                length=words[-1].end() - words[0].start(),
                table=block.table,
            )
            return
        if quoted:
            name = name[1:-1].replace('""', '"')
        values = dict.fromkeys(OPTIONAL, 0)
        for title, word in zip(self.fields[1:], numbers, strict=True):
            if title not in REQUIRED and title not in OPTIONAL:
                continue
            if not NUMBER.fullmatch(word[0]):
                block.sound = False
                self.source.problem(
                    f"`{title}` cannot be `{word[0]}`",
                    "give a number",
                    line=number,
                    column=word.start() + 1,
                    length=len(word[0]),
                    table=block.table,
                    field=name,
                )
                return
            values[title] = int(word[0])
        key = 1 + max((column.key for column in block.columns), default=0) if values["Key Column"] else 0
        block.columns.append(Column(name, _sql_type(values, self.oracle), key=key))

    def _close(self, ended: bool) -> None:
        block, self.block = self.block, None
        if block is None:
            return
        if block.declared is not None and block.declared != block.entries:
            entries = "1 entry" if block.entries == 1 else f"{block.entries} entries"
            message = f"`Columns` says {block.declared}, but the table has {entries}"
            self.source.problem(message, line=block.line, column=1, table=block.table)
        elif block.declared is None and block.sound and not ended:
            self.source.problem("no `End of definition` ends the table", line=block.line, column=1, table=block.table)
        elif block.sound and (table := self.source.table(block.table, block.columns, block.line)):
            self.tables[table.full_name] = table


def _sql_type(values: Mapping[str, int], oracle: bool) -> SqlType:
    code, sub_type, scale = values["Data Type"], values["Sub Data Type"], values["Scale"]
    native = values["Native Data Type"] if oracle else 0
    if 130 <= code <= 135:
        return SqlType(Kind.DECIMAL, scale=scale) if scale > 0 else SqlType(Kind.INTEGER)
    if code in (140, 141):
        return SqlType(Kind.FLOAT if code == 140 else Kind.DOUBLE)
    if 150 <= code <= 155:
        return SqlType(Kind.DECIMAL, scale=scale)
    if code == 192:
        kind = _date_kind(values, native, oracle)
        return SqlType(
            kind, timed=kind is Kind.DATE and (oracle or native == ORACLE_DATE), zoned=native in ORACLE_ZONED
        )
    if code == 195:
        return SqlType(Kind.INTERVAL)
    if sub_type == FLOAT:
        return SqlType(ORACLE_FLOATS.get(native, Kind.NUMBER))
    if sub_type == FIXED_PREC:
        return SqlType(Kind.DECIMAL, scale=scale)
    kind = Kind.BINARY if sub_type == BINARY or native in ORACLE_BINARY else Kind.STRING
    length = values["External Length"]
    return SqlType(kind, length=length if length > 0 else None)


def _date_kind(values: Mapping[str, int], native: int, oracle: bool) -> Kind:
    first, last = values["Most Significant DT"], values["Least Significant DT"]
    if native == ORACLE_DATE:
        return Kind.DATE
    if native in ORACLE_TIMESTAMP or last > SECOND:
        return Kind.TIME if first >= HOUR else Kind.TIMESTAMP
    if oracle or last <= DAY:
        return Kind.DATE
    return Kind.TIME if first >= HOUR else Kind.TIMESTAMP


class _FileContent(NamedTuple):
    kind: int
    tables: list[TableDef]
    doubts: Sequence[Diagnostic]


@dataclass(frozen=True)
class _Definition:
    kind: int
    file: str
    table: TableDef
    doubts: Sequence[Diagnostic]


def read_definitions(path: str, source: WriterSettings = DEFAULT_SETTINGS) -> list[TableDef]:
    """Return the tables of a local file; none for the schema of the generic wrapper.

    `source` describes the messages to which the file may belong. Raises: ConfigurationError with every GG201 or GG202.
    """
    content = _read(path, source)
    if content.doubts:
        raise ConfigurationError.of(*content.doubts)
    return content.tables


def _read(path: str, messages: WriterSettings) -> _FileContent:
    try:
        with open(path, "rb") as file:
            source = DefinitionFile(path, file.read())
    except (OSError, ValueError) as error:
        raise MissingFileError.of(_unreadable(path, error)) from error
    kind, tables = _parse(source, messages)
    if source.problems:
        raise ConfigurationError.of(*source.problems)
    return _FileContent(kind, tables, source.doubts)


def load_definitions(paths: Iterable[str], source: WriterSettings = DEFAULT_SETTINGS) -> dict[str, TableDef]:
    """Return the tables of files and directories by full name, in order.

    Of a directory, the files with one of `SUFFIXES` are read in name order, except copies with a time stamp. Of several
    files for a table, a DEFGEN file is trusted most, then SQL, then an Avro schema, and least a JSON schema: schemas
    lack keys and some types. Files of one kind must agree. `source` describes the messages.
    Raises: ConfigurationError with the problems of all files, GG201 to GG203.
    """
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
                content = _read(file, source)
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
                    difference = _difference(known.table, table)
                    message = f"`{known.file}` and `{file}` define the table differently: {difference}"
                    place = Span(file, table=table.full_name)
                    problems.append(Diagnostic("GG203", message, place, "leave one of the files out"))
    problems += [doubt for known in definitions.values() for doubt in known.doubts]
    if problems:
        raise raised.of(*problems)
    warn_of_unknown_types(known.table for known in definitions.values())
    return {name: known.table for name, known in definitions.items()}


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise MissingFileError.of(_unreadable(path, error)) from error
    names = [name for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    files = [os.path.join(path, name) for name in names if not VERSION.search(name)]
    files = [file for file in files if not os.path.isdir(file)]
    if not files:
        expected = ", ".join(f"`*{suffix}`" for suffix in SUFFIXES)
        message = "the directory holds no definitions"
        raise ConfigurationError("GG201", message, path, f"its files should be named {expected}")
    return files


def _unreadable(path: str, error: Exception) -> Diagnostic:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return Diagnostic("GG201", f"the definitions cannot be read: {reason}", path)


def _parse(source: DefinitionFile, messages: WriterSettings) -> tuple[int, list[TableDef]]:
    if source.text.lstrip().startswith(("{", "[")):
        try:
            document = json.loads(source.text)
        except json.JSONDecodeError as error:
            line, column = source.place(error.pos)
            message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            source.problem(message, f"give {KNOWN_FILES}", line=line, column=column)
            return _JSON, []
        except (ValueError, RecursionError):
            source.problem("not JSON that can be read: it is nested too deeply, or a number has too many digits")
            return _JSON, []
        from ggfmt.definitions import schemas

        written = schemas.WrittenMetadata.of(messages)
        if schemas.is_avro_schema(document):
            return _AVRO, schemas.parse_avro_schema(source, document, written)
        if schemas.is_json_schema(document):
            return _JSON, schemas.parse_json_schema(source, document, written)
    elif DEFGEN_MARK.search(source.text) is not None:
        return _DEFGEN, parse_defgen(source)
    else:
        from ggfmt.definitions import sql

        if sql.CREATE.search(source.text) is not None:
            return _SQL, sql.parse_sql(source)
        if source.path.endswith(".csv"):
            return _HEADER, _parse_header(source)
    message = "the file has none of the known kinds of definitions"
    source.problems.append(Diagnostic("GG201", message, source.path, f"give {KNOWN_FILES}"))
    return _JSON, []


def _parse_header(source: DefinitionFile) -> list[TableDef]:
    """Return the table of a file with a header line: it has the name of the file, and its columns are texts."""
    from ggfmt.definitions.schemas import without_metadata

    line = source.lines[0].lstrip("\ufeff")
    delimiter = max(",;|\t", key=line.count)
    names = [name.strip().removeprefix('"').removesuffix('"') for name in line.split(delimiter)]
    unclear = next((name for name in names if not HEADER_NAME.fullmatch(name)), None)
    if unclear is not None:
        source.problem(f"`{unclear}` in the first line is not the name of a column", line=1, column=1)
        return []
    table = source.table(
        os.path.basename(source.path).removesuffix(".csv"), [Column(name) for name in without_metadata(names)], 1
    )
    return [table] if table else []


def _difference(first: TableDef, second: TableDef) -> str:
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
    if column.type != other.type:
        return f"`{column.type}`"
    if column.key != other.key:
        return f"column {column.key} of the key" if column.key else "not in the key"
    return "nullable" if column.nullable else "not nullable"
