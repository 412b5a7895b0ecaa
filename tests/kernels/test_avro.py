"""The native kernel for Avro reads what the exact readers read, of whole files and of damaged ones; and it is used."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from avro_cases import MAKERS, Case, damaged, datum, told, with_facts
from contract import qlik_avro
from hypothesis import given
from hypothesis import strategies as st
from runs import operation, run_ggfmt, write_lines
from scanners import without_kernels
from strategies import examples

from ggfmt import kernels
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, WriterSettings
from ggfmt.formats.avro import programs
from ggfmt.formats.avro.schemas import without_logical_types
from ggfmt.formats.dts.read import DtsReader
from ggfmt.formats.goldengate.avro import AvroRowOptions
from ggfmt.formats.goldengate.avro.read import AvroReader
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.formats.qlik.envelope import read_head
from ggfmt.formats.records.reader import DialectReader
from ggfmt.model.table import Column, Kind, SqlType, TableDef

needs_kernel = pytest.mark.skipif(kernels.native is None, reason=f"no kernels: {kernels.state}")


def same(case: Case, seed: int | None = None) -> None:
    def damage(data: bytes) -> bytes:
        return data if seed is None else damaged(data, random.Random(seed))

    with without_kernels():
        expected = told(case, damage)
    assert told(case, damage) == expected


@needs_kernel
@pytest.mark.parametrize("system", MAKERS)
@given(seed=st.integers(0, 1 << 32))
@examples(20)
def test_the_kernel_tells_what_the_exact_reader_tells(system: str, seed: int) -> None:
    same(MAKERS[system](random.Random(seed)))


@needs_kernel
@pytest.mark.parametrize("system", MAKERS)
@given(seed=st.integers(0, 1 << 32), damage=st.integers(0, 1 << 32))
@examples(60)
def test_of_damaged_files_too(system: str, seed: int, damage: int) -> None:
    same(MAKERS[system](random.Random(seed)), damage)


def noting(method: Callable[..., Any], seen: list[object]) -> Callable[..., Any]:
    """The method, which takes note of each call."""

    def noted(*given: Any) -> Any:
        seen.append(given)
        return method(*given)

    return noted


@needs_kernel
@pytest.mark.parametrize("name", ["avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf", "dts_avro"])
def test_the_kernel_takes_all_that_is_regular(name: str, tmp_path: Path) -> None:
    """All but the first message of each table, whose definition the exact reader looks up where no container has it."""
    kinds = [SqlType(Kind.INTEGER), SqlType(Kind.STRING), SqlType(Kind.DECIMAL, precision=9, scale=2)]
    columns = tuple(Column(column, kind) for column, kind in zip(("ID", "NAME", "AMOUNT"), kinds, strict=True))
    definitions = {table: TableDef(table, columns) for table in ("GG.A", "GG.B")}
    operations = [operation(n, "GG.AGG.B"[n % 2 * 4 :][:4], "IUD"[n % 3]) for n in range(30)]
    source = write_lines(tmp_path / "in.json", operations)
    settings = (f"gg.handler.a.format={name}", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([source], tmp_path / "out", *settings, definitions=definitions)
    exact: list[object] = []
    seen = 0
    for path in sorted(path for path in (tmp_path / "out" / "a").rglob("*") if path.is_file()):
        case = Case(name, path.read_bytes(), WriterSettings(FORMATS[name].options()), definitions)
        with (
            patch.object(AvroReader, "_hold", noting(AvroReader._hold, exact)),
            patch.object(DtsReader, "learn", noting(DtsReader.learn, exact)),
        ):
            *batches, _, _, _ = told(case)
        seen += sum(len(batch[1]) for batch in batches if isinstance(batch, tuple))
    assert seen == 30
    assert len(exact) == (0 if name.endswith("_ocf") else 2)


def qlik_changes(columns: dict[str, Any], rows: Iterable[dict[str, Any]], **headers: Any) -> Case:
    """A file of Qlik Replicate with updates of two tables in turns, a row for each."""
    schema = qlik_avro.data_schema(columns)
    described = {name: qlik_avro.column(place) for place, name in enumerate(columns, 1)}
    metadata = [qlik_avro.metadata(described, schema, table) for table in "TU"]
    changes = [qlik_avro.change("UPDATE", row, row, schema, **headers) for row in rows]
    ids = [qlik_avro.ID.encode(), b"%032d" % 1]
    messages = [*metadata, *changes]
    data = b"".join(message.replace(ids[0], ids[place % 2]) for place, message in enumerate(messages))
    return with_facts(Case("qlik_avro", data, WriterSettings(FORMATS["qlik_avro"].options())))


def read_exactly(case: Case) -> tuple[list[Any], int]:
    """What a reader returns for a case, and how many changes the exact reader read."""
    seen: list[Any] = []
    with patch.object(DialectReader, "examined_at", noting(DialectReader.examined_at, seen)):
        told_here = told(case)
    return told_here, len(seen) - 2  # the metadata


def logical(kind: str, logical_type: str, **others: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **others}


QLIK_COLUMNS = {
    "I": "int", "L": "long", "S": "string", "D": "double", "F": "float", "B": "boolean", "X": "bytes",
    "DAY": logical("int", "date"), "TIME": logical("long", "time-micros"),
    "STAMP": logical("long", "timestamp-millis"), "PRICE": logical("bytes", "decimal", precision=9, scale=2),
}  # fmt: skip
QLIK_ROW = {
    "I": -1, "L": 2**63 - 1, "S": 'a"\\\n\0é', "D": 1e300, "F": 3.0, "B": True, "X": b"\x00\xff",
    "DAY": 8729, "TIME": 1, "STAMP": -1, "PRICE": b"\xfe",
}  # fmt: skip


@needs_kernel
def test_the_kernels_take_all_changes_of_qlik_that_are_regular() -> None:
    """All but the first two of a table, of which one shows the grammar, and the next its table."""
    rows = [QLIK_ROW, dict.fromkeys(QLIK_ROW)] * 20
    for mask in (None, b"\x07\xff"):
        case = qlik_changes(QLIK_COLUMNS, rows, columnMask=mask, changeMask=b"\0\0")
        events, exactly = read_exactly(case)
        assert exactly == 3
        first, second = (event for event in events if isinstance(event, tuple))
        assert len(first[1]) == len(second[1]) == 20
        assert first[1][5].after == {
            "I": "-1", "L": "9223372036854775807", "S": 'a"\\\n\0é', "D": "1e+300", "F": "3", "B": "true", "X": "AP8=",
            "DAY": "1993-11-25", "TIME": "00:00:00.000001", "STAMP": "1969-12-31 23:59:59.999000", "PRICE": "-0.02",
        }  # fmt: skip
        assert second[1][5].after == dict.fromkeys(QLIK_ROW)
        same(case)


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        (logical("int", "date"), -719163), (logical("int", "time-millis"), 86400000),
        (logical("long", "time-micros"), -1), (logical("long", "timestamp-micros"), 2**62),
        (logical("long", "timestamp-millis"), 2**62), ("float", 1e-7), ("float", 16777217.0),
        (logical("bytes", "decimal", precision=200, scale=0), b"\1" * 65),
    ],
)  # fmt: skip
def test_values_that_the_kernel_makes_no_text_of_are_left_to_the_exact_reader(kind: Any, odd: Any) -> None:
    plain_value = b"\1" if isinstance(odd, bytes) else 1
    case = qlik_changes({"C": kind}, [{"C": odd if place == 15 else plain_value} for place in range(40)])
    _, exactly = read_exactly(case)
    assert exactly == 4
    same(case)


@needs_kernel
@pytest.mark.parametrize(
    "kind", [["string", "float"], {"type": "array", "items": "int"}, logical("bytes", "decimal", scale=300), "null"]
)
def test_changes_of_some_schemas_are_left_to_the_exact_reader(kind: Any) -> None:
    rows = [{"C": None}] * 30
    if kind == "null":  # not of these: all that the kernel cannot read is of other types
        assert read_exactly(qlik_changes({"C": "int"}, rows))[1] == 3
        return
    case = qlik_changes({"C": kind}, rows)
    assert read_exactly(case)[1] == len(rows)
    same(case)


@needs_kernel
def test_a_length_that_contradicts_the_message_is_left_to_the_exact_reader() -> None:
    """Though the fields of the message end where the next envelope starts."""
    case = qlik_changes({"C": "string"}, [{"C": "abc"}] * 40)
    start = case.data.rfind(b"atMSG", 0, case.data.rfind(b"atMSG"))
    *_, place = read_head(case.data, start)
    size = case.data[place] >> 1
    for other in (size - 1, size + 1, 1 << 40):
        data = case.data[:place] + zigzag_varint(other) + case.data[place + 1 :]
        hurt = replace(case, data=data)
        same(hurt)
        rejects = [event for event in told(hurt) if isinstance(event, tuple) and len(event) == 3]
        assert rejects and rejects[0][2].code == "GG313"


@needs_kernel
def test_a_table_that_the_kernel_cannot_take_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And read all the same: a decimal of more digits behind its point than the kernel writes."""
    options = AvroRowOptions(enable_decimal_logical_type=True, max_precision=400)
    table = TableDef("GG.A", (Column("C", SqlType(Kind.DECIMAL, precision=300, scale=300)),))
    schema = avro_schema(table, options, Context(), False).document
    message = dict.fromkeys(("table", "op_ts", "current_ts", "pos"), "") | {"op_type": "I", "primary_keys": []}
    data = datum(without_logical_types(dict(schema)), {**message, "table": "GG.A", "tokens": {}, "C": b"\1"}) * 5
    asked: list[object] = []
    monkeypatch.setattr(programs, "program", noting(programs.program, asked))
    case = Case("avro_row", data, WriterSettings(options), {"GG.A": table})
    batch, *_ = told(case)
    assert [operation.after["C"] for operation in batch[1]] == [f"0.{1:0300}"] * 5
    assert len([given for given in asked if given[0]["name"] == "GG.A"]) == 1  # type: ignore[index]
