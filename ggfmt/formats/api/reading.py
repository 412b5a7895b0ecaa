"""What reads a format: a reader makes operations from the records of files, a discovery finds their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, ClassVar, NamedTuple, overload

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

MAX_RECORD_BYTES = 64 << 20
HEAD_OF_LONG = 1 << 10  # of a record that is too long, what is set aside


@dataclass(frozen=True)
class Layout:
    """How the records of one file lie in it, as found from its first bytes.

    splittable  a task may start anywhere and find the start of the next record
    delimiter   what stands between records besides white space
    array       the file is one JSON array of records
    skipped     how many bytes before the first record are none: a byte order mark, a comment, a header
    max_record  how many bytes a record may have
    envelope    what is around each record, where something is: a word of who reads it
    keys        the names of the columns in the keys of all records, where another file has the keys
    """

    splittable: bool
    delimiter: bytes = b""
    array: bool = False
    skipped: int = field(default=0, kw_only=True)
    max_record: int = field(default=MAX_RECORD_BYTES, kw_only=True)
    envelope: str | None = field(default=None, kw_only=True)
    keys: tuple[str, ...] = field(default=(), kw_only=True)


class KafkaMessage(NamedTuple):
    """A message of Kafka, of which `value` is the record, `null` for a tombstone; what is not known is None."""

    value: bytes
    key: bytes | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


@dataclass(frozen=True)
class KafkaEnvelopes:
    """What a chunk of values was made of: the chunk with its spans, the messages, and by place why one is none."""

    chunk: Chunk
    messages: Sequence[KafkaMessage]
    problems: Mapping[int, Diagnostic]


@dataclass(frozen=True)
class Chunk:
    """Whole records of a file: `data` starts at byte `offset` of the (decompressed) file.

    spans    the starts and ends of the records in `data`, where their reader had to find them to cut the chunk
    input    the place of the file in the order of the inputs
    line     the offset of the line that `data` starts in, None where it starts a line
    last     the file ends where `data` does
    problem  why the chunk is one record that nobody looks into, of which `data` are the first bytes
    settle   the chunk cut into records, with `spans`, which may be less or more of the file than `data`: to be called
             where `data` do not decode as whole records, before the next chunk is asked for
    wrapped  what `data` were made of, if the records of the file are within others; each stands where it stood
    """

    file: str
    offset: int
    data: bytes
    layout: Layout
    spans: Sequence[tuple[int, int]] | None = None
    input: int = 0
    line: int | None = None
    last: bool = True
    problem: Diagnostic | None = None
    settle: Callable[[], Chunk] | None = None
    wrapped: KafkaEnvelopes | None = None

    def settled(self) -> Chunk:
        """The chunk with `spans`, if records can only be told one by one."""
        return self if self.settle is None else replace(self.settle(), input=self.input)

    def line_of(self, place: int) -> int:
        """The offset of the line that holds a place of `data`."""
        start = self.data.rfind(b"\n", 0, place) + 1
        return self.offset + start if start or self.line is None else self.line


def too_long(size: int, limit: int) -> Diagnostic:
    """Why a record of so many bytes is not read."""
    help = "give a larger `--max-record` if the record is right; a task may need several times as much memory"
    return Diagnostic("GG316", f"the record has {size:,} bytes, and {limit:,} are the most", help=help)


class SplitBoundaryError(Exception):
    """A record lies over the end of the range that it starts in, so that its file cannot be read in ranges."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


class UnknownTable(Diagnostic):
    """Why a record cannot be read as long as nobody has looked for definitions in the data; GG205 for people.

    A discovery pass may find what is lacking. A record that it does not help is refused with a plain `Diagnostic`.
    """

    @classmethod
    def named(cls, name: str, span: Span | None = None) -> UnknownTable:
        """The reason for an operation of a table that no definition describes."""
        message = f"the table `{name}` has no definition"
        return cls("GG205", message, span or Span(table=name), "add its definition to `--definitions`")


@dataclass(frozen=True)
class Reject:
    """A record that is no operation: its place, its bytes as they were, and the reason."""

    ordinal: int
    record: bytes
    diagnostic: Diagnostic

    @property
    def of_unknown_table(self) -> bool:
        """Whether a discovery pass may make an operation of it."""
        return isinstance(self.diagnostic, UnknownTable)


