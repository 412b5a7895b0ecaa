"""Changes into a table of PostgreSQL, beside `COPY` and `MERGE` by hand, in turns.

usage: python tests/bench/apply.py [--rows N ...] [--changes N ...] [--rounds N]

ggfmt  reads GoldenGate's JSON, finds the rows, writes them into the table, and compares what the server has stored
hand   copies the rows, already consolidated and typed, from Parquet into a temporary table, merges and deletes them

Of the changes 60 % are updates, 20 % inserts and 20 % deletes. The table is put back before each turn, outside of the
measured time, which is that of the whole work with all imports. Seconds of the server count as waiting.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa
import pyarrow.parquet as parquet
from comparison.machine import machine
from comparison.measured import Measure, measure
from consolidate import report
from postgres import Server, programs, reachable_server

COLUMNS = "id bigint primary key, name text, amount numeric(12,2), placed timestamp, note text"
BY_HAND = """
import sys
import adbc_driver_postgresql.dbapi as driver, pyarrow.parquet as parquet
with driver.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.adbc_ingest("new", parquet.read_table(sys.argv[2]).to_reader(), mode="create", temporary=True)
    cursor.adbc_ingest("gone", parquet.read_table(sys.argv[3]).to_reader(), mode="create", temporary=True)
    cursor.execute("analyze new"); cursor.execute("analyze gone")
    cursor.execute("delete from s.t using gone where t.id = gone.id")
    cursor.execute("merge into s.t using new as s on t.id = s.id when matched then update set name = s.name,"
        " amount = s.amount::numeric, placed = s.placed, note = s.note when not matched then insert"
        " values (s.id, s.name, s.amount::numeric, s.placed, s.note)")
    connection.commit()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[300_000, 10_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[30_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = programs()
    assert found is not None, "there is no PostgreSQL"
    for rows, changes in zip(options.rows, options.changes, strict=True):
        with reachable_server(found) as server, tempfile.TemporaryDirectory() as work:
            report(f"{rows:,} rows, {changes:,} changes", compare(server, rows, changes, options.rounds, Path(work)))
    print(machine(len(os.sched_getaffinity(0))))


def compare(server: Server, rows: int, changes: int, rounds: int, work: Path) -> dict[str, list[Measure] | str]:
    values = "n, 'name ' || n, n % 1000 + 0.25, timestamp '2026-01-01' + n * interval '1 second', repeat('x', 20)"
    server.run(f"create schema s; create table s.kept ({COLUMNS})")
    server.run(f"insert into s.kept select {values} from generate_series(1, {rows}) n")
    write(work, rows, changes)
    sides = {
        "ggfmt": [sys.executable, "-m", "ggfmt", "-q", "apply", f"{work}/changes.json", server.url, "--key", "ID"],
        "hand": [sys.executable, "-c", BY_HAND, server.url, f"{work}/new.parquet", f"{work}/gone.parquet"],
    }
    results: dict[str, list[Measure] | str] = {}
    ends = set()
    for _ in range(rounds):
        for side, command in sides.items():
            server.run(
                "drop table if exists s.t, ggfmt_state; create table s.t (like s.kept including all);"
                "insert into s.t select * from s.kept; vacuum analyze s.t"
            )
            runs = results.setdefault(side, [])
            assert isinstance(runs, list)
            runs.append(measure(command, seconds=3600))
            ends.add(server.run("select count(*), sum(amount), sum(hashtextextended(t::text, 0)) from s.t t"))
    assert len(ends) == 1, ends
    return results


def write(work: Path, rows: int, changes: int) -> None:
    """Write operations, and the rows and deletes that they come to."""
    step = max(rows // changes, 1)
    new: list[tuple[int, str, str, str, str]] = []
    gone: list[int] = []
    with (work / "changes.json").open("w", encoding="utf-8") as file:
        for number in range(changes):
            kind, key = ("D", "U", "U", "I", "U")[number % 5], 1 + number * step
            key += rows * step if kind == "I" else 0
            place = {"table": "S.T", "op_type": kind, "op_ts": "2026-02-01 00:00:00", "pos": f"{number:020d}"}
            before = {"ID": key, "NAME": f"name {key}", "AMOUNT": f"{key % 1000}.25"}
            row = (key, f"changed {key}", f"{number % 1000}.50", "2026-02-01 00:00:00", "changed")
            after = dict(zip(("ID", "NAME", "AMOUNT", "PLACED", "NOTE"), row, strict=True))
            images = {"I": {"after": after}, "U": {"before": before, "after": after}, "D": {"before": before}}[kind]
            file.write(json.dumps({**place, **images}) + "\n")
            if kind == "D":
                gone.append(key)
            else:
                new.append(row)
    names = ("id", "name", "amount", "placed", "note")
    table = pa.table(dict(zip(names, zip(*new, strict=True), strict=True)))
    placed = table["placed"].cast(pa.timestamp("us"))
    parquet.write_table(table.set_column(3, "placed", placed), work / "new.parquet")
    parquet.write_table(pa.table({"id": gone}), work / "gone.parquet")


if __name__ == "__main__":
    main()
