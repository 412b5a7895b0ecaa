"""Files of rejected records: their bytes, and beside them the reasons, one JSON object per line."""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from ggfmt.commit.names import RECORDS
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.location import Location, is_uri
from ggfmt.reading.files import read_at
from ggfmt.reading.tasks import StagedFile, unique_name

REASONS = "reasons.jsonl"
FLUSH_BYTES = 1 << 20
MAX_SORTED_BYTES = 256 << 20
_FILES_OF_TASK = 2


@dataclass(frozen=True)
class RejectedRecord:
    code: str
    reason: str
    help: str | None = None
    file: str | None = None
    offset: int | None = None
    table: str | None = None
    column: str | None = None
    position: str | None = None
    handler: str = ""


@dataclass(frozen=True)
class RejectEntry(RejectedRecord):
    record: bytes = b""


class RejectFiles:
    """The rejected records of one handler in one task. A line end, which is not part of it, follows each record."""

    def __init__(self, directory: Store, handler: str, split: int) -> None:
        self.by_code: Counter[str] = Counter()
        self._records = _LineFile(directory, handler, split, RECORDS)
        self._reasons = _LineFile(directory, handler, split, REASONS)

    def add(self, record: bytes, diagnostic: Diagnostic) -> None:
        span = diagnostic.span
        reason: dict[str, Any] = {
            "code": diagnostic.code,
            "reason": diagnostic.message,
            "help": diagnostic.help,
            "file": span.file,
            "offset": span.offset if span.message is None else span.message,
            "table": span.table,
            "column": span.field,
            "position": span.position,
        }
        self.add_entry(record, {key: value for key, value in reason.items() if value is not None})

    def add_entry(self, record: bytes, reason: dict[str, Any]) -> None:
        reason |= {"record_offset": self._records.size, "record_length": len(record)}
        self._reasons.add(msgspec.json.encode(reason))
        self._records.add(record)
        self.by_code[reason["code"]] += 1

    def close(self) -> list[StagedFile]:
        return [self._records.close(), self._reasons.close()] if self.by_code else []


def in_input_order(
    files: Sequence[StagedFile], directory: Location, handler: str, inputs: Sequence[str]
) -> list[StagedFile]:
    """Return the files of rejects of several tasks, put together in the order of `inputs`, unless they are large."""
    if len(files) <= _FILES_OF_TASK or sum(file.size for file in files) > MAX_SORTED_BYTES:
        return list(files)
    numbers = {name: number for number, name in enumerate(inputs)}
    found = [
        (reason, record)
        for records, reasons in zip(files[::2], files[1::2], strict=True)
        for reason, record in _entries(reasons.location, records.location)
    ]
    found.sort(key=lambda entry: (numbers.get(entry[0].get("file", ""), -1), entry[0].get("offset", -1)))
    store = Store(directory.child(f"rejects-{handler}"))
    store.make_directory("")
    together = RejectFiles(store, handler, 0)
    for reason, record in found:
        together.add_entry(record, reason)
    return together.close()


class _LineFile:
    def __init__(self, directory: Store, handler: str, split: int, kind: str) -> None:
        self.size = 0
        self._directory = directory
        self._handler = handler
        self._split = split
        self._kind = kind
        self._count = 0
        self._lines: list[bytes] = []
        self._waiting = 0
        self._digest = hashlib.sha256()
        self._name = ""
        self._stream: pa.NativeFile | None = None

    def add(self, line: bytes) -> None:
        self._lines += (line, b"\n")
        self._count += 1
        self.size += len(line) + 1
        self._waiting += len(line) + 1
        if self._waiting >= FLUSH_BYTES:
            self._flush()

    def close(self) -> StagedFile:
        stream = self._flush()
        stream.close()
        digest, location = self._digest.hexdigest(), self._directory.location(self._name)
        return StagedFile(
            self._handler, self._kind, "", self._split, 0, location, self.size, 0, self._count, digest, None, None
        )

    def _flush(self) -> pa.NativeFile:
        if self._stream is None:
            self._name = unique_name()
            self._stream = self._directory.location(self._name).create()
        data = b"".join(self._lines)
        self._lines, self._waiting = [], 0
        self._stream.write(data)
        self._digest.update(data)
        return self._stream


def read_rejects(root: str, manifest: Mapping[str, Any]) -> Iterator[RejectEntry]:
    """Yield the rejected records that a manifest of the output directory `root` lists."""
    for entry in manifest["files"]:
        name: str = entry["path"]
        elsewhere = is_uri(name) or os.path.isabs(name)
        if "rejects" not in entry or elsewhere or not name.endswith(f".{REASONS}"):
            continue
        reasons = Location.of(root).child(name)
        records = replace(reasons, path=f"{reasons.path.removesuffix(REASONS)}{RECORDS}")
        for reason, record in _entries(reasons, records):
            yield RejectEntry(**reason, handler=entry["handler"], record=record)


def _entries(reasons: Location, records: Location) -> Iterator[tuple[dict[str, Any], bytes]]:
    with reasons.open_stream() as lines, records.open_file() as data:
        for line in io.TextIOWrapper(lines, encoding="utf-8", newline="\n"):  # type: ignore[type-var]
            reason = msgspec.json.decode(line)
            record = read_at(data, reason.pop("record_length"), reason.pop("record_offset"))
            yield reason, record
