"""`ggfmt apply` into tables in use: others refer to them, people alter them, they have columns of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lake_tables import add_changes, change
from places import SHARED_DATA
from postgres import Server, server_or_skip
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app
from ggfmt.rows.targets import postgresql_state


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server_or_skip() as started:
        yield started


class Database:
    """A database with the schema `s`, and the directory with the change files."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.server, self.directory = server, directory
        server.run("drop schema if exists s cascade; drop table if exists ggfmt_state; create schema s")

    def apply(self, changes: Sequence[Any] = (), **options: Any) -> Any:
        if changes:
            add_changes(self.directory, f"{len(list(self.directory.glob('changes/*'))):04d}", list(changes))
        return ggfmt.apply(self.directory / "changes", self.server.url, **{"key": "ID", **options})

    def rows(self, query: str) -> list[tuple[str | None, ...]]:
        return [tuple(row.values()) for row in self.server.copied(query)]


@pytest.fixture
def database(running: Server, tmp_path: Path) -> Database:
    return Database(running, tmp_path)


def moved(position: int, old: Any, new: Any, table: str = "S.T", **values: Any) -> dict[str, Any]:
    return change("U", position, table, before={"ID": old, **values}, after={"ID": new, **values})


# What `shared/data/cases/apply` has


def case(database: Database, name: str, setup: str = "", file: str = "", **options: Any) -> None:
    place = SHARED_DATA / "cases" / "apply" / name
    if not place.exists():
        pytest.skip("shared data is not here")
    given = place / "setup.sql"
    database.server.run("drop schema s cascade")
    database.server.run(given.read_text(encoding="utf-8") if given.exists() else f"create schema s; {setup}")
    ggfmt.apply(place / "changes" / file, database.server.url, **options)


def test_children_stay_with_a_parent_whose_key_changes(database: Database) -> None:
    case(database, "cascade-loses-children")
    assert database.rows("select id, p from s.child order by id") == [("10", "2"), ("11", "2")]


def test_columns_of_the_database_stay_with_their_row(database: Database) -> None:
    case(database, "own-columns-lost")
    assert database.rows("select * from s.t order by id") == [("2", "b", "yours"), ("7", "a", "mine")]


def test_a_table_that_inherits_is_not_changed(database: Database) -> None:
    case(database, "inherited-table-changed")
    assert database.rows("select v from only s.t union all select v from s.t_old") == [("b",), ("old",)]


def test_rows_come_before_those_that_refer_to_them(database: Database) -> None:
    case(
        database,
        "foreign-keys-plain",
        "create table s.zparent (id int primary key);"
        "create table s.achild (id int primary key, p int references s.zparent)",
    )
    assert database.rows("select id, p from s.achild") == [("10", "1")]


def test_a_dropped_column_does_not_come_back_empty(database: Database) -> None:
    case(database, "dropped-column-comes-back-empty", file="000.json")
    database.server.run("alter table s.t drop column n")
    changes = SHARED_DATA / "cases" / "apply" / "dropped-column-comes-back-empty" / "changes"
    for statement in ("", "alter table s.t add column n text"):
        database.server.run(statement)
        with pytest.raises(ggfmt.GgfmtError, match=r"GG596.*column `n` was dropped.*`accept=True`"):
            ggfmt.apply(changes, database.server.url)
    ggfmt.apply(changes, database.server.url, accept=True)
    assert database.rows("select id, n, v from s.t where id < 3 order by id") == [
        ("1", None, "new"),
        ("2", None, "new"),
    ]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("columns.json", "the changes have the columns `Id2` and `ID2`"),
        ("tables.json", "`S.T` and `S.t` of the changes are both `s.t`"),
    ],
)
def test_names_that_differ_by_case_are_told_of_the_changes(database: Database, file: str, words: str) -> None:
    with pytest.raises(ggfmt.GgfmtError, match=words):
        case(database, "names-in-two-cases", file=file)


