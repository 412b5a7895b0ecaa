"""Table definitions from DEFGEN files, JSON schemas and Avro schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from places import GOLDEN, ROOT, SAMPLES, SHARED_DATA
from strategies import examples

from ggfmt.definitions import KNOWN_FILES, load_definitions, read_definitions
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.model.table import Column, Kind, SqlType, TableDef

OGG = SHARED_DATA / "ogg"

FIELDS = [
    "Name", "Data Type", "External Length", "Fetch Offset", "Scale", "Level", "Null", "Bump if Odd", "Internal Length",
    "Binary Length", "Table Length", "Most Significant DT", "Least Significant DT", "High Precision", "Low Precision",
    "Elementary Item", "Occurs", "Key Column", "Sub Data Type", "Native Data Type", "Character Set", "Character Length",
    "LOB Type", "Partial Type",
]  # fmt: skip


def head(fields: int, first_line: str = "", charset: str = "") -> str:
    listing = "".join(f"*  {number:4}    {name}\n" for number, name in enumerate(FIELDS[:fields], 1))
    return (
        f"{first_line}*\n* Definitions created/modified  2016-01-15 00:30\n*\n"
        f"*  Field descriptions for each column entry:\n*\n{listing}*\nDatabase type: ORACLE\n{charset}*\n"
    )


CHARSET = """Character set ID: UTF-8
National character set ID: UTF-16
Locale: neutral
Case sensitivity: 14 14 14 14 14 14 14 14 14 14 14 14 11 14 14 14
TimeZone: GMT
"""

TCUSTORD_50 = """Definition for table GG.TCUSTORD
Record length: 182
Syskey: 0
Columns: 7
CUST_CODE        64      4        0  0  0 1 0      4      4      0 0 0 0 0 1    0 1   0    1       -1      0 0 0
ORDER_DATE      192     19       10  0  0 1 0     19     19     19 0 5 0 0 1    0 1   0   12       -1      0 0 0
PRODUCT_CODE     64      8       32  0  0 1 0      8      8      0 0 0 0 0 1    0 1   0    1       -1      0 0 0
ORDER_ID         64     50       46  0  0 1 0     50     50     50 0 0 0 0 1    0 1   2    2       -1      0 0 0
PRODUCT_PRICE   134     10      102  2  0 1 0      8      8      8 0 0 0 0 1    0 0   3    2       -1      0 0 0
PRODUCT_AMOUNT  134      8      114  0  0 1 0      8      8      8 0 0 0 0 1    0 0   3    2       -1      0 0 0
TRANSACTION_ID   64     50      126  0  0 1 0     50     50     50 0 0 0 0 1    0 0   2    2       -1      0 0 0
End of definition
"""

TCUSTORD_19_FIELDS = """Definition for table GG.TCUSTORD
Record length: 182
Syskey: 0
Columns: 7
CUST_CODE        64      4        0  0  0 1 0      4      4      0 0 0 0 0 1    0 1   0
ORDER_DATE      192     19       10  0  0 1 0     19     19     19 0 5 0 0 1    0 1   0
PRODUCT_CODE     64      8       32  0  0 1 0      8      8      0 0 0 0 0 1    0 1   0
ORDER_ID         64     50       46  0  0 1 0     50     50     50 0 0 0 0 1    0 1   2
PRODUCT_PRICE   134     10      102  2  0 1 0      8      8      8 0 0 0 0 1    0 0   3
PRODUCT_AMOUNT  134      8      114  0  0 1 0      8      8      8 0 0 0 0 1    0 0   3
TRANSACTION_ID   64     50      126  0  0 1 0     50     50     50 0 0 0 0 1    0 0   2
End of definition"""

HEAD_50 = head(24, "*+- Defgen version 5.0, Encoding UTF-8\n", CHARSET)
V50 = HEAD_50 + TCUSTORD_50
V20 = head(19, "*+- Defgen version 2.0, Encoding UTF-8\n") + TCUSTORD_19_FIELDS
V111 = head(19) + TCUSTORD_19_FIELDS

TCUSTORD = TableDef(
    "GG.TCUSTORD",
    (
        Column("CUST_CODE", SqlType(Kind.STRING, length=4), key=1),
        Column("ORDER_DATE", SqlType(Kind.DATE), key=2),
        Column("PRODUCT_CODE", SqlType(Kind.STRING, length=8), key=3),
        Column("ORDER_ID", SqlType(Kind.NUMBER), key=4),
        Column("PRODUCT_PRICE", SqlType(Kind.DECIMAL, scale=2)),
        Column("PRODUCT_AMOUNT", SqlType(Kind.INTEGER)),
        Column("TRANSACTION_ID", SqlType(Kind.NUMBER)),
    ),
)

MANUAL_COLUMNS = {  # in the schemas of the manual, and whether they are numbers there
    "CUST_CODE": False,
    "ORDER_DATE": False,
    "PRODUCT_CODE": False,
    "ORDER_ID": False,
    "PRODUCT_PRICE": True,
    "PRODUCT_AMOUNT": True,
    "TRANSACTION_ID": False,
}

# The schemas of the manual
MANUAL_JSON_SCHEMA = (GOLDEN / "json" / "manual_insert" / "expected.schema.json").read_text(encoding="utf-8")
MANUAL_AVRO_SCHEMAS = {
    name: (GOLDEN / name / "manual_insert" / "expected.avsc").read_text(encoding="utf-8")
    for name in ("avro_row_ocf", "avro_op_ocf")
}

JSON_ROW_SCHEMA = """{
    "$schema":"http://json-schema.org/draft-04/schema#",
    "title":"shop.orders",
    "description":"JSON schema for table shop.orders",
    "definitions":{
        "tokens":{"type":"object","properties":{},"additionalProperties":true}
    },
    "type":"object",
    "properties":{
        "table":{"type":"string"},
        "op_type":{"type":"string"},
        "op_ts":{"type":"string"},
        "current_ts":{"type":"string"},
        "pos":{"type":"string"},
        "primary_keys":{"type":"array","items":{"type":"string"},"minItems":0,"uniqueItems":true},
        "tokens":{"$ref":"#/definitions/tokens"},
        "id":{"type":["integer","null"]},
        "name":{"type":["string","null"]},
        "price":{"type":["number","null"]},
        "paid":{"type":"boolean"}
    },
    "required":["table","op_type","op_ts","current_ts","pos"],
    "additionalProperties":false
}"""

WRAPPER = """{ "type" : "record", "name" : "generic_wrapper", "namespace" : "oracle.goldengate", "fields" : [
  { "name" : "table_name", "type" : "string" }, { "name" : "schema_%s", "type" : "%s" },
  { "name" : "payload", "type" : "bytes" } ] }"""

Write = Callable[[str, "str | bytes"], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file into an empty working directory, so that diagnostics name it without its path."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, content: str | bytes) -> str:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write_file


def entry(name: str, code: int, length: int = 8, scale: int = 0, sub: int = 0, native: int = 0, last: int = 0) -> str:
    return f"{name} {code} {length} 0 {scale} 0 1 0 8 8 8 0 {last} 0 0 1 0 0 {sub} {native} -1 0 0 0\n"


def table_text(*entries: str, name: str = "GG.T") -> str:
    columns = f"Columns: {len(entries)}\n"
    return f"Definition for table {name}\nRecord length: 8\nSyskey: 0\n{columns}{''.join(entries)}End of definition\n"


def avro(*fields: object, **attributes: object) -> str:
    return json.dumps({"type": "record", "name": "T", "namespace": "GG", "fields": fields, **attributes})


def problems(*paths: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_definitions(paths)
    return [str(diagnostic) for diagnostic in caught.value.diagnostics]


# DEFGEN


@pytest.mark.parametrize("text", [V50, V20, V111, V50.replace("\n", "\r\n")], ids=["5.0", "2.0", "11.1", "CRLF"])
def test_every_version_of_defgen_defines_the_same_table(write: Write, text: str) -> None:
    assert read_definitions(write("tcustord.def", text)) == [TCUSTORD]


def test_the_list_of_fields_decides_and_not_the_version(write: Write) -> None:
    listing = "*  Field descriptions for each column entry:\n* 1 Name\n* 2 Key Column\n* 3 Scale\n* 4 External Length\n"
    text = f"{listing}* 5 Data Type\nDefinition for table S.T\nColumns: 2\nA 1 2 9 134\nB 0 0 7 64\nEnd of definition"
    columns = (Column("A", SqlType(Kind.DECIMAL, scale=2), key=1), Column("B", SqlType(Kind.STRING, length=7)))
    assert read_definitions(write("t.def", text)) == [TableDef("S.T", columns)]


def test_the_sample_holds_three_tables() -> None:
    tables = load_definitions([str(ROOT / "samples" / "TCUSTORD.def")])
    assert list(tables) == ["GG.TCUSTORD", "GG.TCUSTMER", "GG.ARTIKEL"]
    assert tables["GG.TCUSTORD"] == TCUSTORD
    assert tables["GG.TCUSTMER"].primary_keys == ("CUST_CODE",)
    assert [str(column.type) for column in tables["GG.TCUSTMER"].columns] == [
        "string(4)",
        "string(30)",
        "string(20)",
        "string(2)",
    ]
    assert tables["GG.ARTIKEL"].primary_keys == ("ID",)
    assert [str(column.type) for column in tables["GG.ARTIKEL"].columns] == [
        "integer",
        "string(60)",
        "decimal(2)",
        "timestamp",
    ]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (entry("A", 0, 2), SqlType(Kind.STRING, length=2)),
        (entry("A", 64, 40), SqlType(Kind.STRING, length=40)),
        (entry("A", 65, 40), SqlType(Kind.STRING, length=40)),
        (entry("A", 64, 0), SqlType(Kind.STRING)),
        (entry("A", 199, 5), SqlType(Kind.STRING, length=5)),
        (entry("A", 64, 50, sub=2, native=2), SqlType(Kind.NUMBER)),
        (entry("A", 64, 50, sub=2, native=100), SqlType(Kind.FLOAT)),
        (entry("A", 64, 50, sub=2, native=101), SqlType(Kind.DOUBLE)),
        (entry("A", 64, 50, scale=3, sub=3), SqlType(Kind.DECIMAL, scale=3)),
        (entry("A", 0, 1, sub=4), SqlType(Kind.BINARY, length=1)),
        (entry("A", 64, 16, native=23), SqlType(Kind.BINARY, length=16)),
        *((entry("A", code), SqlType(Kind.INTEGER)) for code in range(130, 136)),
        *((entry("A", code, scale=4), SqlType(Kind.DECIMAL, scale=4)) for code in range(130, 136)),
        (entry("A", 140), SqlType(Kind.FLOAT)),
        (entry("A", 141), SqlType(Kind.DOUBLE)),
        *((entry("A", code, scale=2), SqlType(Kind.DECIMAL, scale=2)) for code in range(150, 156)),
        (entry("A", 192, 19, native=12, last=5), SqlType(Kind.DATE)),
        (entry("A", 192, 29, native=187, last=6), SqlType(Kind.TIMESTAMP)),
        (entry("A", 192, 19, native=187, last=5), SqlType(Kind.TIMESTAMP)),
        (entry("A", 192, 19, last=5), SqlType(Kind.DATE)),
        (entry("A", 192, 26, last=6), SqlType(Kind.TIMESTAMP)),
        (entry("A", 195), SqlType(Kind.INTERVAL)),
    ],
)
def test_types_of_defgen(write: Write, column: str, expected: SqlType) -> None:
    assert read_definitions(write("t.def", HEAD_50 + table_text(column)))[0].columns[0].type == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(0, 2, Kind.DATE), (0, 5, Kind.TIMESTAMP), (0, 6, Kind.TIMESTAMP), (3, 5, Kind.TIME), (3, 6, Kind.TIME)],
)
def test_dates_of_other_databases_go_by_their_parts(write: Write, first: int, last: int, expected: Kind) -> None:
    column = f"A 192 19 0 0 0 1 0 8 8 8 {first} {last} 0 0 1 0 0 0 12 -1 0 0 0\n"
    text = HEAD_50.replace("ORACLE", "MYSQL") + table_text(column)
    assert read_definitions(write("t.def", text))[0].columns[0].type == SqlType(expected)


def test_names_in_quotes_may_hold_blanks_and_quotes(write: Write) -> None:
    text = HEAD_50 + table_text(entry('"My  ""Col"" 2"', 64), entry("ÄRGER", 64), name='"My Schema"."T"')
    table = read_definitions(write("t.def", text))[0]
    assert table.full_name == "My Schema.T"
    assert table.column_names == ('My  "Col" 2', "ÄRGER")


@pytest.mark.parametrize(
    ("first_line", "encoding"),
    [
        ("*+- Defgen version 5.0, Encoding windows-1252\n", "cp1252"),
        ("*+- Defgen version 5.0, Encoding ISO-8859-15\n", "iso8859-15"),
        ("*+- Defgen version 5.0, Encoding UTF-8\n", "utf-8"),
        ("*+- Defgen version 5.0, Encoding UTF-8\n", "utf-8-sig"),
        ("*+- Defgen version 5.0, Encoding UTF-8\n", "utf-16"),
        ("", "utf-8"),
        ("", "cp1252"),
    ],
)
def test_the_encoding_is_the_one_of_the_header(write: Write, first_line: str, encoding: str) -> None:
    text = head(24, first_line) + table_text(entry("M€", 64))
    assert read_definitions(write("t.def", text.encode(encoding)))[0].column_names == ("M€",)


def test_bytes_that_neither_utf_8_nor_cp1252_has_are_latin_1(write: Write) -> None:
    text = head(24).encode() + table_text(entry("A\x81", 64)).encode("latin-1")
    assert read_definitions(write("t.def", text))[0].column_names == ("A\x81",)


def test_of_an_appended_table_the_last_definition_counts(write: Write) -> None:
    text = HEAD_50 + table_text(entry("OLD", 64)) + TCUSTORD_50 + HEAD_50 + table_text(entry("NEW", 134))
    tables = load_definitions([write("t.def", text)])
    assert tables["GG.T"] == TableDef("GG.T", (Column("NEW", SqlType(Kind.INTEGER)),))
    assert tables["GG.TCUSTORD"] == TCUSTORD


def test_a_header_alone_defines_no_table(write: Write) -> None:
    assert read_definitions(write("t.def", HEAD_50)) == []


def test_a_last_table_without_its_end_is_taken_if_its_columns_are_all_there(write: Write) -> None:
    assert read_definitions(write("t.def", V50.removesuffix("End of definition\n"))) == [TCUSTORD]


# JSON schemas


def test_the_json_schema_of_the_manual(write: Write) -> None:
    columns = tuple(Column(n, SqlType(Kind.DECIMAL if is_n else Kind.STRING)) for n, is_n in MANUAL_COLUMNS.items())
    assert read_definitions(write("a.json", MANUAL_JSON_SCHEMA)) == [TableDef("GG.TCUSTORD", columns)]


def test_the_schema_of_the_row_model(write: Write) -> None:
    columns = (
        Column("id", SqlType(Kind.INTEGER)),
        Column("name", SqlType(Kind.STRING)),
        Column("price", SqlType(Kind.DECIMAL)),
        Column("paid", SqlType(Kind.BOOLEAN), nullable=False),
    )
    assert read_definitions(write("a.json", "\n" + JSON_ROW_SCHEMA)) == [TableDef("shop.orders", columns)]


def test_columns_named_like_metadata_are_columns_in_the_operation_model(write: Write) -> None:
    text = MANUAL_JSON_SCHEMA.replace('"ORDER_ID"', '"table"')
    assert read_definitions(write("a.json", text))[0].column_names[3] == "table"


# Avro schemas


@pytest.mark.parametrize("text", MANUAL_AVRO_SCHEMAS.values(), ids=MANUAL_AVRO_SCHEMAS)
def test_the_avro_schemas_of_the_manual(write: Write, text: str) -> None:
    columns = tuple(Column(n, SqlType(Kind.DOUBLE if is_n else Kind.STRING)) for n, is_n in MANUAL_COLUMNS.items())
    assert read_definitions(write("a.avsc", text)) == [TableDef("GG.TCUSTORD", columns)]


@pytest.mark.parametrize(
    ("spec", "expected", "nullable"),
    [
        ("string", SqlType(Kind.STRING), False),
        (["null", "string"], SqlType(Kind.STRING), True),
        (["string", "null"], SqlType(Kind.STRING), True),
        ({"type": "string", "avro.java.string": "String"}, SqlType(Kind.STRING), False),
        (["null", "double"], SqlType(Kind.DOUBLE), True),
        (["null", "float"], SqlType(Kind.FLOAT), True),
        (["null", "long"], SqlType(Kind.INTEGER), True),
        (["null", "int"], SqlType(Kind.INTEGER), True),
        (["null", "boolean"], SqlType(Kind.BOOLEAN), True),
        (["null", "bytes"], SqlType(Kind.BINARY), True),
        ({"type": "fixed", "name": "f", "size": 16}, SqlType(Kind.BINARY, length=16), False),
        (
            ["null", {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}],
            SqlType(Kind.DECIMAL, precision=8, scale=2),
            True,
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 8}, SqlType(Kind.DECIMAL, None, 8, 0), False),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], SqlType(Kind.TIMESTAMP), True),
        (["null", {"type": "int", "logicalType": "date"}], SqlType(Kind.DATE), True),
        ({"type": ["null", "string"]}, SqlType(Kind.STRING), True),
    ],
)
def test_types_of_avro(write: Write, spec: object, expected: SqlType, nullable: bool) -> None:
    text = avro({"name": "A", "type": spec})
    assert read_definitions(write("a.avsc", text)) == [TableDef("GG.T", (Column("A", expected, nullable),))]


def test_flags_of_missing_columns_are_not_columns(write: Write) -> None:
    names = ["A", "A_isMissing", "B_isMissing"]
    text = avro(*({"name": name, "type": "boolean"} for name in names))
    assert read_definitions(write("a.avsc", text))[0].column_names == ("A", "B_isMissing")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"namespace": "CAT.GG"}, "CAT.GG.T"),
        ({"namespace": ""}, "T"),
        ({"name": "GG.T", "namespace": "OTHER"}, "GG.T"),
    ],
)
def test_the_name_of_an_avro_table(write: Write, attributes: dict[str, object], expected: str) -> None:
    text = avro({"name": "A", "type": "string"}, **attributes)
    assert read_definitions(write("a.avsc", text))[0].full_name == expected


@pytest.mark.parametrize("schema", [("hash", "int"), ("fingerprint", "long")])
def test_the_generic_wrapper_is_no_table(write: Write, schema: tuple[str, str]) -> None:
    assert load_definitions([write("generic_wrapper.avsc", WRAPPER % schema)]) == {}


@pytest.mark.skipif(not OGG.is_dir(), reason="the project's shared data is not here")
def test_captured_avro_schemas() -> None:
    tables = load_definitions([str(OGG)])
    assert list(tables) == ["DBUS.DB_HEARTBEAT_MONITOR", "DBUS.META_SYNC_EVENT"]
    assert tables["DBUS.META_SYNC_EVENT"].column_names == (
        "SERNO",
        "TABLE_OWNER",
        "TABLE_NAME",
        "VERSION",
        "EVENT_TIME",
        "DDL_TYPE",
        "DDL",
    )
    assert len(tables["DBUS.DB_HEARTBEAT_MONITOR"].columns) == 7


# Many files


def test_directories_and_files_are_merged(write: Write) -> None:
    write("defs/b.def", HEAD_50 + table_text(entry("A", 64), name="GG.B"))
    write("defs/a.avsc", avro({"name": "A", "type": "string"}, name="A"))
    write("defs/c.schema.json", JSON_ROW_SCHEMA)
    write("defs/c.json", "not read")
    write("defs/.hidden.def", "not read")
    extra = write("extra", V50)
    assert list(load_definitions(["defs", extra])) == ["GG.A", "GG.B", "shop.orders", "GG.TCUSTORD"]


def test_equal_definitions_of_one_table_are_fine(write: Write) -> None:
    assert load_definitions([write("a.def", V50), write("b.def", V20)]) == {"GG.TCUSTORD": TCUSTORD}


AB = table_text(entry("A", 64), entry("B", 64))


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (table_text(entry("A", 64)), "column `B` is in the first only"),
        (
            AB.replace("Columns: 2", "Columns: 3").replace("End", entry("C", 64) + "End"),
            "column `C` is in the second only",
        ),
        (table_text(entry("B", 64), entry("A", 64)), "column 1 is `A` in the first and `B` in the second"),
        (
            table_text(entry("A", 64), entry("B", 134)),
            "column `B` is `string(8)` in the first and `integer` in the second",
        ),
        (
            table_text(entry("A", 64), entry("B", 64).replace("1 0 0 0 0", "1 0 1 0 0")),
            "column `B` is not in the key in the first and column 1 of the key in the second",
        ),
    ],
)
def test_different_definitions_of_one_table(write: Write, other: str, difference: str) -> None:
    assert problems(write("a.def", HEAD_50 + AB), write("b.def", HEAD_50 + other)) == [
        (
            f"b.def, table GG.T: error[GG203] `a.def` and `b.def` define the table differently: {difference}; "
            "leave one of the files out"
        )
    ]


def test_nullability_can_be_the_difference(write: Write) -> None:
    first = write("a.avsc", avro({"name": "A", "type": "string"}))
    second = write("b.avsc", avro({"name": "A", "type": ["null", "string"]}))
    assert problems(first, second) == [
        (
            "b.avsc, table GG.T: error[GG203] `a.avsc` and `b.avsc` define the table differently: "
            "column `A` is not nullable in the first and nullable in the second; leave one of the files out"
        )
    ]


def test_the_problems_of_all_files_are_told_at_once(write: Write) -> None:
    write("bad.avsc", "{")
    assert problems("bad.avsc", "none.def", write("t.def", HEAD_50 + "stray\n" + V50 + "stray\n")) == [
        f"bad.avsc:1:2: error[GG202] not JSON: expecting property name enclosed in double quotes; give {KNOWN_FILES}",
        "none.def: error[GG201] the definitions cannot be read: No such file or directory",
        "t.def:39:1: error[GG202] a line outside of the table definitions that is neither a comment nor a property",
        "t.def:90:1: error[GG202] a line outside of the table definitions that is neither a comment nor a property",
    ]


# Problems of one file


@pytest.mark.parametrize(
    "content",
    ["", "\n", "GG.TCUSTORD\n", b"Obj\x01\x04\x16avro.schema", "[]", "{}", '{"type": "record"}', '{"type": "object"}'],
)
def test_content_that_is_not_recognised(write: Write, content: str | bytes) -> None:
    assert problems(write("x.def", content)) == [
        (f"x.def: error[GG201] the file has none of the known kinds of definitions; give {KNOWN_FILES}")
    ]


def test_what_goldengate_leaves_in_one_directory_is_read_by_the_file_that_tells_most(write: Write) -> None:
    """Schemas do not know keys, or that a NUMBER is one: of all files on one table the DEFGEN file decides."""
    from ggfmt.formats.api.format import Context
    from ggfmt.formats.goldengate.json import JsonOptions
    from ggfmt.formats.goldengate.json.write import json_schema

    definitions = load_definitions([str(SAMPLES / "TCUSTORD.def")])
    (schema,) = json_schema(definitions["GG.TCUSTORD"], JsonOptions(), Context())
    text = schema.content.decode()
    copy = Path(write("GG.TCUSTORD_2015-09-18_13-39-35.447.schema.json", "an older one, not to be read"))
    write("GG.TCUSTORD.schema.json", text)
    assert load_definitions([str(copy.parent)])["GG.TCUSTORD"].primary_keys == ()
    both = load_definitions([str(copy.parent), str(SAMPLES / "TCUSTORD.def")])
    assert both["GG.TCUSTORD"] == definitions["GG.TCUSTORD"]


def test_a_directory_without_definitions(write: Write) -> None:
    write("defs/readme.txt", "")
    assert problems("defs") == [
        (
            "defs: error[GG201] the directory holds no definitions; "
            "its files should be named `*.def`, `*.sql`, `*.avsc`, `*.schema.json`"
        )
    ]


def test_a_directory_is_not_one_file(write: Write) -> None:
    write("defs/a.def", V50)
    with pytest.raises(
        ConfigurationError, match=r"defs: error\[GG201\] the definitions cannot be read: Is a directory"
    ):
        read_definitions("defs")


def test_a_path_that_no_system_has(write: Write) -> None:
    assert problems("a\0b") == ["a\0b: error[GG201] the definitions cannot be read: embedded null byte"]


BODY = HEAD_50.count("\n") + 1  # the first line after the head
PRICE = "PRODUCT_PRICE   134     10      102  2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            V50.replace(PRICE, "PRODUCT_PRICE   134     10      102"),
            (
                f":{BODY + 8}:1, table GG.TCUSTORD: error[GG202] "
                "the entry has 23 fields, but the field descriptions name 24"
            ),
        ),
        (
            V50.replace(PRICE, PRICE + " 7"),
            (
                f":{BODY + 8}:1, table GG.TCUSTORD: error[GG202] "
                "the entry has 25 fields, but the field descriptions name 24"
            ),
        ),
        (
            V50.replace("PRODUCT_PRICE ", "PRODUCT PRICE "),
            (
                f":{BODY + 8}:1, table GG.TCUSTORD: error[GG202] "
                "the entry has 25 fields, but the field descriptions name 24"
            ),
        ),
        (
            V50.replace(PRICE, PRICE.replace("  2", "  x")),
            (
                f":{BODY + 8}:38, table GG.TCUSTORD, column PRODUCT_PRICE: error[GG202] "
                "`Scale` cannot be `x`; give a number"
            ),
        ),
        (
            V50.replace("Columns: 7", "Columns: 8"),
            f":{BODY}:1, table GG.TCUSTORD: error[GG202] `Columns` says 8, but the table has 7 entries",
        ),
        (
            V50[: V50.index("ORDER_DATE")],
            f":{BODY}:1, table GG.TCUSTORD: error[GG202] `Columns` says 7, but the table has 1 entry",
        ),
        (
            V50.replace("Columns: 7", "Columns: many"),
            f":{BODY + 3}:1, table GG.TCUSTORD: error[GG202] `Columns` cannot be `many`; give a number",
        ),
        (
            V50.replace("Columns: 7\n", "").replace("End of definition\n", ""),
            f":{BODY}:1, table GG.TCUSTORD: error[GG202] no `End of definition` ends the table",
        ),
        (
            V50.replace("PRODUCT_CODE", "CUST_CODE   "),
            f":{BODY}:1, table GG.TCUSTORD, column CUST_CODE: error[GG202] the table has the column twice",
        ),
        (V50.replace("GG.TCUSTORD", "GG..T"), f":{BODY}:1: error[GG202] the table name `GG..T` has an empty part"),
        (HEAD_50 + table_text(), f":{BODY}:1, table GG.T: error[GG202] the table has no columns"),
        (
            HEAD_50 + table_text(entry('""', 64)),
            f":{BODY}:1, table GG.T: error[GG202] the name of a column is empty",
        ),
        (
            TCUSTORD_50,
            (
                ":1:1: error[GG202] no list of field descriptions comes before the table; "
                "keep the comments that DEFGEN writes at the head of the file"
            ),
        ),
        (
            V50.replace("    Key Column", "    Index Column"),
            (
                f":{BODY}:1: error[GG202] the field descriptions lack `Key Column`; "
                "keep the comments that DEFGEN writes at the head of the file"
            ),
        ),
        (
            V50.replace("1    Name", "1    Data Type").replace("2    Data Type", "2    Name", 1),
            (
                f":{BODY}:1: error[GG202] `Name` is not field 1; "
                "keep the comments that DEFGEN writes at the head of the file"
            ),
        ),
        (
            V50.replace("Encoding UTF-8", "Encoding Klingon-1"),
            (
                ":1:34: error[GG202] the encoding `Klingon-1` is not known; "
                "convert the file to UTF-8 and name that in its first line"
            ),
        ),
        (
            V50.replace("Encoding UTF-8", "Encoding hex"),
            (
                ":1:34: error[GG202] the encoding `hex` is not known; "
                "convert the file to UTF-8 and name that in its first line"
            ),
        ),
    ],
)
def test_malformed_defgen(write: Write, text: str, expected: str) -> None:
    assert problems(write("t.def", text)) == ["t.def" + expected]


def test_bytes_that_do_not_fit_the_declared_encoding(write: Write) -> None:
    text = V50.replace("CUST_CODE ", "GRÜSSE_Ö ")
    assert problems(write("t.def", text.encode("cp1252"))) == [
        (
            f"t.def:{BODY + 4}:3: error[GG202] byte 0xDC does not fit the file's encoding `UTF-8`; "
            "correct the encoding in the file's first line"
        )
    ]


def test_a_diagnostic_carries_the_source_line(write: Write) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_definitions(write("t.def", V50.replace(PRICE, PRICE.replace("  2", "  two"))))
    (diagnostic,) = caught.value.diagnostics
    span = diagnostic.span
    assert span.source and span.column
    assert span.source.startswith("PRODUCT_PRICE")
    assert span.source[span.column - 1 : span.column - 1 + span.length] == "two"


TYPE_HELP = "give `string`, `number`, `integer` or `boolean`, alone or in a list with `null`"
AVRO_HELP = (
    "give one of `string`, `boolean`, `int`, `long`, `float`, `double`, `bytes`, alone or in a union with `null`"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MANUAL_JSON_SCHEMA[:-1], f":102:1: error[GG202] not JSON: expecting ',' delimiter; give {KNOWN_FILES}"),
        ('{"title": "T"\r\n"type": 1}', f":2:1: error[GG202] not JSON: expecting ',' delimiter; give {KNOWN_FILES}"),
        ('{"a": 1}\n{"b": 2}', f":2:1: error[GG202] not JSON: extra data; give {KNOWN_FILES}"),
        ('{"title": "GG', f":1:11: error[GG202] not JSON: unterminated string starting at; give {KNOWN_FILES}"),
        (
            "[" * 200_000,
            ": error[GG202] not JSON that can be read: it is nested too deeply, or a number has too many digits",
        ),
        (
            f'{{"a": {"1" * 5000}}}',
            ": error[GG202] not JSON that can be read: it is nested too deeply, or a number has too many digits",
        ),
        (
            MANUAL_JSON_SCHEMA.replace('"title"', '"name"'),
            ": error[GG202] the schema has no `title`, which names the table",
        ),
        (
            '{"title": "GG.T", "type": "object", "properties": {}, "definitions": {"row": {}}}',
            ", table GG.T: error[GG202] `definitions.row` has no `properties`, which are the columns",
        ),
        (
            '{"title": "GG.T", "type": "object", "properties": {"op_type": {"type": "string"}}}',
            ", table GG.T: error[GG202] the table has no columns",
        ),
        (
            '{"title": "A.B.C.D", "type": "object", "properties": {"a": {"type": "string"}}}',
            ": error[GG202] the table name `A.B.C.D` has more than three parts",
        ),
        (
            '{"title": "G\\ud800\\n", "type": "object", "properties": {"a": {"type": "string"}}}',
            ": error[GG202] the table name `G\\ud800\\n` has an empty part",
        ),
        *(
            (
                f'{{"title": "GG.T", "type": "object", "properties": {{"A": {member}}}}}',
                f", table GG.T, column A: error[GG202] the type of a column is not understood; {TYPE_HELP}",
            )
            for member in (
                '{"type": "object"}',
                '{"type": ["string", "number"]}',
                "[]",
                '{"type": [{}]}',
                '{"type": []}',
            )
        ),
        *(
            (
                avro({"name": "A", "type": spec}),
                f", table GG.T, column A: error[GG202] the type of a column is not understood; {AVRO_HELP}",
            )
            for spec in (
                "null",
                ["null"],
                ["null", "string", "int"],
                {"type": "array", "items": "string"},
                {"type": "bytes", "logicalType": "decimal"},
                {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3},
                {"type": "fixed", "name": "f"},
                "columns",
                7,
                {},
            )
        ),
        (avro("A"), ", table GG.T: error[GG202] field 1 of the record is not an object with `name` and `type`"),
        (
            avro({"name": "A", "type": "int"}, {"name": "A", "type": "int"}),
            ", table GG.T, column A: error[GG202] the record has the field twice",
        ),
        (avro({"name": "A", "type": "int"}, name=3), ": error[GG202] the record has no `name`, which names the table"),
        (avro(), ", table GG.T: error[GG202] the table has no columns"),
        (
            avro({"name": "\ud800", "type": "int"}),
            ", table GG.T: error[GG202] the name of a column holds half a surrogate pair",
        ),
    ],
)
def test_malformed_schemas(write: Write, text: str, expected: str) -> None:
    assert problems(write("s.json", text)) == ["s.json" + expected]


# Any text at all

LINES = st.sampled_from(
    [
        "*",
        *HEAD_50.splitlines(),
        *TCUSTORD_50.splitlines(),
        'Definition for table "A"."B"',
        "Columns: 1",
        '"A B" 64 1',
        '"',
        entry('"A B"', 64).strip(),
        entry("C", 192, native=187).strip(),
        "*+- Defgen version 5.0, Encoding undefined",
        "*+- Defgen version 5.0, Encoding UTF-16",
        "*+- Defgen version 5.0, Encoding ascii",
    ]
)
ANY_LINES = st.lists(LINES | st.text(max_size=20), max_size=40)
ANY_DEFGEN = st.builds(
    lambda start, lines: "\n".join([*start, *lines]), st.sampled_from([[], HEAD_50.splitlines()]), ANY_LINES
)
WORDS = ["type", "record", "fields", "name", "namespace", "string", "null", "object", "title", "properties"]
WORDS += ["definitions", "row", "before", "after", "columns", "bytes", "logicalType", "decimal", "precision", "scale"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)
ANY_AVRO = st.builds(
    lambda fields, extra: {"type": "record", "name": "T", "fields": fields, **extra},
    st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(WORDS) | st.text(max_size=3), "type": ANY_JSON}) | ANY_JSON
    ),
    st.dictionaries(st.sampled_from(WORDS[3:5]), ANY_JSON),
)
ANY_JSON_SCHEMA = st.builds(
    lambda columns, extra: {"type": "object", "title": "T", "properties": columns, **extra},
    st.dictionaries(st.text(max_size=3), st.fixed_dictionaries({"type": ANY_JSON}) | ANY_JSON, max_size=4),
    st.dictionaries(st.sampled_from(["title", "definitions"]), ANY_JSON | st.fixed_dictionaries({"row": ANY_JSON})),
)
ANY_CONTENT = (
    st.binary(max_size=200)
    | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    | ANY_DEFGEN.map(lambda text: text.encode("utf-8", "surrogatepass"))
    | ANY_DEFGEN.map(lambda text: text.encode("latin-1", "replace"))
    | (ANY_JSON | ANY_AVRO | ANY_JSON_SCHEMA).map(lambda document: json.dumps(document).encode())
)


@examples(400)
@given(content=ANY_CONTENT)
@example(
    content=b'{"type": "record", "name": "T", "fields": [{"name": "A", "type": '
    + b'{"type": ' * 900
    + b'"int"'
    + b"}" * 903
)
@example(content=b"*+- Defgen version 5.0, Encoding idna\n\xff")
@example(content=b"*+- Defgen version 5.0, Encoding \x00\n")
def test_any_content_gives_definitions_or_a_configuration_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    try:
        tables = load_definitions([str(path)])
    except ConfigurationError as error:
        assert error.diagnostics
        str(error).encode()  # can be printed
        assert {diagnostic.code for diagnostic in error.diagnostics} <= {"GG201", "GG202"}
    else:
        assert all(table.columns and table.full_name == name for name, table in tables.items())
