"""Reading in tests: the events of a file's bytes, and the operations among them in input order."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from oracle import PlainOperation
from strategies import plain_operations

from ggfmt.arrow.arrays import non_null_values
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection
from ggfmt.formats.api.reading import Chunk, Event, Layout, Reject, SchemaChange
from ggfmt.formats.json import files as json_files
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

_JSON = FORMATS["json"].read_support
assert _JSON.discovery is not None
JsonReader, JsonDiscovery = _JSON.reader, _JSON.discovery
FILE = "f.json"
EVERYTHING = Projection(tokens=True)
Ranges = Sequence[tuple[int, int | None]]


@contextmanager
def chunk_size(count: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "CHUNK_BYTES", count)
        yield


@dataclass
class Read:
    """What was read of a file: operations with their table and rejects, each by the ordinal of its record."""

    operations: dict[int, tuple[TableDef, PlainOperation]]
    rejects: dict[int, Reject]
    definitions: list[SchemaChange]
    batches: list[ChangeBatch]
    others: dict[str, int]
    members: dict[str, int]

    @property
    def plain(self) -> list[PlainOperation]:
        return [operation for _, (_, operation) in sorted(self.operations.items(), key=lambda item: item[0])]

    @property
    def records(self) -> int:
        return len(self.operations) + len(self.rejects) + sum(self.others.values())


def layout_of(data: bytes) -> Layout:
    return JsonReader.layout(data, True, DEFAULT_SETTINGS)


def chunks_of(data: bytes, layout: Layout, start: int = 0, length: int | None = None) -> Iterator[Chunk]:
    return JsonReader.chunks(io.BytesIO(data), FILE, start, length, layout)


def read(
    data: bytes,
    tables: Mapping[str, TableDef],
    projection: Projection = EVERYTHING,
    ranges: Ranges = ((0, None),),
    layout: Layout | None = None,
) -> Read:
    """The file's records in one split of some ranges. Every place that the reader gives is checked on the way."""
    reader = JsonReader(Catalog(dict(tables)), projection)
    result = Read({}, {}, [], [], {}, {})
    known = layout or layout_of(data)

    def take(event: Event) -> None:
        if isinstance(event, ChangeBatch):
            result.batches.append(event)
            for ordinal, operation in zip(non_null_values(event.ordinal), plain_operations(event), strict=True):
                assert ordinal not in result.operations
                result.operations[ordinal] = event.table, operation
                chunk, start, end = reader.locate(ordinal)
                assert chunk.data[start:end] == data[chunk.offset + start : chunk.offset + end]
                assert chunk.data[start:end].startswith(b"{")
        elif isinstance(event, Reject):
            assert event.ordinal not in result.rejects
            result.rejects[event.ordinal] = event
            span = event.diagnostic.span
            assert span.file == FILE
            assert span.offset is not None
            assert data[span.offset : span.offset + len(event.record)] == event.record
        else:
            assert isinstance(event, SchemaChange)
            result.definitions.append(event)

    for start, length in ranges:
        for chunk in chunks_of(data, known, start, length):
            for event in reader.read(chunk):
                take(event)
    for event in reader.flush():
        take(event)
    result.others, result.members = dict(reader.others), dict(reader.members)
    return result


def read_in_splits(
    data: bytes, tables: Mapping[str, TableDef], size: int, projection: Projection = EVERYTHING
) -> list[Read]:
    """The file read by one reader for each `size` bytes of it."""
    return [read(data, tables, projection, [(start, size)]) for start in range(0, max(len(data), 1), size)]
