"""`ggfmt apply` into a MariaDB: rows that move, types, and what others do meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from lake_tables import add_changes, change
from mariadb import Server, server_or_skip

import ggfmt
from ggfmt.rows.targets.database_state import ApplyOptions
from ggfmt.rows.targets.mariadb_state import ApplyMariaDB

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server_or_skip() as started:
        yield started


class Database:
    """The database `shop`, and the directory with the change files."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.server, self.directory = server, directory
        self.url = f"mysql://root@127.0.0.1:{server.port}/shop"
        server.run("drop database if exists shop; create database shop character set latin1")

    def run(self, statements: str) -> None:
        self.server.run(f"use shop; {statements}")

    def apply(self, changes: Sequence[Any] = (), **options: Any) -> Any:
        if changes:
            add_changes(self.directory, f"{len(list(self.directory.glob('changes/*'))):04d}", list(changes))
        return ggfmt.apply(self.directory / "changes", self.url, **{"key": "ID", "types": "*.ID=bigint", **options})

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.server.connected("shop") as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return [*cursor.fetchall()]


@pytest.fixture
def database(running: Server, tmp_path: Path) -> Database:
    return Database(running, tmp_path)


def moved(position: int, old: Any, new: Any, table: str = "S.T", **values: Any) -> dict[str, Any]:
    moment = {"op_ts": "2026-01-01 00:00:00"}
    return change("U", position, table, before={"ID": old, **values}, after={"ID": new, **values}) | moment


def refused(words: str) -> Any:
    return pytest.raises(ggfmt.GgfmtError, match=f"(?s){words}")


KEYS = {
    "int": ["1", "2", "3", "8"],
    "decimal(3,0)": ["1", "2", "3", "8"],
    "varchar(3)": ["a", "b", "c", "x"],
    "varchar(3) character set utf8mb4 collate utf8mb4_unicode_ci": ["a", "b", "c", "x"],
    "varbinary(20)": ["a", "b", "c", "x"],
    "date": [f"2026-01-0{digit}" for digit in "1238"],
    "uuid": [f"00000000-0000-0000-0000-00000000000{digit}" for digit in "1238"],
    "datetime(3)": [f"2026-01-0{digit} 10:00:00.500" for digit in "1238"],
}


@pytest.mark.parametrize("type", KEYS)
def test_rows_change_keys_in_a_ring(database: Database, type: str) -> None:
    one, two, three, free = KEYS[type]
    database.run(
        f"create table T (id {type} primary key, v text, own int);"
        f"insert into T values ('{one}', 'first', 1), ('{two}', 'second', 2), ('{three}', 'third', 3);"
        f"create table C (id int primary key, t {type}, foreign key (t) references T (id) on update cascade);"
        f"insert into C values (1, '{one}'), (2, '{two}')"
    )
    pairs = [(three, free), (two, three), (one, two), (free, one)]
    database.apply([moved(1, old, new) for old, new in pairs], types=["*.ID=string"])
    found = database.rows("select v, own, (select id from C where t = T.id) from T order by T.id")
    assert found == [("third", 3, None), ("first", 1, 1), ("second", 2, 2)]


def test_a_key_of_two_columns_follows_its_parent(database: Database) -> None:
    database.run(
        "create table P (id int primary key, own int); insert into P values (1, 1), (2, 2);"
        "create table C (p int, n int, own int, primary key (p, n),"
        " foreign key (p) references P (id) on update cascade on delete cascade);"
        "insert into C values (1, 1, 11), (1, 2, 12), (2, 1, 21), (2, 2, 22)"
    )
    steps = [moved(1, old, new, "S.P") for old, new in ((1, 9), (2, 1), (9, 2))]
    steps += [
        change("U", 1, "S.C", before={"P": old, "N": n}, after={"P": new, "N": n})
        for old, new in ((1, 9), (2, 1), (9, 2))
        for n in (1, 2)
    ]
    steps += [
        change("D", 2, "S.C", before={"P": 2, "N": 2}),
        change("U", 3, "S.C", before={"P": 2, "N": 1}, after={"P": 2, "N": 7}),
    ]
    database.apply(steps, key="S.P=ID;S.C=P,N", types=[])
    assert database.rows("select id, own from P order by id") == [(1, 2), (2, 1)]
    assert database.rows("select p, n, own from C order by p, n") == [(1, 1, 21), (1, 2, 22), (2, 7, 11)]


