"""MAPs in a run write the same bytes as a run of records that plain Python has mapped, one by one."""

from __future__ import annotations

import copy
import random
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from runs import count_calls, operation, run_ggfmt, write_lines

from ggfmt.diagnostics.diagnostic import ConfigurationError, Span
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Column, TableDef, name_parts
from ggfmt.replicat import account, mapping
from ggfmt.replicat.account import Account, Fate
from ggfmt.replicat.mapping import Replicat
from ggfmt.replicat.statements import (
    Kinds,
    MapStatement,
    ObjectName,
    ReplicatFile,
    WrittenName,
)

TABLES = ("A.T1", "A.T2", "B.T1", "B.U", "P.A.T1")
COLUMNS = (Column("ID", key=1), Column("NAME"), Column("AMOUNT"))
SOURCES = ("A.*", "b.*", "*.T1", "A.T?", '"A"."T1"', '"a".T1', "a.t1", "B.U", "P.A.*", "*.*", "*.*.*", "?.T2", "A.*1")
TARGETS = ("X.*", "*.*", "Y.T1", "X.N_*", "z.T1", "*.X", "*")
FLAGS = (
    *("inserts", "updates", "deletes", "truncates"),
    *("insert_all", "insert_updates", "insert_deletes", "update_deletes", "update_inserts"),
)


def object_name(text: str, line: int) -> ObjectName:
    parts = (WrittenName(part.strip('"'), part.startswith('"')) for part in text.split("."))
    return ObjectName(tuple(parts), Span("r.prm", line, 1))


def statement(source: str, target: str, line: int = 1, **options: Any) -> MapStatement:
    return MapStatement(object_name(source, line), object_name(target, line), Span("r.prm", line, 1), **options)


def selection(*maps: MapStatement, excludes: tuple[str, ...] = (), targets: Any = (), **options: Any) -> TableSelection:
    names = tuple(object_name(name, 90) for name in excludes)
    return TableSelection(maps=Replicat(ReplicatFile("r.prm", maps=maps, excludes=names, **options), dict(targets)))


# The oracle


