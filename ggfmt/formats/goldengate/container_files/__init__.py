"""Avro object container files of GoldenGate as Parquet and ORC files, as its event handlers write them.

`ParquetOptions` and `OrcOptions` are the properties of the event handlers (GoldenGate for Big Data 12.3.2.1, tables 5-6
and 5-3). `WITHOUT_EFFECT` has those that change nothing in a file of ggfmt, and why.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeVar

from ggfmt.dataclasses import dataclass
from ggfmt.options.spec import Options, choice, option
from ggfmt.options.value_types import Bool, Choice, Int, Number, ValueType

T = TypeVar("T")

LZO = "LZO"
_MAX_INT = (1 << 31) - 1  # of an int in Java
_LZO_DOC = "not supported: no library is available"
_BLOCKS = "the property concerns the blocks of HDFS, which ggfmt does not control"

WITHOUT_EFFECT = {
    "validation": "the Parquet library checks every record against its schema in any case",
    "maxPaddingSize": _BLOCKS,
    "blockPadding": _BLOCKS,
    "blockSize": _BLOCKS,
    "paddingTolerance": _BLOCKS,
    "bufferSize": "the ORC library chooses the size of its buffers",
    "encodingStrategy": "the ORC library chooses encodings by itself",
}


def _option(kind: ValueType[T], default: T | None, doc: str) -> T:
    return option(kind, default, doc, since="12.3.2")


@dataclass(frozen=True)
class ParquetOptions(Options):
    compression_codec: str = choice(
        "The compression of pages in Parquet files.",
        ("UNCOMPRESSED", "do not compress"),
        ("GZIP", "compress pages with gzip"),
        ("SNAPPY", "compress pages with snappy"),
        (LZO, _LZO_DOC),
        since="12.3.2",
    )
    dictionary_encoding: bool = _option(Bool(), True, "Write repeated values of a column as a dictionary.")
    validation: bool = _option(Bool(), False, "Check records against their schema.")
    dictionary_page_size: int = _option(Int(1, _MAX_INT), 1 << 20, "The maximum size of a dictionary in bytes.")
    page_size: int = _option(Int(1, _MAX_INT), 1 << 20, "The size of a page in bytes.")
    row_group_size: int = _option(Int(1, _MAX_INT), 128 << 20, "The size of a row group in bytes, in memory.")
    max_padding_size: int = _option(Int(0, _MAX_INT), 0, "The maximum number of bytes between two row groups.")


@dataclass(frozen=True)
class OrcOptions(Options):
    compression_codec: str = choice(
        "The compression of ORC files.",
        ("NONE", "do not compress"),
        ("ZLIB", "compress with zlib"),
        ("SNAPPY", "compress with snappy"),
        ("LZ4", "compress with LZ4"),
        (LZO, _LZO_DOC),
        since="12.3.2",
    )
    block_padding: bool = _option(Bool(), True, "Keep stripes within the blocks of HDFS.")
    block_size: int | None = _option(Int(1), None, "The size of a block of HDFS in bytes.")
    buffer_size: int | None = _option(Int(1, _MAX_INT), None, "The size of a buffer in bytes.")
    encoding_strategy: str | None = _option(
        Choice({"COMPRESSION": "for small files", "SPEED": "for speed"}), None, "How to choose encodings."
    )
    padding_tolerance: Decimal | None = option(
        Number(), None, "The maximum share of a stripe for padding.", since="12.3.2", example="0.05"
    )
    row_index_stride: int | None = _option(
        Int(1, _MAX_INT), None, "The number of rows between two entries of the index."
    )
    stripe_size: int | None = _option(Int(1, _MAX_INT), None, "The size of a stripe in bytes.")
