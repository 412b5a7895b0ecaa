"""The tables of a side, and their files.

In a directory of directories, each one is a table, as `ggfmt consolidate` writes it. A directory of files is one table,
or one for each file if the names are those of tables. A file is a table.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow.fs as pafs

from ggfmt.commit.journal import damaged, read_document
from ggfmt.commit.names import counted, lake_directory, safe_name
from ggfmt.commit.records import LAKE_MEMBER, MANIFEST
from ggfmt.commit.store import FAILURES, Store, check_parts, hidden_part, is_worth_logging
from ggfmt.commit.versions import present_version
from ggfmt.comparison.database import Database
from ggfmt.comparison.files import ending_of, reading
from ggfmt.comparison.sql_database import SqlDatabase
from ggfmt.database.sql_connection import is_sql_database
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.location import Location, is_database
from ggfmt.reading.files import COMPRESSIONS, InputFile, not_found, open_input, unreadable
from ggfmt.rowfiles.formats import ROW_FORMATS, RowFormat

log = logging.getLogger("ggfmt")

_FORMATS = {suffix: format for format in ROW_FORMATS.values() for suffix in format.suffixes}
_NO_ROWS = ("sql", "md", "md5", "sha1", "sha256", "sha512")  # next to rows: definitions, notes, checksums
_HEAD_BYTES = max(len(format.mark) for format in ROW_FORMATS.values())
_PART = lazy_regex(r"part[-_.].*|[0-9_]+")  # names of files that are parts of one table
_NUMBER = lazy_regex(r"[0-9]+$")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartitionedFile:
    """A file, its format, and the values in the names of its directories (`day=2026-01-31`). `deleted`: rows of Parquet
    that do not count, as `encode_places` has them."""

    file: InputFile
    format: RowFormat
    columns: Mapping[str, str | None] = field(default_factory=dict)
    deleted: str = ""


@dataclass(frozen=True)
class ComparisonSide:
    """The tables of a side with their files, or of a database."""

    given: str
    tables: Mapping[str, tuple[PartitionedFile, ...]]
    named: bool  # the tables have names of their own, not that of a single file or directory
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those of the manifest of `ggfmt consolidate`
    database: Database | SqlDatabase | None = None
    # files that may have rows, and are not compared, by the table in whose directory they are; None: in none
    skipped: Mapping[str | None, Sequence[str]] = field(default_factory=dict)

    def key(self, table: str) -> tuple[str, ...]:
        """Return the key of a table in the manifest or in the database; empty if it is unknown."""
        return self.keys.get(table, ()) if self.database is None else self.database.tables[table].key

    def close(self) -> None:
        if self.database is not None:
            self.database.close()


def find_tables(given: str) -> ComparisonSide:
    """Return the tables of a path, a URI or the URL of a database; close the side in the end. Raises: UsageError GG310,
    GG581 if it has no table, GG589 without a driver. Raises: Abend GG582 or GG588 if it cannot be read."""
    if is_database(given) or is_sql_database(given):
        return _of_database(given)
    try:
        store = Store(Location.of(given))
        kind = store.fs.get_file_info(store.inner()).type
        if kind == pafs.FileType.NotFound:
            raise UsageError.of(not_found(given))
        if kind != pafs.FileType.Directory:
            return _of_file(store, given)
        return _of_directory(store, given)
    except FAILURES as error:
        raise UsageError.of(unreadable(given, error)) from None


def _of_database(given: str) -> ComparisonSide:
    database = Database(given) if is_database(given) else SqlDatabase(given)
    if not database.tables:
        database.close()
        help = "check the name of the database and the permissions of its user"
        raise _no_tables(database.shown, "the database has no table", help)
    return ComparisonSide(database.shown, dict.fromkeys(database.tables, ()), True, database=database)


def _of_file(store: Store, given: str) -> ComparisonSide:
    info = store.fs.get_file_info(store.inner())
    if info.type != pafs.FileType.File:
        help = "give a file, or a directory of files"
        raise UsageError("GG310", "the input is a pipe, a socket or a device", given, help)
    file = InputFile(store.root, info.size, given)
    part = PartitionedFile(file, _format(file) or ROW_FORMATS["csv"])
    return ComparisonSide(given, {_stem(info.base_name): (part,)}, named=False)


def _of_directory(store: Store, given: str) -> ComparisonSide:
    if _is_lake_table(store):
        return _of_lake_table(store, given)
    keys, listed = _keys(store, given)
    names = {safe_name(name): name for name in keys}
    tables: dict[str, list[PartitionedFile]] = {name: [] for name in keys}
    single: dict[str, PartitionedFile] = {}
    found, hidden, paths = _visible(store)
    versions = _present_versions(store, given)
    if versions is not None:
        found, hidden = {name: size for name, size in found.items() if name in versions}, []
    if store.local:
        start = given.rstrip("/")
        shown = {name: f"{start}/{name}" for name in (*found, *hidden)}
    else:
        shown = {name: store.root.show(name) for name in (*found, *hidden)}
    check_parts(found, shown.__getitem__)
    left = {name: table for name, table in listed.items() if name not in found}
    if hidden:
        starts = "starts" if len(hidden) == 1 else "start"
        message = "skipped %s that %s with `_` or `.`, for example `%s`"
        log.info(message, counted(len(hidden), "name"), starts, visible(shown[hidden[0]]))
    for name, size in sorted(found.items()):
        directories = name.split("/")[:-1]
        file = InputFile(store.root.entry(paths[name]), size, shown[name])
        format = _format(file)
        table = names.get(directories[0], directories[0]) if directories and "=" not in directories[0] else None
        if format is None:
            left[name] = table
            continue
        part = PartitionedFile(file, format, _partition(directories))
        if versions is not None:
            entry = versions[name]
            part = replace(part, deleted=entry.get("deleted", ""))
            tables.setdefault(entry["table"], []).append(part)
        elif table is not None:
            tables.setdefault(table, []).append(part)
        else:
            single[name] = part
    named = True
    if tables:
        left |= dict.fromkeys(single)
    elif single:
        tables = _of_files(single, store.root)
        named = len(tables) > 1
    if left:
        log.warning(
            "skipped %s outside of any table, for example `%s`; to compare a single file, give its path",
            counted(len(left), "file"),
            visible(next(iter(left))),
        )
    if not tables:
        endings = ", ".join(f"`.{ending}`" for ending in _FORMATS)
        help = f"give a directory of tables, or of files that end with {endings}"
        raise _no_tables(given, "the directory has no table", help)
    skipped: dict[str | None, list[str]] = {}
    for name, table in left.items():
        if name.rpartition(".")[2].lower() not in _NO_ROWS:
            skipped.setdefault(table, []).append(name)
    return ComparisonSide(given, {n: tuple(parts) for n, parts in tables.items()}, named, keys, skipped=skipped)


def _visible(store: Store) -> tuple[dict[str, int], list[str], dict[str, str]]:
    """Return the files of a directory with their sizes, names that are skipped by rule and may be data, and the paths
    of the files where they stay what they are: a run may commit while tables are read."""
    found: dict[str, int] = {}
    hidden: dict[str, None] = {}
    versions = {name: present_version(store, name) for name in store.names("")}
    entries = {name: size for name, size in store.below("").items() if versions.get(name.partition("/")[0]) is None}
    paths = {name: name for name in entries}
    for directory, version in versions.items():
        if version is not None:
            for path, size in store.below(version).items():
                name = directory + path.removeprefix(version)
                entries[name], paths[name] = size, path
    for name, size in entries.items():
        part = hidden_part(name)
        if part is None:
            found[name] = size
        elif is_worth_logging(part):
            hidden[part] = None
    return found, sorted(hidden), paths


def _present_versions(store: Store, given: str) -> dict[str, Mapping[str, Any]] | None:
    """Return the files in the manifest of lake tables as the last run has left them (directories have earlier files,
    too); None for other outputs. Raises: UsageError GG581 for tables in the warehouse of a catalog."""
    document = read_document(store, MANIFEST)
    if document is None or LAKE_MEMBER not in document:
        return None
    files = {entry["path"]: entry for entry in document["files"] if "rows" in entry}
    elsewhere = next((path for path in files if path.startswith("/") or "://" in path), None)
    if elsewhere is not None:
        help = "export the rows, or compare an output of plain files"
        raise _no_tables(given, "the rows of the output are in the warehouse of a catalog", help)
    return files


def _is_lake_table(store: Store) -> bool:
    """Return whether a directory is a Delta or an Iceberg table: it has the files of earlier versions, too."""
    marks = [format.table_mark for format in ROW_FORMATS.values() if format.table_mark]
    return any(name.endswith(ending) for above, ending in marks for name in store.below(above))


def _of_lake_table(store: Store, given: str) -> ComparisonSide:
    """Return one table as the last run has left it. Raises: UsageError GG581 if no `ggfmt consolidate` wrote it."""
    parent = store.root.parent
    if parent is not None:
        above = Store(parent)
        if _present_versions(above, given) is not None:
            side = _of_directory(above, given)
            for name, parts in side.tables.items():
                if lake_directory(name) == store.root.name:
                    return ComparisonSide(given, {name: parts}, False, {name: side.key(name)})
    help = "give the output of `ggfmt consolidate` that contains the table, or export the rows"
    what = "a Delta or Iceberg table, and no manifest in its parent directory lists its current files"
    raise _no_tables(given, f"the directory is {what}", help)


def _no_tables(given: str, message: str, help: str) -> UsageError:
    return UsageError("GG581", message, given, help)


def _keys(store: Store, given: str) -> tuple[dict[str, tuple[str, ...]], dict[str, str | None]]:
    """Return the tables in a manifest with their keys, and its files of rows with their tables."""
    document = read_document(store, MANIFEST)
    if document is None:
        return {}, {}
    tables = document.get("tables")
    if not isinstance(tables, dict):
        help = "give the output of `ggfmt consolidate`"
        raise _no_tables(given, "the directory has messages of a run, not rows", help)
    found = {}
    for name, entry in tables.items():
        key = entry.get("key") if isinstance(entry, dict) else None
        if not (key is None or (isinstance(key, list) and all(isinstance(column, str) for column in key))):
            raise damaged(store, MANIFEST, f"is damaged: the key of `{name}` is not a list of columns")
        found[name] = tuple(key or ())
    lacking = sum((document.get("rejects") or {}).values())
    if lacking:
        log.warning("%s: its rows lack %s that the run has set aside", visible(given), counted(lacking, "record"))
    files = [entry for entry in document.get("files", ()) if "rows" in entry and entry.get("table") in found]
    return found, {entry["path"]: entry["table"] for entry in files if hidden_part(entry["path"]) is None}


def _format(file: InputFile) -> RowFormat | None:
    """Return the format of a file: by its extension, or without one by its first bytes."""
    ending = ending_of(file.location)
    if ending:
        return _FORMATS.get(ending)
    with reading(file), open_input(file) as stream:
        head = stream.read(_HEAD_BYTES)
    return next((each for each in ROW_FORMATS.values() if each.mark and head.startswith(each.mark)), None)


def _partition(directories: Sequence[str]) -> dict[str, str | None]:
    pairs = (directory.partition("=") for directory in directories if "=" in directory)
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in pairs}


def _of_files(files: Mapping[str, PartitionedFile], root: Location) -> dict[str, list[PartitionedFile]]:
    """Return one table if the names are part numbers, or differ only in a number; otherwise a table for each file."""
    stems = {name: _stem(name.rpartition("/")[2]) for name in files}
    if all(map(_PART.fullmatch, stems.values())) or len({_NUMBER.sub("", stem) for stem in stems.values()}) == 1:
        return {_stem(os.path.basename(root.path.rstrip("/"))): list(files.values())}
    tables: dict[str, list[PartitionedFile]] = {}
    for name, part in files.items():
        tables.setdefault(stems[name], []).append(part)
    return tables


def _stem(name: str) -> str:
    root, ending = os.path.splitext(name)
    root, ending = os.path.splitext(root) if ending in COMPRESSIONS else (root, ending)
    return root if ending.lstrip(".").lower() in _FORMATS else root + ending
