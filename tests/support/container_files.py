"""Container files of `avro_row_ocf` and `avro_op_ocf` for tests, and what fastavro reads from them."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import fastavro
import pyarrow as pa
from oracle import PlainColumn, PlainOperation, PlainTable
from scanners import without_kernels
from strategies import Changes, make_batch

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.containers import CorruptContainerError, read_header, split_blocks
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.container_files.columns import RecordColumns
from ggfmt.formats.goldengate.container_files.fields import record_of
from ggfmt.model.table import Column, Kind, SqlType, TableDef

FORMS = ("avro_row_ocf", "avro_op_ocf")
MASK = "yyyy-MM-dd HH:mm:ss.SSSSSS"
TABLE = TableDef(
    "CAT.GG.BÜCHER",
    (
        Column("ID", SqlType(Kind.INTEGER), key=1),
        Column("TITEL", SqlType(Kind.STRING)),
        Column("PREIS", SqlType(Kind.DECIMAL, precision=9, scale=2)),
        Column("N", SqlType(Kind.DECIMAL, precision=38, scale=10), key=2),
        Column("MASZ", SqlType(Kind.FLOAT)),
        Column("GRÖSSE_名", SqlType(Kind.DOUBLE)),
        Column("DA", SqlType(Kind.BOOLEAN)),
        Column("AM", SqlType(Kind.TIMESTAMP)),
    ),
)
_VALUES = {
    "ID": ("0", "-1", "63", "64", f"{2**63 - 1}", f"{-(2**63)}"),
    "TITEL": ("", "plain", "é€", "😀 𝄞", "a\0b", 'a\nb\t"quoted"\\', "x" * 10_000),
    "PREIS": ("0", "-0.01", "1.27", "1.28", "-1.28", "-1.29", "9999999.99", "-9999999.99"),
    "N": ("0", "9" * 28 + ".0123456789", "-" + "9" * 28, "18446744073.7095516160", "-0.0000000001"),
    "MASZ": ("0.25", "-1.5", "1E3"),
    "GRÖSSE_名": ("0.1", "1E300", "-0.0"),
    "DA": ("true", "false"),
    "AM": ("1970-01-01 00:00:00.000001", "2013-06-02 22:14:36.123456", "1677-10-10 00:00:00.000000"),
}
FAR_TIMES = ("0001-01-01 00:00:00.000000", "1500-01-31 23:59:59.000000", "9999-12-31 23:59:59.999999")
_OPTIONS = {
    "enableDecimalLogicalType": "true",
    "enableTimestampLogicalType": "true",
    "metaColumnsTemplate": "${objectname[table]},${optype[op_type]},${position[pos]},"
    "${primarykeycolumns[primary_keys]},${alltokens[tokens]}",
}


def image(draw: random.Random, whole: bool, times: Sequence[str]) -> dict[str, str | None]:
    """An image with values, NULLs and, unless it is whole, missing columns."""
    choices = {**_VALUES, "AM": (*_VALUES["AM"], *times)}
    columns = {name: None if draw.random() < 0.2 else draw.choice(values) for name, values in choices.items()}
    return columns if whole else {name: value for name, value in columns.items() if draw.random() < 0.8}


def operations(count: int, seed: int = 7, times: Sequence[str] = FAR_TIMES) -> list[PlainOperation]:
    """Inserts, updates with and without a before image, deletes and truncates. `times`: beside those that pyarrow reads
    from ORC files."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        op = draw.choice("IIUUDT")
        before = image(draw, False, times) if op == "D" or (op == "U" and draw.random() < 0.7) else None
        after = image(draw, op == "I", times) if op in "IU" else None
        tokens = {"R": "AADPkvAAEAAEqL2AAA", "€": "😀"} if draw.random() < 0.5 else {}
        made.append(PlainOperation(op, "2013-06-02 22:14:36.000000", f"{number:020d}", before, after, tokens))
    return made


def container(
    form: str,
    changes: Sequence[PlainOperation],
    *,
    table: TableDef = TABLE,
    codec: str = "null",
    step: int = 97,
    **options: str,
) -> bytes:
    """A container file of operations, `step` of them a block at most; `options` are properties of the format."""
    described = FORMATS[form]
    if form == "avro_row_ocf":
        options = {"pkUpdateHandling": "update", **options}
    chosen = described.options.parse({**_OPTIONS, **options})
    assert isinstance(chosen, AvroOptions)
    context = Context(True, release="21", timestamp_mask=MASK, codec=codec)
    columns = tuple(PlainColumn(column.name, column.type.kind.value, column.key) for column in table.columns)
    write = described.write_support
    framing = write.framing(table, chosen, context)
    parts = [framing.header]
    for start in range(0, len(changes), step):
        part = list(changes[start : start + step])
        batch = make_batch(Changes(PlainTable(table.full_name, columns), part, False), table)
        clock = Clock(datetime(2015, 9, 18, 13, 39, 35, 447000))
        messages: pa.Array[Any] = write.formatter(table, chosen, context, clock).format(batch)
        parts.append(bytes(framing.frame(messages)[0]))
    return b"".join(parts)


def records(data: bytes) -> list[dict[str, Any]]:
    """The records of a container file, as fastavro reads them."""
    reader: Any = fastavro.reader(io.BytesIO(data))
    return list(reader)


class Full(io.BytesIO):
    """A disk that has room for so many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(data)


def block_of(form: str, count: int, seed: int, flagged: bool = True) -> tuple[object, bytes]:
    """The schema of a container file, and the data of its only block."""
    changes = operations(count, seed)
    if flagged and form == "avro_row_ocf":
        source = container(form, changes, step=count, includeIsMissingFields="true")
    else:
        source = container(form, changes, step=count)
    header = read_header(source)
    ((_, _, records, data),) = split_blocks(source, header, 1 << 30)
    assert isinstance(data, bytes)
    assert records == count
    return header.schema, data


def decoded(schema: object, typed: bool, data: bytes, count: int) -> pa.RecordBatch | str:
    """The records, or the words of the error."""
    try:
        batch = RecordColumns(schema, record_of(schema), typed).decode(data, count)
    except CorruptContainerError as error:
        return str(error)
    batch.validate(full=True)
    return batch


def assert_same_columns(schema: object, typed: bool, data: bytes, count: int) -> None:
    """The native kernel and fastavro decode the same, or find the same damage."""
    with without_kernels():
        assert RecordColumns(schema, record_of(schema), typed).kernel is None
        expected = decoded(schema, typed, data, count)
    found = decoded(schema, typed, data, count)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        assert found.schema == expected.schema
        for one, other in zip(found.columns, expected.columns, strict=True):
            assert are_same(one, other)


def are_same(one: pa.Array[Any], other: pa.Array[Any]) -> bool:
    """Whether two arrays have the same values, of which NaN is like itself."""
    if isinstance(one, pa.StructArray) and isinstance(other, pa.StructArray):
        return one.is_null().equals(other.is_null()) and all(map(are_same, one.flatten(), other.flatten()))
    if pa.types.is_floating(one.type):
        return repr(one.to_pylist()) == repr(other.to_pylist())
    return one.equals(other)
