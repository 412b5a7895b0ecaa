"""The contract of `dts_avro`."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from typing import Any

import fastavro
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable
from strategies import Changes, java_numbers, json_numbers, names, texts

from contract import Case, Contract, names_kinds_and_keys
from contract.shown import each, flag
from ggfmt.formats.dts.schema import NAMESPACE, record_schema
from ggfmt.model.table import Kind, SqlType, TableDef

SCHEMAS = {born: fastavro.parse_schema(json.loads(json.dumps(record_schema(born)))) for born in (True, False)}


def value(branch: str, **members: Any) -> Any:
    return (f"{NAMESPACE}.{branch}", members)


def integer(text: str) -> Any:
    return value("Integer", precision=8, value=text)


def text(data: bytes, charset: str = "utf8mb4") -> Any:
    return value("Character", charset=charset, value=data)


def moment(*parts: int | None) -> dict[str, int | None]:
    members = ("year", "month", "day", "hour", "minute", "second", "millis")
    return dict(zip(members, parts, strict=True))


def time(*parts: int | None) -> Any:
    return value("DateTime", **moment(*parts))


COLUMNS = {"id": 8, "name": 253, "price": 246}
ROW = [integer("1"), text(b"a"), value("Decimal", value="10.50", precision=10, scale=2)]
KEYS = {"pk_uk_info": '{"PRIMARY":["id"],"uk":["name"]}'}


def record(
    operation: str, before: Any = None, after: Any = None, columns: Any = COLUMNS, source: str = "MySQL", **others: Any
) -> dict[str, Any]:
    fields = columns if not isinstance(columns, dict) else [
        {"name": name, "dataTypeNumber": number} for name, number in columns.items()
    ]  # fmt: skip
    return {
        "version": 0, "id": 58, "sourceTimestamp": 1696984408, "sourcePosition": "72469@78", "safeSourcePosition": "",
        "sourceTxid": "7", "source": {"sourceType": source, "version": "8.0.28"}, "operation": operation,
        "objectName": "shop.t", "processTimestamps": None, "tags": KEYS, "fields": fields, "beforeImages": before,
        "afterImages": after, "bornTimestamp": 0, **others,
    }  # fmt: skip


def datum(item: dict[str, Any], born: bool = True) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMAS[born], item)
    return out.getvalue()


def prefixed(*data: bytes) -> bytes:
    return b"".join(len(item).to_bytes(4, "big") + item for item in data)


def file(*items: dict[str, Any]) -> bytes:
    return prefixed(*map(datum, items))


def story() -> list[dict[str, Any]]:
    wide = {"x": 252, "at": 12, "f": 5}
    row = [text(b"a"), time(2020, 1, 2, 3, 4, 5, 6), value("Float", value=1.5, precision=0, scale=0)]
    return [
        record("INSERT", None, ROW),
        record("UPDATE", ROW, [None, *ROW[1:]]),
        record("INSERT", None, row, wide, objectName="shop.u", processTimestamps=[1, 2]),
        record("DDL", None, "truncate table t", None, objectName="shop"),
        record("BEGIN", columns=None),
        record("DELETE", ROW),
    ]


_POOLS: dict[Kind, st.SearchStrategy[str]] = {
    Kind.STRING: texts,
    Kind.INTERVAL: texts,
    Kind.BOOLEAN: st.sampled_from(["true", "false"]),
    Kind.INTEGER: st.integers(-(10**30), 10**30).map(str),
    Kind.DECIMAL: st.one_of(json_numbers, java_numbers),
    Kind.NUMBER: st.one_of(json_numbers, java_numbers),
    Kind.FLOAT: st.floats(allow_nan=False, allow_infinity=False).map(repr),
    Kind.DOUBLE: st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr), st.sampled_from(["NaN", "Infinity", "-Infinity"])
    ),
    Kind.DATE: st.one_of(st.dates().map(str), st.sampled_from(["0000-00-00", "2020-00-00"])),
    Kind.BINARY: st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()),
}
_TOKEN_NAMES = st.one_of(
    texts,
    st.sampled_from(
        ["id", "version", "sourceTxid", "bornTimestamp", "processTimestamps", "snapshot", "source.version", "tags.id"]
    ),
)
_TOKEN_TEXTS = st.one_of(texts, st.sampled_from(["5", "0", "-7", "007", "9" * 18, "9" * 19, "true", "false", "[1,-2]"]))


def times(digits: int) -> dict[Kind, st.SearchStrategy[str]]:
    clock = st.times().map(lambda item: item.strftime("%H:%M:%S"))
    fraction = st.one_of(st.just(""), st.integers(0, 10**digits - 1).map(lambda number: f".{number:0{digits}}"))
    day = st.dates().map(str)
    zone = st.sampled_from(["", "", "", " +08:00", " -0330", " UTC", " Asia/Shanghai", " Z"])
    hours = st.sampled_from(["", "-"]).flatmap(
        lambda sign: st.builds(
            "{}{:02}:{:02}:{:02}".format, st.just(sign), st.integers(1, 900), *[st.integers(0, 59)] * 2
        )
    )
    return {
        Kind.TIME: st.builds("{}{}".format, hours, fraction),
        Kind.TIMESTAMP: st.one_of(day, st.builds("{} {}{}{}".format, day, clock, fraction, zone)),
    }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    source = draw(st.sampled_from(["MySQL", "MySQL", "Oracle", "PostgreSQL"]))
    pools = {**_POOLS, **times(9 if source == "Oracle" else 6)}
    parts = st.text("abcÄ_$ü", min_size=1, max_size=4)
    kinds = draw(st.lists(st.sampled_from(list(Kind)), min_size=1, max_size=6))
    columns = draw(st.lists(names, min_size=len(kinds), max_size=len(kinds), unique=True))
    keys = draw(st.permutations(range(len(kinds))))[: draw(st.integers(0, 2))]
    table = PlainTable(
        ".".join(draw(st.lists(parts, min_size=2, max_size=3))),
        tuple(
            PlainColumn(name, kind.value, keys.index(place) + 1 if place in keys else 0)
            for place, (name, kind) in enumerate(zip(columns, kinds, strict=True))
        ),
    )

    def image() -> PlainImage:
        cells = {
            name: draw(st.one_of(st.just("-"), st.none(), pools[kind]))
            for name, kind in zip(columns, kinds, strict=True)
        }
        return {name: cell for name, cell in cells.items() if cell != "-"}

    items = []
    for op in draw(st.lists(st.sampled_from("IUUDT"), max_size=5)):
        before = image() if op == "D" or (op == "U" and draw(st.booleans())) else None
        after = image() if op in "IU" else None
        op_ts = draw(st.sampled_from([None, "2013-06-02 22:14:36.123456", "1969-12-31 23:59:58.999999"]))
        pos = draw(st.one_of(st.none(), texts))
        tokens = draw(st.dictionaries(_TOKEN_NAMES, _TOKEN_TEXTS, max_size=3))
        items.append(PlainOperation(op, op_ts, pos, before, after, tokens))
    options = {
        "sourceType": source,
        "fileFraming": draw(st.sampled_from(["length-prefixed", "container", "base64"])),
        "bornTimestamp": flag(draw(st.booleans())),
    }
    return Case(Changes(table, items, draw(st.booleans())), options)


def shown(case: Case) -> list[PlainOperation]:
    source = case.options["sourceType"]
    kinds = {column.name: Kind(column.kind) for column in case.changes.table.columns}

    def cell(name: str, text: str) -> str:
        if kinds[name] is Kind.BOOLEAN and source != "PostgreSQL":
            return str(int(text == "true"))
        return f"{text} 00:00:00" if kinds[name] is Kind.DATE and source == "Oracle" else text

    return [
        PlainOperation(
            item.op,
            item.op_ts and f"{item.op_ts[:19]}.000000",
            item.pos or None,
            each(item.before, cell),
            each(item.after, cell),
            {**item.tokens, "source.sourceType": source},
        )
        for item in case.operations
    ]


_READ_AS = {
    "MySQL": {Kind.BOOLEAN: Kind.INTEGER, Kind.NUMBER: Kind.DECIMAL, Kind.INTERVAL: Kind.STRING},
    "Oracle": {
        Kind.BOOLEAN: Kind.DECIMAL, Kind.INTEGER: Kind.DECIMAL, Kind.NUMBER: Kind.DECIMAL, Kind.DATE: Kind.TIMESTAMP,
        Kind.TIME: Kind.STRING, Kind.INTERVAL: Kind.STRING,
    },
    "PostgreSQL": {Kind.NUMBER: Kind.DECIMAL},
}  # fmt: skip


def read_as(case: Case) -> TableDef:
    kinds = _READ_AS[case.options["sourceType"]]
    columns = (replace(c, type=SqlType(kinds.get(c.type.kind, c.type.kind))) for c in case.definition.columns)
    return TableDef(case.definition.full_name, tuple(columns))


CONTRACTS = {
    "dts_avro": Contract(
        cases(),
        shown,
        transactions=("sourceTxid",),
        told=names_kinds_and_keys,
        table=read_as,
        records=list(map(datum, story())),
        frame=lambda record: prefixed(record),
        texts=False,
    )
}
