"""What one handler makes of operations: its settings, its formatters, and messages less what cannot be written.

A run, a preview, the schemas and the examples of options all go this way, so that they show the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from datetime import datetime
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, list_array, narrow, non_null_values
from ggfmt.columnar.images import and_present
from ggfmt.columnar.metadata import Clock, token
from ggfmt.config.handler_options import REJECT, WRITE, EventHandlerConfig, HandlerConfig, RunOptions
from ggfmt.config.lint.releases import ReleaseFinding
from ggfmt.config.refusals import mask_refusals, variables, with_charset
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import Loss, active_losses
from ggfmt.formats.api.writing import Formatter, Framing, LossNote, RowErrors, SchemaFile, WriteSupport, as_json
from ggfmt.location import Location
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef
from ggfmt.options.spec import Options
from ggfmt.options.value_types import Replacements
from ggfmt.reading.splits import ReadJob
from ggfmt.sinks.messages.layout import OutputLayout

# Counts what messages do not show of operations, where that depends on the values.
#
# Values are compared, not their texts: `1.50` equals `1.5`. Losses that only a formatter knows are counted there.

_TIME_ZERO = r"^1970-01-01[ T]00:00:00(?:\.|Z|$)"


class LossCounter:
    def __init__(self, found: Sequence[Loss], options: Options) -> None:
        self._options = options
        ids = {loss.id for loss in found}
        found = [loss for loss in found if _WHOLE_LOSSES.get(loss.id) not in ids]
        self._of_operations = [loss for loss in found if loss.id in _OPERATIONS]
        self._of_tokens = [loss for loss in found if loss.id in _TOKENS]
        self._counts_nested = losses.NESTED_AS_TEXT.id in ids
        self._shows_rows = losses.BEFORE_NOT_SHOWN.id in ids

    @property
    def needs_tokens(self) -> bool:
        return bool(self._of_tokens)

    def count(self, formatter: Formatter, batch: ChangeBatch) -> None:
        for loss in self._of_operations:
            formatter.count(loss, "", _OPERATIONS[loss.id](loss, batch).true_count)
        if batch.tokens is not None:
            for loss in self._of_tokens:
                formatter.count(loss, "", self._with_lost_token(loss, batch))
        for image, shown in self._images(batch):
            for index, type in formatter.floats.items():
                column = image.columns[index]
                lost = changed_digits(_shown_values(column, shown), type)
                formatter.count(losses.DIGITS_OF_DOUBLE, formatter.table.columns[index].name, lost)
            for definition, column in zip(formatter.table.columns, image.columns, strict=True):
                if self._counts_nested and column.json is not None:
                    where = column.json if shown is None else pc.and_(column.json, shown)
                    nested = pc.or_(pc.starts_with(column.values, "{"), pc.starts_with(column.values, "["))
                    lost = pc.and_(where, nested.fill_null(False)).true_count
                    formatter.count(losses.NESTED_AS_TEXT, definition.name, lost)

    def _images(self, batch: ChangeBatch) -> Iterator[tuple[Image, pa.BooleanArray | None]]:
        before, after, rows = batch.before, batch.after, len(batch)
        if before.columns is after.columns:
            image = batch.row_image()
            yield image, image.exists
            return
        yield after, after.exists
        shown = before.exists
        if self._shows_rows:
            shown = pc.and_(before.exists_mask(rows), pc.equal(batch.op, OpType.DELETE.value))
        if shown is None or shown.true_count:
            yield before, shown

    def _with_lost_token(self, loss: Loss, batch: ChangeBatch) -> int:
        tokens = batch.tokens
        assert tokens is not None
        first, last = tokens.offsets[0].as_py(), tokens.offsets[-1].as_py()
        if first == last:
            return 0
        if loss.id == losses.TOKENS_NOT_SHOWN.id and not loss.names:
            return int(pc.not_equal(tokens.offsets[1:], tokens.offsets[:-1]).true_count)
        names, texts = (as_strings(part).slice(first, last - first) for part in (tokens.keys, tokens.items))
        lost = _TOKENS[loss.id](loss, names, texts, self._options)
        if not lost.true_count:
            return 0
        rows = pc.list_parent_indices(list_array(pc.subtract(tokens.offsets, first), names))
        return len(pc.unique(rows.filter(lost)))


def _shown_values(column: ImageColumn, shown: pa.BooleanArray | None) -> pa.StringArray:
    shown = column.present if shown is None else and_present(shown, column)
    return column.values if shown is None else pc.if_else(shown, column.values, pa.scalar(None, pa.string()))


def changed_digits(values: pa.StringArray, type: pa.DataType) -> int:
    """Count the texts that are no values of a floating-point type: rows cannot have them either."""
    from ggfmt.columnar.typed import typed_values

    return len(typed_values(values, type)[1])


# Losses of a part, by id, with the loss of the whole that includes them.
_WHOLE_LOSSES = {
    losses.TIME_DIGITS.id: losses.TIME_NOT_SHOWN.id,
    losses.TOKENS_RESERVED.id: losses.TOKENS_NOT_SHOWN.id,
    losses.TOKEN_DELIMITERS.id: losses.TOKENS_NOT_SHOWN.id,
}

# Where operations lose something, by the id of the loss


def _positions(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find positions that are not the token that readers take for one."""
    there = batch.position.is_valid()
    for name in loss.names:
        same = pc.equal(batch.position, token(batch.tokens, name, len(batch)))
        there = pc.and_not(there, same.fill_null(False))
    return there


