"""Base snapshots: the rows before all operations, from an earlier result or an export with a directory per table."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from ggfmt.commit.names import counted, safe_name
from ggfmt.commit.records import CONSOLIDATION_MEMBER, is_of_rows, output_to_read, rows_manifest
from ggfmt.commit.store import Store, check_parts, is_hidden
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rows.numbers import NumberRange, is_number
from ggfmt.rows.query import query_error
from ggfmt.rows.readers import read_rows
from ggfmt.rows.tables import row_type_named

HIDDEN_MEMBER = "hidden"

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class BaseFile:
    """A file of rows. `bucket`: of its keys, if an earlier run has divided them; `deleted`: rows that do not count, as
    `encode_places` has them; `known_size`: as the manifest has it."""

    location: Location
    suffix: str
    bucket: int | None = None
    deleted: str = ""
    known_size: int | None = None

    @property
    def size(self) -> int:
        return int(self.known_size or self.location.info().size or 0)


@dataclass(frozen=True)
class BaseTable:
    """The rows of a table: files of one format."""

    name: str
    files: tuple[BaseFile, ...] = ()
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    key: tuple[str, ...] = ()  # from a manifest; empty if unknown
    bucket_count: int = 0  # into which a run divided the keys
    number_texts: tuple[str, ...] = ()  # columns of the key that were compared as numbers, and are texts
    defined: bool = False  # a manifest has the name and the types of the table
    complete: bool = False  # it has all rows, none was unresolved: a key without a row is free
    # by column the range of numbers that were found in the data
    numbers: Mapping[str, NumberRange] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()  # columns whose NULL may be a value that no operation has set


@dataclass(frozen=True)
class BaseSnapshot:
    root: str
    tables: dict[str, BaseTable]
    unresolved: int = 0
    hidden: Mapping[str, Any] = field(default_factory=dict)  # the columns and masks of the run that wrote it


def read_base(given: str) -> BaseSnapshot:
    """Read what a directory has. Raises: UsageError GG551 if it is not a base, Abend GG506 if it cannot be read."""
    with output_to_read(given) as store:
        root = store.root.address
        document = rows_manifest(store)
        base = _dump(store, root) if document is None else result_snapshot(store, root, document)
    if not base.tables:
        raise query_error(
            f"no rows found in `{root}`", f"give a base with one directory per table, with files {_suffixes()}"
        )
    return base


def location_of(store: Store, path: str) -> Location:
    """Return the location of a file in a manifest: below the output, or elsewhere if a catalog decides."""
    return Location.of_record(path, [store.root]) if path.startswith("/") or "://" in path else store.location(path)


def result_snapshot(store: Store, root: str, document: Mapping[str, Any]) -> BaseSnapshot:
    """Return the rows that the manifest of an output has. Raises: UsageError GG551 for other rows than current ones."""
    query = document.get(CONSOLIDATION_MEMBER)
    if query is None:
        raise query_error(f"`{root}` holds messages of `ggfmt run`, not rows", "give an output of `ggfmt consolidate`")
    if query["kind"] != "current" or query["keep"]:
        raise query_error(f"`{root}` does not hold current rows only", "write a base without `--history` and `--keep`")
    files: dict[str, dict[Location, Mapping[str, Any]]] = {}
    for entry in document["files"]:
        if is_of_rows(entry):
            files.setdefault(entry["table"], {})[location_of(store, entry["path"])] = entry
    tables = {}
    for name, entry in document["tables"].items():
        own = files.get(name, {})
        suffix = _suffix_of(own, name)
        tables[name] = replace(
            described_table(name, entry),
            files=tuple(
                BaseFile(each, suffix, of.get("bucket"), of.get("deleted", ""), of.get("bytes"))
                for each, of in own.items()
            ),
            bucket_count=entry.get("buckets") or 0,
            complete=not entry["unresolved"],
        )
    unresolved = sum(entry["unresolved"] for entry in document["tables"].values())
    return BaseSnapshot(root, tables, unresolved, query.get(HIDDEN_MEMBER, {}))


def described_table(name: str, entry: Mapping[str, Any]) -> BaseTable:
    types = {column: row_type_named(type) for column, type in entry["columns"].items()}
    numbers = {column: NumberRange(*found) for column, found in entry.get("numbers", {}).items()}
    unset = frozenset(entry.get("unset", ()))
    number_texts = tuple(entry.get("number_texts", ()))
    return BaseTable(
        name, (), types, tuple(entry["key"]), number_texts=number_texts, defined=True, numbers=numbers, unset=unset
    )


def number_ranges(base: BaseTable) -> dict[str, NumberRange]:
    """Return the ranges of the numbers in a base snapshot by column: as found, or else all that the type holds."""
    numbers = {name: NumberRange.of_type(type) for name, type in base.types.items() if is_number(type)}
    return numbers | dict(base.numbers)


def _dump(store: Store, root: str) -> BaseSnapshot:
    tables = {}
    for directory in _visible(store, ""):
        if store.size(directory) is not None:
            continue
        names = _visible(store, directory)
        locations = [store.location(directory, name) for name in names]
        if locations:
            suffix = _suffix_of(locations, directory)
            files = tuple(BaseFile(location, suffix) for location in locations)
            batch = next(read_rows(locations[0], suffix, {}, directory))
            types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
            tables[directory] = BaseTable(directory, files, types, complete=True)
    return BaseSnapshot(root, tables)


def _visible(store: Store, directory: str) -> list[str]:
    names = [name for name in store.names(directory) if not is_hidden(name)]
    check_parts(names, lambda name: store.shown(*filter(None, (directory, name))))
    return names


def _suffix_of(files: Collection[Location], table: str) -> str:
    suffixes = {file.path.rpartition(".")[2].lower() for file in files}
    if len(suffixes) > 1 or not suffixes <= {*_formats()}:
        message = (
            f"the rows of `{visible(table)}` in the base have the formats "
            f"{', '.join(f'`{s}`' for s in sorted(suffixes))}"
        )
        raise query_error(message, f"give a base with files of one format for each table: {_suffixes()}")
    return next(iter(suffixes), "parquet")


def _suffixes() -> str:
    return ", ".join(f"`.{suffix}`" for suffix in _formats())


def _formats() -> list[str]:
    return [name for name, format in ROW_FORMATS.items() if format.base]


def tables_by_name(base: BaseSnapshot, known: Collection[str]) -> dict[str, BaseTable]:
    """Return the tables by their full names: a dump has directories, as results call them."""
    by_directory = {safe_name(name): name for name in known}
    return {by_directory.get(name, name) if not table.defined else name: table for name, table in base.tables.items()}


def warn_unresolved(base: BaseSnapshot, output: str, strict: bool) -> None:
    """Operations that an earlier result could not decide are not in its rows: a warning, and an error where they would
    be lost, or have to be decided."""
    if not base.unresolved:
        return
    message = f"the base has {counted(base.unresolved, 'unresolved row')}, whose operations are ignored"
    if strict or output.rstrip("/") == base.root.rstrip("/"):
        help = "write to another directory, without `--strict`; or start from all changes, without a base"
        raise Abend("GG570", message, base.root, help)
    log.warning("%s: see `_unresolved` in %s", message, visible(base.root))
