"""Formats in tests: any format's reader over bytes, its discovery, and messages from plain operations."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest
from oracle import PlainOperation
from places import SHARED_DATA
from scanners import without_kernels
from strategies import Changes, make_batch, plain_operations

from ggfmt.columnar.images import key_updates
from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, DiscoveryResult, Event, Layout, Reject, Remark, SchemaChange
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import Catalog, TableDef

DATA = SHARED_DATA
FILE = "f"
EVERYTHING = Projection(tokens=True)
ALL_SHOWN = Context(include_tokens=True)
NOW = datetime(2015, 9, 18, 13, 39, 35, 447000)


def lines(*records: Any) -> bytes:
    """The records as JSON, one a line."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def told(name: str, context: Context = ALL_SHOWN, /, **options: str) -> WriterSettings:
    """An input that was written with these options, as texts by the names of properties."""
    return WriterSettings(FORMATS[name].options.parse(options), context)


@contextmanager
def chunk_bytes(count: int) -> Iterator[None]:
    """Files are cut into chunks of about so many bytes, by all readers that are loaded."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            for size in ("CHUNK_BYTES", "BLOCKS_BYTES"):
                if name.startswith("ggfmt.formats.") and hasattr(module, size):
                    patch.setattr(module, size, count)
        yield


@dataclass
class Read:
    """What was read, in order: operations with their tables, the places of their records, whether they change the key,
    the ids of their transactions and the names of the unavailable columns of both images; rejects, definitions, other
    records by kind, unknown members by name, remarks. Rejects have no ordinals, which start from zero in each split."""

    operations: list[tuple[TableDef, PlainOperation]] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    key_updates: list[bool] = field(default_factory=list)
    transactions: list[str | None] = field(default_factory=list)
    unavailable: list[tuple[set[str], set[str]]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    definitions: list[SchemaChange] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)
    remarks: dict[Remark, int] = field(default_factory=dict)

    @property
    def plain(self) -> list[PlainOperation]:
        return [operation for _, operation in self.operations]

    @property
    def reasons(self) -> list[str]:
        return [f"{reject.diagnostic.code} {reject.diagnostic.message}" for reject in self.rejects]


def layout_of(name: str, data: bytes, source: WriterSettings) -> Layout:
    return FORMATS[name].read_support.by(source).reader.layout(data, True, source)


def chunks_of(
    name: str,
    data: bytes,
    source: WriterSettings,
    start: int = 0,
    length: int | None = None,
    layout: Layout | None = None,
) -> Iterator[Chunk]:
    layout = layout or layout_of(name, data, source)
    return FORMATS[name].read_support.by(source).reader.chunks(io.BytesIO(data), FILE, start, length, layout)


def discover(
    name: str,
    data: bytes,
    source: WriterSettings | None = None,
    size: int | None = None,
    trusted: Mapping[str, TableDef] = {},
) -> DiscoveryResult:
    """What the discovery finds, in splits of `size` bytes."""
    source = source or told(name)
    make = FORMATS[name].read_support.by(source).discovery
    assert make is not None
    for every_shape in (False, True):
        found = []
        layout = layout_of(name, data, source)
        for start, length in _splits(layout, data, size):
            discovery = make(Catalog(dict(trusted)), every_shape, source)
            for chunk in chunks_of(name, data, source, start, length, layout):
                if chunk.problem is None:
                    discovery.read(chunk)
            found.append(discovery.findings())
        settled = make.settle(found, Catalog(dict(trusted)), every_shape)
        if settled.complete:
            break
        source = replace(source, facts=settled.facts)
    return settled


def _splits(layout: Layout, data: bytes, size: int | None) -> list[tuple[int, int | None]]:
    if size is None or not layout.splittable:
        return [(0, None)]
    return [(start, size) for start in range(0, max(len(data), 1), size)]


def read(
    name: str,
    data: bytes,
    source: WriterSettings | None = None,
    size: int | None = None,
    trusted: Mapping[str, TableDef] = {},
    projection: Projection = EVERYTHING,
    discovers: bool = True,
) -> Read:
    """The records of a file as a run reads them: discovery first, then splits of `size` bytes, each on its own."""
    source = source or told(name)
    catalog = Catalog(dict(trusted))
    events: Sequence[SchemaChange] = ()
    if discovers and FORMATS[name].read_support.by(source).discovery is not None:
        found = discover(name, data, source, size, trusted)
        catalog, events, source = catalog.with_tables(found.tables), found.events, replace(source, facts=found.facts)
    result = Read()
    layout = layout_of(name, data, source)
    for start, length in _splits(layout, data, size):
        here = catalog.with_tables(event.table for event in events if event.line < start)
        reader = FORMATS[name].read_support.by(source).reader(here, projection, source)
        taken: list[tuple[int, int, TableDef, PlainOperation, tuple[int, int], bool, str | None, _Unavailable]] = []

        def take(event: Event, reader: Any = reader, taken: Any = taken) -> None:
            if isinstance(event, ChangeBatch):
                changed = key_updates(event)
                ids = event.transaction
                starts = reader.offsets(event.ordinal).to_pylist()
                assert ids is None or projection.transactions, "no one requested the ids of transactions"
                for row, operation in enumerate(plain_operations(event)):
                    ordinal = event.ordinal[row].as_py()
                    chunk, first, last = reader.locate(ordinal)
                    assert chunk.data[first:last] == data[chunk.offset + first : chunk.offset + last]
                    place = chunk.offset + first, chunk.offset + last
                    assert starts[row] == place[0]
                    update = changed is not None and changed[row].as_py()
                    transaction = None if ids is None else ids[row].as_py()
                    hidden = _unavailable(event, event.before, row), _unavailable(event, event.after, row)
                    taken.append((ordinal, len(taken), event.table, operation, place, update, transaction, hidden))
            elif isinstance(event, Reject):
                span = event.diagnostic.span
                assert span.file == FILE
                assert span.offset is not None
                assert data[span.offset : span.offset + len(event.record)] == event.record
                result.rejects.append(replace(event, ordinal=0))
            else:
                assert isinstance(event, SchemaChange)
                assert event in events, "the discovery did not tell of a definition that the reader met"
                result.definitions.append(event)

        for chunk in chunks_of(name, data, source, start, length, layout):
            for event in reader.read(chunk):
                take(event)
        for event in reader.flush():
            take(event)
        for _, _, table, operation, place, update, transaction, hidden in sorted(taken, key=lambda item: item[:2]):
            result.operations.append((table, operation))
            result.places.append(place)
            result.key_updates.append(update)
            result.transactions.append(transaction)
            result.unavailable.append(hidden)
        for total, counts in ((result.others, reader.others), (result.members, reader.members)):
            for kind, count in counts.items():
                total[kind] = total.get(kind, 0) + count
        for remark, count in reader.remarks.items():
            result.remarks[remark] = result.remarks.get(remark, 0) + count
    result.rejects.sort(key=lambda reject: reject.diagnostic.span.offset or 0)
    return result


_Unavailable = tuple[set[str], set[str]]


def _unavailable(batch: ChangeBatch, image: Image, row: int) -> set[str]:
    """The unavailable columns of the image of an operation."""
    names = set()
    if image.exists is None or image.exists[row].as_py():
        for name, column in zip(batch.table.column_names, image.columns, strict=True):
            if column.unavailable is not None and column.unavailable[row].as_py():
                assert column.present is not None
                assert not column.present[row].as_py()
                names.add(name)
    return names


def transactions_of(
    name: str, data: bytes, source: WriterSettings | None = None, trusted: Mapping[str, TableDef] = {}
) -> list[str | None]:
    """The ids of the transactions of a file's operations, which are the same with kernels and without."""
    found = read(name, data, source, trusted=trusted, projection=Projection(transactions=True))
    with without_kernels():
        assert read(name, data, source, trusted=trusted, projection=Projection(transactions=True)) == found
    return found.transactions


