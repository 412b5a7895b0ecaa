"""The Avro formats: against the oracle, against the manual, and as files; `test_consumers.py` has the readers."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import oracle
import pyarrow as pa
import pytest
from avro_oracle import METADATA, decode_stream, record
from fastavro.schema import fingerprint, to_parsing_canonical_form
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from places import GOLDEN, ROOT, SHARED_DATA
from runs import metadata, operation, output_files, run_ggfmt, write_lines
from strategies import (
    Changes,
    examples,
    make_batch,
    numbers,
    operations,
    slice_batch,
    table_def,
    tables,
    texts,
)

from ggfmt.arrow.arrays import narrow, non_null_values
from ggfmt.columnar import avro as kernels
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join_binary, zigzag_varint
from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import Formatter, RowErrors
from ggfmt.formats.avro.containers import ObjectContainer
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions, AvroRowOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema, wrapper_schema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, wrapper
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.java.text import string_hash
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.run import RunSettings, execute

NOW = datetime(2015, 9, 18, 13, 39, 35, 447001)
OGG = SHARED_DATA / "ogg"
ORDERS = TableDef(
    "GG.TCUSTORD",
    tuple(
        Column(
            name,
            SqlType(Kind.DECIMAL, precision=8, scale=2)
            if name in ("PRODUCT_PRICE", "PRODUCT_AMOUNT")
            else SqlType(Kind.STRING),
        )
        for name in (
            "CUST_CODE",
            "ORDER_DATE",
            "PRODUCT_CODE",
            "ORDER_ID",
            "PRODUCT_PRICE",
            "PRODUCT_AMOUNT",
            "TRANSACTION_ID",
        )
    ),
)


def avro_formatter(
    table: TableDef, by_image: bool, options: Mapping[str, Any] | None = None, context: Context | None = None
) -> Formatter:
    format = FORMATS["avro_op" if by_image else "avro_row"]
    return format.write_support.formatter(table, format.options(**(options or {})), context or Context(), Clock(NOW))


def defaults(by_image: bool, **given: Any) -> dict[str, Any]:
    specs = (AvroOpOptions if by_image else AvroRowOptions).specs()
    return {**{spec.attr: spec.default for spec in specs}, **given}


def written(formatter: Formatter, batch: ChangeBatch) -> list[bytes]:
    arranged, _ = formatter.arrange(batch)
    formatted = formatter.format(arranged)
    assert formatted.type == pa.binary()
    assert len(formatted) == len(arranged)
    assert formatted.null_count == 0
    return non_null_values(narrow(formatted, pa.BinaryArray))


# Equal to the oracle

avro_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True).filter(lambda name: name not in METADATA)
doubles = numbers.filter(lambda text: abs(float(text)) < 1e308)
_integers = st.integers(-(2**53), 2**53)
longs = st.one_of(
    _integers.map(str),
    st.builds("{}.{}".format, _integers, st.text("0", min_size=1, max_size=3)),
    st.sampled_from(["0", "-0", "+7", "007", "63", "64", "-64", "-65", "8191", "8192", f"{2**63 - 1}", f"{-(2**63)}"]),
)


@st.composite
def avro_changes(draw: st.DrawFn, /, release: str, **more: Any) -> Changes:
    table = draw(tables(avro_names))
    kinds = {"number": "double"} if release == "12.3" else {}  # the texts of a NUMBER are drawn from all
    columns = tuple(replace(column, kind=kinds.get(column.kind, column.kind)) for column in table.columns)
    columns = tuple(column for column in columns if not column.name.endswith("_isMissing"))
    table = PlainTable(".".join(draw(st.lists(avro_names.map("T".__add__), min_size=1, max_size=3))), columns)
    number = doubles if release == "12.2" else longs
    return Changes(table, draw(operations(table, number=number, **more)), draw(st.booleans()))


_both: dict[str, st.SearchStrategy[Any]] = {
    "treat_all_columns_as_strings": st.booleans(),
    "iso8601_format": st.booleans(),
    "line_delimiter": st.one_of(st.just(""), texts),
    "wrap_message_in_generic_avro_message": st.booleans(),
    "generic_wrapper_use_fingerprint": st.booleans(),
    **{name: st.one_of(st.just(word), texts) for word, name in oracle.OP_OPTIONS.items()},
}


@examples(150)
@given(st.data(), st.sampled_from(["12.2", "12.3"]), st.booleans(), st.booleans())
def test_messages_decoded_are_what_the_oracle_says(
    data: st.DataObject, release: str, by_image: bool, tokens: bool
) -> None:
    made = data.draw(avro_changes(release))
    options = data.draw(st.fixed_dictionaries(_both))
    handling: dict[str, Any] = {}
    if not by_image:
        handling = {
            "pk_update_handling": data.draw(st.sampled_from(["update", "delete-insert"])),
            "include_is_missing_fields": data.draw(st.booleans()),
        }
    definition, context = table_def(made.table), Context(tokens, release)
    expected_operations = made.operations
    if handling.get("pk_update_handling") == "delete-insert":
        expected_operations = oracle.split_key_updates(made.table, expected_operations)
    stamp = "2015-09-18T13:39:35.447001" if options["iso8601_format"] else "2015-09-18 13:39:35.447001"
    expected = [
        record(made.table, item, options | handling, release, tokens, stamp, by_image) for item in expected_operations
    ]

    messages = written(avro_formatter(definition, by_image, {**options, **handling}, context), make_batch(made))
    format = FORMATS["avro_op" if by_image else "avro_row"]
    assert format.write_support.schema is not None
    files = format.write_support.schema(definition, format.options(**{**options, **handling}), context)
    schemas = {file.name: file.content.decode() for file in files}
    text = schemas.pop(f"{made.table.name}.avsc")
    delimiter = str(options["line_delimiter"]).encode()
    if not options["wrap_message_in_generic_avro_message"]:
        assert schemas == {}
        assert decode_stream(b"".join(messages), json.loads(text), delimiter) == expected
        return
    (wrapper,) = map(json.loads, schemas.values())
    found = []
    for wrapped in decode_stream(b"".join(messages), wrapper, delimiter):
        assert wrapped["table_name"] == made.table.name
        if options["generic_wrapper_use_fingerprint"]:
            assert wrapped["schema_fingerprint"] == fastavro_fingerprint(text)
        else:
            assert wrapped["schema_hash"] == plain_hash(text)
        found += decode_stream(wrapped["payload"], json.loads(text))
    assert found == expected


@pytest.mark.parametrize(
    ("release", "given", "number"),
    [
        ("12.2", None, "schema_hash"),
        ("12.3", None, "schema_fingerprint"),
        ("21", None, "schema_fingerprint"),
        ("26", False, "schema_hash"),
        ("12.2", True, "schema_fingerprint"),
    ],
)
def test_the_release_decides_what_wrappers_name_schemas_by(release: str, given: bool | None, number: str) -> None:
    options = AvroOpOptions(wrap_message_in_generic_avro_message=True, generic_wrapper_use_fingerprint=given)
    schema = wrapper(options, Context(release=release))
    assert schema is not None
    assert [field["name"] for field in schema.document["fields"]] == ["table_name", number, "payload"]


def plain_hash(text: str) -> int:
    result = 0
    for character in text:
        result = (31 * result + ord(character)) % 2**32
    return result - 2**32 if result >= 2**31 else result


def fastavro_fingerprint(text: str) -> int:
    digits = fingerprint(to_parsing_canonical_form(json.loads(text)), "CRC-64-AVRO")
    return int.from_bytes(bytes.fromhex(digits), "little", signed=True)


@examples(60)
@given(st.data(), avro_changes("12.2", least=1), st.booleans())
def test_messages_do_not_depend_on_how_batches_are_cut(data: st.DataObject, made: Changes, by_image: bool) -> None:
    batch = make_batch(made)
    options = {} if by_image else {"pk_update_handling": "delete-insert"}
    formatter = avro_formatter(batch.table, by_image, options, Context(True))
    cut = data.draw(st.integers(0, len(batch)))
    parts = [slice_batch(batch, 0, cut), slice_batch(batch, cut, len(batch))]
    assert [item for part in parts for item in written(formatter, part)] == written(formatter, batch)


# Kernels

int64s = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.builds(lambda n, d: n + d, st.sampled_from([2**k for k in range(62)]), st.integers(-2, 2)),
)


def plain_varint(number: int) -> bytes:
    rest = number * 2 if number >= 0 else -number * 2 - 1
    result = []
    while True:
        rest, low = divmod(rest, 128)
        result.append(low + (128 if rest else 0))
        if not rest:
            return bytes(result)


@examples(300)
@given(st.lists(st.one_of(st.none(), int64s), max_size=8))
def test_varints(values: list[int | None]) -> None:
    encoded = join_binary(kernels.longs(pa.array(values, pa.int64())), len(values)).to_pylist()
    assert encoded == [b"" if value is None else plain_varint(value) for value in values]
    assert [zigzag_varint(value) for value in values if value is not None] == [e for e in encoded if e]


@pytest.mark.parametrize("length", [0, 1, 63, 64, 4095, 4096, 8191, 8192, 70_000])
@pytest.mark.parametrize("others", [(), ("",), (None,), ("", None, "x" * 5000)])
def test_texts_of_any_length(length: int, others: tuple[str | None, ...]) -> None:
    values: list[str | None] = ["€" * (length // 3) + "x" * (length % 3), *others]
    pieces, bad = kernels.optional_strings(pa.array(["cut off", *values], pa.string()).slice(1))
    expected = [
        b"\0" if value is None else b"\2" + plain_varint(len(value.encode())) + value.encode() for value in values
    ]
    assert join_binary(pieces, len(values)).to_pylist() == expected
    assert bad == []


# Values that are none

TYPED = PlainTable(
    "GG.ORDERS",
    (
        PlainColumn("ID", "string", 1),
        PlainColumn("PRICE", "double"),
        PlainColumn("N", "integer"),
        PlainColumn("F", "float"),
        PlainColumn("B", "boolean"),
    ),
)


def typed(**columns: str | None) -> ChangeBatch:
    good = PlainOperation("I", None, "1", None, {"ID": "a", "PRICE": "1", "N": "2", "F": "3", "B": "true"}, {})
    return make_batch(Changes(TYPED, [good, replace(good, pos="7", after=columns), good], False))


def outcome(batch: ChangeBatch, release: str, by_image: bool = False) -> Any:
    """What becomes of the operation in the middle: its record, or the one diagnostic."""
    formatter = avro_formatter(batch.table, by_image, {}, Context(release=release))
    try:
        messages = written(formatter, batch)
    except RowErrors as errors:
        ((row, diagnostic),) = errors.rows
        assert row == 1
        return diagnostic
    schema = avro_schema(batch.table, AvroOptions(), Context(release=release), by_image)
    return decode_stream(messages[1], schema.document)[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "x",
        "1,5",
        "0x10",
        "1e",
        "-",
        ".",
        "1_0",
        "１",
        "inf",
        "nan",
        "Inf",
        "INFINITY",
        "1e400",
        "-1e400",
        "9" * 400,
        "1d",
    ],
)
@pytest.mark.parametrize("by_image", [False, True])
def test_a_text_that_is_no_double_is_told_with_its_place(text: str, by_image: bool) -> None:
    assert outcome(typed(ID="b", PRICE=text), "12.2", by_image) == Diagnostic(
        "GG401",
        "the column is defined as double, but the value is not a number in the range of a double",
        Span(table="GG.ORDERS", field="PRICE", position="7"),
        "correct the type of the column with `--definitions`, or set `treatAllColumnsAsStrings`",
    )


@pytest.mark.parametrize(
    "text", ["+5", ".5", "5.", "-.5", "1E3", "1e+3", "00012", "-0", "12345678901234567890.5", "1e-400", "17520.00"]
)
def test_all_that_javas_big_decimal_reads_is_a_double(text: str) -> None:
    assert outcome(typed(PRICE=text), "12.2")["PRICE"] == float(Decimal(text))


def test_numbers_that_are_none_are_doubles_if_they_are_spelt_as_java_does() -> None:
    assert outcome(typed(PRICE="-Infinity"), "12.2")["PRICE"] == float("-inf")
    assert str(outcome(typed(PRICE="NaN"), "12.2")["PRICE"]) == "nan"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3.00", 3),
        ("3E0", 3),
        ("1E3", 1000),
        ("+5", 5),
        ("-0.0", 0),
        ("0E999999999", 0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808.0", -(2**63)),
        ("007", 7),
    ],
)
def test_a_long_is_what_big_decimal_finds_to_be_one(text: str, number: int) -> None:
    assert outcome(typed(N=text), "12.3")["N"] == number


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808", "-9223372036854775809", "3.5", "1E-3", "1E999999999", "1E-999999999", "0x10", "0X10",
        "-0x1", "", " 1", "1e", "NaN",
    ],
)  # fmt: skip
def test_a_text_that_is_no_long_is_told_with_its_place(text: str) -> None:
    assert outcome(typed(N=text), "12.3") == Diagnostic(
        "GG401",
        "the column is defined as integer, but the value is not a whole number of 64 bits",
        Span(table="GG.ORDERS", field="N", position="7"),
        "correct the type of the column with `--definitions`, or set `treatAllColumnsAsStrings`",
    )


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("F", "1e39", "a number in the range of a float"),
        ("B", "TRUE", "`true` or `false`"),
        ("B", "1", "`true` or `false`"),
    ],
)
def test_other_texts_that_are_no_values(column: str, text: str, reason: str) -> None:
    found = outcome(typed(**{column: text}), "12.3")
    assert found.code == "GG401"
    assert found.message.endswith(f"but the value is not {reason}")
    assert found.span.field == column


def test_where_nothing_is_written_nothing_is_looked_at() -> None:
    """Missing columns and images that do not exist may hold anything."""
    plain = [PlainOperation("I", None, "1", None, {"ID": "a"}, {}), PlainOperation("T", None, "2", None, None, {})]
    for by_image in (False, True):
        batch = make_batch(Changes(TYPED, plain, garbage=True))
        assert len(written(avro_formatter(batch.table, by_image), batch)) == 2


# Names

LEGAL = ["A", "_", "a9_", "Ä", "名", "x" * 90]
ILLEGAL_NAME = "`{}`, the name of {}, is not a legal Avro name"
TWICE = "messages would have the name `{}` twice: for {} and for {}"
ILLEGAL = ["9A", "A-B", "A$", "A B", "A/B", "😀", "A\u0301", "A#"]


def problem_of(table: TableDef, by_image: bool) -> Diagnostic | None:
    found = FORMATS["avro_op_ocf" if by_image else "avro_row"].name_problem(AvroRowOptions(), Context(), table)
    return None if found is None else found.diagnostic


def table_named(name: str, *columns: str) -> TableDef:
    return TableDef(name, tuple(map(Column, columns)))


@pytest.mark.parametrize("by_image", [False, True])
def test_tables_that_avro_can_carry(by_image: bool) -> None:
    for name in LEGAL:
        assert problem_of(table_named(f"{name}.{name}", name), by_image) is None
    assert problem_of(table_named("T", "A_isMissing"), by_image) is None
    assert problem_of(table_named("S.string", "A"), by_image) is None


@pytest.mark.parametrize(
    ("table", "by_image", "message", "field"),
    [
        *((table_named("S.T", "A", name), False, ILLEGAL_NAME.format(name, "a column"), name) for name in ILLEGAL),
        (table_named("S.T$", "A"), True, ILLEGAL_NAME.format("T$", "a part of the table's name"), None),
        (table_named("S-1.T", "A"), False, ILLEGAL_NAME.format("S-1", "a part of the table's name"), None),
        (table_named("S.T", "pos"), False, TWICE.format("pos", "a column", "a metadata field"), "pos"),
        (table_named("string", "A"), False, TWICE.format("string", "a type of Avro", "the table"), None),
        (table_named("S.columns", "A"), True, TWICE.format("columns", "the record of images", "the table"), None),
        (
            table_named("S.T", "A_isMissing", "A"),
            True,
            TWICE.format("A_isMissing", "a column", "the flag of `A`"),
            "A_isMissing",
        ),
    ],
    ids=str,
)
def test_tables_that_avro_cannot_carry(table: TableDef, by_image: bool, message: str, field: str | None) -> None:
    found = problem_of(table, by_image)
    assert found is not None
    assert (found.code, found.message, found.span) == ("GG206", message, Span(table=table.full_name, field=field))
    assert found.help is not None and "`gg.schemareplaceregex`" in found.help


def test_an_operation_message_may_have_columns_named_like_metadata() -> None:
    assert problem_of(table_named("S.T", *METADATA), by_image=True) is None


AVRO = ("gg.handler.a.format=avro_row", "gg.handler.a.format.schemaDirectory=dirdef")


def test_only_the_operations_of_a_table_with_an_illegal_name_are_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [operation(number, ("GG.GOOD", "GG.B#D")[number % 2]) for number in range(10)]
    source = write_lines(tmp_path / "in.json", records)
    with pytest.raises(Abend, match="GG206"):
        run_ggfmt([source], tmp_path / "out", *AVRO)
    assert not (tmp_path / "out").exists()
    result = run_ggfmt([source], tmp_path / "out", *AVRO, quarantine=True)
    assert result.totals.handlers["a"].rejected == {"GG206": 5}
    assert [path.parent.name for path in output_files(tmp_path / "out", "a")] == ["GG.GOOD"]
    assert [path.name for path in (tmp_path / "out" / "dirdef").iterdir()] == ["GG.GOOD.avsc"]


# Schemas


def test_the_numbers_of_schemas_are_those_of_the_reference() -> None:
    row = avro_schema(ORDERS, AvroOptions(), Context(), by_image=False)
    op = avro_schema(ORDERS, AvroOptions(), Context(), by_image=True)
    wrapper = wrapper_schema(fingerprint=False)
    assert [(len(s.text), s.hash, s.fingerprint) for s in (row, op, wrapper)] == [
        (1211, -962640870, -4858847009767206142),
        (2128, -2063635944, -6527226719838183920),
        (269, -819130729, -606042019929407407),
    ]
    assert AvroSchema({"type": "int"}).fingerprint == 8247732601305521295
    assert string_hash("") == 0
    assert string_hash("a😀") == (ord("a") * 31 + 0xD83D) * 31 + 0xDE00


# Schemas that GoldenGate wrote, published with DBus of BriData: columns, and length and numbers of the text.
CAPTURED = (
    (
        "META_SYNC_EVENT",
        "SERNO TABLE_OWNER TABLE_NAME VERSION EVENT_TIME DDL_TYPE DDL",
        (2085, 1751809338, 2419149756348317718),
    ),
    (
        "DB_HEARTBEAT_MONITOR",
        "ID DS_NAME SCHEMA_NAME TABLE_NAME PACKET CREATE_TIME UPDATE_TIME",
        (2098, -1003123798, -8265824495748932863),
    ),
)


@pytest.mark.parametrize(("name", "columns", "numbers"), CAPTURED, ids=lambda item: str(item)[:16])
def test_captured_schemas_come_out_of_their_fields(name: str, columns: str, numbers: tuple[int, int, int]) -> None:
    table = TableDef(f"DBUS.{name}", tuple(map(Column, columns.split())))
    made = avro_schema(table, AvroOptions(), Context(), by_image=True)
    assert (len(made.text), made.hash, made.fingerprint) == numbers
    for path in OGG.glob(f"*__DBUS.{name}.avsc"):  # where the project's shared data is
        assert made.text == path.read_text(encoding="utf-8")


@examples(60)
@given(avro_changes("12.3", most=0), st.booleans())
def test_the_texts_of_a_schema_agree(made: Changes, by_image: bool) -> None:
    schema = avro_schema(table_def(made.table), AvroOptions(), Context(release="12.3"), by_image)
    assert json.loads(schema.text) == json.loads(schema.compact) == schema.document
    assert schema.fingerprint == fastavro_fingerprint(schema.text)
    assert schema.hash == plain_hash(schema.text)


def test_a_wrapper_without_fingerprint_is_described_as_the_manual_prints_it() -> None:
    printed = GOLDEN / "avro_row" / "generic_wrapper" / "expected.generic_wrapper.avsc"
    assert wrapper_schema(fingerprint=False).text == printed.read_text()


# The manual's messages


@pytest.mark.parametrize(
    "case", sorted(GOLDEN.glob("avro_*/manual_*")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_the_manuals_messages_are_in_the_golden_bytes(case: Path) -> None:
    data, schema = (case / "expected").read_bytes(), json.loads((case / "expected.avsc").read_text())
    expected = json.loads((case / "decoded.json").read_text())
    if case.parent.name.endswith("_ocf"):
        assert list(fastavro.reader(io.BytesIO(data))) == expected
    else:
        assert decode_stream(data, schema) == expected


def test_every_message_of_the_manual_has_a_case() -> None:
    for name in ("avro_row", "avro_op"):
        for kind in ("insert", "update", "delete", "truncate"):
            assert (GOLDEN / name / f"manual_{kind}" / "decoded.json").exists()


# Object container files


def ocf(codec: str = "null", kind: str = "row", *more: str) -> tuple[str, ...]:
    handler = "gg.handler.a"
    return (
        f"{handler}.format=avro_{kind}_ocf",
        f"{handler}.compressionCodec={codec}",
        f"{handler}.format.generateSchema=false",
        *more,
    )


def contents(path: Path) -> tuple[str, dict[str, Any], list[Any]]:
    """Codec, schema and records of a file."""
    with path.open("rb") as stream:
        reader = fastavro.reader(stream)
        return reader.codec, json.loads(reader.metadata["avro.schema"]), list(reader)


FASTAVRO_CODECS = ("null", "deflate", "bzip2", "xz")  # of the others it needs more libraries: Java reads them all


@pytest.mark.parametrize("codec", FASTAVRO_CODECS)
@pytest.mark.parametrize("kind", ["row", "op"])
@pytest.mark.parametrize("split_size", [None, 700])
def test_a_run_writes_container_files_that_are_joined_block_by_block(
    tmp_path: Path, codec: str, kind: str, split_size: int | None
) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 2}") for n in range(40)])
    run_ggfmt([source], tmp_path / "out", *ocf(codec, kind), split_size=split_size)
    files = output_files(tmp_path / "out", "a")
    assert [path.parent.name for path in files] == ["GG.T0", "GG.T1"]
    for table, path in enumerate(files):
        found, schema, records = contents(path)
        assert found == codec
        assert (schema["namespace"], schema["name"]) == ("GG", f"T{table}")
        assert [item["pos"] for item in records] == [f"{n:020d}" for n in range(table, 40, 2)]


@pytest.mark.parametrize("split_size", [None, 300])
def test_a_definition_has_files_of_its_own(tmp_path: Path, split_size: int | None) -> None:
    records = [operation(n) for n in range(4)]
    records += [metadata(ID="string", NAME="string", AMOUNT="number", NOTE="string")]
    records += [operation(n, NOTE=f"{n}") for n in range(4, 8)]
    source = write_lines(tmp_path / "in.json", records)
    run_ggfmt(
        [source],
        tmp_path / "out",
        *ocf("deflate", "op"),
        split_size=split_size,
    )
    first, second = map(contents, output_files(tmp_path / "out", "a"))
    assert [item["pos"][-1] for item in first[2]] == list("0123")
    assert [item["pos"][-1] for item in second[2]] == list("4567")
    assert "NOTE" not in first[2][0]["after"]
    assert [item["after"]["NOTE"] for item in second[2]] == list("4567")


def test_a_container_file_ends_before_it_grows_too_large(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n) for n in range(300)])
    run_ggfmt([source], tmp_path / "out", *ocf("null", "row", "gg.handler.a.maxFileSize=4k"))
    files = output_files(tmp_path / "out", "a")
    assert len(files) > 3
    assert max(path.stat().st_size for path in files) <= 4096
    assert [item["pos"] for path in files for item in contents(path)[2]] == [f"{n:020d}" for n in range(300)]


def test_a_file_of_many_tables_is_refused_for_container_files() -> None:
    settings = ocf("null", "row", "gg.handler.a.partitionByTable=false")
    with pytest.raises(ConfigurationError) as caught:
        read_configuration([], settings)
    assert [str(item) for item in caught.value.diagnostics] == [
        "--set:4:31: error[GG112] `gg.handler.a.partitionByTable` cannot be `false` for `avro_row_ocf`;"
        " remove it: a file holds the records of one table"
    ]


def test_the_codec_is_a_property_of_the_handler_under_the_names_of_two_handlers() -> None:
    for name in ("compressionCodec", "avroCodec"):
        configuration = read_configuration([], ("gg.handler.a.format=avro_op_ocf", f"gg.handler.a.{name}=Snappy"))
        assert configuration.handlers[0].handler.compression_codec == "snappy"
    with pytest.raises(
        ConfigurationError, match="legal values are `null`, `deflate`, `snappy`, `bzip2`, `xz`, `zstandard`"
    ):
        read_configuration([], ("gg.handler.a.format=avro_op_ocf", "gg.handler.a.avroCodec=gzip"))


def test_parts_of_one_definition_share_a_marker_and_others_do_not() -> None:
    schema = '"string"'
    tables = (table_named("S.T", "A"), table_named("S.T", "A"), table_named("S.U", "A"), table_named("S.T", "B"))
    first, same, *others = (ObjectContainer(table, schema, "null") for table in tables)
    assert (first.sync, first.header) == (same.sync, same.header)
    assert len({first.sync, *(other.sync for other in others)}) == 3


@pytest.mark.parametrize("codec", FASTAVRO_CODECS)
def test_large_batches_are_cut_into_blocks(codec: str) -> None:
    messages = pa.array([kernels.text_bytes(f"{n}" * 200) for n in range(3000)], pa.binary())
    container = ObjectContainer(table_named("S.T"), '"string"', codec)
    data, lost = container.frame(messages)
    assert lost == 0
    blocks = list(fastavro.block_reader(io.BytesIO(container.header + bytes(data))))
    assert len(blocks) > 5
    assert [text for block in blocks for text in block] == [f"{n}" * 200 for n in range(3000)]


def test_every_codec_has_a_sentence() -> None:
    assert all(CODECS.values())


# The example handler files


@pytest.mark.parametrize("kind", ["row", "op"])
@pytest.mark.parametrize("container", [False, True])
def test_the_sample_is_converted_by_the_example_handler_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, container: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"avro_{kind}_ocf" if container else f"avro_{kind}"
    configuration = read_configuration([str(ROOT / "conf" / f"{name}.properties")])
    (handler,) = configuration.handlers
    handler = replace(handler, handler=replace(handler.handler, compression_codec="deflate"))
    settings = RunSettings(
        inputs=[str(ROOT / "samples" / "tcustord.json")], handlers=[handler], output="out", current_timestamp=NOW
    )
    execute(settings, InProcess)
    count = 0
    for path in output_files(tmp_path / "out", handler.name):
        if container:
            count += len(contents(path)[2])
            continue
        versions = sorted((tmp_path / "out" / "dirdef").glob(f"{path.parent.name}_*.avsc"))
        part = int(path.stem.rpartition("_")[2])
        count += len(decode_stream(path.read_bytes(), json.loads(versions[part].read_text())))
    assert count == 14


# Metadata change events in a stream


def test_the_schema_number_in_wrappers_changes_with_the_definition(tmp_path: Path) -> None:
    records = [
        operation(1),
        metadata(ID="string", NAME="string", AMOUNT="number", NOTE="string"),
        operation(2, NOTE="x"),
    ]
    source = write_lines(tmp_path / "in.json", records)
    settings: tuple[str, ...] = (
        "gg.handler.a.format=avro_row",
        "gg.handler.a.format.wrapMessageInGenericAvroMessage=true",
    )
    settings += (
        f"gg.handler.a.format.schemaDirectory={tmp_path / 'dirdef'}",
        "gg.handler.a.format.versionSchemas=true",
    )
    run_ggfmt([source], tmp_path / "out", *settings)
    wrapper = json.loads((tmp_path / "dirdef" / "generic_wrapper.avsc").read_text())
    data = b"".join(path.read_bytes() for path in output_files(tmp_path / "out", "a"))
    versions = {plain_hash(path.read_text()): path.read_text() for path in (tmp_path / "dirdef").glob("GG.TCUSTORD_*")}
    wrapped = decode_stream(data, wrapper)
    assert len(versions) == len({item["schema_hash"] for item in wrapped}) == 2
    decoded = [decode_stream(item["payload"], json.loads(versions[item["schema_hash"]]))[0] for item in wrapped]
    assert [item.get("NOTE") for item in decoded] == [None, "x"]
    assert [item["NAME"] for item in decoded] == ["name 1", "name 2"]


def test_a_schema_document_is_not_needed_to_compare_schemas() -> None:
    schemas: Sequence[AvroSchema] = [
        avro_schema(ORDERS, AvroOptions(), Context(), by_image) for by_image in (False, False, True)
    ]
    assert schemas[0] == schemas[1] != schemas[2]