def _positions_as_gtid(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find operations whose tokens readers take for the position."""
    gtid, identity = (token(batch.tokens, name, len(batch)) for name in ("gtid", "id"))
    named = pc.coalesce(gtid, pc.if_else(batch.position.is_valid(), batch.position, identity))
    return pc.and_(named.is_valid(), pc.not_equal(named, batch.position).fill_null(True))


def _positions_as_tokens(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find operations whose position readers also take for a token."""
    gtid, identity = (token(batch.tokens, name, len(batch)) for name in ("gtid", "id"))
    shown = pc.not_equal(batch.position, pc.if_else(pc.match_substring_regex(identity, losses.DIGITS), identity, None))
    return pc.and_(pc.and_(gtid.is_null(), pc.not_equal(batch.position, "")), shown.fill_null(True))


_OPERATIONS: dict[str, Callable[[Loss, ChangeBatch], pa.BooleanArray]] = {
    losses.BEFORE_NOT_SHOWN.id: lambda loss, batch: pc.and_(
        pc.equal(batch.op, OpType.UPDATE.value), batch.before.exists_mask(len(batch))
    ),
    losses.TIME_DIGITS.id: lambda loss, batch: pc.match_substring_regex(
        batch.op_ts, rf"\.[0-9]{{{loss.digits}}}[0-9]*[1-9]"
    ),
    losses.TIME_NOT_SHOWN.id: lambda loss, batch: batch.op_ts.is_valid(),
    losses.NOTHING_FOR_ZERO.id: lambda loss, batch: pc.match_substring_regex(batch.op_ts, _TIME_ZERO),
    losses.POSITION_NOT_SHOWN.id: _positions,
    losses.POSITION_WHOLE_NUMBER.id: lambda loss, batch: pc.invert(
        pc.match_substring_regex(batch.position, losses.WHOLE_NUMBER)
    ),
    losses.POSITION_BY_GTID.id: _positions_as_gtid,
    losses.TOKEN_FROM_POSITION.id: _positions_as_tokens,
    losses.CATALOG_NOT_SHOWN.id: lambda loss, batch: pa.repeat(batch.table.catalog is not None, len(batch)),
}


# Which tokens are lost, by the id of the loss

TokenRule = Callable[[Loss, pa.StringArray, pa.StringArray, Any], pa.BooleanArray]


def _unnamed(loss: Loss, names: pa.StringArray, texts: pa.StringArray, options: Any) -> pa.BooleanArray:
    """Find tokens with other names, or with texts that the members for them cannot contain."""
    lost = pc.invert(pc.is_in(names, pa.array(loss.names, pa.string())))
    for name, pattern in loss.patterns:
        named = pc.equal(names, name)
        if named.true_count:
            lost = pc.or_(lost, pc.and_not(named, pc.match_substring_regex(texts, pattern)))
    return lost


def _divided(loss: Loss, names: pa.StringArray, texts: pa.StringArray, options: Any) -> pa.BooleanArray:
    between, inside = options.key_value_pair_delimiter, options.key_value_delimiter
    parts = (pc.match_substring(names, between), pc.match_substring(names, inside), pc.match_substring(texts, between))
    return pc.or_(pc.or_(parts[0], parts[1]), parts[2])


_TOKENS: dict[str, TokenRule] = {
    losses.TOKENS_NOT_SHOWN.id: _unnamed,
    losses.TOKENS_BY_NAME.id: _unnamed,
    losses.TOKENS_WHOLE_NUMBERS.id: lambda loss, names, texts, options: pc.and_not(
        _unnamed(loss, names, texts, options), pc.match_substring_regex(texts, losses.INTEGER)
    ),
    losses.TOKENS_RESERVED.id: lambda loss, names, *_: pc.is_in(names, pa.array(loss.names, pa.string())),
    losses.TOKEN_DELIMITERS.id: _divided,
}


# The job of a run: the settings that all of its tasks share.


@dataclass(frozen=True)
class StageOutput:
    config: EventHandlerConfig
    root: Location
    layout: OutputLayout
    kept: bool


@dataclass(frozen=True)
class HandlerOutput:
    """The output of one handler: messages in `<root>/<handler>`, schemas also in `schema_path`.

    stages  of full files, one for each event handler that ggfmt runs
    final   the names of files when they are full; None without a File Writer
    keeps   whether full files stay once the event handlers have had them
    counts  whether names have counts of operations
    shown_place  where messages go, if not to a directory
    """

    settings: HandlerSettings
    root: Location
    max_file_size: int
    layout: OutputLayout
    schema_path: str | None = None
    stages: tuple[StageOutput, ...] = ()
    final: OutputLayout | None = None
    keeps: bool = True
    counts: bool = False
    shown_place: str | None = None

    @property
    def handler(self) -> str:
        return self.settings.handler

    @property
    def has_chain(self) -> bool:
        return bool(self.stages) or (self.final is not None and self.final.has_templates)

    @property
    def roots(self) -> tuple[Location, ...]:
        return tuple(dict.fromkeys((self.root, *(stage.root for stage in self.stages))))

    def root_of(self, event: str) -> Location:
        return next((stage.root for stage in self.stages if stage.config.name == event), self.root)

    @property
    def schema_directories(self) -> list[Location]:
        """Return where a run writes schemas, relative ones below the root; none without schemas, or switched off."""
        settings = self.settings
        if not FORMATS[settings.format].schema_in_run or not settings.schema_files(TableDef("T")):
            return []
        directories = [getattr(settings.options, "schema_directory", None), self.schema_path]
        return [self.root.resolve(directory) for directory in directories if directory]


@dataclass(frozen=True, kw_only=True)
class Job(ReadJob):
    """How the tasks of a run read and write.

    run      the id of the run
    moment   the time in the names of files, in UTC
    staging  by output directory, where tasks write
    release  of GoldenGate that messages follow, and why; None without a format of GoldenGate
    writer   makes what takes the messages of a handler in a task; None: files do
    """

    run: str
    moment: datetime
    targets: tuple[HandlerOutput, ...]
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    staging: dict[Location, Location] = field(default_factory=dict)
    trace: bool = False
    replacements: Replacements = field(default_factory=Replacements)
    release: ReleaseFinding | None = None
    writer: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Preamble:
    table: str
    definition: str
    data: bytes


@dataclass(frozen=True)
class HandlerSettings:
    """One handler as everything that formats for it knows it.

    `roll_on_metadata_change`: a file holds one definition of a table, because the handler or the format wants that.
    """

    handler: str
    format: str
    options: Options
    context: Context
    partition_by_table: bool = True
    roll_on_metadata_change: bool = True
    truncates: str = WRITE
    bom: bytes = b""

    @classmethod
    def of(cls, config: HandlerConfig, run_options: RunOptions, native: str | None = None) -> HandlerSettings:
        """Return the settings of a handler. `native`: the charset for `native`. Raises: ConfigurationError if a value
        lacks."""
        handler = config.handler
        options = with_charset(config.options, native)
        found, lacking = variables(config, run_options)
        for problems in (lacking, list(mask_refusals(config))):
            if problems:
                raise ConfigurationError.of(*problems)
        return cls(
            config.name,
            config.format,
            options,
            Context(
                handler.include_tokens,
                run_options.compatibility,
                handler.compression_codec,
                found,
                config.timestamp_mask,
            ),
            handler.partition_by_table,
            handler.roll_on_metadata_change or FORMATS[config.format].by_table,
            run_options.truncates,
            bytes.fromhex(handler.bom),
        )

    @property
    def write_support(self) -> WriteSupport:
        return FORMATS[self.format].write_support

    @property
    def projection(self) -> Projection:
        own = self.write_support.projection(self.options)
        tokens = own.tokens or self.context.include_tokens or self.losses.needs_tokens
        return replace(own, tokens=tokens, in_order=not self.partition_by_table)

    @property
    def shows_before_images(self) -> bool | None:
        """Whether messages of updates have before images; None: only those of key updates, as deletes."""
        found = {loss.id for loss in active_losses(FORMATS[self.format].losses, self.options, self.context)}
        if losses.BEFORE_NOT_SHOWN.id not in found:
            return True
        return None if losses.KEY_UPDATE_SPLIT.id in found else False

    @property
    def losses(self) -> LossCounter:
        active = active_losses(FORMATS[self.format].losses, self.options, self.context)
        return LossCounter([loss for loss in active if loss.note], self.options)

    def formatter(self, table: TableDef, clock: Clock) -> Formatter:
        return self.write_support.formatter(table, self.options, self.context, clock)

    def framing(self, table: TableDef | None) -> Framing:
        """Return the framing of files of one definition, or of files of all tables."""
        framing = self.write_support.framing(table if self.partition_by_table else None, self.options, self.context)
        if self.bom:
            framing = copy(framing)
            framing.header = self.bom + framing.header
        return framing

    def preamble(self, table: TableDef) -> Preamble | None:
        make = self.write_support.preamble
        data = make(table, self.options) if make is not None else b""
        return Preamble(table.full_name, table.fingerprint, data) if data else None

    def name_problem(self, table: TableDef) -> Diagnostic | None:
        found = FORMATS[self.format].name_problem(self.options, self.context, table)
        return None if found is None else found.diagnostic

    def schema_problem(self, table: TableDef) -> Diagnostic | None:
        """Return why a table has no schema; a JSON schema can describe two members with one name."""
        return None if FORMATS[self.format].legal_name is None else self.name_problem(table)

    def schema_files(self, table: TableDef) -> tuple[SchemaFile, ...]:
        make = self.write_support.schema
        return () if make is None or self.schema_problem(table) else make(table, self.options, self.context)


@dataclass(frozen=True)
class FormattedBatch:
    """A batch of messages, as its formatter made them.

    `operations` could be formatted, and had the `rows` in the batch; for each message, `arranged` has what was written,
    and `sources` the row of `operations` that it comes from.
    """

    formatter: Formatter
    operations: ChangeBatch
    arranged: ChangeBatch
    sources: Sequence[int]
    messages: pa.Array[Any]
    rows: Sequence[int]

    def traced(self) -> Iterator[str]:
        """Yield the messages as text for a log at level TRACE, if they are not text themselves."""
        if pa.types.is_binary(self.messages.type):
            for message in non_null_values(narrow(self.messages, pa.BinaryArray)):
                yield from map(as_json, self.formatter.decoded(message)[-1:])


class Pipeline:
    """The formatters of one handler, one for each table, replaced when its definition changes."""

    def __init__(self, settings: HandlerSettings, clock: Clock) -> None:
        self.settings = settings
        self.left_out = 0
        self._losses = settings.losses
        self._clock = clock
        self._formatters: dict[str, Formatter] = {}
        self._name_problems: dict[str, Diagnostic | None] = {}  # of the definitions of the formatters
        self._replaced: Counter[LossNote] = Counter()

    @property
    def notes(self) -> Counter[LossNote]:
        notes = self._replaced.copy()
        for formatter in self._formatters.values():
            notes.update(formatter.notes)
        return notes

    def formatter(self, table: TableDef) -> Formatter:
        current = self._formatters.get(table.full_name)
        if current is None or current.table != table:
            if current is not None:
                self._replaced.update(current.notes)
            self._name_problems[table.full_name] = self.settings.name_problem(table)
            current = self._formatters[table.full_name] = self.settings.formatter(table, self._clock)
        return current

    def format(
        self, batch: ChangeBatch, rows: Sequence[int] | None = None
    ) -> tuple[list[tuple[int, Diagnostic]], FormattedBatch | None]:
        """Return the rows that cannot be formatted, with the reason, and the messages of the others to write."""
        formatter = self.formatter(batch.table)
        refused: list[tuple[int, Diagnostic]] = []
        left: Sequence[int] = range(len(batch)) if rows is None else rows
        if self.settings.truncates != WRITE:
            truncates = set(pc.indices_nonzero(pc.equal(batch.op, OpType.TRUNCATE.value)).to_pylist())
            set_aside = [row for row in left if row in truncates]
            left = [row for row in left if row not in truncates]
            if self.settings.truncates == REJECT:
                help = "write it with `ggfmt.truncates=write`, or leave it out with `ggfmt.truncates=leave-out`"
                for row in set_aside:
                    place = Span(table=batch.table.full_name, position=batch.position[row].as_py())
                    refused.append((row, Diagnostic("GG408", "`ggfmt.truncates` rejects truncates", place, help)))
            else:
                self.left_out += len(set_aside)
        problem = self._name_problems[batch.table.full_name]
        if problem is not None:
            places = batch.position.to_pylist()
            return sorted([*refused, *((row, problem.at(position=places[row])) for row in left)]), None
        while left:
            part = batch if len(left) == len(batch) else batch.take(pa.array(left, pa.int64()))
            sources: Sequence[int] = range(len(part))
            try:
                arranged, sources = formatter.arrange(part)
                messages = formatter.format(arranged)
                self._losses.count(formatter, arranged)
                return refused, FormattedBatch(formatter, part, arranged, sources, messages, left)
            except RowErrors as errors:
                bad = {left[sources[row]]: diagnostic for row, diagnostic in reversed(errors.rows)}
                refused += sorted(bad.items(), key=lambda item: item[0])
                left = [row for row in left if row not in bad]
        return refused, None
