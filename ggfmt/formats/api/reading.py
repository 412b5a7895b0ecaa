"""The interface of readers: a reader turns the records of files into operations, a discovery finds their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, NamedTuple, overload

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import combined, narrow
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef

MAX_RECORD_BYTES = 64 << 20
STANDARD_INPUT = "<stdin>"  # in place of the name of a file
HEAD_OF_LONG = 1 << 10  # bytes of a too long record that are kept
EVERY_TABLE_OF = ".*"  # the end of a name that stands for all tables before the dot


@dataclass(frozen=True)
class Layout:
    """The layout of the records in a file, as found from its first bytes.

    splittable  a task may start anywhere and find the start of the next record
    delimiter   what separates records, besides white space
    array       the file is a JSON array of records
    skipped     number of bytes before the first record: a byte order mark, a comment, a header
    max_record  maximum size of a record in bytes
    envelope    what encloses each record, as a word of the reader; None for nothing
    keys        column names in the keys of all records, if another file has the keys
    messages    the file with the places of messages in the file, if this has the values of a topic (`TopicIndex`)
    record_end  what is after each record, the last one too, of a file of lines that is not splittable
    note        what the first bytes have shown, for the log of a run; empty if there was nothing to find
    """

    splittable: bool
    delimiter: bytes = b""
    array: bool = False
    skipped: int = field(default=0, kw_only=True)
    max_record: int = field(default=MAX_RECORD_BYTES, kw_only=True)
    envelope: str | None = field(default=None, kw_only=True)
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    messages: str | None = field(default=None, kw_only=True)
    record_end: bytes = field(default=b"", kw_only=True)
    note: str = field(default="", kw_only=True)


# The columns of Kafka messages beside their values; NULL for what is unknown.
_COLUMNS: dict[str, pa.DataType] = {
    "key": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int64(),
    "offset": pa.int64(),
}
KAFKA_MESSAGES = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class KafkaEnvelopes:
    """The origin of a chunk of values: its chunk, the messages, and why one is invalid, by its place. The messages have
    the columns `KAFKA_MESSAGES`; None if other rows than those of a topic enclose the values."""

    chunk: Chunk
    messages: pa.RecordBatch | None
    problems: Mapping[int, Diagnostic]

    def key(self, place: int) -> bytes | None:
        """Return the key of the message at a place."""
        key: bytes | None = None if self.messages is None else self.messages["key"][place].as_py()
        return key

    @property
    def has_names(self) -> bool:
        """Whether a key is a JSON object or array, which may have columns."""
        if self.messages is None:
            return False
        keys = self.messages["key"]
        return any(pc.any(pc.starts_with(keys, bracket)).as_py() for bracket in "{[")


class Origin(NamedTuple):
    """The place of a record: its file, the index of the file in the order of the inputs, the offset of the record, and
    the offset of the line in which it starts."""

    file: str
    input: int
    offset: int
    line: int


@dataclass(frozen=True)
class Origins:
    """The places of the records of a chunk that was made from parts of files.

    starts   the start of each record in the data of the chunk
    records  the columns `file`, `input`, `offset` and `line`, with one row per record
    """

    starts: array[int]
    records: pa.Table

    def __getitem__(self, number: int) -> Origin:
        return Origin(*(column[number].as_py() for column in self.records.columns))

    def column(self, name: str) -> pa.Int64Array:
        return narrow(combined(self.records.column(name)).cast(pa.int64()), pa.Int64Array)


@dataclass(frozen=True)
class Chunk:
    """Whole records of a file. `data` starts at byte `offset` of the (decompressed) file.

    spans    starts and ends of the records in `data`, if the reader had to find them to cut the chunk
    input    index of the file in the order of the inputs
    line     offset of the line that `data` starts in, None at the start of a line
    last     the file ends where `data` ends
    problem  reason why the chunk is a single record that is not decoded; `data` has its first bytes
    settle   returns the chunk cut into records, with `spans`, which may cover less or more of the file than `data`.
             Call it if `data` does not decode as whole records, before you ask for the next chunk
    wrapped  the messages that enclosed the records of `data`; each record is where its message was
    origins  the places of the records, if `data` is no part of one file
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
    origins: Origins | None = None

    def settled(self) -> Chunk:
        """Return the chunk with `spans`, if records can only be found one by one."""
        return self if self.settle is None else replace(self.settle(), input=self.input)

    def origin(self, start: int) -> Origin:
        """Return the place of the record that starts at a place of `data`."""
        if self.origins is not None:
            return self.origins[bisect_right(self.origins.starts, start) - 1]
        line = self.data.rfind(b"\n", 0, start) + 1
        line = self.offset + line if line or self.line is None else self.line
        return Origin(self.file, self.input, self.offset + start, line)

    def span(self, start: int) -> Span:
        """Return the place of the record that starts at a place of `data`, for a message."""
        origin = self.origin(start)
        message = None if self.layout.messages is None else message_at(self.layout.messages, origin.offset)
        return Span(file=origin.file, offset=origin.offset if message is None else None, message=message)