@dataclass(frozen=True)
class Remark:
    """What is odd about operations of a table that are read all the same, told once, with their number, in the totals:
    the number and then `detail`."""

    code: str
    table: str
    detail: str


@dataclass(frozen=True)
class SchemaChange:
    """A metadata change event: from here on `table` holds. `offset` is that of its record in the `input`-th input, and
    `line` that of the line in which the record starts: ranges of a file start with lines."""

    table: TableDef
    input: int
    offset: int
    line: int = field(default=0, compare=False)

    @classmethod
    def met(cls, table: TableDef, chunk: Chunk, place: int) -> SchemaChange:
        """The event of a record that starts at a place of a chunk."""
        return cls(table, chunk.input, chunk.offset + place, chunk.line_of(place))


Event = ChangeBatch | Reject | SchemaChange


class Reader(ABC):
    """Reads the records of one split: feed it `chunks` in order, take the events of each, and `flush` at the end.

    Operations of a table come in input order. The reader may hold operations back to make larger batches, but never
    over a metadata change event of their table, nor over the end of the split. `others` counts the records met that
    are no operations by kind, `members` the operations with a member that the format does not know by its name,
    `remarks` those that are odd in some way. A reader that `checks_definitions` takes a provisional catalog: it rejects
    a record in which a discovery pass would find what the catalog does not have, as one of an unknown table.
    """

    checks_definitions: ClassVar[bool] = False

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self.catalog = catalog
        self.projection = projection
        self.source = source
        self.others: Counter[str] = Counter()
        self.members: Counter[str] = Counter()
        self.remarks: Counter[Remark] = Counter()

    @staticmethod
    @abstractmethod
    def sniff(head: bytes) -> str | None:
        """Why the first bytes of an input look like this format, in words; None if they do not."""

    @staticmethod
    @abstractmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        """The layout of a file by its first bytes; `whole` tells that there are no others."""

    @staticmethod
    @abstractmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        """The records that start in the `length` bytes from `start` (None: to the end); `stream` stands at 0.

        SplitBoundaryError where that cannot be told from the range alone: the file is to be read in one.
        """

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Event]: ...

    @abstractmethod
    def flush(self) -> Iterator[Event]: ...

    @abstractmethod
    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        """The chunk of a record not yet flushed, and where in the chunk's data the record starts and ends."""

    @property
    @abstractmethod
    def next_ordinal(self) -> int:
        """How many records there were so far, which is the ordinal of the next."""

    @abstractmethod
    def offsets(self, ordinals: pa.Int64Array) -> pa.Int64Array:
        """Where records not yet flushed start, by bytes of their files; `ordinals` rise, or stay."""


