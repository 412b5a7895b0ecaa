"""Container files as ORC files.

GoldenGate 12.3.2.1 maps Avro to ORC by itself, and no text of Oracle says how. ggfmt assumes the nearest types:

| Avro | ORC |
| --- | --- |
| record | struct with the same names |
| array, map | list, map |
| string, bytes | string, binary |
| long, float, double, boolean | bigint, float, double, boolean |
| bytes, a decimal | decimal(p,s), up to 38 digits |
| long, microseconds since 1970 in UTC | timestamp, which has no zone: its digits are those in UTC |

A union with null is a column with nulls. What ORC or its library cannot hold is refused: decimals of more digits, and
times before 1970 with a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Literal

import pyarrow as pa
from pyarrow import orc

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.columnar.orc_files import TAIL_BYTES, unwritable_times, with_calendar
from ggfmt.formats.goldengate.container_files import LZO, OrcOptions
from ggfmt.formats.goldengate.container_files.fields import Field, FieldType, Record, conversion_error
from ggfmt.formats.goldengate.container_files.source import ContainerSource
from ggfmt.formats.goldengate.container_files.target import HeldTarget

MAX_DIGITS = 38

# What ORC for Java has where a handler file says nothing.
_STRIPE_BYTES = 64 << 20
_INDEX_ROWS = 10_000
_DICTIONARY_SHARE = 0.8  # of different values among those of a column, up to which it has a dictionary

_CODECS: dict[str, Literal["UNCOMPRESSED", "ZLIB", "SNAPPY", "LZ4"]] = {
    "NONE": "UNCOMPRESSED",
    "ZLIB": "ZLIB",
    "SNAPPY": "SNAPPY",
    "LZ4": "LZ4",
}


def write_orc(source: BinaryIO, target: BinaryIO, options: OrcOptions) -> int:
    """Write a container file, from its first byte to its last, as an ORC file. Return the number of its records. After
    an error, `target` has no end, so that it is not read as an ORC file. A stripe is in memory at a time. Raises: Abend
    with GG313 for a damaged container file, and with GG217 for LZO, or a schema or value that ORC cannot have."""
    if options.compression_codec == LZO:
        raise conversion_error(
            "ggfmt cannot compress ORC files with LZO", help="set `compressionCodec` to LZ4, NONE, SNAPPY or ZLIB"
        )
    container = ContainerSource(source)
    _check_decimals(container.record)
    columns = container.columns(typed=True)
    held = HeldTarget(target)
    held.hold()  # if a stream fails while the writer is closed, the ORC library ends the process
    try:
        writer = orc.ORCWriter(
            pa.PythonFile(held, "w"),
            stripe_size=options.stripe_size or _STRIPE_BYTES,
            compression=_CODECS[options.compression_codec],
            row_index_stride=options.row_index_stride or _INDEX_ROWS,
            dictionary_key_size_threshold=_DICTIONARY_SHARE,
        )
        writer.write(columns.schema.empty_table())
        rows = 0
        for batch in container.batches(columns):
            _check_times(batch, container.record)
            writer.write(pa.Table.from_batches([batch]))
            rows += batch.num_rows
            held.pass_on(TAIL_BYTES)
        writer.close()
        held.pass_on(TAIL_BYTES)
        target.write(with_calendar(held.held()))
    finally:
        held.abandon()
    return rows


def _check_times(batch: pa.RecordBatch, record: Record) -> None:
    for field, values in zip(record.fields, batch.columns, strict=True):
        for name, times in _times(field, values):
            wrong = unwritable_times(times)
            if pc.any(wrong, min_count=0).as_py():
                text = times.filter(wrong)[0].cast(pa.string()).as_py()
                raise conversion_error(
                    f"`{text}` is before 1970 and has a fraction of a second, which Arrow cannot write to ORC",
                    record.name,
                    name,
                    help="write the column as text, without `enableTimestampLogicalType`, or write Parquet",
                )


def _times(field: Field, values: pa.Array[Any]) -> Iterator[tuple[str, pa.Array[Any]]]:
    if field.type is FieldType.TIMESTAMP:
        yield field.name, values
    elif field.type is FieldType.RECORD:
        for inner, column in zip(field.fields, narrow(values, pa.StructArray).flatten(), strict=True):
            yield from _times(inner, column)


def _check_decimals(record: Record) -> None:
    for field in record.flat():
        if field.type is FieldType.DECIMAL and field.precision > MAX_DIGITS:
            raise conversion_error(
                f"ORC does not support decimals of {field.precision} digits, only of up to {MAX_DIGITS}",
                record.name,
                field.name,
                help="limit the digits of the column with `maxPrecision=38`",
            )
