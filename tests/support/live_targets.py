"""Targets that follow a live database through disturbances, and equal it after each round.

Targets are Parquet files, Delta and Iceberg tables (`ggfmt consolidate`), and the tables of a PostgreSQL
(`ggfmt apply`). The disturbances: killed runs, commits of a foreign program, a wrong type in the options, and a column
of the source whose type changes and changes back. A table that is refused must be set aside and stay as it is. After it
is taken up again, it must equal the source like the other tables.

After each round, `ggfmt compare` and SQL compare all tables. SQL: a SELECT of all rows on both sides.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol

import duckdb
import polars
import pyarrow as pa
from live_comparison import RowsComparison, read_rows, text_rows, unset_values
from round_trips import Row

import ggfmt
from ggfmt.commit.names import lake_directory, safe_name
from ggfmt.model.table import split_name

Query = Callable[[Path, str, str], pa.Table]


def iceberg_table(lake: Path, table: str) -> Any:
    """Return a table of the embedded catalog."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("default", uri=f"sqlite:///{lake}/_catalog.db").load_table(tuple(split_name(table)))


def in_polars(lake: Path, to: str, table: str) -> pa.Table:
    """Return all rows of a table. `lake`: an output of `ggfmt consolidate`; `to`: `delta` or `iceberg`."""
    if to == "delta":
        frame = polars.scan_delta(str(lake / lake_directory(table)))
    else:
        frame = polars.scan_iceberg(iceberg_table(lake, table))
    found: pa.Table = frame.collect().to_arrow()
    return found


def in_duckdb(lake: Path, to: str, table: str) -> pa.Table:
    """Return all rows of a table. DuckDB's own extensions are downloads: it reads the Arrow data of the libraries."""
    rows: Any
    if to == "delta":
        from deltalake import DeltaTable

        rows = DeltaTable(str(lake / lake_directory(table))).to_pyarrow_dataset()
    else:
        rows = iceberg_table(lake, table).scan().to_arrow()
    with duckdb.connect() as connection:
        present: Any = connection.from_arrow(rows)
        found: pa.Table = present.query("present", "select * from present").to_arrow_table()
    return found


QUERIES: Mapping[str, Query] = {"Polars": in_polars, "DuckDB": in_duckdb}


LAKES = ("parquet", "delta", "iceberg")
RETYPED = "retyped"  # the table whose column changes its type
_KILL, _FOREIGN, _RESOLVED, _MISTYPED = 0.3, 0.35, 0.6, 0.15  # shares of rounds
_WAIT = 20  # seconds until a server has noticed that a killed run is gone

Report = Callable[[str, Iterable[str]], None]
Tables = Mapping[str, Sequence[Row]]


