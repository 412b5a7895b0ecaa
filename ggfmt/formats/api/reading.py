"""What reads a format: a reader makes operations from the records of files, a discovery finds their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, ClassVar, NamedTuple

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
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
