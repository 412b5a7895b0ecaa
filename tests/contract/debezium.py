"""The contracts of `debezium_json` and `debezium_avro`."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any

from dialects import lines, written
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, changes, json_numbers, names

from contract import Case, Contract, Recorded
from contract.shown import each, flag
from ggfmt.formats.api.format import Context
from ggfmt.model.table import TableDef

SOURCE = {
    "version": "3.6.3.Final", "connector": "postgresql", "name": "srv", "ts_ms": 1600161894123, "snapshot": "false",
    "db": "shop", "sequence": '["10","11"]', "ts_us": 1600161894123456, "ts_ns": 1600161894123456000,
    "schema": "public", "table": "t", "txId": 5, "lsn": 11, "xmin": None,
}  # fmt: skip
MYSQL = {
    "version": "1.1.1.Final", "connector": "mysql", "name": "srv", "ts_ms": 1600161894123, "snapshot": False,
    "db": "shop", "table": "t", "server_id": 7, "gtid": None, "file": "bin.3", "pos": 154, "row": 0, "query": None,
}  # fmt: skip
ROW = {"id": 1, "name": "a"}


def event(op: str, before: Any = None, after: Any = None, **others: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": SOURCE, "op": op, "ts_ms": 1, "transaction": None, **others}


def field(
    name: str, type: str, semantic: str | None = None, optional: bool = True, **parameters: str
) -> dict[str, Any]:
    found: dict[str, Any] = {"type": type, "optional": optional, "field": name}
    if semantic is not None:
        found["name"] = semantic
    if parameters:
        found["parameters"] = parameters
    return found


ROW_FIELDS = [field("id", "int32", optional=False), field("name", "string")]


def schema_of(*fields: dict[str, Any]) -> dict[str, Any]:
    images = [{"type": "struct", "fields": fields, "optional": True, "field": name} for name in ("before", "after")]
    own = {"type": "struct", "fields": [field("table", "string")], "optional": False, "field": "source"}
    return {
        "type": "struct",
        "fields": [*images, own, field("op", "string")],
        "optional": False,
        "name": "srv.t.Envelope",
    }


def wrapped(payload: Any, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"schema": schema_of(*(fields or ROW_FIELDS)), "payload": payload}


def table_change(kind: str, **columns: dict[str, Any]) -> dict[str, Any]:
    described = [
        {"name": name, "position": place, "optional": name != "id", "typeExpression": told["typeName"], **told}
        for place, (name, told) in enumerate(columns.items(), 1)
    ]
    table = None if kind == "DROP" else {"primaryKeyColumnNames": ["id"], "columns": described}
    change = {"type": kind, "id": '"shop"."t"', "table": table}
    return {
        "source": MYSQL,
        "ts_ms": 1,
        "databaseName": "shop",
        "schemaName": None,
        "ddl": "...",
        "tableChanges": [change],
    }


_STAMPS = st.one_of(st.none(), st.sampled_from(["2013-06-02 22:14:36.123456", "1969-12-31 23:59:59.999999"]))
_TOKEN_NAMES = st.one_of(
    st.sampled_from(
        ["connector", "name", "snapshot", "txId", "lsn", "gtid", "file", "pos", "row", "scn", "db", "transaction.id",
         "transaction.total_order", "tokens", "table", "ts_us", "position", "version", "sequence", "query"]
    ),
    names,
)  # fmt: skip
_TOKEN_TEXTS = st.one_of(
    st.sampled_from(["1", "007", "", "mysql", "postgresql", "ggfmt", "false", "true", "5:11", "-5", "null"]), names
)
_LONGS = st.integers(-(1 << 63), (1 << 63) - 1).map(str)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Values that their columns can have, and tokens with and without a place in source blocks. Where schemas are
    written, whole numbers alone fit into the columns that are of them. Where none are, columns of numbers that a user
    defines have no texts."""
    schemas = draw(st.booleans())
    whole = schemas and draw(st.booleans())
    made = draw(changes(number=_LONGS if whole else json_numbers))
    columns = made.table.columns
    if not schemas:
        columns = tuple(replace(c, kind="string") if c.kind == "number" else c for c in columns)
    elif not whole:
        columns = tuple(replace(c, kind="decimal") if c.kind == "integer" else c for c in columns)
    full = draw(st.booleans())
    operations = []
    for item in made.operations:
        tokens = draw(st.dictionaries(_TOKEN_NAMES, _TOKEN_TEXTS, max_size=5))
        if full:  # what these say is part of the name
            tokens = {name: text for name, text in tokens.items() if name not in ("connector", "db")}
        operations.append(replace(item, op_ts=draw(_STAMPS), tokens=tokens))
    options = {"schemasEnable": flag(schemas), "missing": draw(st.sampled_from(["omitted", "placeholder"]))}
    made = replace(made, table=replace(made.table, columns=columns), operations=operations)
    return Case(made, options, {"tableName": "full"} if full else {})