def read_anywhere(name: str, data: bytes, source: Any) -> tuple[list[Any], list[Diagnostic], dict[str, int]]:
    """The operations, rejects and other records of a file whose records are at other places than those of what is read,
    as in a dump of Avro."""
    support = FORMATS[name].read_support.by(source)
    layout = support.reader.layout(data, True, source)
    assert support.discovery is not None
    discovery = support.discovery(Catalog(), False, source)
    for chunk in support.reader.chunks(io.BytesIO(data), "f", 0, None, layout):
        discovery.read(chunk)
    catalog = Catalog().with_tables(support.discovery.settle([discovery.findings()], Catalog(), False).tables)
    reader = support.reader(catalog, EVERYTHING, source)
    events = [
        event for chunk in support.reader.chunks(io.BytesIO(data), "f", 0, None, layout) for event in reader.read(chunk)
    ]
    events += reader.flush()
    batches = [event for event in events if isinstance(event, ChangeBatch)]
    assert all("the rest of the file" not in str(event) for event in events)
    rejects = [event.diagnostic for event in events if isinstance(event, Reject)]
    return [(batch.table, item) for batch in batches for item in plain_operations(batch)], rejects, dict(reader.others)


def written(
    name: str, changes: Changes, definition: TableDef | None = None, context: Context = ALL_SHOWN, /, **options: str
) -> bytes:
    """The file that the formatter makes of some operations."""
    batch = make_batch(changes, definition)
    format = FORMATS[name]
    chosen = format.options.parse(options)
    formatter = format.write_support.formatter(batch.table, chosen, context, Clock(NOW))
    framing = format.write_support.framing(batch.table, chosen, context)
    arranged, _ = formatter.arrange(batch)
    messages = formatter.format(arranged)
    preamble = format.write_support.preamble
    lead = b"" if preamble is None or not len(messages) else preamble(batch.table, chosen)
    return framing.header + lead + bytes(framing.frame(messages)[0])