class Source(Protocol):
    """A live database.

    options     of ggfmt, for its changes
    keys        the columns of the primary keys, by table
    described   events show which columns were dropped
    ignored     columns whose values events do not have
    readings    what makes of a text in a result that of the database, by column: where events have other texts
    foreign     tables for foreign commits, all with an integer key `id` and the same columns for ever
    mistyped    a type as `--type` takes it that the values of a table do not fit, by table
    """

    @property
    def url(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def keys(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def described(self) -> bool: ...
    @property
    def ignored(self) -> Sequence[str]: ...
    @property
    def readings(self) -> Mapping[str, Callable[[str], str]]: ...
    @property
    def foreign(self) -> Sequence[str]: ...
    @property
    def mistyped(self) -> Mapping[str, str]: ...

    def play(self, transactions: int, writers: int) -> Path:
        """Run transactions, several at once, and return the file with their events."""

    def retype(self, is_text: bool) -> None:
        """Change the type of a column of the table `RETYPED` to a text, or back, and the values of all its rows."""

    def rows(self) -> Tables:
        """Return the rows of all tables as texts."""


class Round:
    """What a target has to equal. `changed`: tables with an event in the round; `is_text`: `RETYPED` has texts."""

    def __init__(self, source: Source, changed: set[str], is_text: bool) -> None:
        self.tables = source.rows()
        self.changed, self.is_text = changed, is_text
        self.retyped = next(name for name in source.keys if split_name(name)[-1] == RETYPED)


class Target:
    """A result that follows the source. `counts` of what happened; `unset` of the last round, by table and column."""

    what: str

    def __init__(self, source: Source, events: Path, random: Random, counts: Counter[str]) -> None:
        self._source, self._events, self._random, self.counts = source, events, random, counts
        self.unset: Mapping[str, Counter[str]] = {}

    def check_round(self, round: Round) -> Iterator[str]:
        """Follow a round, and yield the differences."""
        raise NotImplementedError

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def _as_source(self, rows: list[Row]) -> list[Row]:
        for row in rows:
            for column, reading in self._source.readings.items():
                value = row.get(column)
                if value is not None:
                    row[column] = reading(value)
        return rows

    def _kill(self, command: str, *words: str, **options: Any) -> None:
        """Start a run, and kill it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "ggfmt", command, str(self._events), *words, *_as_options(options)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(self._random.uniform(0.3, 1.8))
        self.counts["kills" if process.poll() is None else "kills too late"] += 1
        process.kill()
        process.wait()

    def _compare(
        self, a: Path | str, tables: Tables, skipped: set[str], foreign: Mapping[str, Sequence[Row]], is_described: bool
    ) -> Iterator[str]:
        """Compare by `ggfmt compare`. `foreign`: rows that only the target has."""
        compared = set()
        for table in ggfmt.compare(a, self._source.url, ignore_columns=self._source.ignored or None).tables:
            name = table.table
            if name not in tables or name in skipped:
                continue
            compared.add(name)
            if table.only is not None:
                if tables[name]:
                    yield f"compare: {name}: only in {table.only}"
                continue
            unset: Mapping[str, int] = self.unset.get(name, {})
            wrong = {column: count for column, count in table.by_column.items() if count > unset.get(column, 0)}
            columns = (*table.columns_a, *table.columns_b) if is_described else table.columns_b
            missing = table.missing - len(foreign.get(name, ()))
            if missing or table.extra or wrong or table.unread or columns:
                yield f"compare: {name}: {missing} missing, {table.extra} extra, {columns}, {wrong}, {table.unread}"
        for name in {*tables} - skipped - compared:
            if tables[name]:
                yield f"compare: {name}: not compared"
        self.counts["tables compared"] += len(compared)


def _as_options(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield keyword arguments as options of a command."""
    for name, value in options.items():
        option = f"--{'type' if name == 'types' else name.replace('_', '-')}"
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield option
            if each is not True:
                yield str(each)


class LakeTarget(Target):
    """An output of `ggfmt consolidate`."""

    def __init__(self, to: Any, work: Path, *given: Any) -> None:
        super().__init__(*given)
        self.what = self._to = to
        self._output, self._work = work / to, work
        self._manifest: Mapping[str, Any] = {}
        self._damaged: dict[str, int | None] = {}  # the version to restore; None: the commit is accepted in the end
        self._foreign: dict[str, list[Row]] = {}  # rows that were accepted
        self._inserted: dict[str, Row] = {}
        self._mistyped: str | None = None
        self._as_text: list[str] = []  # types that a message has asked for

    def check_round(self, round: Round) -> Iterator[str]:
        options = self._disturb() if self._manifest and self._to != "parquet" else {}
        options = {**self._source.options, **options, "to": self._to, "checkpoint": self._work / f"seen-{self._to}"}
        types = [*options.pop("types", ()), *self._as_text]
        if self._mistyped is not None:
            types.append(self._source.mistyped[self._mistyped])
        if round.retyped in self._manifest.get("set_aside", ()) and not round.is_text:
            types.append(f"{round.retyped}.v=bigint")  # as the message says: some of its operations have texts
        options |= {"drop_columns": True, "master": "none"} | ({"types": types} if types else {})
        if self._to != "parquet":
            options["on_table_error"] = "set-aside"
        if self._happens(_KILL):
            self._kill("consolidate", "-o", str(self._output), **options)
            can_commit = self._to != "parquet" and self._manifest and "on_foreign_commit" not in options
            if can_commit and self._happens(_FOREIGN):
                self._commit_as_another()
        before = self._rows(self._refusable(round))
        aside_before = {*self._manifest.get("set_aside", ())}
        try:
            self._manifest = self._consolidate(options, round.retyped)
        except ggfmt.GgfmtError as error:
            if self._mistyped is None or f"`{self._mistyped}." not in str(error) or "no new file has" not in str(error):
                yield str(error)
            return
        aside = {*self._manifest.get("set_aside", ())}
        self.counts["tables set aside"] += len(aside)
        self.counts["tables taken up again"] += len(aside_before - aside)
        refusable = {*self._refusable(round)}
        if aside - refusable:
            yield f"set aside without a reason: {[self._manifest['set_aside'][name] for name in aside - refusable]}"
        if self._to != "parquet" and (refusable & round.changed) - aside:
            yield f"not set aside: {(refusable & round.changed) - aside}"
        for name in aside & {*before}:
            if self._rows([name])[name] != before[name]:
                yield f"{name} was changed although it was set aside"
        yield from self._differences(round, aside | ({*self._damaged}))

    def _consolidate(self, options: dict[str, Any], retyped: str) -> Mapping[str, Any]:
        try:
            return ggfmt.consolidate(self._events, self._output, **options)
        except ggfmt.GgfmtError as error:
            self.counts["stopped runs"] += 1
            if self._to == "parquet" and not self._as_text and "GG551" in str(error) and retyped in str(error):
                # Its rows have texts that are no numbers, and plain files set no table aside.
                self._as_text = [f"{retyped}.v=string"]
                options = {**options, "types": [*options.get("types", ()), *self._as_text]}
            elif not self._damaged or "GG553" not in str(error):
                raise
            # Or a killed run had committed other tables: this run ends it, and the next one sets the table aside.
            return ggfmt.consolidate(self._events, self._output, **options)

    def _refusable(self, round: Round) -> list[str]:
        """Return the tables that have to be set aside if there are changes."""
        if self._to == "parquet":
            return []
        found = {*self._damaged, *([self._mistyped] if self._mistyped else []), *([round.retyped] * round.is_text)}
        if self._to == "delta":
            found |= {name for name in self._source.keys if name.endswith('."Odd.Names"')}  # Delta has no blanks
        return sorted(found)

    def _rows(self, names: Sequence[str]) -> dict[str, list[Row]]:
        known = self._manifest.get("tables", {})
        return {name: sorted(self._read(name), key=str) for name in names if name in known}

    def _read(self, name: str, query: Query = in_polars) -> list[Row]:
        if self._to == "parquet":
            return self._as_source(read_rows(self._output / safe_name(name)))
        return self._as_source(text_rows(query(self._output, self._to, name).to_pylist()))

    def _differences(self, round: Round, skipped: set[str]) -> Iterator[str]:
        self.unset = unset_values(self._manifest)
        tables = {name: [*rows, *self._foreign.get(name, ())] for name, rows in round.tables.items()}
        tables = {name: rows for name, rows in tables.items() if name not in skipped}
        comparison = RowsComparison(self._source.keys, self._source.described, self._source.ignored)
        for by, query in QUERIES.items():
            read = partial(self._read, query=query)
            for text in comparison.differences(self._output, self._manifest, tables, self.unset, read):
                yield f"{by}: {text}"
            if self._to == "parquet":
                break
        yield from self._compare(self._output, round.tables, skipped, self._foreign, self._source.described)

    # Disturbances

    def _disturb(self) -> dict[str, Any]:
        """Change what the run meets, and return options of it."""
        options = {}
        if self._damaged and self._happens(_RESOLVED):
            for name, version in self._damaged.items():
                if version is None:
                    options["on_foreign_commit"] = "accept"
                    self._foreign.setdefault(name, []).append(self._inserted[name])
                else:
                    self._restore(name, version)
            self._damaged = {}
        elif self._happens(_FOREIGN):
            self._commit_as_another()
        if self._mistyped is None:
            known = [name for name in self._source.mistyped if name in self._manifest["tables"]]  # has the right type
            self._mistyped = self._random.choice(known) if known and self._happens(_MISTYPED) else None
        elif self._happens(_RESOLVED):
            self._mistyped = None
        return options

    def _commit_as_another(self) -> None:
        """Insert a row, or delete rows, as another program does."""
        known = self._manifest["tables"]
        names = [name for name in self._source.foreign if name in known and name not in self._damaged]
        if not names:
            return
        name = self._random.choice(names)
        version = known[name]["version"]
        if self._present_version(name) != version:
            return  # a killed run has committed it
        if self._happens(0.5):
            self._delete(name, "id > 3")
            if self._present_version(name) == version:
                return  # the table has no such rows
            self._damaged[name] = version
        else:
            self._damaged[name] = None
            self._insert(name, 9000 + self.counts["foreign commits"])
        self.counts["foreign commits"] += 1

    def _delta(self, name: str) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(str(self._output / lake_directory(name)))

    def _present_version(self, name: str) -> int:
        if self._to == "delta":
            return int(self._delta(name).version())
        return int(iceberg_table(self._output, name).current_snapshot().snapshot_id)

    def _delete(self, name: str, where: str) -> None:
        (self._delta(name) if self._to == "delta" else iceberg_table(self._output, name)).delete(where)

    def _insert(self, name: str, id: int) -> None:
        if self._to == "delta":
            from deltalake import write_deltalake

            table = self._delta(name)
            schema = pa.schema(table.schema().to_arrow())
            write_deltalake(table, _one_row(schema, id), mode="append")
        else:
            found = iceberg_table(self._output, name)
            found.append(_one_row(found.schema().as_arrow(), id))
        (self._inserted[name],) = (row for row in self._read(name) if row["id"] == str(id))

    def _restore(self, name: str, version: int) -> None:
        if self._to == "delta":
            self._delta(name).restore(version)
        else:
            iceberg_table(self._output, name).manage_snapshots().set_current_snapshot(version).commit()


def _one_row(schema: pa.Schema, id: int) -> pa.Table:
    values = {field.name: id if field.name == "id" else None for field in schema}
    return pa.Table.from_arrays([pa.array([values[field.name]], field.type) for field in schema], schema=schema)


class DatabaseTarget(Target):
    """The tables of a PostgreSQL. `lake`: has read the same events, and knows which values none of them has."""

    what = "apply"

    def __init__(self, url: str, lake: LakeTarget, *given: Any) -> None:
        super().__init__(*given)
        self._url, self._lake = url, lake
        self._skipped = {name for name, key in self._source.keys.items() if not key}  # refused without a key

    def check_round(self, round: Round) -> Iterator[str]:
        import adbc_driver_postgresql.dbapi as driver

        options = {**self._source.options, "exclude": sorted(self._skipped)}
        if self._happens(_KILL):
            self._kill("apply", self._url, **options)
        try:
            self._apply(options)
        except ggfmt.GgfmtError as error:
            if not round.is_text:
                yield str(error)
                return
            self.counts["stopped runs"] += 1
            return
        self.unset = self._lake.unset
        tables = {name: rows for name, rows in round.tables.items() if name not in self._skipped}
        with driver.connect(self._url) as connection:

            def read(name: str) -> list[Row]:
                quoted = ".".join('"' + part.replace('"', '""') + '"' for part in split_name(name))
                with connection.cursor() as cursor:
                    cursor.execute(f"select * from {quoted}")
                    return self._as_source(text_rows(cursor.fetch_arrow_table().to_pylist()))

            made = {"tables": {name: {"unresolved": 0} for name in self._lake_tables() if name in tables}}
            comparison = RowsComparison(self._source.keys, False, self._source.ignored)  # dropped columns stay
            for text in comparison.differences(Path(), made, tables, self.unset, read):
                yield f"SQL: {text}"
        yield from self._compare(self._url, tables, set(), {}, False)

    def _lake_tables(self) -> set[str]:
        return {*self._lake._manifest["tables"], *self._lake._manifest.get("set_aside", ())}

    def _apply(self, options: Mapping[str, Any]) -> None:
        limit = time.monotonic() + _WAIT
        while True:
            try:
                ggfmt.apply(self._events, self._url, **options)
                return
            except ggfmt.GgfmtError as error:
                if "GG501" not in str(error) or time.monotonic() > limit:
                    raise
                time.sleep(0.2)


def follow(
    source: Source, events: Path, work: Path, copy: str, random: Random, rounds: int, transactions: int, report: Report
) -> Counter[str]:
    """Return counts of all rounds, and report their differences. `copy`: the URL of an empty PostgreSQL for
    `ggfmt apply`."""
    counts: Counter[str] = Counter()
    lakes = [LakeTarget(to, work, source, events, random, counts) for to in LAKES]
    targets: list[Target] = [*lakes, DatabaseTarget(copy, lakes[-1], source, events, random, counts)]
    is_text = False
    for number in range(rounds):
        if number and random.random() < (_RESOLVED if is_text or number == rounds - 1 else _MISTYPED):
            is_text = not is_text
            source.retype(is_text)
        elif is_text and number == rounds - 1:
            is_text = False
            source.retype(is_text)
        path = source.play(transactions, writers=4)
        counts["rounds"] += 1
        changed = {name for name in source.keys if f'"table":"{split_name(name)[-1]}"' in path.read_text("utf-8")}
        expected = Round(source, changed, is_text)
        for target in targets:
            report(f"round {number}, {target.what}", target.check_round(expected))
    return counts
