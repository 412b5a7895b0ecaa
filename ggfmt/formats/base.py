"""What a format does: a formatter, a framing, a reader and schemas.

A formatter makes messages, one per operation. A framing makes the bytes of a file from messages. A reader makes
operations from a file. `Writer` and `Input` hold them together; what a format is by its declaration alone is
`ggfmt.formats.declaration`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from ggfmt.columnar.clock import Clock
from ggfmt.errors import Diagnostic
from ggfmt.formats.show import Show
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, TableDef


class RowErrors(Exception):
    """Operations of a batch that cannot be formatted: pairs of row and diagnostic, in row order."""

    def __init__(self, rows: Sequence[tuple[int, Diagnostic]]) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(frozen=True)
class Note:
    """Something that happened to values of a column and is told once, with a count, in the totals: the number of values
    and then `detail`."""

    code: str
    table: str
    field: str
    detail: str


@dataclass(frozen=True)
class Context:
    """What a format is told beside its own options, by the handler and by the run.

    `release` is the release of GoldenGate whose mapping of types is followed (`ggfmt.compatibility`), `codec` the
    compression of object container files. `mixed` tells that a file may hold messages of several definitions.
    """

    include_tokens: bool = False
    release: str = "12.2"
    codec: str = "null"
    mixed: bool = False


class Formatter(ABC):
    """Makes the messages of one table definition.

    All that depends on the definition and the options is worked out in `__init__`: building a formatter is what a
    metadata change event amounts to. `fields` names the fields of a message for the summary; `notes` counts.
    """

    fields: tuple[str, ...] = ()

    def __init__(self, table: TableDef, context: Context, clock: Clock) -> None:
        self.table = table
        self.include_tokens = context.include_tokens
        self.clock = clock
        self.notes: Counter[Note] = Counter()

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        """The operations to write for a batch, and for each the row it comes from; RowErrors if some must not be."""
        return batch, range(len(batch))

    def traced(self, messages: pa.Array) -> Iterator[str]:
        """The messages as text, for a log at level TRACE, where they are no text themselves."""
        return iter(())

    @abstractmethod
    def format(self, batch: ChangeBatch) -> pa.Array:
        """n messages, text or binary, for a batch of n operations; RowErrors if some cannot be formatted."""


class Framing(ABC):
    """Makes the bytes of a file from messages; `header` stands at the start of every file."""

    header: bytes = b""

    @abstractmethod
    def frame(self, messages: pa.Array) -> tuple[pa.Buffer | bytes, int]:
        """The bytes of the messages, to be appended to a file, and how many characters they could not carry."""


@dataclass(frozen=True)
class Needs:
    """What the formatters of a run ask of the reader, so that it decodes no more.

    `row_only`: the before image of an update is asked for only as far as a primary key update must be seen.
    `in_order`: tables share a file, so that no operation may be held back over the end of a chunk or over a metadata
    change event.
    """

    row_only: bool = False
    key_updates: bool = False
    tokens: bool = False
    in_order: bool = False

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.row_only and other.row_only,
            self.key_updates or other.key_updates,
            self.tokens or other.tokens,
            self.in_order or other.in_order,
        )


@dataclass(frozen=True)
class Layout:
    """How the records of one file lie in it, as found from its first bytes.

    `splittable`: a task may start anywhere and find the start of the next record. `delimiter` is what stands between
    records besides white space; `array`: the file is one JSON array of records.
    """

    splittable: bool
    delimiter: bytes = b""
    array: bool = False


@dataclass(frozen=True)
class Chunk:
    """Whole records of a file: `data` starts at byte `offset` of the (decompressed) file.

    `spans` are the starts and ends of the records in `data`, where their reader had to find them to cut the chunk.
    `input` is the place of the file in the order of the inputs: one file may be given twice.
    """

    file: str
    offset: int
    data: bytes
    layout: Layout
    spans: tuple[tuple[int, int], ...] | None = None
    input: int = 0


@dataclass(frozen=True)
class Reject:
    """A record that is no operation: its place, its bytes as they were, and the reason."""

    ordinal: int
    record: bytes
    diagnostic: Diagnostic


@dataclass(frozen=True)
class Definition:
    """A metadata change event: from here on `table` holds. `offset` is that of its record in the `input`-th input."""

    table: TableDef
    input: int
    offset: int


Event = ChangeBatch | Reject | Definition


@dataclass(frozen=True)
class Source:
    """How the input was written, where it does not say so itself: by the options and the context of the handler that
    wrote it; `options` None stands for a format's defaults. `facts` is what the discovery pass learned of the whole
    input besides its tables; `given` has options as texts by name, which override the others."""

    options: Any = None
    context: Context = field(default_factory=Context)
    facts: Mapping[Any, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


UNTOLD = Source()


class Reader(ABC):
    """Reads the records of one split: feed it `chunks` in order, take the events of each, and `flush` at the end.

    Operations of a table come in input order. The reader may hold operations back to make larger batches, but never
    over a metadata change event of their table, nor over the end of the split. `others` counts the records met that
    are no operations by kind, `members` the operations with a member that the format does not know by its name.
    """

    def __init__(self, catalog: Catalog, needs: Needs, source: Source = UNTOLD) -> None:
        self.catalog = catalog
        self.needs = needs
        self.source = source
        self.others: Counter[str] = Counter()
        self.members: Counter[str] = Counter()

    @staticmethod
    @abstractmethod
    def sniff(head: bytes) -> str | None:
        """Why the first bytes of an input look like this format, in words; None if they do not."""

    @staticmethod
    @abstractmethod
    def layout(head: bytes, whole: bool, source: Source) -> Layout:
        """The layout of a file by its first bytes; `whole` tells that there are no others."""

    @staticmethod
    @abstractmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        """The records that start in the `length` bytes from `start` (None: to the end); `stream` stands at 0."""

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Event]: ...

    @abstractmethod
    def flush(self) -> Iterator[Event]: ...

    @abstractmethod
    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        """The chunk of a record not yet flushed, and where in the chunk's data the record starts and ends."""