class Discovery(ABC):
    """Collects the tables of one split: columns, types and keys. `every_shape` asks for all lists of columns."""

    @abstractmethod
    def __init__(
        self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS
    ) -> None: ...

    @abstractmethod
    def read(self, chunk: Chunk) -> None: ...

    @abstractmethod
    def findings(self) -> object:
        """What was found, to be sent to the driver and given to `settle` together with all other splits'."""

    @staticmethod
    @abstractmethod
    def settle(findings: Sequence[Any], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
        """The definitions of the whole input from the findings of its splits, in input order.

        The same however the input was split; `every_shape` is what the splits were asked for.
        """


@dataclass(frozen=True)
class DiscoveryResult:
    """Definitions found in the data: those that hold from the start, and metadata change events by place.

    `complete` is false if all records have to be read once more: shape by shape, because they left the order of a
    table's columns open, or with what others of them tell. `facts` is for `WriterSettings.facts`.
    """

    tables: tuple[TableDef, ...]
    events: tuple[SchemaChange, ...] = ()
    complete: bool = True
    facts: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadSupport:
    """What reads a format; `discovery` is None where the data do not tell what the tables are. `other` has another one
    for messages that were written by certain options."""

    reader: type[Reader]
    discovery: type[Discovery] | None = None
    other: Callable[[WriterSettings], ReadSupport | None] = lambda source: None

    def by(self, source: WriterSettings) -> ReadSupport:
        """What reads messages of a source, whose options are known."""
        return self.other(source) or self


# A stream that is read and handed out piece by piece, without ever holding more than a record may have.

PIECE_BYTES = 1 << 20


class Source:
    """`buffer` is what was read and not yet handed out, and lies at `offset` of the file; `ended` tells that nothing
    follows it. `step` is how many bytes a chunk has, about."""

    def __init__(self, stream: BinaryIO, file: str, layout: Layout, step: int, offset: int = 0) -> None:
        self.stream = stream
        self.file = file
        self.layout = layout
        self.limit = layout.max_record
        self.step = min(step, self.limit)
        self.buffer = b""
        self.offset = offset
        self.ended = False

    def grow(self) -> None:
        """Reads as much again as there is, so that looking at a long record anew takes no more than linear time."""
        size = len(self.buffer)
        block = self.stream.read(max(self.step, min(size, self.limit + 1 - size)))
        self.ended = not block
        self.buffer += block

    def drop(self, count: int) -> None:
        self.buffer = self.buffer[count:]
        self.offset += count

    def pass_until(self, mark: bytes, start: int) -> None:
        """Drops what comes before the next mark that does not start before `start`, or everything."""
        found = self.buffer.find(mark, start)
        while found < 0:
            kept = max(0, len(self.buffer) - len(mark) + 1)
            self.drop(kept)
            start = max(0, start - kept)
            block = self.stream.read(PIECE_BYTES)
            self.ended = not block
            self.buffer += block
            if not block:
                self.drop(len(self.buffer))
                return
            found = self.buffer.find(mark, start)
        self.drop(found)

    def pass_record(self, mark: bytes) -> Chunk:
        """The chunk of a record that is too long, which ends before the first mark behind as many bytes as are allowed;
        it is dropped."""
        start, head = self.offset, self.head()
        self.pass_until(mark, self.limit)
        return self.long(start, head)

    def head(self) -> bytes:
        """What is kept of a record that is too long."""
        return self.buffer[: min(HEAD_OF_LONG, self.limit)]

    def long(self, start: int, head: bytes) -> Chunk:
        """The chunk of a record that is too long, of `head` and what was dropped since `start`."""
        problem = too_long(self.offset - start, self.limit)
        return Chunk(self.file, start, head, self.layout, ((0, len(head)),), last=False, problem=problem)


# Where the records of a chunk are.


class Spans(Sequence[tuple[int, int]]):
    """Starts and ends of records, sixteen bytes each."""

    def __init__(self) -> None:
        self._places = array("q")

    def add(self, start: int, end: int) -> None:
        self._places.append(start)
        self._places.append(end)

    def add_all(self, places: Any) -> None:
        """Adds those of a buffer of int64, starts and ends in turns."""
        self._places.frombytes(places)

    def follow(self, start: int, ends: array[int]) -> None:
        """Adds those that follow each other from a start on, by their ends as counted from it."""
        places = array("q", bytes(2 * ends.itemsize * len(ends)))
        places[1::2] = array("q", [start + end for end in ends]) if start else ends
        places[::2] = array("q", [start]) + places[1:-1:2]
        self._places += places

    def places(self) -> array[int]:
        """Starts and ends in turns, which are not to be changed."""
        return self._places

    def drop_last(self) -> None:
        del self._places[-2:]

    def starts(self, count: int) -> array[int]:
        """Of the first so many."""
        return self._places[: 2 * count : 2]

    def before(self, place: int) -> Spans:
        """Those that start before a place."""
        kept = Spans()
        for start, end in self:
            if start >= place:
                break
            kept.add(start, end)
        return kept

    def __len__(self) -> int:
        return len(self._places) // 2

    def __iter__(self) -> Iterator[tuple[int, int]]:
        places = iter(self._places)
        return zip(places, places, strict=True)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = 2 * (index if index >= 0 else len(self) + index)
        return self._places[place], self._places[place + 1]


def starts_of(spans: Sequence[tuple[int, int]], count: int) -> array[int]:
    """Where the first so many records start."""
    if isinstance(spans, Spans):
        return spans.starts(count)
    return array("q", (spans[index][0] for index in range(count)))


def settle_changes(findings: Sequence[list[SchemaChange]], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
    """The first definition of each table, and a metadata change event wherever another one follows it."""
    first: dict[str, TableDef] = {}
    current: dict[str, TableDef] = {}
    events = []
    for change in (change for split in findings for change in split):
        table = catalog.settle(change.table)
        if table.full_name not in first:
            first[table.full_name] = table
        elif current[table.full_name] != table:
            events.append(replace(change, table=table))
        current[table.full_name] = table
    return DiscoveryResult(tuple(first.values()), tuple(events))
