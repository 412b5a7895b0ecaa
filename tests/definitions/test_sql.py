"""Table definitions from `CREATE TABLE` and header lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef

ORACLE = """
  CREATE TABLE "GG"."ORDERS"
   (  "ID" NUMBER(10,0) NOT NULL ENABLE,
      "Day" DATE DEFAULT to_date('2026-01-01, x', 'YYYY') , PRICE NUMBER(8,2) DEFAULT (0), ANY_NUMBER NUMBER,
      SPAN INTERVAL DAY (2) TO SECOND (6), OLD LONG RAW, NAME VARCHAR2(4 CHAR), BIG BINARY_DOUBLE,
      T TIMESTAMP (6) WITH TIME ZONE,
      CONSTRAINT "PK" PRIMARY KEY ("ID", "Day") USING INDEX PCTFREE 10 TABLESPACE "USERS"  ENABLE,
      CONSTRAINT CK CHECK (PRICE > (1))
   ) SEGMENT CREATION IMMEDIATE TABLESPACE "USERS" ;
create table gg.lines (id integer primary key, name varchar2(3))
/
"""
POSTGRES = """-- PostgreSQL database dump; CREATE TABLE in a comment (is none)
CREATE TABLE public.orders (
    id bigint NOT NULL,
    amount numeric(18,2) DEFAULT 0.00,
    "Quoted ""x" text COLLATE "C",
    items integer[],
    at timestamp(3) with time zone, local timestamp without time zone, raw bytea,
    ch character varying(20), ratio double precision, doc jsonb DEFAULT '{"a": ";"}'::jsonb
);
ALTER TABLE public.orders OWNER TO me;
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
"""
MYSQL = """
CREATE TABLE IF NOT EXISTS `shop`.`o` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `e` enum('a','b,)') DEFAULT NULL COMMENT 'it''s (a) comment, PRIMARY KEY (x)',
  `at` datetime(6) DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6),
  PRIMARY KEY (`id`), KEY `k` (`e`), CONSTRAINT `fk` FOREIGN KEY (`e`) REFERENCES `x` (`y`)
) ENGINE=InnoDB /*!50100 PARTITION BY x */;
"""


def loaded(tmp_path: Path, name: str, text: str) -> dict[str, TableDef]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return load_definitions([str(tmp_path / name)])


def types(table: TableDef) -> dict[str, str]:
    return {column.name: f"{column.type}{'' if column.nullable else ' not null'}" for column in table.columns}


def test_oracle(tmp_path: Path) -> None:
    orders, lines = loaded(tmp_path, "o.sql", ORACLE).values()
    assert (orders.full_name, orders.primary_keys) == ("GG.ORDERS", ("ID", "Day"))
    assert types(orders) == {
        "ID": "decimal(10,0) not null",
        "Day": "date",
        "PRICE": "decimal(8,2)",
        "ANY_NUMBER": "number",
        "SPAN": "interval",
        "OLD": "binary",
        "NAME": "string(4)",
        "BIG": "double",
        "T": "timestamp(6)",
    }
    assert orders.columns[1].type.timed and orders.columns[-1].type.zoned
    assert (lines.full_name, lines.primary_keys) == ("GG.LINES", ("ID",))
    assert types(lines) == {"ID": "integer not null", "NAME": "string(3)"}


def test_postgresql(tmp_path: Path) -> None:
    (orders,) = loaded(tmp_path, "p.sql", POSTGRES).values()
    assert (orders.full_name, orders.primary_keys) == ("public.orders", ("id",))
    assert types(orders) == {
        "id": "integer not null",
        "amount": "decimal(18,2)",
        'Quoted "x': "string",
        "items": "string",
        "at": "timestamp(3)",
        "local": "timestamp",
        "raw": "binary",
        "ch": "string(20)",
        "ratio": "double",
        "doc": "string",
    }
    assert orders.columns[3].type.item == SqlType(Kind.INTEGER, bits=32)
    assert [column.name for column in orders.columns if column.type.zoned] == ["at"]


def test_mysql(tmp_path: Path) -> None:
    (table,) = loaded(tmp_path, "m.sql", MYSQL).values()
    assert (table.full_name, table.primary_keys) == ("shop.o", ("id",))
    assert types(table) == {"id": "integer(20) not null", "e": "string", "at": "timestamp(6)"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.sql", "create table t ()", "the table has no columns"),
        ("a.sql", "create table t (a int, b int; create table u (c int);", "no parenthesis ends the list"),
        ("a.sql", "create table t (a int, a int)", "the table has the column twice"),
        ("a.sql", "CREATE EXTERNAL TABLE `gg_t` (`a` STRING) STORED AS AVRO", "tables of Hive"),
        ("a.sql", "create table a.b.c.d (x int)", "more than three parts"),
        ("a.sql", "create table a (b int) inherits (c)", "the columns of `c`, which the file does not define"),
        ("GG.T.csv", "ID,1\n", "`1` in the first line is not the name"),
    ],
)
def test_what_cannot_be_read(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        loaded(tmp_path, name, text)


def test_what_looks_like_something_else(tmp_path: Path) -> None:
    text = """
    -- NUMBER, `varchar2` and 'a quote
    create table t (id int default (4/2), key text not null, index int, number integer, period varchar(3), s text
      default 'C:\\', note text default 'a varchar2(3)', primary key (number, key));
    create table u (a int);
    """
    table, other = loaded(tmp_path, "a.sql", text).values()
    names = ("id", "key", "index", "number", "period", "s", "note")
    assert (table.full_name, table.column_names, table.primary_keys) == ("t", names, ("number", "key"))
    assert (other.full_name, types(other)) == ("u", {"a": "integer"})
    (of_oracle,) = loaded(tmp_path, "o.sql", "create table s.t (id number, at timestamp with local time zone)").values()
    assert (of_oracle.full_name, types(of_oracle)) == ("S.T", {"ID": "number", "AT": "timestamp"})
    assert not of_oracle.columns[1].type.zoned
    (of_mysql,) = loaded(tmp_path, "m.sql", "create table `t` (`a` text default 'it\\'s', `b` int, index (b))").values()
    assert of_mysql.column_names == ("a", "b")


def test_columns_of_other_tables(tmp_path: Path) -> None:
    text = """
    create function f() returns trigger as $body$ begin create table made (a int); return new; end $body$;
    create table a (id int primary key, tags text[]);
    create table b (c text, like a including all);
    create table d (id int, e date) inherits (a, b) with (fillfactor = 70);
    """
    found = loaded(tmp_path, "p.sql", text)
    assert {name: table.column_names for name, table in found.items()} == {
        "a": ("id", "tags"),
        "b": ("id", "tags", "c"),
        "d": ("id", "tags", "c", "e"),
    }
    assert found["d"].columns[1].type.item == STRING
    assert [table.primary_keys for table in found.values()] == [("id",), (), ()]


def test_sql_server(tmp_path: Path) -> None:
    text = """CREATE TABLE [dbo].[O r]([Id] [int] IDENTITY(1,1) NOT NULL, [At] [datetime2](7) NULL, [R] [timestamp],
      [Name] [nvarchar](max) NULL, [D] [decimal](18, 4), PRIMARY KEY CLUSTERED ([Id] ASC) ON [PRIMARY]) ON [PRIMARY]\nGO
    """
    (table,) = loaded(tmp_path, "s.sql", text).values()
    assert (table.full_name, table.primary_keys) == ("dbo.O r", ("Id",))
    assert types(table) == {
        "Id": "integer not null",
        "At": "timestamp(7)",
        "R": "string",
        "Name": "string",
        "D": "decimal(18,4)",
    }


@pytest.mark.parametrize("text", ["create table as select 1", "create table", "create table t", "alter table x add y"])
def test_statements_without_columns_are_left_out(text: str, tmp_path: Path) -> None:
    assert list(loaded(tmp_path, "a.sql", f"{text};\ncreate table t2 (a int);")) == ["t2"]


def test_a_header_line(tmp_path: Path) -> None:
    (table,) = loaded(tmp_path, "GG.T.csv", "op_type|table|op_ts|current_ts|pos|ID|FIRST NAME\nI|GG.T|x\n").values()
    assert table == TableDef("GG.T", (Column("ID"), Column("FIRST NAME")))


CHANGED = [
    "add c int",
    "add column if not exists c int",
    "add (c int)",
    "add constraint k primary key (a), add column key int",
    "drop a",
    "drop column if exists a",
    "rename a to z",
    "rename column a to z",
    "rename to other",
    "change a a bigint",
    "modify a varchar(3)",
    "modify column b int",
    "alter column a type bigint",
    "alter a set data type bigint",
    "alter column b bigint",
]


@pytest.mark.parametrize("change", CHANGED)
def test_statements_that_change_columns_later_are_problems(change: str, tmp_path: Path) -> None:
    text = f"create table t (a int, b text);\nalter table x add c int;\nalter table t {change};"
    with pytest.raises(ConfigurationError, match=r"`ALTER TABLE` changes the columns of the table later") as caught:
        loaded(tmp_path, "a.sql", text)
    assert (caught.value.diagnostics[0].span.line, caught.value.diagnostics[0].span.table) == (3, "t")


@pytest.mark.parametrize(
    "change",
    [
        "owner to me",
        "add constraint pk primary key (a)",
        "add primary key (a), add key k (b), add fulltext index (b)",
        "add (constraint pk primary key (a) enable)",
        "with check add constraint fk foreign key (b) references x (y)",
        "add default (getdate()) for b",
        "add supplemental log data (all) columns",
        "drop constraint c",
        "rename constraint a to b",
        "rename index a to b",
        "modify a int not null auto_increment",
        "modify (a not null enable)",
        "modify a constraint c not null",
        "alter column a set default nextval('s'::regclass)",
        "alter column a add generated always as identity (start with 1)",
        "alter a drop not null",
        "alter constraint c deferrable",
        "enable row level security",
        "set (fillfactor = 70)",
        "attach partition p for values in (1)",
    ],
)
def test_statements_about_all_else_leave_columns_as_they_are(change: str, tmp_path: Path) -> None:
    (table,) = loaded(tmp_path, "a.sql", f"create table t (a int, b text);\nalter table t {change};").values()
    assert types(table) == {"a": "integer", "b": "string"}


def test_data_of_a_dump_are_no_statements(tmp_path: Path) -> None:
    text = """
    create table a (id int);
