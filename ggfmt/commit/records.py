"""Records: the manifests of committed runs, as documents and as typed values.

Each run that still has files in an output directory has a record, `_ggfmt/runs/<run>.json`. `_ggfmt/manifest.json` is
the manifest of the latest run. Records are read one at a time: there may be thousands.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field as dataclass_field
from typing import Annotated, Any, Literal, get_args

import msgspec
import pyarrow as pa
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, non_null_values
from ggfmt.columnar.pieces import text_buffer
from ggfmt.commit.journal import damaged, is_below, read_document, read_journal
from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.commit.store import FAILURES, Store
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError
from ggfmt.lazy import lazy_regex
from ggfmt.location import Location, reason
from ggfmt.model.change import OP_TYPES

MANIFEST = f"{METADATA_DIRECTORY}/manifest.json"
RUNS = f"{METADATA_DIRECTORY}/runs"
CONSOLIDATION_MEMBER = "consolidated"  # the member of a manifest that describes a consolidation
MAPPED_MEMBER = "mapped_operations"  # of manifests and reports: what became of operations by MAPs
SET_ASIDE_MEMBER = "set_aside"  # of a manifest: the tables that cannot go on; of a file: the number of its operations
LAKE_MEMBER = "lake"  # the member of a manifest with tables of a lakehouse: the stream, and its last round

# Operations over time: the number of each type by second, or in longer steps if there are too many seconds. A time is
# the `op_ts` of an operation, as its source wrote it: its time zone is unknown. The first bytes of it say which
# second, minute or day it is, so that none has to be parsed.

MAX_COUNTS = 1000
# A step, and how many bytes of `yyyy-MM-dd HH:mm:ss` say which one it is.
TimeStep = Literal["second", "10 seconds", "minute", "10 minutes", "hour", "day", "month", "year"]
STEPS: dict[str, int] = dict(zip(get_args(TimeStep), (19, 18, 16, 15, 13, 10, 7, 4), strict=True))
_WIDTHS = tuple(STEPS.values())
_KINDS = tuple(kind.encode() for kind in OP_TYPES)
_FEW_TO_A_RUN = 8  # consecutive operations of one time; fewer are faster to count as a whole
_ROWS = 1 << 14  # that are counted at once: the others are then counted in the step that these need
_TOO_MANY = 2 * MAX_COUNTS  # of these rows, even if each time is written in two ways
_PATTERN = (
    r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])"
    r"([ T]([01][0-9]|2[0-3])(:[0-5]([0-9](:[0-5]([0-9])?)?)?)?)?)?)?"
)
_TIME = lazy_regex(_PATTERN.encode())


@dataclass
class Timeline:
    """Operations by type and time, in no more than `MAX_COUNTS` counts.

    What it says does not depend on the order or the parts in which operations were added: the step is the shortest
    that all times together allow. A key of `counts` is the type, which is one byte, and the time. `untimed` are
    operations whose source gives no time, or something else in its place.

    `packed` has counts that are in the result of a task: there may be tens of thousands of results in the driver.
    """

    width: int = _WIDTHS[0]
    counts: Counter[bytes] = dataclass_field(default_factory=Counter)
    untimed: Counter[str] = dataclass_field(default_factory=Counter)
    packed: bytes = b""

    def add(self, operations: Sequence[tuple[pa.StringArray, pa.StringArray]]) -> None:
        """Count the operations of some batches, by `op` and `op_ts`; many small batches cost little more than one."""
        if not operations:
            return
        op, op_ts = (pa.concat_arrays(arrays) for arrays in zip(*operations, strict=True))
        for start in range(0, len(op), _ROWS):
            self._add(op.slice(start, _ROWS), op_ts.slice(start, _ROWS))

    def pack(self) -> None:
        """Pack the counts. From now on, the operations can only be added to another timeline."""
        keys = sorted(self.counts)
        numbers = array("Q", (self.counts[key] for key in keys))
        if sys.byteorder == "big":
            numbers.byteswap()
        # Bytes of one place follow each other, as most are those of the key or number before.
        columns = (_turned(b"".join(keys), len(keys)), _turned(numbers.tobytes(), len(keys)))
        self.packed = zlib.compress(b"".join(columns), 9)
        self.counts = Counter()

    def _items(self) -> Iterable[tuple[bytes, int]]:
        if not self.packed:
            return self.counts.items()
        data, size = zlib.decompress(self.packed), 1 + self.width
        end = len(data) * size // (size + 8)
        keys = _turned(data[:end], size)
        numbers = array("Q", _turned(data[end:], 8))
        if sys.byteorder == "big":
            numbers.byteswap()
        return zip((keys[place : place + size] for place in range(0, end, size)), numbers, strict=True)

    def _add(self, op: pa.StringArray, op_ts: pa.StringArray) -> None:
        whole = narrow(op_ts.cast(pa.binary()), pa.BinaryArray)
        times = pc.binary_slice(whole, 0, self.width)
        runs = pc.run_end_encode(times)
        if len(runs.values) * _FEW_TO_A_RUN <= len(times):
            self._count_runs(op, runs)
        else:
            values, counts = _distinct(op, times)
            while len(values) > _TOO_MANY and self.width > _WIDTHS[-1] and _valid(values) > _TOO_MANY:
                self._widen(_next(self.width))
                values, counts = _distinct(op, pc.binary_slice(whole, 0, self.width))
            for key, count in zip(non_null_values(values), non_null_values(counts), strict=True):
                self._count(key, count)
        self._limit()

    def _count_runs(self, op: pa.StringArray, runs: pa.RunEndEncodedArray[Any, Any]) -> None:
        kinds = text_buffer(op).to_pybytes()
        start = 0
        for time, end in zip(runs.values.to_pylist(), non_null_values(runs.run_ends), strict=True):
            for kind in _KINDS:
                if count := kinds.count(kind, start, end):
                    self._count(kind + (time or b""), count)
            start = end

    def __iadd__(self, other: Timeline) -> Timeline:
        self.untimed += other.untimed
        self._widen(other.width)
        for key, count in other._items():
            self._count(key[: 1 + self.width], count)
        self._limit()
        return self

    def as_document(self) -> dict[str, Any]:
        times: dict[str, dict[str, int]] = {}
        for key, count in sorted(self.counts.items(), key=lambda item: item[0][1:]):
            times.setdefault(key[1:].decode(), {})[key[:1].decode()] = count
        step = next(step for step, width in STEPS.items() if width == self.width)
        return {"step": step, "times": times, "untimed": dict(self.untimed)}

    def _count(self, key: bytes, count: int) -> None:
        if key not in self.counts:
            time = key[1:].replace(b"T", b" ")
            key = key[:1] + time
            if key not in self.counts and (len(time) != self.width or not _TIME.fullmatch(time)):
                self.untimed[key[:1].decode()] += count
                return
        self.counts[key] += count

    def _limit(self) -> None:
        while len(self.counts) > MAX_COUNTS and self.width > _WIDTHS[-1]:
            self._widen(_next(self.width))
        if len(self.counts) > MAX_COUNTS:  # even of years: no clock was right
            finer, self.counts = self.counts, Counter()
            for key, count in finer.items():
                self.untimed[key[:1].decode()] += count

    def _widen(self, width: int) -> None:
        if width < self.width:
            self.width = width
            finer, self.counts = self.counts, Counter()
            for key, count in finer.items():
                self._count(key[: 1 + width], count)


def _turned(data: bytes, rows: int) -> bytes:
    """Return rows of bytes, one after the other, as columns; `rows` is how many bytes a column has."""
    size = len(data) // max(rows, 1)
    return b"".join(data[place::size] for place in range(size))


def _next(width: int) -> int:
    return _WIDTHS[_WIDTHS.index(width) + 1]


def _distinct(op: pa.StringArray, times: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Return each type and time, as a key of `Timeline.counts`, and the number of its operations."""
    keys = pc.binary_join_element_wise(op.cast(pa.binary()), times, b"", null_handling="replace")
    counted = pc.value_counts(keys)
    return narrow(counted.field("values"), pa.BinaryArray), narrow(counted.field("counts"), pa.Int64Array)


