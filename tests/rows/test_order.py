"""Positions order operations of one log; where a source starts another one, nothing silently keeps an old value."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from places import PACKAGE, SHARED_DATA
from runs import write_lines as write_records

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, UsageError

START = 1_700_000_000  # seconds since 1970
NAMES = {"I": "insert", "U": "update", "D": "delete"}
Record = dict[str, Any]
Made = Callable[[str, int, Any], Record]  # a record, by its operation, its second and its position


def write_lines(path: Path, made: Sequence[Record]) -> Path:
    path.parent.mkdir(exist_ok=True)
    return write_records(path, made)


def row(op: str, key: int = 1) -> Record:
    return {"ID": key, "V": "a" if op == "I" else "b"}


def debezium(op: str, second: int, position: Record, key: int = 1, **source: Any) -> Record:
    shown = row(op, key)
    images = {"before": shown if op == "D" else None, "after": None if op == "D" else shown}
    block = {"connector": "mysql", "name": "shop", "db": "S", "table": "T", "snapshot": "false", **position, **source}
    return {**images, "op": {"I": "c", "U": "u", "D": "d"}[op], "source": {**block, "ts_ms": (START + second) * 1000}}


def binlog(op: str, second: int, at: tuple[int, int, int], key: int = 1, **source: Any) -> Record:
    """A change in a binary log, at a place (server, file, byte)."""
    server, file, pos = at
    place = {"server_id": server, "file": f"bin.{file:06d}", "pos": pos, "row": 0}
    return debezium(op, second, place, key, **source)


def canal(op: str, second: int, at: Record, key: int = 1) -> Record:
    head = {"type": NAMES[op].upper(), "isDdl": False, "database": "S", "table": "T", "es": (START + second) * 1000}
    return {**head, "pkNames": ["ID"], "mysqlType": {"ID": "int", "V": "text"}, "data": [row(op, key)], **at}


def maxwell(op: str, second: int, at: Record) -> Record:
    head = {"database": "S", "table": "T", "type": NAMES[op], "ts": START + second}
    return {**head, "primary_key_columns": ["ID"], "data": row(op), **at}


def goldengate(op: str, second: int, pos: int, key: int = 1) -> Record:
    stamp = f"2023-11-14 22:{second // 60:02d}:{second % 60:02d}.000000"
    image = {"before": row(op, key)} if op == "D" else {"after": row(op, key)}
    return {"table": "S.T", "op_type": op, "op_ts": stamp, "pos": f"{pos:020d}", "primary_keys": ["ID"], **image}


def dms(op: str, second: int, position: str) -> Record:
    stamp = f"2023-11-14T22:00:{second:02d}.000000Z"
    head = {"timestamp": stamp, "record-type": "data", "operation": NAMES[op], "schema-name": "S", "table-name": "T"}
    return {"data": row(op), "metadata": {**head, "stream-position": position}}


def shareplex(op: str, second: int, scn: int) -> Record:
    stamp = f"2023-11-14T22:00:{second:02d}"
    return {"meta": {"op": op.replace("I", "ins").replace("U", "upd").replace("D", "del"), "table": "S.T",
                     "time": stamp, "scn": scn}, "data": row(op)}  # fmt: skip


def cdl(op: str, second: int, lsn: int) -> Record:
    source = {"db": "D", "schema": "S", "table": "T", "ts_ms": (START + second) * 1000, "lsn": lsn}
    images = {"before": row(op) if op == "D" else None, "after": None if op == "D" else row(op)}
    head = {"message_version": "2.0", "op": {"I": "c", "U": "u", "D": "d"}[op], "unique": {"ID": 1}}
    return {"schema": None, "payload": {**head, **images, "source": source}}


def sql_server(op: str, second: int, lsn: int) -> Record:
    place = {"commit_lsn": f"{lsn:08d}:00000ac0:0002", "change_lsn": f"{lsn:08d}:00000ac0:0001"}
    return debezium(op, second, {**place, "event_serial_no": 1}, connector="sqlserver", schema="dbo")


def postgresql(op: str, second: int, lsn: int) -> Record:
    return debezium(op, second, {"lsn": lsn, "sequence": f'["{lsn - 1}","{lsn}"]'}, connector="postgresql", schema="P")


def oracle(op: str, second: int, scn: int) -> Record:
    return debezium(op, second, {"scn": str(scn), "commit_scn": str(scn + 1)}, connector="oracle", schema="P")


def of_connector(name: str, schema: str | None = "P") -> Made:
    def made(op: str, second: int, place: Record) -> Record:
        return debezium(op, second, place, connector=name, schema=schema)

    return made


def qlik(op: str, second: int, position: int) -> Record:
    head = {"operation": NAMES[op].upper(), "timestamp": f"2023-11-14T22:00:{second:02d}.000", "changeSequence": "1"}
    return {"schema": "S", "table": "T", "data": row(op), "beforeData": None,
            "headers": {**head, "streamPosition": str(position)}}  # fmt: skip


def arcion(op: str, second: int, position: int) -> Record:
    cursor = {"timestamp": (START + second) * 1000, "log": f"bin.{position // 1000:06d}", "position": position % 1000}
    texts = {name: str(value) for name, value in row(op).items()}
    none = dict.fromkeys(texts, "null")
    states = dict.fromkeys(texts, "2" if op == "D" else "1")
    name = {"namespace": {"catalog": None, "schema": "S"}, "name": "T"}
    return {"tableName": name, "opType": op, "cursor": json.dumps(cursor), "before": texts if op == "D" else none,
            "after": none if op == "D" else texts, "exists": states}  # fmt: skip


def message(op: str, second: int, at: tuple[int, int]) -> Record:
    """A message as `kcat -J` shows it, of a format without positions; `at`: partition and offset."""
    partition, offset = at
    value = {"type": NAMES[op].upper(), "isDdl": False, "database": "S", "table": "T", "es": (START + second) * 1000}
    value |= {"pkNames": ["ID"], "data": [row(op)]}
    return {"topic": "t", "partition": partition, "offset": offset, "key": None, "payload": json.dumps(value)}


PLACES = ("m.000009:4", "m.000009:90", "m.000002:7")  # in binary logs
GTIDS = tuple(f"{n}e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for n, number in ((3, 8), (3, 9), (4, 2)))
RIGHT, STOPS = "right", "stops"
# The lines of the table in `row-identity.md`: two positions before the log ends and one after it, and what ggfmt does.
RESTARTS: dict[str, tuple[Made, Sequence[Any], str]] = {
    "a trail of GoldenGate": (goldengate, (120_000_001_000, 120_000_002_000, 1500), STOPS),
    "Debezium, MySQL": (binlog, ((1, 123, 100), (1, 123, 200), (2, 2, 50)), RIGHT),
    "Debezium, MySQL, one server": (binlog, ((1, 123, 100), (1, 123, 200), (1, 1, 4)), STOPS),
    "Debezium, PostgreSQL": (postgresql, (9_000, 9_100, 300), STOPS),
    "Debezium, SQL Server": (sql_server, (50, 60, 40), STOPS),
    "Debezium, Oracle": (oracle, (900, 910, 600), STOPS),
    "Debezium, Db2": (of_connector("db2"), [{"commit_lsn": f"0000:{n:04d}", "change_lsn": f"0000:{n:04d}"}
                                            for n in (50, 60, 40)], STOPS),
    "Debezium, CockroachDB": (of_connector("cockroachdb"), [{"ts_hlc": f"167933761300000000{n}.0000000003"}
                                                            for n in (1, 2, 3)], RIGHT),
    "Debezium, Vitess": (of_connector("vitess", None), [{"vgtid": f'[{{"gtid":"{n}"}}]'} for n in (9, 8, 5)], RIGHT),
    "Debezium, Spanner": (of_connector("spanner", None), [{"server_transaction_id": f"MTY{n}==", "mod_number": 0}
                                                          for n in (9, 8, 5)], RIGHT),
    "Debezium, TiCDC": (of_connector("TiCDC", None), [{"file": "", "pos": 0, "commit_ts": n} for n in (4, 5, 6)],
                        RIGHT),
    "Qlik": (qlik, (900, 910, 600), STOPS),
    "Arcion": (arcion, (9004, 9090, 2007), STOPS),
    "Canal, id": (canal, ({"id": 100}, {"id": 101}, {"id": 1}), RIGHT),
    "Canal, gtid": (canal, [{"id": n, "gtid": gtid} for n, gtid in enumerate(GTIDS)], RIGHT),
    "Maxwell, server_id": (maxwell, [{"position": at, "server_id": n // 2} for n, at in enumerate(PLACES, 2)], RIGHT),
    "Maxwell, no server_id": (maxwell, [{"position": p} for p in PLACES], STOPS),
    "Maxwell, gtid": (maxwell, [{"gtid": gtid} for gtid in GTIDS], RIGHT),
    "AWS DMS": (dms, ("0000002A/1.1.0", "0000002A/2.1.0", "00000001/1.1.0"), RIGHT),
    "SharePlex": (shareplex, (900, 910, 600), STOPS),
    "CDL": (cdl, (900, 910, 600), STOPS),
    "offsets of Kafka": (message, ((0, 7), (0, 8), (0, 0)), STOPS),
    "offsets of two partitions": (message, ((0, 7), (0, 8), (1, 0)), RIGHT),
}  # fmt: skip
OPTIONS: dict[str, Any] = {"key": "ID", "to": "json", "master": "none"}


def records(name: str, seconds: Sequence[int] = (1, 2, 3)) -> list[Record]:
    make, positions, _ = RESTARTS[name]
    return [make(op, second, at) for op, second, at in zip("IUD", seconds, positions, strict=True)]


def current(*inputs: Path, out: Path, **options: Any) -> list[Record]:
    ggfmt.consolidate([*inputs], out, **{**OPTIONS, **options})
    lines = (line for path in sorted(out.glob("*.T/*.json")) for line in path.read_text().splitlines())
    return [json.loads(line) for line in lines]


def stop(*inputs: Path, out: Path, **options: Any) -> list[str]:
    with pytest.raises((Abend, UsageError)) as error:
        current(*inputs, out=out, **options)
    assert not list(out.glob("*.T"))
    return [str(found) for found in error.value.diagnostics]


@pytest.mark.parametrize("name", RESTARTS)
def test_a_log_that_starts_again_leaves_no_old_value(tmp_path: Path, name: str) -> None:
    path = write_lines(tmp_path / "a.json", records(name))
    if RESTARTS[name][2] == RIGHT:
        assert current(path, out=tmp_path / "out", strict=True) == []
        return
    found = stop(path, out=tmp_path / "out")
    assert len(found) == 3
    assert all("GG556" in each for each in found)
    assert [each.count("a.json, byte ") for each in found] == [0, 1, 1]
    assert current(path, out=tmp_path / "by input", order="input") == []
    assert len(current(path, out=tmp_path / "by position", order="position")) == 1


@pytest.mark.parametrize("name", RESTARTS)
def test_a_log_that_starts_again_between_two_runs_leaves_no_old_value(tmp_path: Path, name: str) -> None:
    first, last = records(name)[:2], records(name)[2:]
    options = {"checkpoint": tmp_path / "seen", "to": "parquet"}
    write_lines(tmp_path / "in" / "a.json", first)
    current(tmp_path / "in", out=tmp_path / "out", **options)
    write_lines(tmp_path / "in" / "b.json", last)
    if RESTARTS[name][2] == RIGHT:
        manifest = ggfmt.consolidate(tmp_path / "in", tmp_path / "out", **{**OPTIONS, **options})
        assert [table["rows"] for table in manifest["tables"].values()] == [0]
    else:
        with pytest.raises(UsageError, match="GG551"):
            current(tmp_path / "in", out=tmp_path / "out", **options)


def test_messages_of_kafka_order_numbers_of_one_process(tmp_path: Path) -> None:
    """Canal's `id` is no position: in dumps of a topic, offsets are."""
    made = [canal(op, n, {"id": number}) for n, (op, number) in enumerate((("I", 8), ("U", 9), ("D", 1)))]
    records = [
        {"topic": "t", "partition": 0, "offset": n, "key": None, "payload": json.dumps(one)}
        for n, one in enumerate(made)
    ]
    write_lines(tmp_path / "b.json", records[:2])
    write_lines(tmp_path / "a.json", records[1:])
    assert current(tmp_path / "a.json", tmp_path / "b.json", out=tmp_path / "out", strict=True) == []