def is_like(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(is_like(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and is_like(pattern[1:], text[1:])


def names(name: ObjectName, table: str) -> bool:
    parts = table.split(".")
    return len(parts) == len(name.parts) and all(
        is_like(own.text, part) if own.quoted else is_like(own.text.upper(), part.upper())
        for own, part in zip(name.parts, parts, strict=True)
    )


class Unknown(Exception):
    """No page says what GoldenGate does."""


def maps_of(file: ReplicatFile, table: str) -> list[tuple[MapStatement, str]]:
    if any(names(name, table) for name in file.excludes):
        return []
    found: list[tuple[MapStatement, str]] = []
    for own in file.maps:
        if not names(own.source, table):
            continue
        parts = table.split(".")
        target: list[str] = []
        for place in range(1, len(own.target.parts) + 1):
            text = own.target.parts[-place].text
            if "*" in text and place > len(parts):
                raise Unknown
            target.insert(0, text.replace("*", parts[-place]) if "*" in text else text)
        name, kinds = ".".join(target), own.kinds
        if kinds.update_deletes and (kinds.insert_all or kinds.insert_deletes):
            raise Unknown
        if kinds.update_inserts and (kinds.insert_all or kinds.insert_updates):
            raise Unknown
        twins = [(other, at) for other, at in found if at.lower() == name.lower()]
        for other, at in twins:
            wild = ["*" in str(each.source.parts) or "?" in str(each.source.parts) for each in (other, own)]
            same = (other.kinds, other.key) == (kinds, own.key)
            if at != name or (wild[0] != wild[1] and (file.allows_duplicates or not same)):
                raise Unknown
        if not twins or file.allows_duplicates:
            found.append((own, name))
    return found


def mapped(record: dict[str, Any], kinds: Kinds, target: str) -> dict[str, Any] | None:
    kind = record["op_type"]
    gets = {"I": kinds.inserts, "U": kinds.updates, "D": kinds.deletes, "T": kinds.truncates}
    if not gets[kind]:
        return None
    new = copy.deepcopy(record) | {"table": target}
    if kind == "U" and (kinds.insert_all or kinds.insert_updates):
        new["op_type"] = "I"
        del new["before"]
    elif kind == "D" and (kinds.insert_all or kinds.insert_deletes):
        new["op_type"] = "I"
        new["after"] = new.pop("before")
    elif kind == "D" and kinds.update_deletes:
        new["op_type"], new["after"] = "U", new["before"]
    elif kind == "I" and kinds.update_inserts:
        new["op_type"] = "U"
    return new


def expected(
    records: list[dict[str, Any]], file: ReplicatFile
) -> tuple[list[dict[str, Any]], dict[str, TableDef], Account]:
    made: list[dict[str, Any]] = []
    definitions: dict[str, TableDef] = {}
    counts = Account()
    for table in TABLES:
        for own, target in maps_of(file, table):
            definition = TableDef(target, COLUMNS).with_keys([name.text for name in own.key] or ["ID"])
            if definitions.setdefault(target, definition) != definition:
                raise Unknown
    for record in records:
        table = record["table"]
        found = maps_of(file, table)
        excluded = any(names(name, table) for name in file.excludes)
        if not found:
            counts[Fate(table, "r.prm:90", account.EXCLUDED) if excluded else Fate(table, "", account.UNNAMED)] += 1
            continue
        counts[Fate(table, "", account.READ)] += 1
        for own, target in found:
            new = mapped(record, own.kinds, target)
            if new is not None:
                made.append(new)
            left = account.TRUNCATES if record["op_type"] == "T" else account.IGNORED
            counts[Fate(table, f"r.prm:{own.span.line}", left if new is None else account.REACHED)] += 1
    return made, definitions, counts


def random_file(random: random.Random) -> ReplicatFile:
    maps = []
    for line in range(1, random.choice([2, 2, 3, 4])):
        flags = {flag: random.random() < (0.85 if number < 3 else 0.25) for number, flag in enumerate(FLAGS)}
        key = random.choice([(), (), (WrittenName("NAME"),), (WrittenName("id", False), WrittenName("amount"))])
        source, target = random.choice(SOURCES), random.choice(TARGETS)
        maps.append(statement(source, target, line, kinds=Kinds(**flags), key=key))
    excludes = tuple(object_name(random.choice(SOURCES), 90) for _ in range(random.choice([0, 0, 1])))
    return ReplicatFile("r.prm", maps=tuple(maps), excludes=excludes, allows_duplicates=random.random() < 0.3)


def random_records(random: random.Random, count: int) -> list[dict[str, Any]]:
    records = []
    for number in range(count):
        record = operation(number, random.choice(TABLES), random.choice("IIUUDT"))
        for image in ("before", "after"):
            if image in record:
                record[image] = dict(record[image])
        if record["op_type"] == "U":
            record["after"] |= {"NAME": f"new {number}"} | ({"ID": f"{number}x"} if random.random() < 0.3 else {})
            if random.random() < 0.5:
                del record["before"]["AMOUNT"], record["after"]["AMOUNT"]
        records.append(record)
    return records


HANDLER_LINES = tuple(
    f"gg.handler.{name}.{line}"
    for name, format in (("j", "json"), ("d", "delimitedtext"), ("z", "debezium_json"), ("x", "xml"))
    for line in (f"format={format}", f"partitionByTable={'false' if name == 'x' else 'true'}")
)
HANDLERS = (*HANDLER_LINES, "gg.handler.d.format.pkUpdateHandling=update")


@pytest.mark.parametrize("seed", range(30))
def test_random_maps_write_what_the_oracle_maps(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    while True:
        file = random_file(random_)
        records = random_records(random_, 400)
        try:
            wanted, definitions, counts = expected(records, file)
        except Unknown:
            with pytest.raises(ConfigurationError, match="GG597"):
                run(tmp_path, "refused", records, file)
            continue
        if wanted:
            break
    result = run(tmp_path, "mapped", records, file)
    inputs = [write_lines(tmp_path / "wanted.json", wanted)]
    run_ggfmt(inputs, tmp_path / "wanted", *HANDLERS, definitions=definitions)
    assert contents(tmp_path / "mapped") == contents(tmp_path / "wanted")
    assert result.totals.mapped == counts
    assert counts.read == len(records)
    assert result.report["mapped_operations"] == counts.document


def test_a_table_meets_few_of_many_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(mapping, "name_parts", lambda table: [*map(calls.append, [table]), *name_parts(table)][1:])
    maps = [statement(f"S.t{number}", f"X.T{number}", number) for number in range(1000)]
    replicat = Replicat(ReplicatFile("r.prm", maps=(*maps, statement("S.*9", "Y.*", 1000))))
    assert [own.target for own in replicat.maps_of("S.T519")] == ["X.T519", "Y.T519"]
    assert len(calls) <= 10
    assert not replicat.joins
    assert Replicat(ReplicatFile("r.prm", maps=(*maps, statement("S.U", "x.t7", 1000)))).joins
    assert Replicat(ReplicatFile("r.prm", maps=(*maps, statement("S.U", "X.*", 1000)))).joins


def random_name(random_: random.Random) -> str:
    parts = (random_.choice(["A", "a", "B", "T1", "*", "T*", "?"]) for _ in range(random_.randint(1, 3)))
    return ".".join(parts)


def may_meet(one: str, other: str) -> bool:
    pairs = [*zip(one.lower().split("."), other.lower().split("."), strict=False)]
    return one.count(".") == other.count(".") and all(a == b or {*"*?"} & {*a, *b} for a, b in pairs)


def test_tables_may_have_one_target_if_two_targets_may_meet() -> None:
    random_, found = random.Random(1), set()
    for _ in range(2000):
        targets = [random_name(random_) for _ in range(random_.randint(1, 4))]
        maps = [statement("S.T", target, line) for line, target in enumerate(targets)]
        expected = any(may_meet(one, other) for one, other in combinations(targets, 2))
        assert Replicat(ReplicatFile("r.prm", maps=tuple(maps))).joins == expected, targets
        found.add((len(targets), expected))
    assert found == {(count, expected) for count in (1, 2, 3, 4) for expected in (True, False)} - {(1, True)}


def test_the_work_for_targets_grows_as_their_number_does() -> None:
    def work(count: int) -> int:
        maps = [statement(f"S{number}.*", f"X{number}.*", number) for number in range(count)]
        maps += [statement(f"S{number}.T", f"Y{number}.T", number) for number in range(count)]
        replicat = Replicat(ReplicatFile("r.prm", maps=tuple(maps)))
        return count_calls(lambda: replicat.joins)

    few, many = work(100), work(1000)
    assert few > 100
    assert many < 11 * few


def test_tables_meet_few_of_many_maps_with_wildcards(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(count: int) -> int:
        maps = [statement(f"S{number}.*", f"X{number}.*", number) for number in range(count)]
        replicat = Replicat(ReplicatFile("r.prm", maps=tuple(maps)))
        return count_calls(lambda: [replicat.maps_of(f"S{number}.T") for number in range(count)])

    assert work(2000) < 11 * work(200)


def run(tmp_path: Path, name: str, records: list[dict[str, Any]], file: ReplicatFile) -> Any:
    half = len(records) // 2
    parts = (records[:half], records[half:])
    inputs = [write_lines(tmp_path / f"{number}.json", part) for number, part in enumerate(parts)]
    tables = {table: TableDef(table, COLUMNS) for table in TABLES}
    own = TableSelection(maps=Replicat(file))
    return run_ggfmt(inputs, tmp_path / name, *HANDLERS, definitions=tables, selection=own, split_size=4096)


def contents(output: Path) -> dict[str, bytes]:
    """The bytes of all tables: how many files there are depends on the splits. Copies of an operation for several
    tables are in any order if the tables have one file."""
    found: dict[str, bytes] = {}
    for path in sorted(output.rglob("*.txt")):
        place = str(path.relative_to(output).parent)
        found[place] = found.get(place, b"") + path.read_bytes()
    interleaved = found.pop("x").split(b"</operation>\n")
    positions = [re.findall(b"pos='([^']*)'", text) for text in interleaved]
    assert positions[:-1] == sorted(positions[:-1])
    return found | {f"x {number}": text for number, text in enumerate(sorted(interleaved))}