def test_rows_exchange_unique_values_and_others_leave_them(database: Database) -> None:
    for null in ("null", "not null"):
        database.run(
            f"drop table if exists T; create table T (id int primary key, u varchar(9) {null}, unique (u));"
            "insert into T values (1, 'a'), (2, 'b'), (3, 'c')"
        )
        values = [("1", "b"), ("2", "a")]
        steps = [change("U", 1, "S.T", before={"ID": key}, after={"ID": key, "U": value}) for key, value in values]
        steps += [change("D", 2, "S.T", before={"ID": "3"}), change("I", 3, "S.T", after={"ID": "4", "U": "c"})]
        database.apply(steps, stream=null)
        assert database.rows("select * from T order by id") == [(1, "b"), (2, "a"), (4, "c")]


def test_rows_that_others_refer_to_come_first_and_leave_last(database: Database) -> None:
    database.run(
        "create table Z (id int primary key); insert into Z values (1);"
        "create table A (id int primary key, p int not null, foreign key (p) references Z (id));"
        "insert into A values (1, 1)"
    )
    steps = [change("D", 1, "S.A", before={"ID": "1"}), change("D", 2, "S.Z", before={"ID": "1"})]
    steps += [change("I", 3, "S.Z", after={"ID": "2"}), change("I", 4, "S.A", after={"ID": "5", "P": "2"})]
    database.apply(steps)
    assert database.rows("select id, p from A") == [(5, 2)]
    assert database.rows("select id from Z") == [(2,)]
    orphan = [change("I", 5, "S.A", after={"ID": "6", "P": "7"})]
    with refused("GG588.*foreign key constraint fails.*`as_replica=True`"):
        database.apply(orphan)
    database.apply(as_replica=True)
    assert database.rows("select id, p from A order by id") == [(5, 2), (6, 7)]


def test_unchanged_rows_fire_no_trigger_and_own_columns_stay(database: Database) -> None:
    database.run(
        "create table T (id int primary key, v varchar(9) collate latin1_general_ci, own int);"
        "insert into T values (1, 'a', 10), (2, 'b', 20); create table seen (id int);"
        "create trigger touched before update on T for each row insert into seen values (new.id)"
    )
    database.apply([change("U", n, "S.T", before={"ID": str(n)}, after={"ID": str(n), "V": "A"}) for n in (1, 2)])
    assert database.rows("select * from seen order by id") == [(1,), (2,)]  # `a` is not `A`
    database.apply([change("U", 3, "S.T", before={"ID": "1"}, after={"ID": "1", "V": "A"})])
    assert database.rows("select * from T order by id") == [(1, "A", 10), (2, "A", 20)]
    assert len(database.rows("select * from seen")) == 2


