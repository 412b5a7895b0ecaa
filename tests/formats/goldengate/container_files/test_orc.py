"""Container files as ORC: types, and the values that fastavro reads from the source."""

from __future__ import annotations

import gc
import io
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest
from container_files import FORMS, Full, container, operations, records

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.avro.containers import read_header
from ggfmt.formats.goldengate.container_files import LZO, OrcOptions
from ggfmt.formats.goldengate.container_files.orc import write_orc
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NEAR = operations(500, times=())
COLUMNS: dict[str, pa.DataType] = {
    "ID": pa.int64(),
    "TITEL": pa.string(),
    "PREIS": pa.decimal128(9, 2),
    "N": pa.decimal128(38, 10),
    "MASZ": pa.float32(),
    "GRÖSSE_名": pa.float64(),
    "DA": pa.bool_(),
    "AM": pa.timestamp("ns"),
}


def converted(data: bytes, **options: Any) -> bytes:
    target = io.BytesIO()
    write_orc(io.BytesIO(data), target, OrcOptions(**options))
    return target.getvalue()


def rows(data: bytes) -> list[dict[str, Any]]:
    """The records of an ORC file as fastavro reads those of the source, less the zone of times."""
    read: list[dict[str, Any]] = orc.ORCFile(io.BytesIO(data)).read().to_pylist()
    return [{**row, "tokens": dict(row["tokens"])} for row in read]


def is_orc(data: bytes) -> bool:
    try:
        orc.ORCFile(io.BytesIO(data))
    except (pa.ArrowInvalid, OSError):
        return False
    return True


def expected(data: bytes) -> list[dict[str, Any]]:
    return [_without_zones(record) for record in records(data)]


def _without_zones(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_zones(value)
        if isinstance(value, dict)
        else value.replace(tzinfo=None)
        if name == "AM" and value is not None
        else value
        for name, value in record.items()
    }


def test_types_are_the_nearest() -> None:
    schema = orc.ORCFile(io.BytesIO(converted(container("avro_op_ocf", [])))).schema
    texts = {name: pa.string() for name in ("table", "op_type", "pos")}
    flagged = [(name, kind) for column, of in COLUMNS.items() for name, kind in _with_flag(column, of)]
    image = pa.struct(flagged)
    keys, tokens = pa.list_(pa.string()), pa.map_(pa.string(), pa.string())
    assert schema == pa.schema({**texts, "primary_keys": keys, "tokens": tokens, "before": image, "after": image})


def _with_flag(column: str, kind: pa.DataType) -> tuple[tuple[str, pa.DataType], tuple[str, pa.DataType]]:
    return (column, kind), (f"{column}_isMissing", pa.bool_())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("codec", ["NONE", "ZLIB", "SNAPPY", "LZ4"])
def test_values_are_those_of_the_source(form: str, codec: str) -> None:
    source = container(form, NEAR)
    data = converted(source, compression_codec=codec)
    assert is_orc(data)
    file = orc.ORCFile(io.BytesIO(data))
    assert file.compression == ("UNCOMPRESSED" if codec == "NONE" else codec)
    assert (file.nrows, rows(data)) == (len(NEAR), expected(source))


def test_a_stripe_is_full_at_its_size() -> None:
    source = container("avro_op_ocf", NEAR * 40, step=500)
    data = converted(source, stripe_size=100_000, row_index_stride=1000)
    file = orc.ORCFile(io.BytesIO(data))
    assert (file.nstripes > 2, file.row_index_stride) == (True, 1000)
    assert rows(data) == expected(source)


@pytest.mark.parametrize("form", FORMS)
def test_a_container_without_records_becomes_a_file_without_rows(form: str) -> None:
    assert rows(converted(container(form, []))) == []


def test_a_decimal_that_orc_does_not_have_is_refused() -> None:
    table = TableDef("S.T", (Column("D", SqlType(Kind.DECIMAL, precision=9)), Column("N", SqlType(Kind.NUMBER))))
    with pytest.raises(Abend, match=r"table S\.T, column N: .*GG217.* 164 digits, only of up to 38; .*maxPrecision"):
        converted(container("avro_op_ocf", [], table=table, oracleNumberScale="10"))


@pytest.mark.parametrize("form", FORMS)
def test_a_time_that_arrow_would_write_wrong_is_refused(form: str) -> None:
    changes = operations(300, times=("1969-12-31 23:59:59.999999",))
    with pytest.raises(Abend, match=r"column AM: .*GG217.*`1969-12-31 23:59:59.999999` is before 1970"):
        converted(container(form, changes))
    assert converted(container(form, operations(300, times=("1969-12-31 23:59:59.000000",))))


def test_lzo_is_refused_by_its_name() -> None:
    with pytest.raises(Abend, match=r"GG217.*cannot compress ORC files with LZO.*LZ4, NONE, SNAPPY or ZLIB"):
        converted(container("avro_row_ocf", []), compression_codec=LZO)


def test_a_container_that_is_cut_off_becomes_no_orc_file() -> None:
    source = container("avro_op_ocf", NEAR, step=100)
    header = len(read_header(source).data)
    for size in (0, header - 1, header + 1, len(source) // 2, len(source) - 1):
        target = io.BytesIO()
        with pytest.raises(Abend, match="GG313"):
            write_orc(io.BytesIO(source[:size]), target, OrcOptions(stripe_size=1))
        gc.collect()
        assert not is_orc(target.getvalue())


def test_errors_of_the_target_pass() -> None:
    """They do not end the process, as those of a stream of Arrow's ORC library do."""
    source = container("avro_op_ocf", NEAR)
    size = len(converted(source))
    for room in (0, 3, size // 2, size - 1):
        target = Full(room)
        with pytest.raises(OSError, match="No space left"):
            write_orc(io.BytesIO(source), target, OrcOptions())
        gc.collect()
        assert not is_orc(target.getvalue())
