"""What the records of a chunk are to a dialect, for its reader and its discovery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.json.files import head_objects
from ggfmt.formats.json.values import parse
from ggfmt.formats.records.dialect import Change, Dialect, RecordSchema
from ggfmt.formats.records.refused import RecordError

Examination = list[Change | RecordSchema] | str | Diagnostic
Examined = Iterator[Examination]


def decode_records(dialect: Dialect, chunk: Chunk) -> tuple[Chunk, Iterable[Any]]:
    """Decode the records of a chunk. Return the chunk as it was cut to find them, and the records as
    `classify_records` takes them."""
    chunk = dialect.opened(chunk)
    own = dialect.decoded(chunk)
    if own is not None:
        return chunk, own
    records = _all_at_once(dialect, chunk)
    if records is not None:
        return chunk, records
    chunk = chunk.settled()
    return chunk, _one_by_one(dialect, chunk)


def runs(dialect: Dialect, records: Iterable[Any]) -> Iterator[tuple[list[Any], Iterable[Any]]]:
    """Divide decoded records into runs: those that the dialect may take all at once, or those that it has to look at
    one by one; the other of the two is empty."""
    if not dialect.in_bulk:
        yield [], records
        return
    for kind, run in groupby(records, key=type):
        if issubclass(kind, msgspec.Struct):
            yield list(run), ()
        else:
            yield [], run


def examined_one(dialect: Dialect, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
    """A record in a chunk of JSON, decoded, and what it is."""
    record = _decoded(dialect, chunk, start, end)
    return record, next(classify_records(dialect, [record]))


def classify_records(dialect: Dialect, records: Iterable[Any]) -> Examined:
    """Classify decoded records; None is a tombstone, and a Diagnostic says what is wrong with a record."""
    for record in records:
        if record is None:
            yield "tombstone"
        elif isinstance(record, Diagnostic):
            yield record
        else:
            try:
                meaning = dialect.changes(record)
                if isinstance(meaning, (str, Diagnostic)):
                    yield meaning
                    continue
                items = list(meaning)
            except RecordError as error:
                yield error.diagnostic
                continue
            if items and isinstance(items[0], Change):
                for name in dialect.passed_over(record):
                    dialect.members[name] += len(items)
            yield items


def _all_at_once(dialect: Dialect, chunk: Chunk) -> Sequence[Any] | None:
    """The records of a chunk; None if there are others than the dialect's in it, or if they were cut before."""
    if chunk.spans is not None:
        return None
    try:
        if not chunk.data.isascii():
            str(chunk.data, "utf-8")  # members that are skipped or kept raw are not checked otherwise
        records: Sequence[Any] = dialect.decoder.decode_lines(chunk.data)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return None
    return records


def _one_by_one(dialect: Dialect, chunk: Chunk) -> Iterator[Any]:
    for start, end in dialect.spans(chunk):
        yield _decoded(dialect, chunk, start, end)


def _decoded(dialect: Dialect, chunk: Chunk, start: int, end: int) -> Any:
    record = chunk.data[start:end]
    try:
        if not record.isascii():
            str(record, "utf-8")
        return dialect.decoder.decode(record)
    except (ValueError, RecursionError) as error:
        return _malformed(record, chunk.last and end == len(chunk.data), str(error))


def _malformed(record: bytes, last: bool, reason: str) -> Diagnostic | None:
    members = parse(record, last)
    if members is None or isinstance(members, Diagnostic):
        return members
    what, _, place = reason.partition(" - at ")
    where = f" at {place}" if place else ""
    return Diagnostic("GG308", f"the record has a member of the wrong type: {what[:1].lower()}{what[1:]}{where}")


def sniff(dialect: type[Dialect], head: bytes) -> str | None:
    """The first record that looks like the dialect decides."""
    for record in head_objects(head):
        reason = dialect.sniff(record)
        if reason is not None:
            return f"a record has {reason}"
    return None