# By type: texts that are stored, and those that are not.
TYPES = {
    "tinyint": (["-128", "1.0", "007"], ["128", "1.5", "x", "1e-1"]),
    "bigint unsigned": (["18446744073709551615", "0"], ["-1", "18446744073709551616"]),
    "decimal(5,2)": (["1.50", "-999.99", "1.500"], ["1.555", "1000"]),
    "float": (["0.5", "0.1", "16777216"], ["16777217", "1e39", "1e-60", "NaN"]),
    "double": (["0.1", "1E300", "-0.25", "100000000000000000000"], ["1e-400", "1e400", "0.1234567890123456789"]),
    "char(3)": (["a", "a  ", ""], ["abcd", "😀"]),
    "varchar(3)": (["a ", ""], ["abcd", "abc ", "😀"]),
    "text": (["x" * 300, "a\\b'c\n"], ["😀"]),
    "longtext character set utf8mb4": (["€😀", "\\N"], []),
    "binary(3)": (["abc", "a"], ["abcd"]),
    "blob": (["€", ""], []),
    "date": (["2024-02-29", "2024-01-01 00:00:00"], ["2024-01-01 10:00:00", "2023-02-29", "now"]),
    "datetime": (["2024-01-01 10:00:00.000", "2024-01-01", "2024-01-01T10:00:00Z"], ["2024-01-01 10:00:00.5", "24"]),
    "timestamp(3) null": (["2024-01-01 10:00:00.125"], ["1960-01-01 00:00:00", "2024-01-01 10:00:00.1255"]),
    "time(1)": (["10:00:00.5", "-100:00:00"], ["10:00:00.55", "900:00:00"]),
    "year": (["2024"], ["70", "0", "2200"]),
    "bit(4)": (["5", "15"], ["16", "x"]),
    "enum('a','1')": (["a", "1"], ["2", "A", ""]),
    "set('a','b')": (["a,b", ""], ["1", "c", "A"]),
    "json": (['{"a": 1}'], ["{"]),
    "uuid": (["123E4567-e89b-12d3-a456-426655440000"], ["x"]),
    "point": ([], ["x"]),
}


@pytest.mark.parametrize("type", TYPES)
def test_what_is_stored_is_what_was_given(database: Database, type: str) -> None:
    stored, others = TYPES[type]
    database.run(f"create table T (id int primary key, v {type}); insert into T (id, v) values (0, null)")
    steps = [change("I", n, "S.T", after={"ID": str(n), "V": text}) for n, text in enumerate([*stored, None], 1)]
    for number, text in enumerate(others):
        with refused("(GG596|GG588).*`?[vV]"):
            (database.directory / f"{number}").mkdir()
            add_changes(database.directory / f"{number}", "0", [change("I", 1, "S.T", after={"ID": "1", "V": text})])
            changes = database.directory / f"{number}" / "changes"
            ggfmt.apply(changes, database.url, key="ID", types=["*.ID=bigint", "*.V=string"])
    assert database.rows("select id from T") == [(0,)]
    if stored:
        database.apply(steps, types=["*.ID=bigint", "*.V=string"])
        # What is read back is what was given: a row that comes again changes nothing.
        before = database.rows("select * from T order by id")
        assert [row[0] for row in before] == [*range(len(steps) + 1)]
        database.apply([change("U", 50 + n, "S.T", before={"ID": n}, after={"ID": n}) for n in range(1, len(steps))])
        assert database.rows("select * from T order by id") == before


# By type of the key: a key of the changes, and that of a row which the server takes for it.
ALIKE_KEYS = {
    "int": ("1.5", "2"),
    "date": ("2024-01-01 10:00:00", "2024-01-01"),
    "datetime": ("2024-01-01 10:00:00.4", "2024-01-01 10:00:00"),
    "enum('b','a')": ("2", "a"),
    "year": ("70", "1970"),
    "varchar(9) collate latin1_general_ci": ("A", "a"),
    "varchar(9)": ("a ", "a"),
}


@pytest.mark.parametrize("type", ALIKE_KEYS)
def test_a_row_with_a_key_that_is_alike_is_not_deleted(database: Database, type: str) -> None:
    given, present = ALIKE_KEYS[type]
    database.run(f"create table T (id {type} primary key); insert into T values ('{present}')")
    steps = [change("I", 1, "S.T", after={"ID": given}), change("D", 2, "S.T", before={"ID": given})]
    with refused("GG596.*(does not hold 1 value exactly|different keys are one key)"):
        database.apply(steps, types=["*.ID=string"])
    assert database.rows("select count(*) from T") == [(1,)]