# Keys


KEYS = {
    "int": ["1", "2", "3"],
    "numeric(3,0)": ["1", "2", "3"],
    "text": ["a", "b", "c"],
    "varchar(3)": ["a", "b", "c"],
    "uuid": [f"00000000-0000-0000-0000-00000000000{digit}" for digit in "123"],
    "date": ["2026-01-01", "2026-01-02", "2026-01-03"],
    "timestamptz": [f"2026-01-0{digit} 10:00:00+00" for digit in "123"],
}


@pytest.mark.parametrize("type", KEYS)
def test_rows_change_keys_in_a_ring(database: Database, type: str) -> None:
    one, two, three = KEYS[type]
    database.server.run(
        f"create table s.t (id {type} primary key, v text, own int);"
        f"insert into s.t values ('{one}', 'first', 1), ('{two}', 'second', 2), ('{three}', 'third', 3);"
        "create table s.c (id int primary key, t "
        f"{type} references s.t on update cascade); insert into s.c values (1, '{one}'), (2, '{two}')"
    )
    free = {"text": "x", "varchar(3)": "x"}.get(type, three.replace("3", "8"))
    pairs = [(three, free), (two, three), (one, two), (free, one)]
    database.apply([moved(1, old, new) | {"op_ts": "2026-01-01 00:00:00"} for old, new in pairs], types=["*.ID=string"])
    assert database.rows("select v, own, (select id from s.c where t = s.t.id) from s.t order by s.t.id") == [
        ("third", "3", None),
        ("first", "1", "1"),
        ("second", "2", "2"),
    ]


def test_a_long_chain_moves_at_once(database: Database) -> None:
    database.server.run("create table s.t (id int primary key, own int)")
    database.server.run("insert into s.t select n, n from generate_series(1, 500) n")
    database.apply([moved(1, n, n + 1) for n in range(500, 0, -1)])
    assert database.rows(
        "select count(*), min(id), max(id), count(*) filter (where id = own + 1) as moved from s.t"
    ) == [("500", "2", "501", "500")]


def test_a_row_takes_the_key_of_a_deleted_one_that_others_refer_to(database: Database) -> None:
    database.server.run(
        "create table s.t (id int primary key, v text, own int); insert into s.t values (1, 'a', 10), (2, 'b', 20);"
        "create table s.c (id int primary key, t int references s.t on update cascade on delete cascade);"
        "insert into s.c values (1, 1), (2, 2), (3, 2)"
    )
    # The child 3 leaves its parent before that is deleted.
    steps = [change("U", 1, "S.C", before={"ID": "3", "T": "2"}, after={"ID": "3", "T": "1"})]
    steps += [change("D", 2, "S.C", before={"ID": "2", "T": "2"}), change("D", 3, "S.T", before={"ID": "2", "V": "b"})]
    steps += [moved(4, "1", "2", V="a"), *(moved_child(5, child) for child in "13")]
    database.apply(steps, types=["*=bigint", "*.V=string"])
    assert database.rows("select id, v, own from s.t") == [("2", "a", "10")]
    assert database.rows("select id, t from s.c order by id") == [("1", "2"), ("3", "2")]


def moved_child(position: int, child: str) -> dict[str, Any]:
    return change("U", position, "S.C", before={"ID": child, "T": "1"}, after={"ID": child, "T": "2"})