def message_at(index: str, place: int) -> int | None:
    """Return the offset of the message at a place of a file with the values of a topic, by the index beside it."""
    from ggfmt.formats.api.topic_index import TopicIndex

    found = TopicIndex.of(index)
    return None if found is None else found.offset_at(place)


def record_size_error(size: int, limit: int, least: str = "") -> Diagnostic:
    help = "if the record is valid, increase `--max-record`; a task may need several times as much memory"
    return Diagnostic("GG316", f"the record has {least}{size:,} bytes, and the limit is {limit:,}", help=help)


class SplitBoundaryError(Exception):
    """A record crosses the end of the range in which it starts, so that the file cannot be read in ranges."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


class UnknownTable(Diagnostic):
    """A record cannot be read before a discovery pass has looked for its table; users see GG205. If a discovery pass
    would not help, the reader refuses the record with a plain `Diagnostic`."""

    @classmethod
    def named(cls, name: str, span: Span | None = None) -> UnknownTable:
        message = f"the table `{name}` has no definition"
        help = "add its definition to `--definitions`"
        if "." in name:  # a dump of one database of MySQL has names without it
            help += f", under its full name; a dump of MySQL may need `USE {name.partition('.')[0]};` before it"
        return cls("GG205", message, span or Span(table=name), help)


@dataclass(frozen=True)
class Reject:
    """A record that is not a valid operation: its ordinal, its original bytes, and the reason."""

    ordinal: int
    record: bytes
    diagnostic: Diagnostic

    @property
    def of_unknown_table(self) -> bool:
        """Whether a discovery pass may make an operation of the record."""
        return isinstance(self.diagnostic, UnknownTable)


@dataclass(frozen=True)
class Remark:
    """An oddity of operations that are read nevertheless. The totals report their number, then `detail`."""

    code: str
    table: str
    detail: str

    @property
    def is_loss(self) -> bool:
        """Whether the input does not show values of the operations, which `--strict` forbids."""
        return self.code == "GG330"


@dataclass(frozen=True)
class SchemaChange:
    """A schema change (metadata change event): from here on, `table` holds. `offset` is that of its record in input
    number `input`. `line` is the offset of the line in which the record starts: ranges of a file start with lines."""

    table: TableDef
    input: int
    offset: int
    line: int = field(default=0, compare=False)

    @classmethod
    def met(cls, table: TableDef, chunk: Chunk, place: int) -> SchemaChange:
        """Return the event of the record that starts at a place of a chunk."""
        _, input, offset, line = chunk.origin(place)
        return cls(table, input, offset, line)


@dataclass(frozen=True)
class Drop:
    """A table has no rows from here on, because the source drops or creates it. Readers yield it if the projection asks
    for `statements`.

    truncate  one truncate of a table without columns. A name that ends in `.*` stands for all tables before the dot.
    """

    truncate: ChangeBatch


# A Diagnostic is a warning about a statement; readers yield it if the projection asks for `statements`.
Event = ChangeBatch | Reject | SchemaChange | Drop | Diagnostic


class Reader(ABC):
    """A reader of the records of one split. Feed it `chunks` in order, take the events of each, and `flush` at the end.

    Operations of a table come in input order. The reader may hold back operations to make larger batches, but not
    across a schema change of their table or the end of the split.

    others    number of records that are not operations, by kind
    members   number of operations with a member that the format does not know, by its name
    remarks   number of operations by oddity

    A reader that `checks_definitions` accepts a provisional catalog: if a discovery pass would find something in a
    record that the catalog lacks, the reader rejects the record as one of an unknown table.
    """

    start: ClassVar[bytes] = b""  # of files that this reader takes, and no other one
    checks_definitions: ClassVar[bool] = False

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self.catalog = catalog
        self.projection = projection
        self.source = source
        self.others: Counter[str] = Counter()
        self.members: Counter[str] = Counter()
        self.sources: dict[str, dict[str, str]] = {}
        self.remarks: Counter[Remark] = Counter()

    @staticmethod
    @abstractmethod
    def sniff(head: bytes) -> str | None:
        """Describe why the first bytes of an input look like this format; None if they do not."""

    @staticmethod
    @abstractmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        """Return the layout of a file by its first bytes. `whole`: the file has no other bytes."""

    @staticmethod
    @abstractmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        """Yield the records that start in the `length` bytes from `start` (None: to the end). `stream` is at 0. Raises:
        SplitBoundaryError if the range alone does not show where records start; read the file as a whole."""

    @staticmethod
    def unwrapped(chunk: Chunk) -> Chunk:
        """Return a chunk of messages, of a layout with an `envelope`, as a chunk of the records in them."""
        return chunk

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Event]: ...

    @abstractmethod
    def flush(self) -> Iterator[Event]: ...

    @abstractmethod
    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        """Return the chunk of a record, and the start and end of the record in its data, until the next chunk is read
        after the events of the record."""

    def place(self, ordinal: int) -> tuple[int, int]:
        """Return the input and the offset of a record that was not flushed yet, if its chunk has `origins`."""
        raise NotImplementedError

    @property
    @abstractmethod
    def next_ordinal(self) -> int:
        """The number of records so far, which is the ordinal of the next."""

    @abstractmethod
    def offsets(self, ordinals: pa.Int64Array) -> pa.Int64Array:
        """Return where records that were not flushed yet start, in bytes of their files. `ordinals` must not fall."""

    def inputs(self, ordinals: pa.Int64Array) -> pa.Int64Array:
        """Return the inputs of records as `offsets` does, if their chunks have `origins`."""
        raise NotImplementedError


class Discovery(ABC):
    """Collects the tables of a split: columns, types and keys. `every_shape` asks for all lists of columns.

    finds_keys  `settle` also returns the tables of the user whose definition does not state the key
    """

    finds_keys: ClassVar[bool] = False

    @abstractmethod
    def __init__(
        self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS
    ) -> None: ...

    @classmethod
    def caution(cls, source: WriterSettings) -> str:
        """Return what a user should know about tables that only their values describe; empty if there is nothing."""
        return ""

    @abstractmethod
    def read(self, chunk: Chunk) -> None: ...

    @abstractmethod
    def findings(self) -> object:
        """Return the findings. The driver passes those of all splits to `settle`."""

    @staticmethod
    @abstractmethod
    def settle(findings: Sequence[Any], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
        """Return the definitions of the whole input from the findings of its splits, in input order. The result does
        not depend on the splits. `every_shape` is the value that the splits got."""


@dataclass(frozen=True)
class Routed:
    """The records of a chunk and their tables.

    chunk   as the router has cut it into records
    starts  of the records in its data; they follow one another, with only white space between them
    spans   the starts and ends of the records, if something else may be between them; `starts` is None then
    tables  the number of each record's table in `Router.tables`
    is_cut  the last record has no end, as its file ends before
    """

    chunk: Chunk
    starts: pa.Int64Array | None
    spans: Sequence[tuple[int, int]]
    tables: pa.Int64Array
    is_cut: bool = False


class Unroutable(Exception):
    """The records of a chunk cannot be divided by table."""


class Router(ABC):
    """Finds the table of each record, and reads no columns.

    tables      names; the first one, which is empty, stands for records without a table
    statements  statements that drop or create tables go to these tables
    """

    statements = False

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        self.tables = [""]
        self._numbers = {"": 0}

    def number(self, table: str) -> int:
        """Return the number of a table, or of any other text that all records of one table have."""
        number = self._numbers.setdefault(table, len(self.tables))
        if number == len(self.tables):
            self.tables.append(table)
        return number

    @abstractmethod
    def route(self, chunk: Chunk) -> Routed:
        """Raises: Unroutable"""


@dataclass(frozen=True)
class DiscoveryResult:
    """Definitions found in the data: those that hold from the start, and schema changes by place.

    complete  false if all records must be read again: by shape, because the column order of a table is open, or because
              of facts in other records
    facts     goes to `WriterSettings.facts`
    sure      records left no choice in the order of columns
    """

    tables: tuple[TableDef, ...]
    events: tuple[SchemaChange, ...] = ()
    complete: bool = True
    facts: Mapping[Any, Any] = field(default_factory=dict)
    sure: bool = True


@dataclass(frozen=True)
class ReadSupport:
    """The reader of a format. `discovery` is None if the data do not describe their tables, and `router` if nothing
    divides their records by table. `other` returns another one for messages that were written with certain options."""

    reader: type[Reader]
    discovery: type[Discovery] | None = None
    router: type[Router] | None = None
    other: Callable[[WriterSettings], ReadSupport | None] = lambda source: None

    def by(self, source: WriterSettings) -> ReadSupport:
        return self.other(source) or self


PIECE_BYTES = 1 << 20


# Chunks of a buffer, and where the first record starts that may go on behind it. The second argument says whether more
# bytes follow the buffer.
Cut = Callable[[bytes, bool], tuple[Iterable[Chunk], int]]


class Source:
    """A stream that is read piece by piece; it never holds more than the maximum size of a record.

    buffer  bytes that were read and not yet handed out; they start at `offset` of the file
    ended   no bytes follow the buffer
    step    approximate size of a chunk in bytes
    """

    def __init__(self, stream: BinaryIO, file: str, layout: Layout, step: int, offset: int = 0) -> None:
        self.stream = stream
        self.file = file
        self.layout = layout
        self.limit = layout.max_record
        self.step = min(step, self.limit)
        self.buffer = b""
        self.offset = offset
        self.ended = False

    def chunks_by(self, cut: Cut, mark: bytes, dropped: int = 0) -> Iterator[Chunk]:
        """Yield what `cut` makes of the buffer, until the stream ends. A record that is too long goes up to the next
        `mark`, with so many bytes of the mark."""
        while not self.ended:
            self.grow()
            while True:
                found, end = cut(self.buffer, not self.ended)
                yield from found
                self.drop(end)
                if len(self.buffer) <= self.limit:
                    break
                yield self.pass_record(mark)
                self.drop(dropped)

    def grow(self) -> None:
        """Double the buffer, so that rescanning a long record takes linear time."""
        size = len(self.buffer)
        self._read(max(self.step, min(size, self.limit + 1 - size)))

    def _read(self, size: int) -> None:
        block = self.stream.read(size)
        self.ended = not block
        self.buffer += block

    def drop(self, count: int) -> None:
        self.buffer = self.buffer[count:]
        self.offset += count

    def pass_until(self, mark: bytes, start: int) -> None:
        """Drop everything before the next mark that starts at or after `start`; all if there is none."""
        while (found := self.buffer.find(mark, start)) < 0:
            kept = max(0, len(self.buffer) - len(mark) + 1)
            self.drop(kept)
            start = max(0, start - kept)
            self._read(PIECE_BYTES)
            if self.ended:
                found = len(self.buffer)
                break
        self.drop(found)

    def pass_record(self, mark: bytes) -> Chunk:
        """Drop a record that is too long, up to the first mark after the maximum size, and return its chunk."""
        start, head = self.offset, self.head()
        self.pass_until(mark, self.limit)
        return self.long(start, head)

    def head(self) -> bytes:
        return self.buffer[: min(HEAD_OF_LONG, self.limit)]

    def long(self, start: int, head: bytes) -> Chunk:
        """Return the chunk of a too long record: `head`, and everything that was dropped since `start`."""
        problem = record_size_error(self.offset - start, self.limit)
        return Chunk(self.file, start, head, self.layout, ((0, len(head)),), last=False, problem=problem)


class Spans(Sequence[tuple[int, int]]):
    """Starts and ends of records, in sixteen bytes each."""

    def __init__(self) -> None:
        self._places = array("q")

    def add(self, start: int, end: int) -> None:
        self._places.append(start)
        self._places.append(end)

    def add_all(self, places: Any) -> None:
        """Add the spans of a buffer of int64 that alternates starts and ends."""
        self._places.frombytes(places)

    def follow(self, start: int, ends: array[int]) -> None:
        """Add adjacent spans from a start on, by their ends."""
        places = array("q", bytes(2 * ends.itemsize * len(ends)))
        places[1::2] = ends
        places[::2] = array("q", [start]) + places[1:-1:2]
        self._places += places

    def repeat(self, start: int, end: int, count: int) -> None:
        """Add records that share one place."""
        self._places += array("q", [start, end]) * count

    def places(self) -> array[int]:
        """Return starts and ends in turns. The caller must not change them."""
        return self._places

    def starts(self, count: int) -> array[int]:
        """Return the starts of the first `count` records."""
        return self._places[: 2 * count : 2]

    def before(self, place: int) -> Spans:
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
    """Return where the first `count` records start."""
    if isinstance(spans, Spans):
        return spans.starts(count)
    return array("q", (spans[index][0] for index in range(count)))


class ChangeDiscovery(Discovery):
    """A discovery whose findings are the definitions in files, in input order."""

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self.found: list[SchemaChange] = []

    def findings(self) -> list[SchemaChange]:
        return self.found

    @staticmethod
    def settle(findings: Sequence[list[SchemaChange]], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
        """Return the first definition of each table, and a schema change wherever a different one follows."""
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