# By type of a column: its value in SQL, the type in the changes, and why the run stops, if it does.
UNCHANGED = {
    "double": ("1 / 3e0", "string", ""),
    "float": ("1 / 3e0", "float", ""),
    "tinyint": ("2", "boolean", "`2` is not a value of the type `boolean`"),
    "datetime": ("'2024-01-01 10:00:00'", "date", "is not a value of the type `date`"),
    "blob": ("x'ff00'", "string", "bytes that cannot be read as text"),
    "varbinary(9)": ("x'ff00'", "binary", ""),
    "longblob": ("repeat(x'ff', 800000)", "binary", "raise `max_allowed_packet`"),  # base64 of it is longer than that
    "text charset sjis": ("'\\\\~'", "string", ""),
    "time(6)": ("'-838:59:58.000001'", "string", ""),
    "bit(64)": ("~0", "string", ""),
}


@pytest.mark.parametrize("type", UNCHANGED)
def test_a_column_that_no_operation_has_stays_as_it_is(database: Database, type: str) -> None:
    value, given, words = UNCHANGED[type]
    database.run(f"create table T (id int primary key, v {type}, w int); insert into T values (1, {value}, 1)")
    before = database.rows("select hex(v) from T")
    steps = [change("I", 1, "S.T", after={"ID": 2, "V": None}), moved(2, 1, 1)]
    steps[1]["after"]["W"] = 5
    database.run("set global max_allowed_packet = 1048576")
    try:
        with refused(words) if words else nullcontext():
            database.apply(steps, types=["*.ID=bigint", f"*.V={given}"])
    finally:
        database.run("set global max_allowed_packet = default")
    assert database.rows("select w, hex(v) from T where id = 1") == [(1 if words else 5, *before[0])]


def test_settings_of_the_url_and_of_the_server_do_not_count(database: Database) -> None:
    database.run(
        "create table T (id int primary key, v varchar(9) charset utf8mb4, w int, check (w < 9));"
        "insert into T values (1, '€', 1), (2, '😀', 1)"
    )
    database.url += "?charset=latin1&autocommit=true"
    steps = [change("U", 1, "S.T", before={"ID": key}, after={"ID": key, "W": 5}) for key in (1, 2)]
    database.run("set global sql_select_limit = 1, lc_messages = 'de_DE', check_constraint_checks = 0")
    try:
        database.apply(steps)
        wrong = [change("U", 2, "S.T", before={"ID": key}, after={"ID": key, "W": key * 4}) for key in (1, 2, 3)]
        with refused("GG588.*CONSTRAINT.*failed"):
            database.apply(wrong)
    finally:
        database.run("set global sql_select_limit = default, lc_messages = 'en_US', check_constraint_checks = 1")
    assert database.rows("select * from T order by id") == [(1, "€", 5), (2, "😀", 5)]


def test_numbers_that_a_column_rounds_stop_the_run(database: Database) -> None:
    database.run("create table T (id int primary key, v float(7,2))")
    with refused("GG596.*does not hold 1 value exactly"):
        database.apply([change("I", 1, "S.T", after={"ID": 1, "V": 1.234})], types=["*.ID=bigint", "*.V=float"])


def test_no_key_follows_its_parent_as_replica(database: Database) -> None:
    database.run(
        "create table P (id int primary key); insert into P values (1);"
        "create table C (p int, n int, own int, primary key (p, n),"
        " foreign key (p) references P (id) on update cascade); insert into C values (1, 1, 11)"
    )
    child = change("U", 2, "S.C", before={"P": 1, "N": 1}, after={"P": 9, "N": 1})
    database.apply([moved(1, 1, 9, "S.P"), child], key="S.P=ID;S.C=P,N", types=[], as_replica=True)
    assert database.rows("select p, n, own from C") == [(9, 1, 11)]


