"""Random tables of a PostgreSQL, twice: in the schema `source` with random transactions, and in `target` with columns,
triggers and partitions of its own.

Triggers of the source log each change, also those of cascades. Each row of the source has a hidden number (`rid`) that
it keeps when its key changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Row = dict[str, Any]
Key = tuple[Any, ...]

_TYPES = ("int", "int", "text", "uuid", "date")
_ACTIONS = ("no action", "cascade", "cascade", "set null")
_TIMINGS = ("", "", " deferrable", " deferrable initially deferred")
_OWN_TYPES = {
    "own": "text default 'dflt'", "later": "text default 'dflt'", "own_number": "int", "own_serial": "bigserial",
    "stamp": "int default 0", "generated": "text generated always as (coalesce(v, '') || '!') stored",
}  # fmt: skip
_BOUNDS = {
    "": (),
    "hash": ("with (modulus 2, remainder 0)", "with (modulus 2, remainder 1)"),
    "range": ("from (minvalue) to (8)", "from (8) to (maxvalue)"),
}
_LITERALS = {
    "int": "{}", "text": "'k{:02d}'", "uuid": "'00000000-0000-0000-0000-{:012d}'", "date": "date '2020-01-01' + {}",
    "numeric(10,2)": "{}.25",
}  # fmt: skip

SOURCE = """
drop schema if exists source cascade; drop schema if exists target cascade; drop schema public cascade;
create schema source; create schema public;
create table source.log (seq bigserial, xid text, name text, op text, before jsonb, after jsonb);
create function source.note() returns trigger language plpgsql as $$ begin
    insert into source.log (xid, name, op, before, after)
        values (txid_current(), tg_table_name, left(tg_op, 1), to_jsonb(old), to_jsonb(new));
    return null; end $$;
"""
# The name sorts before those of the triggers that cascade: a parent is logged before its children.
_NOTED = """
create trigger "A" after insert or update or delete on {0} for each row execute function source.note();
create trigger "A of all" after truncate on {0} for each statement execute function source.note();
"""
TARGET = """
drop schema if exists target cascade; create schema target; create sequence target.trace;
create table target.calls (name text, op text);
create function target.stamp() returns trigger language plpgsql as $$ begin
    new.stamp := coalesce(new.stamp, 0) + 1; return new; end $$;
create function target.call() returns trigger language plpgsql as $$ begin
    insert into target.calls values (tg_argv[0], tg_op); return null; end $$;