def shown(case: Case) -> list[PlainOperation]:
    """Of a table name of three parts the catalog is a token, unless full names are asked for."""
    parts = case.changes.table.name.split(".")
    if len(parts) < 3 or case.told:
        return case.operations
    return [replace(item, tokens={"db": parts[0], **item.tokens}) for item in case.operations]


def read_as(case: Case) -> TableDef:
    name = case.definition.full_name
    return replace(case.definition, full_name=name if case.told else ".".join(name.split(".")[-2:]))


def kinds(case: Case, table: TableDef) -> Any:
    """Messages with a schema have the types of columns."""
    schemas = case.options["schemasEnable"] == "true"
    return [(column.name, column.type.kind) for column in table.columns] if schemas else None


CONTRACTS = {
    "debezium_json": Contract(
        cases(),
        shown,
        transactions=("txId", "transaction.id", "gtid"),
        told=kinds,
        table=read_as,
        records=lines(
            table_change("CREATE", id={"typeName": "INT", "jdbcType": 4}, name={"typeName": "TEXT", "jdbcType": 12}),
            wrapped(event("c", None, ROW)),
            event("u", ROW, {**ROW, "name": None}),
            {**ROW, "__op": "d", "__table": "t", "__schema": "public", "__deleted": "true"},
            {"schema": None, "payload": event("t")},
            {"status": "END", "id": "5:2", "event_count": 1, "data_collections": []},
            wrapped(event("d", ROW)),
            event("c", None, ROW, source=MYSQL),
        ).splitlines(),
        base=1,
        recorded=(
            Recorded("debezium/apache_flink-connector-kafka__debezium-data-schema-exclude.txt", "IIIIIIIIIUUIIUUD"),
            # Of Arcion, whose inserts have an empty object before, and whose deletes have one after.
            Recorded("arcion/huynguy-db_arcion-docs__json-cdc-format.jsonl", "IID", {"key": 5, "tombstone": 1}),
        ),
    )
}


# In Avro


@st.composite
def avro_cases(draw: st.DrawFn) -> Case:
    """Values that their columns can have, by names that Avro takes; numbers are texts, or what Avro has for them."""
    made = draw(changes(number=_LONGS))
    operations = []
    names_of = {column.name: f"C{place}_" for place, column in enumerate(made.table.columns)}
    columns = tuple(replace(column, name=names_of[column.name]) for column in made.table.columns)
    quarter = st.integers(-(10**6), 10**6).map(lambda number: repr(number / 4))
    drawn = {
        "double": quarter,
        "float": quarter,
        "binary": st.binary(max_size=5).map(lambda data: b64encode(data).decode()),
    }
    kinds = {names_of[column.name]: column.kind for column in made.table.columns}

    def image(row: Any) -> Any:
        renamed = None if row is None else {names_of[name]: value for name, value in row.items()}
        return each(renamed, lambda name, value: draw(drawn[kinds[name]]) if kinds[name] in drawn else value)

    for item in made.operations:
        tokens = draw(st.dictionaries(_TOKEN_NAMES, _TOKEN_TEXTS, max_size=5))
        operations.append(
            replace(item, op_ts=draw(_STAMPS), tokens=tokens, before=image(item.before), after=image(item.after))
        )
    options = {"missing": draw(st.sampled_from(["omitted", "placeholder"]))}
    made = replace(made, table=replace(made.table, columns=columns), operations=operations)
    return Case(made, options, context=Context(True, codec=draw(st.sampled_from(["null", "deflate"]))))


def avro_shown(case: Case) -> list[PlainOperation]:
    """A missing column is NULL, unless a placeholder is in its place."""
    whole = {column.name for column in case.changes.table.columns}
    if case.options["missing"] == "placeholder":
        texts = ("string", "interval", "binary")
        whole = {column.name for column in case.changes.table.columns if column.kind not in texts}

    def filled(image: Any) -> Any:
        return None if image is None else {**{name: None for name in whole if name not in image}, **image}

    return [replace(item, before=filled(item.before), after=filled(item.after)) for item in shown(case)]


def kinds_of_columns(case: Case, table: TableDef) -> Any:
    return [(column.name, column.type.kind) for column in table.columns]


_TABLE = PlainTable("S.T", (PlainColumn("A", "string"), PlainColumn("B", "double")))
_STORY = [PlainOperation("I", None, "p", None, {"A": "x" * n, "B": "1.5"}, {}) for n in range(5)]


def _file(operations: list[PlainOperation]) -> bytes:
    return written("debezium_avro", Changes(_TABLE, operations, False), None, Context(True))


CONTRACTS["debezium_avro"] = Contract(
    avro_cases(),
    avro_shown,
    transactions=("transaction.id",),  # all other tokens are in the map of ggfmt
    told=kinds_of_columns,
    table=read_as,
    records=[_file([item]).removeprefix(_file([])) for item in _STORY],
    head=_file([]),
    frame=bytes,
    isolated=False,
    texts=False,
)