def test_a_connection_that_is_lost_changes_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.run("create table T (ID bigint primary key, V varchar(9), unique (V))")
    database.run("insert into T values (1, 'a'), (2, 'b')")
    add_changes(database.directory, "0", [moved(1, 1, 2, V="b"), moved(1, 2, 1, V="a")])
    count, whole = 0, ApplyMariaDB.execute
    while True:
        left = count = count + 1

        def execute(self: ApplyMariaDB, *statement: Any) -> int:
            nonlocal left
            left -= 1
            if not left:
                database.run(f"kill {self._driver_connection.thread_id()}")
            return whole(self, *statement)

        monkeypatch.setattr(ApplyMariaDB, "execute", execute)
        try:
            database.apply()
            break
        except ggfmt.GgfmtError as error:
            assert "GG588" in str(error)
            assert "nothing was changed" in str(error)
            assert database.rows("select * from T order by id") == [(1, "a"), (2, "b")]
    assert count > 10
    store = ApplyMariaDB._store

    def store_and_lose(self: ApplyMariaDB, *files: Any) -> None:
        store(self, *files)
        database.run(f"kill {self._driver_connection.thread_id()}")

    monkeypatch.undo()
    monkeypatch.setattr(ApplyMariaDB, "_store", store_and_lose)
    with refused("GG588.*the commit may have taken place"):
        database.apply([moved(2, 1, 7)])


def test_a_run_that_dies_after_it_has_added_a_column_is_done_by_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.apply([change("I", 1, "S.T", after={"ID": 1})])
    time.sleep(1.1)  # MariaDB has the second in which a table was altered
    with monkeypatch.context() as patch:
        patch.setattr(ApplyMariaDB, "save", lambda self, directory: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            database.apply([change("I", 2, "S.T", after={"ID": 2, "V": "a"})])
    database.apply()
    assert database.rows("select * from T order by ID") == [(1, None), (2, "a")]
    time.sleep(1.1)
    database.run("alter table T comment 'x'")
    with refused("GG596.*altered or made again"):
        database.apply([change("I", 3, "S.T", after={"ID": 3})])


def test_a_run_that_dies_at_any_statement_is_done_by_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DiedError(BaseException):
        pass

    database.apply([change("I", n, "S.T", after={"ID": n, "V": "a"}) for n in (1, 2)])
    steps = [moved(3, 1, 2, V="a"), moved(3, 2, 1, V="a"), change("I", 4, "S.U", after={"ID": 5})]
    add_changes(database.directory, "0001", steps)
    before, count, whole = database.rows("select * from T order by id"), 0, ApplyMariaDB.execute
    while True:
        left = count = count + 1

        def execute(self: ApplyMariaDB, *statement: Any) -> int:
            nonlocal left
            left -= 1
            if not left:
                raise DiedError
            return whole(self, *statement)

        monkeypatch.setattr(ApplyMariaDB, "execute", execute)
        try:
            database.apply()
            break
        except DiedError:
            assert database.rows("select * from T order by id") == before
    assert count > 10
    assert database.rows("select id from U") == [(5,)]


def test_a_dry_run_changes_nothing(database: Database) -> None:
    steps = [change("I", 1, "S.T", after={"ID": 1, "V": "a"})]
    with refused("GG596.*cannot roll back"):
        database.apply(steps, dry_run=True)
    assert database.rows("show tables") == []
    database.run("create table T (ID bigint primary key, V text)")
    assert any("insert into `T`" in statement for statement in database.apply(dry_run=True))
    assert database.rows("select * from T") == []
    assert database.rows("show tables") == [("T",)]


def test_what_cannot_take_rows_is_refused(database: Database) -> None:
    steps = [change("I", 1, "S.T", after={"ID": 1, "V": "secret value"})]
    database.run("create table T (ID bigint primary key, V int) engine=MyISAM")
    with refused("GG596.*no transactions"):
        database.apply(steps)
    database.run("alter table T engine=InnoDB")
    with refused("column V.*Incorrect integer value") as raised:
        database.apply(types=["*.ID=bigint", "*.V=string"])
    assert "secret" not in str(raised.value)
    with refused("GG580"):
        ggfmt.apply(database.directory / "changes", database.url.removesuffix("/shop"))
    held = ApplyMariaDB(database.url, ApplyOptions("default"))
    try:
        with refused("GG501"):
            database.apply()
    finally:
        held.close()