"""
_CALLED = """
create trigger stamp before insert or update on {0} for each row execute function target.stamp();
create trigger call after insert or update or delete on {0} for each row execute function target.call('{1}');
"""


@dataclass(frozen=True)
class Reference:
    parent: Table
    columns: tuple[str, ...]
    on_update: str
    on_delete: str
    timing: str


@dataclass(eq=False)
class Table:
    """`own`: the columns of the target alone, and what new rows have in them; `...`: any new value."""

    name: str
    key: dict[str, str]
    columns: dict[str, str]
    unique: tuple[str, ...] = ()
    references: list[Reference] = field(default_factory=list)
    deferrable: str = ""
    identity: str = ""
    partition: str = ""
    own: dict[str, Any] = field(default_factory=dict)
    has_triggers: bool = False
    has_heir: bool = False
    is_generated: bool = False  # a column of both

    @property
    def only(self) -> str:
        """The word before the name of the target: other tables inherit from it, but partitions are part of it."""
        return "" if self.partition else "only "

    @property
    def system(self) -> str:
        return " overriding system value" if self.identity else ""

    def key_of(self, row: Row) -> Key:
        return tuple(row[column] for column in self.key)

    def ddl(self, schema: str) -> str:
        full = f"{schema}.{self.name}"
        columns = [f"{name} {type}" for name, type in self.columns.items()]
        columns[0] += self.identity
        columns += [f"primary key ({', '.join(self.key)}){self.deferrable}"]
        columns += [f"unique ({', '.join(self.unique)}){self.deferrable}"] * bool(self.unique)
        columns += ["twice numeric generated always as (n * 2) stored"] * self.is_generated
        if schema == "source":
            return f"create table {full} (rid bigserial, {', '.join(columns)});" + _NOTED.format(full)
        columns += [f"{name} {_OWN_TYPES[name]}" for name in self.own]
        made = f"create table {full} ({', '.join(columns)}) {self.partition and 'partition by'} {self.partition};\n"
        for number, bound in enumerate(_BOUNDS[self.partition.split(" ")[0]]):
            made += f"create table {full}_{number} partition of {full} for values {bound};\n"
        made += f"create table {full}_heir () inherits ({full});\n" * self.has_heir
        return made + _CALLED.format(full, self.name) * self.has_triggers

    def references_ddl(self, schema: str, has_timing: bool = True) -> str:
        return "".join(
            f"alter table {schema}.{self.name} add constraint {self.name}_fk{number}"
            f" foreign key ({', '.join(one.columns)})"
            f" references {schema}.{one.parent.name} ({', '.join(one.parent.key)})"
            f" on update {one.on_update} on delete {one.on_delete}{one.timing if has_timing else ''};\n"
            for number, one in enumerate(self.references)
        )


def random_tables(random: Random) -> list[Table]:
    """Return tables of which each refers to those before it, to itself, or in a deferred cycle to the last one."""
    tables: list[Table] = []
    for number in range(random.randint(2, 6)):
        parents = [table for table in tables if not table.deferrable]
        key = {"id": random.choice(_TYPES)} | ({"part": "text"} if random.random() < 0.2 else {})
        table = Table(f"t{number}", key, {})
        if parents and random.random() < 0.25:  # lines of a parent, whose key is a part of theirs
            parent = random.choice(parents)
            table.key = {f"{parent.name}_{name}": type for name, type in parent.key.items()} | {"line": "int"}
            _refer(random, table, parent)
        table.columns = {**table.key, "v": "text", "n": "numeric(10,2)"}
        if random.random() < 0.4:
            table.columns |= {"u": random.choice(["int", "text"]) + random.choice([" null", " not null"])}
            table.columns |= {"w": "int"} if random.random() < 0.3 else {}
            table.unique = ("u", "w") if "w" in table.columns else ("u",)
        table.deferrable = " deferrable" if random.random() < 0.25 else ""
        parents = [each for each in parents if all(each is not one.parent for one in table.references)]
        for parent in random.sample(parents, min(len(parents), random.choice([0, 1, 1, 2]))):
            _refer(random, table, parent)
        if not table.deferrable and random.random() < 0.25:
            _refer(random, table, table)
        if table.key.get("id") == "int" and len(table.key) == 1 and random.random() < 0.3:
            table.identity = random.choice([" generated by default as identity", " generated always as identity"])
        if not table.unique and not table.identity and random.random() < 0.2:
            first, type = next(iter(table.key.items()))
            table.partition = f"range ({first})" if type == "int" and random.random() < 0.5 else f"hash ({first})"
        table.has_triggers = random.random() < 0.4
        table.has_heir = not table.partition and random.random() < 0.2
        table.is_generated = random.random() < 0.2
        own = {"own_number": None, "own_serial": ..., "generated": ...}
        table.own = {"own": "dflt"} | {name: new for name, new in own.items() if random.random() < 0.3}
        table.own |= {"stamp": ...} if table.has_triggers else {}
        tables.append(table)
    last = tables[-1]
    if len(tables) > 2 and not last.deferrable and not last.references and random.random() < 0.5:
        _refer(random, tables[0], last, timing=" deferrable initially deferred")
    return tables


def _refer(random: Random, child: Table, parent: Table, timing: str = "") -> None:
    types = {f"{parent.name}_{name}": type for name, type in parent.key.items()}
    is_key = types.keys() <= child.key.keys()
    child.columns |= types
    on_update, on_delete = (random.choice(_ACTIONS[: 3 if is_key else 4]) for _ in range(2))
    child.references.append(Reference(parent, (*types,), on_update, on_delete, timing or random.choice(_TIMINGS)))


# Statements, with weights. `a` and `b` are two rows of the table, or the same one, or NULL. What fails is left out.
_STATEMENTS = {
    "insert into {t} ({names}){system} values ({values});": 6,
    "update {t} set v = {text}, n = n + 1 where ({key}) = ({a});": 3,
    "update {t} set n = n - 1, v = v || 'x' where n > {number};": 1,
    "update {t} set ({reference}) = ({parent}) where ({key}) = ({a});": 3,
    "update {t} set {column} = {value} where ({key}) = ({a});": 4,
    "update {t} set {last} = {last} + 1;": 2,
    "update {t} set {last} = {last} + 1000; update {t} set {last} = {last} - 1001;": 2,
    "update {t} set ({key}) = row({third}) where ({key}) = ({a}); update {t} set ({key}) = row({a}) where"
    " ({key}) = ({b}); update {t} set ({key}) = row({b}) where ({key}) = ({third});": 4,
    "update {t} set {last} = case {last} when a.{last} then b.{last} else a.{last} end where {last} in"
    " (a.{last}, b.{last});": 2,
    "update {t} set u = '-1' where ({key}) = ({a}); update {t} set u = a.u where ({key}) = ({b});"
    " update {t} set u = b.u where ({key}) = ({a});": 6,
    "update {t} set u = case u when a.u then b.u else a.u end where u in (a.u, b.u);": 2,
    "delete from {t} where ({key}) = ({a});": 4,
    "delete from {t} where n < {number} / 3;": 1,
    "delete from {t} where ({key}) = ({a}); insert into {t} ({names}){system} values ({again});": 4,
    "update {t} set {last} = {value} where ({key}) = ({a}); insert into {t} ({names}){system} values ({again});": 4,
    "delete from {t} where ({key}) = ({a}); update {t} set ({key}) = row({a}) where ({key}) = ({b});": 4,
    "truncate {closure}; insert into {t} ({names}){system} values ({values});": 1,
}


def transaction(random: Random, tables: Sequence[Table]) -> str:
    several = [random.choice(tables) for _ in range(random.choice([1, 2, 4]))]
    statements = random.choices([*_STATEMENTS], [*_STATEMENTS.values()], k=len(several))
    blocks = [_block(random, table, tables, form) for table, form in zip(several, statements, strict=True)]
    return "\n".join(["begin;", *blocks, random.choices(["commit;", "rollback;"], [9, 1])[0]])


def fill(random: Random, tables: Sequence[Table]) -> str:
    return "\n".join(_block(random, table, tables, next(iter(_STATEMENTS))) for table in tables for _ in range(9))


def _block(random: Random, table: Table, tables: Sequence[Table], form: str) -> str:
    def value(type: str) -> str:
        if type.endswith(("int null", "text null")) and random.random() < 0.2:
            return "null"
        return _LITERALS[type.split()[0]].format(random.randrange(40 if "null" in type else 15))

    def row(of: Table, columns: str) -> str:
        key, offset = ", ".join(of.key), random.randrange(8)
        return f"select {columns} from source.{of.name} order by {key} offset {offset} limit 1"

    t, values = f"source.{table.name}", {name: value(type) for name, type in table.columns.items()}
    for one in table.references:
        is_null, parent = random.random() < 0.2, row(one.parent, "{}")
        for name, column in zip(one.columns, one.parent.key, strict=True):
            values[name] = "null" if is_null and name not in table.key else f"({parent.format(column)})"
    several, closure = table.references, {table.name}
    for _ in tables:
        closure |= {each.name for each in tables for one in each.references if one.parent.name in closure}
    one = random.choice(several) if several else Reference(table, ("v",), "", "", "")
    column, (last, type) = random.choice([*table.key]), [*table.key.items()][-1]
    again = [f"a.{name}" if name != "v" else value("text") for name in table.columns]
    body = form.format(
        t=t, names=", ".join(values), values=", ".join(values.values()), again=", ".join(again), system=table.system,
        key=", ".join(table.key), a=", ".join(f"a.{name}" for name in table.key),
        b=", ".join(f"b.{name}" for name in table.key), column=column, value=value(table.key[column]), last=last,
        third=", ".join([*(f"a.{name}" for name in [*table.key][:-1]), _LITERALS[type].format(99)]), text=value("text"),
        number=random.randrange(15), closure=", ".join(f"source.{name}" for name in sorted(closure)),
        reference=", ".join(one.columns), parent=row(one.parent, ", ".join(one.parent.key)),
    )  # fmt: skip
    selects = [row(table, "*").replace("*", f"* into {name}") for name in "ab"]
    return f"do $$ declare a {t}%rowtype; b {t}%rowtype; begin {'; '.join(selects)}; {body} end $$;"