def test_the_page_has_a_line_for_each_kind_of_log() -> None:
    page = (PACKAGE / "docs/explanation/row-identity.md").read_text()
    for name in ("GoldenGate", "server_id", "source.name", "PostgreSQL", "SQL Server", "Oracle", "Canal", "Maxwell",
                 "DMS", "SharePlex", "CDL", "Kafka", "Db2", "CockroachDB", "Qlik", "Arcion", "DTS"):  # fmt: skip
        assert name in page.partition("## Logs and positions")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", ["Debezium, MySQL", "Canal, gtid", "Maxwell, server_id", "Maxwell, gtid"])
def test_another_log_at_an_earlier_time_stops_the_run(tmp_path: Path, name: str) -> None:
    path = write_lines(tmp_path / "a.json", records(name, (5, 6, 3)))
    found = stop(path, out=tmp_path / "out")
    assert "contradict the order of the input" in found[0]
    assert len(found) == 3


@pytest.mark.parametrize("name", ["Debezium, MySQL", "Canal, gtid", "Maxwell, server_id", "Maxwell, gtid"])
def test_another_log_at_an_earlier_time_than_the_last_run_stops_the_run(tmp_path: Path, name: str) -> None:
    made = records(name, (5, 6, 3))
    options = {"checkpoint": tmp_path / "seen", "to": "parquet"}
    write_lines(tmp_path / "in" / "a.json", made[:2])
    current(tmp_path / "in", out=tmp_path / "out", **options)
    write_lines(tmp_path / "in" / "b.json", made[2:])
    with pytest.raises(UsageError, match=r"GG551.*another log at 20.*, before 20.* at position"):
        current(tmp_path / "in", out=tmp_path / "out", **options)
    current(tmp_path / "in", out=tmp_path / "out", order="input", **options)


