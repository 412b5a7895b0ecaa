"""What writes a format: a formatter makes messages, one per operation; a framing makes the bytes of files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.loss import Loss
from ggfmt.formats.api.show import Show
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef

NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity", "+Infinity"})  # doubles that JSON has no numbers for
RIGHT_TYPE = "give the column its right type by `--definitions`"  # what to do about values that are not of its type


class RowErrors(Exception):
    """Operations of a batch that cannot be formatted: pairs of row and diagnostic, in row order."""

    def __init__(self, rows: Sequence[tuple[int, Diagnostic]]) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(frozen=True)
class LossNote:
    """A loss (by its id) that happened to values of a column and is told once, with a count, in the totals: the number
    of values and then `detail`."""

    code: str
    table: str
    field: str
    detail: str
    loss: str


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
        self.notes: Counter[LossNote] = Counter()

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        """The operations to write for a batch, and for each the row it comes from; RowErrors if some must not be."""
        return batch, range(len(batch))

    def count(self, loss: Loss, field: str, values: int, **words: str) -> None:
        """Takes note of a loss that happened to some values of a column; `words` stand in the note of the loss."""
        if values:
            self.notes[LossNote(loss.code, self.table.full_name, field, loss.note.format(**words), loss.id)] += values

    def traced(self, messages: pa.Array[Any]) -> Iterator[str]:
        """The messages as text, for a log at level TRACE, where they are no text themselves."""
        return iter(())

    @abstractmethod
    def format(self, batch: ChangeBatch) -> pa.Array[Any]:
        """n messages, text or binary, for a batch of n operations; RowErrors if some cannot be formatted."""


class Framing(ABC):
    """Makes the bytes of a file from messages; `header` stands at the start of every file."""

    header: bytes = b""

    @abstractmethod
    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        """The bytes of the messages, to be appended to a file, and how many characters they could not carry."""


@dataclass(frozen=True)
class SchemaFile:
    name: str
    content: bytes


@dataclass(frozen=True)
class WriteSupport:
    """What writes a format.

    formatter    makes a Formatter of (table, options, context, clock)
    framing      makes a Framing of (table, options, context); the table is None for files of many tables
    projection   what the formatter asks of the reader, by its options
    preamble     what stands in a file before the first operation of a definition, by (table, options): written once for
                 each definition in each file; no bytes, if nothing
    schema       the schema files of a table, by (table, options, context); none where the options switch them off
    ddl          a Hive table over the files of a table, by (table, options, context, location), or why there is none
    problem      why a table cannot be written at all, by (table, options, context); None if it can
    show         shows messages to a person, by (formatter, options, context); None: they are plain text
    """

    formatter: Callable[[TableDef, Any, Context, Clock], Formatter]
    framing: Callable[[TableDef | None, Any, Context], Framing]
    projection: Callable[[Any], Projection] = lambda options: Projection()
    preamble: Callable[[TableDef, Any], bytes] | None = None
    schema: Callable[[TableDef, Any, Context], tuple[SchemaFile, ...]] | None = None
    ddl: Callable[[TableDef, Any, Context, str], str | Diagnostic] | None = None
    problem: Callable[[TableDef, Any, Context], Diagnostic | None] | None = None
    show: Callable[[Formatter, Any, Context], Show] | None = None