def test_a_key_of_two_columns_follows_its_parent(database: Database) -> None:
    database.server.run(
        "create table s.p (id int primary key, own int); insert into s.p values (1, 1), (2, 2);"
        "create table s.c (p int references s.p on update cascade on delete cascade, n int, own int,"
        " primary key (p, n));"
        "insert into s.c values (1, 1, 11), (1, 2, 12), (2, 1, 21), (2, 2, 22)"
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
    database.apply(steps, key="S.P=ID;S.C=P,N")
    assert database.rows("select id, own from s.p order by id") == [("1", "2"), ("2", "1")]
    assert database.rows("select p, n, own from s.c order by p, n") == [
        ("1", "1", "21"),
        ("1", "2", "22"),
        ("2", "7", "11"),
    ]


@pytest.mark.parametrize("type", ["timestamp", "timestamptz"])
def test_a_time_of_day_is_not_cut_where_the_changes_have_a_date(database: Database, type: str) -> None:
    database.server.run(f"create table s.t (id int primary key, v {type}, w int)")
    database.server.run("insert into s.t values (1, '2024-01-01 00:00', 1), (2, '2024-01-01 10:00', 1)")
    steps = [change("U", n, "S.T", before={"ID": n}, after={"ID": n, "W": 5}) for n in (1, 2)]
    steps.append(change("I", 3, "S.T", after={"ID": 3, "V": "2024-02-02", "W": 5}))
    types = ["*.ID=bigint", "*.V=date"]
    with pytest.raises(ggfmt.GgfmtError, match=r"`2024-01-01 10:00:00(\+00)?` is not a value of the type `date`"):
        database.apply(steps, types=types)
    database.server.run("update s.t set v = '2024-01-01 00:00'")
    database.apply(types=types)
    assert database.rows("select v::date::text, w from s.t where v::time = '00:00'") == [
        ("2024-01-01", "5"),
        ("2024-01-01", "5"),
        ("2024-02-02", "5"),
    ]


def test_no_key_follows_its_parent_as_replica(database: Database) -> None:
    database.server.run(
        "create table s.p (id int primary key); insert into s.p values (1);"
        "create table s.c (p int references s.p on update cascade, n int, own int, primary key (p, n));"
        "insert into s.c values (1, 1, 11)"
    )
    child = change("U", 2, "S.C", before={"P": 1, "N": 1}, after={"P": 9, "N": 1})
    database.apply([moved(1, 1, 9, "S.P"), child], key="S.P=ID;S.C=P,N", types=[], as_replica=True)
    assert database.rows("select p, n, own from s.c") == [("9", "1", "11")]


def test_a_row_takes_the_key_of_a_deleted_one_where_its_parent_moves(database: Database) -> None:
    database.server.run(
        "create table s.p (id int primary key); insert into s.p values (1), (2), (3);"
        "create table s.c (p int references s.p on update cascade, n int, own int, primary key (p, n) deferrable);"
        "insert into s.c values (1, 1, 11), (2, 2, 22)"
    )
    steps = [change("D", 1, "S.C", before={"P": 2, "N": 2}), moved(3, 3, 9, "S.P")]
    steps.insert(1, change("U", 2, "S.C", before={"P": 1, "N": 1}, after={"P": 2, "N": 2}))
    database.apply(steps, key="S.P=ID;S.C=P,N")
    assert database.rows("select p, n, own from s.c") == [("2", "2", "11")]


def test_a_key_that_cannot_wait_is_named(database: Database) -> None:
    database.server.run("create table s.t (id bool primary key, own int); insert into s.t values (true, 1), (false, 0)")
    swap = [moved(1, old, new) for old, new in (("true", "false"), ("false", "true"))]
    with pytest.raises(ggfmt.GgfmtError, match=r"GG596.*exchange keys.*DEFERRABLE"):
        database.apply(swap, types=["*.ID=string"])
    assert database.rows("select id, own from s.t order by id") == [("f", "0"), ("t", "1")]


def test_a_column_that_the_database_generates_is_named(database: Database) -> None:
    database.server.run("create table s.t (id int generated always as identity primary key, v text)")
    database.server.run("insert into s.t (v) values ('a')")
    advice = r"alter table .s.\..t. alter column .id. set generated by default"
    with pytest.raises(ggfmt.GgfmtError, match=rf"GG596.*another value in a row that moves.*{advice}"):
        database.apply([moved(1, "1", "5", V="a")])
    database.server.run("drop table s.t; create table s.t (id int primary key, n int generated always as identity)")
    database.server.run("insert into s.t values (1)")
    more = [change("U", 2, "S.T", before={"ID": 1, "N": 1}, after={"ID": 1, "N": 9})]
    add_changes(database.directory, "other", more)
    with pytest.raises(ggfmt.GgfmtError, match=r"GG596.*fills the column `n`, which has another value in 1 row"):
        ggfmt.apply(database.directory / "changes" / "other.json", database.server.url, key="ID")


def test_a_truncate_of_a_table_whose_columns_nothing_shows(database: Database) -> None:
    database.server.run("create table s.t (id int primary key, v text, own int default 5); insert into s.t values (1)")
    database.apply([change("T", 2, "S.T")])
    assert database.rows("select * from s.t") == []
    database.apply([change("I", 3, "S.T", after={"ID": 1, "V": "a"})])
    assert database.rows("select * from s.t") == [("1", "a", "5")]
    with pytest.raises(ggfmt.GgfmtError, match=r"table S.U: error.GG596.*do not show the columns.*`definitions`"):
        database.apply([change("T", 4, "S.U")])


def test_a_delete_and_an_insert_of_one_transaction_are_two_rows(database: Database) -> None:
    """At one position they are one row: the update of a key, as some sources write it."""
    database.server.run("create table s.t (id int primary key, own int); insert into s.t values (1, 10), (2, 20)")
    steps = [change("D", 1, "S.T", before={"ID": 1}), change("I", 2, "S.T", after={"ID": 3})]
    steps += [change("D", 3, "S.T", before={"ID": 2}), change("I", 3, "S.T", after={"ID": 4})]
    database.apply([{**step, "op_ts": "2026-01-01 00:00:00"} for step in steps])
    assert database.rows("select * from s.t order by id") == [("3", None), ("4", "20")]


# Unique values


@pytest.mark.parametrize("referenced", [False, True])
@pytest.mark.parametrize("column", ["u text unique", "u int not null unique", "u int, unique nulls not distinct (u)"])
def test_unique_values_change_places(database: Database, column: str, referenced: bool) -> None:
    database.server.run(
        f"create table s.t (id int primary key, {column}, own int);"
        "insert into s.t values (1, 10, 1), (2, 20, 2), (3, 30, 3)"
    )
    if referenced:
        database.server.run("create table s.c (id int primary key, t int references s.t)")
    steps = [
        change("U", 1, "S.T", before={"ID": "1", "U": "10"}, after={"ID": "1", "U": "99"}),
        change("U", 2, "S.T", before={"ID": "2", "U": "20"}, after={"ID": "2", "U": "10"}),
        change("U", 3, "S.T", before={"ID": "1", "U": "99"}, after={"ID": "1", "U": "20"}),
        change("D", 4, "S.T", before={"ID": "3", "U": "30"}),
        change("I", 5, "S.T", after={"ID": "4", "U": "30"}),
    ]
    database.apply(steps)
    assert database.rows("select id, u, own from s.t order by id") == [
        ("1", "20", "1"),
        ("2", "10", "2"),
        ("4", "30", None),
    ]


# Truncates, triggers, sequences, references in a circle


def test_rows_that_come_again_after_a_truncate_keep_those_that_refer_to_them(database: Database) -> None:
    database.server.run(
        "create table s.t (id int primary key, v text); insert into s.t values (1, 'a'), (2, 'b'), (3, 'c');"
        "create table s.c (id int primary key, t int references s.t on delete cascade);"
        "insert into s.c values (1, 1), (2, 2)"
    )
    database.apply([change("T", 1, "S.T"), change("I", 2, "S.T", after={"ID": 1, "V": "x"})])
    assert database.rows("select * from s.t") == [("1", "x")]
    assert database.rows("select * from s.c") == [("1", "1")]


def test_no_trigger_fires_for_rows_that_do_not_change(database: Database) -> None:
    database.server.run(
        "create table s.t (id int primary key, n numeric, j json, own int);"
        "insert into s.t select g, g, '{}', 0 from generate_series(1, 3) g; create table s.log (id int);"
        "create function s.log() returns trigger language plpgsql as"
        " $$ begin insert into s.log values (new.id); return new; end $$;"
        "create trigger log before update on s.t for each row execute function s.log()"
    )
    steps = [
        change("U", 1, "S.T", before={"ID": "1", "N": "1", "J": "{}"}, after={"ID": "1", "N": "1", "J": "{}"}),
        change("U", 2, "S.T", before={"ID": "2", "N": "2", "J": "{}"}, after={"ID": "2", "N": "2.0", "J": "{}"}),
        change("U", 3, "S.T", before={"ID": "3", "N": "3", "J": "{}"}, after={"ID": "3", "N": "3", "J": "{ }"}),
    ]
    database.apply(steps, types=["*=string"])
    assert database.rows("select id from s.log order by id") == [("2",), ("3",)]
    assert database.rows("select n, j from s.t order by id") == [("1", "{}"), ("2.0", "{}"), ("3", "{ }")]


def test_sequences_go_on_after_the_values_of_rows(database: Database) -> None:
    database.server.run(
        "create table s.t (id serial primary key, v text);"
        "create table s.u (id int generated by default as identity primary key, v text)"
    )
    database.apply([change("I", 1, table, after={"ID": "41", "V": "a"}) for table in ("S.T", "S.U")])
    database.server.run("insert into s.t (v) values ('own'); insert into s.u (v) values ('own')")
    database.apply([change("I", 2, "S.T", after={"ID": "7", "V": "b"})])
    assert database.rows("select id from s.t union all select id + 100 from s.u order by id") == [
        ("7",),
        ("41",),
        ("42",),
        ("141",),
        ("142",),
    ]


def test_references_in_a_circle_need_deferrable_constraints_or_a_replica(database: Database) -> None:
    database.server.run(
        "create table s.a (id int primary key, b int not null); create table s.b (id int primary key, a int not null);"
        "alter table s.a add foreign key (b) references s.b; alter table s.b add foreign key (a) references s.a"
    )
    rows = [change("I", 1, "S.A", after={"ID": 1, "B": 1}), change("I", 1, "S.B", after={"ID": 1, "A": 1})]
    with pytest.raises(ggfmt.GgfmtError, match=r"GG588.*foreign key.*DEFERRABLE or give `as_replica=True`"):
        database.apply(rows)
    database.apply(as_replica=True)
    assert database.rows("select a.id, b.id as b from s.a, s.b") == [("1", "1")]


def test_a_lock_that_is_held_is_shown_and_ends_the_run_after_a_while(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import adbc_driver_postgresql.dbapi as driver

    monkeypatch.setattr(postgresql_state, "_PATIENCE_SECONDS", 0.2)
    database.apply([change("I", 1, "S.T", after={"ID": 1})])
    with driver.connect(database.server.url) as other:
        other.cursor().execute("lock table s.t")
        with pytest.raises(ggfmt.GgfmtError, match=r"GG588.*lock timeout.*when the lock is free"):
            database.apply([change("I", 2, "S.T", after={"ID": 2})], lock_timeout=1)
    assert re.search(
        r"waiting for a lock that the process [0-9]+ \(user \S+, program .*, idle in transaction since", caplog.text
    )


# What people alter


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("alter table s.t rename v to w", "column `v` is called `w` now"),
        ("alter table s.t alter v type varchar(3)", r"type of the column is `character varying\(3\)` now"),
        ("alter table s.t alter n type numeric(5,1)", r"type of the column is `numeric\(5,1\)` now"),
        ("drop table s.t; create table s.t (id text primary key, v text, n numeric(7,2))", "was made again"),
    ],
)
def test_a_table_that_was_altered_is_not_taken_for_the_same(database: Database, statement: str, words: str) -> None:
    database.server.run("create table s.t (id text primary key, v varchar(10), n numeric(7,2))")
    database.apply([change("I", 1, "S.T", after={"ID": "1", "V": "a", "N": "1.5"})])
    database.server.run(statement)
    more = [change("I", 2, "S.T", after={"ID": "2", "V": "b", "N": "2.5"})]
    with pytest.raises(ggfmt.GgfmtError, match=f"GG596.*{words}.*`accept=True`"):
        database.apply(more)
    database.apply(accept=True)
    assert database.rows("select id, v, n from s.t where id = '2'")[0][:2] == ("2", "b")
    database.apply([change("D", 3, "S.T", before={"ID": "2", "V": "b", "N": "2.5"})])