def _valid(keys: pa.BinaryArray) -> int:
    return int(pc.sum(pc.match_substring_regex(keys, f"^.(?:{_PATTERN})$")).as_py())


@dataclass(frozen=True)
class RunRecord:
    """The manifest of a committed run. `is_kept` False: from `manifest.json`, as an earlier ggfmt left nothing else."""

    name: str
    document: dict[str, Any]
    is_kept: bool = True

    @property
    def place(self) -> str:
        return self.name if self.is_kept else MANIFEST

    def files(self, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._named(store, "files")

    def schemas(self, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._named(store, "schemas")

    def lists(self, store: Store, handlers: Collection[str], schemas: Collection[str]) -> bool:
        files = any(entry.get("handler") in handlers for _, entry in self.files(store))
        return files or any(name in schemas for name, _ in self.schemas(store))

    def _named(self, store: Store, member: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield entries with a relative path. Those with an absolute path are in other directories, unless the manifest
        of an earlier ggfmt has the absolute path of this one."""
        absolute = f"{store.root.address}/"
        for entry in self.document.get(member, []):
            name = entry["path"].removeprefix(absolute)
            if is_below(name) and "://" not in name:
                yield name, entry


@contextmanager
def output_to_read(root: str) -> Iterator[Store]:
    """Open the output directory that a user names, to read it. Raises: Abend GG506 if that fails."""
    try:
        yield Store(Location.of(root))
    except FAILURES as error:
        message = f"the output directory cannot be read: {reason(error)}"
        raise Abend("GG506", message, root, getattr(error, "help", None)) from None


def no_output(root: str) -> UsageError:
    message = "the directory is not an output of ggfmt: it has no `_ggfmt/manifest.json`"
    return UsageError("GG310", message, root, "give the output directory (`-o`) of a run")


def records(store: Store) -> Iterator[RunRecord]:
    """Yield the records of an output directory, in the order of the ids of runs. Raises: Abend GG509 for a damaged
    one."""
    names = [f"{RUNS}/{name}" for name in store.names(RUNS)]
    latest = _read(store, MANIFEST)
    if latest is not None and latest.name not in names:
        yield latest
    del latest
    for name in names:
        record = _read(store, name)
        if record is not None:
            yield record


def kept_runs(store: Store) -> list[str]:
    return [name.removesuffix(".json") for name in store.names(RUNS) if name.endswith(".json")]


def latest_record(store: Store) -> RunRecord | None:
    latest = _read(store, MANIFEST)
    runs = kept_runs(store) if latest is None else []
    return record_of(store, runs[-1]) if runs else latest


def record_of(store: Store, run: str) -> RunRecord | None:
    return _read(store, run_file(run))


def earlier_manifest(store: Store) -> RunRecord | None:
    """Return the manifest of a run of an earlier ggfmt, which kept no records."""
    latest = _read(store, MANIFEST)
    return None if latest is None or store.exists(latest.name) else latest


def is_committed(store: Store, run: str) -> bool:
    """Return whether the commit of a run was decided. Raises: Abend or one of `FAILURES` if the directory cannot be
    read."""
    journal = read_journal(store)
    return (journal is not None and journal.run == run) or store.exists(run_file(run))


def is_of_rows(entry: Mapping[str, Any]) -> bool:
    """Return whether a file in the manifest of a consolidation has rows of a table, and not operations or rejects."""
    return not {"unresolved", "kept", "free", "rejects", SET_ASIDE_MEMBER} & {*entry}


class _RowsQuery(Struct):
    kind: str
    keep: list[str]
    to: str


class _RowsTable(Struct):
    key: list[str]
    columns: dict[str, str]
    order: str
    rows: int
    unresolved: int
    defaults: int


class _RowsFile(Struct):
    path: str
    table: str | None


class _RowsManifest(Struct):
    """The members of the manifest of a consolidation that all versions of ggfmt have written and read."""

    consolidated: _RowsQuery
    tables: dict[str, _RowsTable]
    files: list[_RowsFile]


def rows_manifest(store: Store) -> dict[str, Any] | None:
    """Return the manifest of an output, which may also be one of messages; None without one. Raises: Abend GG509 if it
    is damaged."""
    document = read_document(store, MANIFEST)
    if document is not None and CONSOLIDATION_MEMBER in document:
        try:
            msgspec.convert(document, _RowsManifest)
        except msgspec.ValidationError as error:
            raise damaged(store, MANIFEST, f"is damaged: {error}") from None
    return document


def run_file(run: object) -> str:
    """Return the name of the record of a run; if the run has no proper id, a name that no other run has."""
    proper = isinstance(run, str) and is_below(run) and "/" not in run
    return f"{RUNS}/{run if proper else 'unknown'}.json"


def without_replaced(
    record: RunRecord, store: Store, handlers: Collection[str], schemas: Collection[str]
) -> bytes | None:
    """Return a record without the files of handlers and the schemas that a run replaces; None if no file remains."""
    gone = {id(entry) for _, entry in record.files(store) if entry.get("handler") in handlers}
    gone |= {id(entry) for name, entry in record.schemas(store) if name in schemas}
    lists = {
        member: [entry for entry in record.document.get(member, []) if id(entry) not in gone]
        for member in ("files", "schemas")
    }
    left = RunRecord(record.name, {**record.document, **lists})
    if not any(left.files(store)) and not any(left.schemas(store)):
        return None
    replaced = sorted({*record.document.get("replaced", []), *handlers})
    return as_bytes({**left.document, "replaced": replaced})


def as_bytes(document: dict[str, Any]) -> bytes:
    # With an indent, `json` encodes in Python, which takes half a millisecond for each table of a manifest.
    return msgspec.json.format(json.dumps(document, ensure_ascii=False).encode(), indent=2)


def _read(store: Store, name: str) -> RunRecord | None:
    document = read_document(store, name)
    if document is None:
        return None
    for member in ("files", "schemas"):
        entries = document.get(member, [])
        proper = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
        if not proper or not all(isinstance(entry.get("path"), str) for entry in entries):
            raise damaged(store, name, f"is damaged: `{member}` does not list files")
    if name == MANIFEST:
        return RunRecord(run_file(document.get("run")), document, is_kept=False)
    return RunRecord(name, document)


# Manifests as typed values. Earlier versions of ggfmt wrote fewer members; members of later versions are left out.
# `ggfmt docs output` describes each member.

LAYOUT = 1  # of manifests; a greater one may have members that this ggfmt does not know
NEWER_LAYOUT_HELP = "use the version of ggfmt that wrote it, or a later version"

Count = Annotated[int, Meta(ge=0, le=2**62)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Operations = dict[str, Count]  # by type


class RecordedInput(Struct, frozen=True):
    path: str
    bytes: Count = 0


class Handler(Struct, frozen=True, rename="camel"):
    """The settings of a handler; `options` are those that differ from their defaults, as properties have them."""

    format: str
    include_tokens: bool = False
    options: dict[str, str] = field(default_factory=dict)


class OutputFile(Struct, frozen=True):
    """A file of messages, of one `table` or of all (empty); one of `rows`, without a handler; or one of `rejects`."""

    path: str
    handler: str = ""
    table: str | None = None
    operations: Count = 0
    rows: Count = 0
    rejects: Count | None = None
    bytes: Count = 0
    first_position: str | None = None
    last_position: str | None = None


class RecordedSchema(Struct, frozen=True):
    path: str
    bytes: Count = 0


class LossCount(Struct, frozen=True):
    """The number of values of a column that a handler could not show as they were; of operations, without a column."""

    table: str
    column: str
    values: Count
    what: str
    loss: str = ""
    code: str = ""


class LossKind(Struct, frozen=True):
    loss: str
    what: str


class RecordedTotals(Struct, frozen=True):
    messages: Count = 0
    extra_messages: Count = 0
    left_out: Count = 0
    files: Count = 0
    bytes: Count = 0
    rejects: dict[str, Count] = field(default_factory=dict)
    lost_characters: Count = 0
    not_shown: list[LossKind] = field(default_factory=list)
    losses: list[LossCount] = field(default_factory=list)


class OperationsByTime(Struct, frozen=True):
    step: TimeStep
    times: dict[str, Operations]
    untimed: Operations = field(default_factory=dict)


class Totals(Struct, frozen=True):
    operations: dict[str, Operations] = field(default_factory=dict)
    operations_read: Count = 0
    operations_by_time: OperationsByTime | None = None
    records_rejected_by_reader: Count = 0
    other_records: dict[str, Count] = field(default_factory=dict)
    unknown_members: dict[str, Count] = field(default_factory=dict)
    skipped_records: dict[str, Count] = field(default_factory=dict)
    mapped_operations: dict[str, dict[str, dict[str, Count]]] = field(default_factory=dict)
    input_bytes: Count = 0
    spark_application: str | None = None
    seconds: Seconds = 0
    seconds_in_tasks: Seconds = 0
    seconds_by_step: dict[str, Seconds] = field(default_factory=dict)
    handlers: dict[str, RecordedTotals] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class RecordedRows(Struct, frozen=True):
    """The rows of a table. `operations` are of the last run that has read some; counts of columns are of values."""

    operations: Operations = field(default_factory=dict)
    key: list[str] = field(default_factory=list)
    rows: int = 0
    deleted: Count | None = None
    unresolved: Count = 0
    unset: dict[str, dict[str, Count]] = field(default_factory=dict)
    unfit: dict[str, Count] = field(default_factory=dict)
    contradictions: dict[str, Count] = field(default_factory=dict)


class SetAsideTable(Struct, frozen=True):
    reason: str
    kept: Count


class RowsQuery(Struct, frozen=True):
    kind: str
    to: str
    as_of: str | None = None
    since: str | None = None


class Manifest(Struct, frozen=True):
    """What a run read and wrote. `replaced` are handlers whose files later runs replaced. `consolidated`: of a run that
    wrote rows, which has `tables`, `set_aside` and `rejects` instead of handlers; `totals` are made of these."""

    ggfmt: str
    run: str
    totals: Totals
    time: str = ""
    mode: str = ""
    input_format: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    inputs: list[RecordedInput] = field(default_factory=list)
    handlers: dict[str, Handler] = field(default_factory=dict)
    files: list[OutputFile] = field(default_factory=list)
    schemas: list[RecordedSchema] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    consolidated: RowsQuery | None = None
    tables: dict[str, RecordedRows] = field(default_factory=dict)
    set_aside: dict[str, SetAsideTable] = field(default_factory=dict)
    rejects: dict[str, Count] = field(default_factory=dict)


def manifest_of(document: Mapping[str, Any], place: Span) -> Manifest:
    """Return a manifest. Raises: Abend GG561 if a later ggfmt wrote it, and GG562 if it is none."""
    later = later_layout(document)
    if later is not None:
        raise Abend("GG561", later, place, NEWER_LAYOUT_HELP)
    try:
        if CONSOLIDATION_MEMBER not in document:
            return msgspec.convert(document, Manifest)
        found = msgspec.convert({**document, "totals": document}, Manifest)
        operations = {name: table.operations for name, table in found.tables.items()}
        read, size = sum(sum(kinds.values()) for kinds in operations.values()), sum(each.bytes for each in found.inputs)
        totals = replace(found.totals, operations=operations, operations_read=read, input_bytes=size)
        return replace(found, totals=totals)
    except msgspec.ValidationError as error:
        help = "restore the manifest from a copy, and check the files with `ggfmt verify`"
        raise Abend("GG562", f"the manifest is damaged: {error}", place, help) from None


def later_layout(document: Mapping[str, Any]) -> str | None:
    """Return a message if this ggfmt does not know the layout of a manifest; None if it does."""
    layout = document.get("layout", LAYOUT)
    if isinstance(layout, int) and layout <= LAYOUT:
        return None
    return f"the manifest is from a later version of ggfmt: {document.get('ggfmt')}, layout {layout}"