def _place(at: Any) -> Any:
    return next(iter(at.values())) if isinstance(at, dict) else at


@pytest.mark.parametrize("name", [name for name, (_, _, found) in RESTARTS.items() if found == STOPS])
def test_files_in_another_order_with_times_that_agree_with_positions_are_right(tmp_path: Path, name: str) -> None:
    """Also operations that come again."""
    make, positions, _ = RESTARTS[name]
    one, two, three = (
        make(op, n, at) for n, (op, at) in enumerate(zip("IUD", sorted(positions, key=_place), strict=True))
    )
    write_lines(tmp_path / "b.json", [one, two, one, two])
    write_lines(tmp_path / "a.json", [two, three])
    assert current(tmp_path / "a.json", tmp_path / "b.json", out=tmp_path / "out", strict=True) == []


def test_servers_that_share_a_binary_log_follow_each_other(tmp_path: Path) -> None:
    """`server_id` is that of the server where a change was made first: in circular replication it alternates."""
    made = [binlog("I", 0, (1, 3, 100))]
    made += [binlog("U", second, (1 + second % 2, 3 + second // 5, 100 + second)) for second in range(1, 9)]
    made += [binlog("D", 9, (1, 5, 9))]
    write_lines(tmp_path / "in" / "0.json", made[:5])
    write_lines(tmp_path / "in" / "1.json", made[3:])
    assert current(tmp_path / "in", out=tmp_path / "out") == []
    swapped = [tmp_path / "in" / "1.json", tmp_path / "in" / "0.json"]
    write_lines(swapped[0], made[5:])
    assert "GG556" in stop(*swapped, out=tmp_path / "swapped")[0]
    assert current(*swapped, out=tmp_path / "by position", order="position") == []


def test_rows_of_a_snapshot_are_of_no_server_and_come_before_all_that_follows(tmp_path: Path) -> None:
    """MySQL's connector writes the server 0 in a snapshot; its rows have the time at which they were read."""

    def read(second: int, file: int) -> list[Record]:
        return [{**binlog("I", second, (0, file, 4), key), "op": "r"} for key in (2, 1)]

    made = [*read(30, 9), binlog("U", 20, (7, 9, 80)), *read(50, 2)]
    made += [binlog("U", 49, (8, 2, 60)), binlog("D", 55, (8, 2, 90)), binlog("D", 56, (8, 2, 95), 2)]
    path = write_lines(tmp_path / "a.json", made[:3])
    assert [found["V"] for found in current(path, out=tmp_path / "one")] == ["a", "b"]
    path = write_lines(tmp_path / "b.json", made)
    assert current(path, out=tmp_path / "two") == []
    options = {"checkpoint": tmp_path / "seen", "to": "parquet"}
    write_lines(tmp_path / "in" / "a.json", made[:3])
    current(tmp_path / "in", out=tmp_path / "out", **options)
    write_lines(tmp_path / "in" / "b.json", made[3:])
    manifest = ggfmt.consolidate(tmp_path / "in", tmp_path / "out", **{**OPTIONS, **options})
    assert manifest["tables"]["S.T"]["rows"] == 0


@pytest.mark.example("GG556")
def test_a_truncate_in_a_log_made_again_stops_the_run(tmp_path: Path) -> None:
    truncate = {**goldengate("D", 9, 5), "op_type": "T"}
    del truncate["before"]
    path = write_lines(tmp_path / "a.json", [goldengate("I", 1, 100), goldengate("U", 2, 200), truncate])
    assert "GG556" in stop(path, out=tmp_path / "out")[0]


def test_times_of_different_rows_need_no_order(tmp_path: Path) -> None:
    made = [goldengate("I", 40 - n, n, n) for n in range(1, 30)]
    path = write_lines(tmp_path / "a.json", made)
    assert len(current(path, out=tmp_path / "one", strict=True)) == 29
    write_lines(tmp_path / "b.json", made[15:])
    write_lines(tmp_path / "c.json", made[:15])
    assert len(current(tmp_path / "b.json", tmp_path / "c.json", out=tmp_path / "two", strict=True)) == 29
    servers = [binlog("I", 40 - n, (1 + n % 2, n, 4), n) for n in range(1, 30)]
    path = write_lines(tmp_path / "d.json", servers)
    assert len(current(path, out=tmp_path / "three", strict=True)) == 29


def test_servers_without_all_positions_leave_the_order_to_the_input(tmp_path: Path) -> None:
    made = [debezium("I", 1, {"server_id": 1}), binlog("U", 2, (1, 10, 4)), binlog("D", 3, (2, 2, 4))]
    assert current(write_lines(tmp_path / "a.json", made), out=tmp_path / "out", strict=True) == []


def test_a_run_goes_on_after_a_result_of_an_older_version(tmp_path: Path) -> None:
    options = {"checkpoint": tmp_path / "seen", "to": "parquet"}
    write_lines(tmp_path / "in" / "a.json", [goldengate("I", 1, 10)])
    current(tmp_path / "in", out=tmp_path / "out", **options)
    path = tmp_path / "out" / "_ggfmt" / "manifest.json"
    document = json.loads(path.read_text())
    for name in ("last_places", "sources"):
        del document["tables"]["S.T"][name]
    path.write_text(json.dumps(document))
    write_lines(tmp_path / "in" / "b.json", [goldengate("U", 2, 20)])
    manifest = ggfmt.consolidate(tmp_path / "in", tmp_path / "out", **{**OPTIONS, **options})
    assert [place["position"] for place in manifest["tables"]["S.T"]["last_places"]] == [f"{20:020d}"]
    del document["tables"]["S.T"]
    write_lines(tmp_path / "in" / "c.json", [goldengate("U", 3, 15)])
    with pytest.raises(UsageError, match="GG551"):
        current(tmp_path / "in", out=tmp_path / "out", **options)


# Sources


def two_sources() -> list[Record]:
    return [binlog("I", 1, (1, 1, 100), name="east"), binlog("U", 2, (1, 1, 200), name="west")]


@pytest.mark.example("GG557")
def test_records_of_two_sources_are_not_one_table(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.json", two_sources())
    (found,) = stop(path, out=tmp_path / "out")
    for word in ("GG557", "S.T", "`source.name`", "`east`", "`west`", "--table"):
        assert word in found or word == "--table"
    assert len(current(path, out=tmp_path / "by input", order="input")) == 1
    flat = [{"ID": 1, "__op": "c", "__table": "T", "__db": "S", "__source_name": name} for name in ("east", "west")]
    assert "GG557" in stop(write_lines(tmp_path / "b.json", flat), out=tmp_path / "out")[0]
    made = [cdl("I", 1, 1), cdl("U", 2, 2), cdl("D", 3, 3)]
    for record, name in zip(made, ("east", "east", "west"), strict=True):
        record["payload"]["source"]["name"] = name
    assert "`payload.source.name`" in stop(write_lines(tmp_path / "c.json", made), out=tmp_path / "out")[0]


def test_records_of_another_source_in_a_later_run_are_refused(tmp_path: Path) -> None:
    options = {"checkpoint": tmp_path / "seen", "to": "parquet"}
    for number, record in enumerate(two_sources()):
        write_lines(tmp_path / "in" / f"{number}.json", [record])
        if number:
            with pytest.raises(UsageError, match="GG557"):
                current(tmp_path / "in", out=tmp_path / "out", **options)
        else:
            current(tmp_path / "in", out=tmp_path / "out", **options)


CASES = SHARED_DATA / "cases" / "order"


@pytest.mark.skipif(not CASES.exists(), reason="the data are not there")
@pytest.mark.parametrize(
    ("name", "code"),
    [("canal-id-restarts", ""), ("mysql-failover", ""), ("trail-made-again", "GG556"), ("two-sources", "GG557")],
)
@pytest.mark.parametrize("kernels", ["", "off"])
def test_recorded_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, kernels: str) -> None:
    monkeypatch.setenv("GGFMT_KERNELS", kernels or "on")
    path = next(CASES.glob(f"{name}*"))
    options: dict[str, Any] = {"key": "k" if name == "two-sources" else "id", "strict": True}
    if name == "trail-made-again":
        options["key"] = None
    if code:
        assert code in stop(path, out=tmp_path / "out", **options)[0]
    else:
        ggfmt.consolidate(path, tmp_path / "out", **{**OPTIONS, **options})
        assert not [file for file in tmp_path.glob("out/*.*/*.json") if file.read_text()]


@pytest.mark.skipif(not CASES.exists(), reason="the data are not there")
def test_halves_of_a_key_update_in_another_order_lose_no_row_silently(tmp_path: Path) -> None:
    to = tmp_path / "out"
    ggfmt.consolidate(CASES / "delete-insert-pair", to, to="json", master="none", starts_empty=True)
    shown = {json.loads(line)["id"] for path in to.glob("S.T668/*.json") for line in path.read_text().splitlines()}
    lost = {
        json.loads(line)["after"]["id"]
        for path in to.glob("_unresolved/*.json")
        for line in path.read_text().splitlines()
        if json.loads(line)["after"]
    }
    assert shown | {int(key) for key in lost} == {2, 5, 6}