@pytest.mark.parametrize("statement", ["alter v type varchar(20)", "alter v type text", "alter n type numeric(9,3)"])
def test_a_wider_type_is_fine(database: Database, statement: str) -> None:
    database.server.run("create table s.t (id text primary key, v varchar(10), n numeric(7,2))")
    database.apply([change("I", 1, "S.T", after={"ID": "1", "V": "a", "N": "1.5"})])
    database.server.run(f"alter table s.t {statement}")
    database.apply([change("I", 2, "S.T", after={"ID": "2", "V": "b", "N": "2.5"})])
    assert database.rows("select count(*) from s.t") == [("2",)]


# Tables that cannot go on


def test_a_table_that_cannot_go_on_leaves_its_changes_to_the_next_run(database: Database) -> None:
    database.server.run(
        "create table s.a (id int primary key, n int); create table s.b (id int primary key, n numeric(3,0));"
        "create table s.c (id int primary key, b int references s.b)"
    )
    given: dict[str, Any] = {"on_table_error": "set-aside", "types": ["*=bigint"]}
    database.apply([change("I", 1, f"S.{table}", after={"ID": 1, "N": 1}) for table in "AB"], **given)
    rounds = [[1000, 5], [7]]
    position = 2
    for numbers in rounds:
        lines = []
        for number in numbers:
            position += 1
            lines += [change("I", position, f"S.{table}", after={"ID": position, "N": number}) for table in "AB"]
        found = database.apply([*lines, change("U", position, "S.B", after={"ID": 1, "N": number})], **given)
        assert found.set_aside == ["S.B"]
        assert database.rows("select id, n from s.b") == [("1", "1")]
    assert database.rows("select max(id), count(*) from s.a") == [("5", "4")]
    database.server.run("alter table s.b alter n type numeric(9,0)")
    assert database.apply([change("D", 9, "S.A", before={"ID": 1, "N": 1})], **given).set_aside == []
    assert database.rows("select id, n from s.b order by id") == [("1", "7"), ("3", "1000"), ("4", "5"), ("5", "7")]
    assert database.rows("select n from s.a order by id") == [("1000",), ("5",), ("7",)]


def test_tables_that_were_altered_are_set_aside_and_the_command_says_so(database: Database) -> None:
    database.apply([change("I", 1, f"S.{table}", after={"ID": 1, "V": "a"}) for table in "AB"])
    database.server.run("drop table s.a; alter table s.b drop column v; create table s.d (id int, v text)")
    lines = [change("I", 2, f"S.{table}", after={"ID": 2, "V": "a"}) for table in "ABCD"]
    add_changes(database.directory, "1", lines)
    words = ["apply", str(database.directory / "changes"), database.server.url, "--key", "ID"]
    ended = CliRunner().invoke(app, [*words, "--on-table-error", "set-aside"])
    assert ended.exit_code == 4, ended.output
    for text in ("S.A: set aside for the next run", "S.B: set aside", "S.D: set aside", "was dropped"):
        assert text in ended.stderr
    assert database.rows("select id from s.c") == [("2",)]