class Discovery(ABC):
    """Collects the tables of one split: columns, types and keys. `every_shape` asks for all lists of columns."""

    @abstractmethod
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: Source = UNTOLD) -> None: ...

    @abstractmethod
    def read(self, chunk: Chunk) -> None: ...

    @abstractmethod
    def findings(self) -> object:
        """What was found, to be sent to the driver and given to `settle` together with all other splits'."""

    @staticmethod
    @abstractmethod
    def settle(findings: Sequence[Any], catalog: Catalog, every_shape: bool) -> Discovered:
        """The definitions of the whole input from the findings of its splits, in input order.

        The same however the input was split; `every_shape` is what the splits were asked for.
        """


@dataclass(frozen=True)
class Discovered:
    """Definitions found in the data: those that hold from the start, and metadata change events by place.

    `complete` is false if all records have to be read once more: shape by shape, because they left the order of a
    table's columns open, or with what others of them tell. `facts` is for `Source.facts`.
    """

    tables: tuple[TableDef, ...]
    events: tuple[Definition, ...] = ()
    complete: bool = True
    facts: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SchemaFile:
    name: str
    content: bytes


@dataclass(frozen=True)
class Writer:
    """What writes a format.

    formatter    makes a Formatter of (table, options, context, clock)
    framing      makes a Framing of (table, options, context); the table is None for files of many tables
    needs        what the formatter needs of the reader, by its options
    schema       the schema files of a table, by (table, options, context); none where the options switch them off
    ddl          a Hive table over the files of a table, by (table, options, context, location), or why there is none
    problem      why a table cannot be written at all; None if it can
    show         shows messages to a person, by (formatter, options, context); None: they are plain text
    """

    formatter: Callable[[TableDef, Any, Context, Clock], Formatter]
    framing: Callable[[TableDef | None, Any, Context], Framing]
    needs: Callable[[Any], Needs] = lambda options: Needs()
    schema: Callable[[TableDef, Any, Context], tuple[SchemaFile, ...]] | None = None
    ddl: Callable[[TableDef, Any, Context, str], str | Diagnostic] | None = None
    problem: Callable[[TableDef], Diagnostic | None] | None = None
    show: Callable[[Formatter, Any, Context], Show] | None = None


@dataclass(frozen=True)
class Input:
    """What reads a format; `discovery` is None where the data do not tell what the tables are."""

    reader: type[Reader]
    discovery: type[Discovery] | None = None