COPY public.a (id, name) FROM stdin;
1\tit's, create table no (a int);
2\t$x$
\\.

    create table b (id int);
    """
    assert list(loaded(tmp_path, "p.sql", text)) == ["a", "b"]
    of_mysql = (
        "# it's a comment\ncreate table `a` (`id` int auto_increment); # it's another\ncreate table `b` (`x#` int);"
    )
    assert list(loaded(tmp_path, "m.sql", of_mysql)) == ["a", "b"]


def test_dumps_of_mysql_name_their_database_before_its_tables(tmp_path: Path) -> None:
    text = "USE `shop`;\ncreate table `a` (`id` int);\nalter table a add primary key (id);\ncreate table o.b (c int);\n"
    found = loaded(tmp_path, "m.sql", f"{text}use `my.db`;\ncreate table a (d int);")
    assert list(found) == ["shop.a", "o.b", '"my.db".a']
    assert found["shop.a"].primary_keys == ("id",)


# Dialects


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("-- ggfmt: dialect=oracle\ncreate table s.t (r real)", "S.T", Kind.NUMBER),
        ("/* GGFMT: dialect = MySQL */\ncreate table S.t (r real)", "S.t", Kind.DOUBLE),
        ("# ggfmt: dialect=postgres\ncreate table `S`.t (r real)", "S.t", Kind.FLOAT),
        ("-- MariaDB dump 10.19\ncreate table S.t (r real)", "S.t", Kind.DOUBLE),
        ("-- PostgreSQL database dump\n--\ncreate table S.t (r real, n varchar2)", "s.t", Kind.FLOAT),
        (
            "/****** Object:  Table [dbo].[T]    Script Date: 1/31/2026 ******/\ncreate table S.T (r real)",
            "S.T",
            Kind.FLOAT,
        ),
        ('-- This CLP file was created using DB2LOOK Version "11.5"\ncreate table s.t (r real)', "S.T", Kind.FLOAT),
        ("create table dbo.T (r real)", "dbo.T", Kind.FLOAT),
        ("create table S.T (r float(53), at datetime)", "S.T", Kind.DOUBLE),
        ("create table S.T (r tinytext, x real)", "S.T", Kind.STRING),
        ("create table s.t (r real, c clob, d decimal(31,2))", "S.T", Kind.NUMBER),
        ("create table s.t (r real, c clob, d double)", "S.T", Kind.FLOAT),
        ("create table s.t (r real, c vargraphic(5))", "S.T", Kind.FLOAT),
        ("create table S.T (r real, x int[])", "s.t", Kind.FLOAT),
        ("create table S.T (r real, x no_type)", "s.t", Kind.FLOAT),
        ("create table S.T (r real, t text default 'ggfmt: dialect=oracle')", "s.t", Kind.FLOAT),
    ],
)
def test_the_dialect_of_a_file(text: str, name: str, kind: Kind, tmp_path: Path) -> None:
    (table,) = loaded(tmp_path, "a.sql", text).values()
    assert (table.full_name, table.columns[0].type.kind) == (name, kind)


def test_a_dialect_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"a.sql:2:19: .*GG202.*`sybase` is not known; write one of"):
        loaded(tmp_path, "a.sql", "-- tables\n-- ggfmt: dialect=sybase\ncreate table t (a int)")


def test_types_that_a_file_creates_are_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = """
    create type public.mood as enum ('sad', 'ok');
    create domain price AS numeric(10,2) check (value > 0);
    create domain small smallint not null;
    create table s.t (a mood, b public.mood not null, c price, d small, e mood[], f other.kind default 'x');
    """
    (table,) = loaded(tmp_path, "p.sql", text).values()
    shown = [str(column.type) for column in table.columns]
    assert shown == ["string", "string", "decimal(10,2)", "integer", "string", "string"]
    (warning,) = [message for message in caplog.messages if "GG219" in message]
    assert "table s.t: the types are unknown, and the values are text: `f other.kind`" in warning
    caplog.clear()
    text = (
        "create type [dbo].[Code] from [nvarchar](9) not null\ngo\ncreate table [dbo].[T] ([a] [dbo].[Code], [b] Code)"
    )
    (table,) = loaded(tmp_path, "s.sql", text).values()
    assert [str(column.type) for column in table.columns] == ["string(9)", "string(9)"]
    assert not caplog.messages


def test_clauses_after_a_type_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = """-- ggfmt: dialect=mysql
    create table T (a varchar(5) character set utf8mb4 collate utf8mb4_bin not null, b int unsigned zerofill comment '',
      c float unsigned default 1, d char(3) charset binary, e int signed generated always as (b) virtual,
      f point srid 4326);
    """
    (table,) = loaded(tmp_path, "m.sql", text).values()
    assert [str(column.type) for column in table.columns] == [
        "string(5)", "integer", "float", "binary(3)", "integer", "string",
    ]  # fmt: skip
    columns = "a date with default, b varchar(9) ccsid 1208, c clob(1M) inline length 9 logged"
    text = f"-- ggfmt: dialect=db2\ncreate table t ({columns})"
    (table,) = loaded(tmp_path, "d.sql", text).values()
    assert [str(column.type) for column in table.columns] == ["date", "string(9)", "string"]
    assert not caplog.messages
