"""The rows that were there before all changes: an earlier result, or a dump with a directory for each table."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.typed import typed_values
from ggfmt.commit.journal import read_document
from ggfmt.commit.names import counted
from ggfmt.commit.records import CONSOLIDATION_MEMBER, MANIFEST, output_to_read
from ggfmt.commit.store import Store, check_parts, is_hidden
from ggfmt.consolidation.asked import unusable
from ggfmt.consolidation.manifest import table_directory
from ggfmt.consolidation.tables import type_named
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.frames.shapes import TEXT, ddl_type
from ggfmt.java.text import visible
from ggfmt.location import Location

SUFFIXES = ("parquet", "orc", "json", "csv")

_BLOCK_BYTES = 8 << 20
_SHOWN = 40  # characters of a value in an error

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class BaseTable:
    """The rows of a table: files of one format. `types` are those of its columns, and `key` its key,
    where a manifest tells them."""

    name: str
    suffix: str
    files: tuple[Location, ...]
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Base:
    """All tables of a directory; `unresolved` counts the rows of an earlier result that could not be decided."""

    root: str
    tables: dict[str, BaseTable]
    unresolved: int = 0

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        return {name: table.key for name, table in self.tables.items() if table.key}


def read_base(given: str) -> Base:
    """What a directory has. UsageError GG551 if it is no base, Abend GG506 if it cannot be read."""
    with output_to_read(given) as store:
        root = store.root.address
        document = read_document(store, MANIFEST)
        base = _dump(store, root) if document is None else _result(store, root, document)
    if not base.tables:
        raise unusable(f"there are no rows in `{root}`", f"a base has a directory for each table, with {_suffixes()}")
    return base


def _result(store: Store, root: str, document: dict[str, Any]) -> Base:
    asked = document.get(CONSOLIDATION_MEMBER)
    if asked is None:
        raise unusable(f"`{root}` holds messages of `ggfmt run`, not rows", "give what `ggfmt consolidate` has written")
    if asked["kind"] != "current" or asked["keep"]:
        raise unusable(f"`{root}` holds other rows than current ones", "write a base without `--history` and `--keep`")
    files: dict[str, list[Location]] = {}
    for entry in document["files"]:
        if "unresolved" not in entry:
            files.setdefault(entry["table"], []).append(store.location(entry["path"]))
    tables = {}
    for name, told in document["tables"].items():
        suffix = _suffix_of(files.get(name, []), name)
        types = {column: type_named(type) for column, type in told["columns"].items()}
        tables[name] = BaseTable(name, suffix, tuple(files.get(name, [])), types, tuple(told["key"]))
    return Base(root, tables, sum(told["unresolved"] for told in document["tables"].values()))


def _dump(store: Store, root: str) -> Base:
    tables = {}
    for directory in _visible(store, ""):
        if store.size(directory) is not None:
            continue
        names = _visible(store, directory)
        files = [store.location(directory, name) for name in names]
        if files:
            tables[directory] = BaseTable(directory, _suffix_of(files, directory), tuple(files))
    return Base(root, tables)


def _visible(store: Store, directory: str) -> list[str]:
    """The names in a directory but those that are left out by rule; StoreError for a key that cannot be opened."""
    names = [name for name in store.names(directory) if not is_hidden(name)]
    check_parts(names, lambda name: store.shown(*filter(None, (directory, name))))
    return names


def _suffix_of(files: Collection[Location], table: str) -> str:
    suffixes = {file.path.rpartition(".")[2].lower() for file in files}
    if len(suffixes) > 1 or not suffixes <= set(SUFFIXES):
        message = f"the rows of `{visible(table)}` in the base are in {', '.join(f'`{s}`' for s in sorted(suffixes))}"
        raise unusable(message, f"a base has files of one kind for each table: {_suffixes()}")
    return next(iter(suffixes), SUFFIXES[0])


def _suffixes() -> str:
    return ", ".join(f"`.{suffix}`" for suffix in SUFFIXES)


def named(base: Base, known: Collection[str]) -> dict[str, BaseTable]:
    """The tables by their full names: a dump has directories, as results call them."""
    by_directory = {table_directory(name): name for name in known}
    return {by_directory.get(name, name) if not table.types else name: table for name, table in base.tables.items()}


def tell_of_unresolved(base: Base, output: str, strict: bool) -> None:
    """Operations that an earlier result could not decide are not in its rows: a warning, and an error where they would
    be lost, or have to be decided."""
    if not base.unresolved:
        return
    message = f"the base has {counted(base.unresolved, 'unresolved row')}, whose operations are not taken into account"
    if strict or output.rstrip("/") == base.root.rstrip("/"):
        help = "write to another directory, without `--strict`; or begin with all changes, and no base"
        raise Abend(Diagnostic("GG570", message, Span(file=base.root), help))
    log.warning("%s: see `_unresolved` in %s", message, visible(base.root))


@dataclass(frozen=True)
class CsvFile:
    """A file of rows that becomes Parquet, `stem` in a directory; columns without a type are texts."""

    table: str
    source: Location
    types: Mapping[str, pa.DataType]
    directory: Location
    stem: str


def csv_to_parquet(task: CsvFile, attempt: int) -> Location | Diagnostic:
    """The location of the file, or what is wrong with the CSV. An empty field is NULL, `""` an empty text."""
    target = task.directory.child(f"{task.stem}-{attempt}")
    fs, inner = target.file_system()
    if target.is_local:
        fs.create_dir(inner.rpartition("/")[0])
    try:
        with task.source.open_file() as stream:
            names = _header(stream)
            stream.seek(0)
            schema = pa.schema([pa.field(name, task.types.get(name, TEXT)) for name in names])
            with fs.open_output_stream(inner) as out, pq.ParquetWriter(out, schema, store_schema=False) as writer:
                for batch in _texts(stream, names):
                    writer.write_batch(_typed(batch, schema, task))
    except pa.ArrowInvalid as error:
        place = Span(file=task.source.shown, table=task.table)
        return Diagnostic("GG551", f"the file is no CSV: {str(error).splitlines()[0]}", place)
    except UsageError as error:
        return error.diagnostics[0]
    return target


def _options() -> dict[str, Any]:
    return {
        "parse_options": pc_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        "read_options": pc_csv.ReadOptions(block_size=_BLOCK_BYTES),
    }


def _header(stream: pa.NativeFile) -> list[str]:
    reader = pc_csv.open_csv(stream, **_options())  # type: ignore[arg-type]  # which is not closed: that would close the stream
    names: list[str] = reader.schema.names
    return names


def _texts(stream: pa.NativeFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    convert = pc_csv.ConvertOptions(
        column_types=dict.fromkeys(names, TEXT),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    yield from pc_csv.open_csv(stream, convert_options=convert, **_options())  # type: ignore[arg-type]


def _typed(batch: pa.RecordBatch, schema: pa.Schema, task: CsvFile) -> pa.RecordBatch:
    columns = []
    for texts, column in zip(map(as_strings, batch.columns), schema, strict=True):
        values, wrong = typed_values(texts, column.type)
        if wrong:
            text = texts[wrong[0]].as_py()
            shown = visible(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
            place = Span(file=task.source.shown, table=task.table, field=column.name)
            help = f"give `--type '{task.table}.{column.name}=string'`"
            raise UsageError(
                Diagnostic("GG551", f"`{shown}` is no value of the type `{ddl_type(column.type)}`", place, help)
            )
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
