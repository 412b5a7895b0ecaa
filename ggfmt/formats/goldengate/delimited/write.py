"""The writer of delimited text: formatters, and a Hive table over their files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

import pyarrow as pa

from ggfmt.columnar.images import and_present
from ggfmt.columnar.metadata import Clock, token_texts
from ggfmt.columnar.pieces import Piece, join, repeat
from ggfmt.columnar.strings import count_texts, represent
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api import writing
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import DELIMITER_INSIDE, TEXT_AS_STATE
from ggfmt.formats.goldengate import schemas
from ggfmt.formats.goldengate.delimited import DelimitedOptions, DelimitedTextOptions, FieldShown
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.schemas import MessageType, target_type
from ggfmt.formats.goldengate.writing import MetaValues, handle_key_updates, template_projection
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.sql import sql
from ggfmt.model.table import TableDef

_PLACES = {
    FieldShown.NAME: "Name of column {}",
    FieldShown.VALUE: "Column {}",
    FieldShown.BEFORE: "Before of {}",
    FieldShown.AFTER: "After of {}",
}
_NAMES = {
    FieldShown.NAME: "{}_name",
    FieldShown.VALUE: "{}",
    FieldShown.BEFORE: "{}_before",
    FieldShown.AFTER: "{}_after",
}


class ShownLines:
    """Shows a line, and its fields as a reader finds them. `value_places`: the fields with values, from 0."""

    def __init__(self, names: Sequence[str], value_places: Collection[int], options: DelimitedOptions) -> None:
        self._options = options
        self._names = names
        self._value_places = value_places

    def message(self, text: str) -> writing.ShownMessage:
        options = self._options
        ending = options.line_delimiter if text.endswith(options.line_delimiter) else ""
        body = text.removesuffix(ending)
        values = body.split(options.field_delimiter) if options.field_delimiter else [body]
        return writing.ShownMessage((text,), self._fields(values), self._warnings(body, len(values)))

    def _fields(self, values: list[str]) -> tuple[writing.ShownField, ...]:
        names = (*self._names, *["(no name)"] * (len(values) - len(self._names)))
        return tuple(
            writing.ShownField(name, value, self._remark(number, value))
            for number, (name, value) in enumerate(zip(names, values, strict=False))
        )

    def _remark(self, number: int, value: str) -> str:
        states = ["empty"] * (not value)
        if number in self._value_places:
            states += ["NULL"] * (value == self._options.null_value_representation)
            states += ["missing"] * (value == self._options.missing_value_representation)
        return " or ".join(states)

    def _warnings(self, body: str, count: int) -> list[str]:
        warnings = []
        if count != len(self._names):
            warnings.append(f"a reader finds {count} fields, but {len(self._names)} were written")
        delimiter = self._options.line_delimiter
        if delimiter and delimiter in body:
            warnings.append(f"a reader finds {body.count(delimiter) + 1} lines, but one was written")
        return warnings


class DelimitedFormatter(writing.Formatter):
    """Makes lines of the metadata and the cells of the options. `value_places`: the fields with values, from 0."""

    def __init__(self, table: TableDef, options: DelimitedOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self.options = options
        self._metadata = options.metadata(context)
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._cells = options.cells(len(table.columns))
        self._quoted = [
            options.wrap_strings_in_quotes and target_type(column.type, context.release) is MessageType.STRING
            for column in table.columns
        ]
        shown = {"a NULL": options.null_value_representation, "a missing column": options.missing_value_representation}
        self._delimiters = (options.field_delimiter, options.line_delimiter)
        self._states = _by_value((text, state) for state, text in shown.items())
        self._quoted_states = _by_value((_within_quotes(text), state) for state, text in shown.items())
        fields = []
        for column in self._metadata:
            fields += [f"Name of {column.name}"] * options.include_meta_column_names + [column.title]
        first = len(fields)
        fields += [_PLACES[cell.part].format(table.column_names[cell.column]) for cell in self._cells]
        self.fields = tuple(fields)
        self.value_places = frozenset(
            place for place, cell in enumerate(self._cells, first) if cell.part is not FieldShown.NAME
        )

    def images(self, batch: ChangeBatch) -> dict[FieldShown, Image]:
        raise NotImplementedError

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        fields: list[Piece] = []
        for column in self._metadata:
            fields += [column.name] * self.options.include_meta_column_names
            fields.append(self._metadata_value(column, batch))
        images = self.images(batch)
        for cell in self._cells:
            if cell.part is FieldShown.NAME:
                fields.append(self.table.column_names[cell.column])
            else:
                fields.append(self._value(cell.column, images[cell.part].columns[cell.column]))
        pieces: list[Piece] = [] if fields else [repeat("", len(batch))]
        for field in fields:
            if pieces:
                pieces.append(self.options.field_delimiter)
            pieces.append(field)
        return join([*pieces, self.options.line_delimiter], rows=len(batch))

    def _metadata_value(self, column: MetaColumn, batch: ChangeBatch) -> Piece:
        if column.keyword == ALL_TOKENS:

            def pair(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
                return [names, self.options.key_value_delimiter, values]

            return token_texts(batch.tokens, pair, self.options.key_value_pair_delimiter)
        if column.keyword == KEY_COLUMNS:
            return ",".join(self.table.key_names)
        return self._values.of(column, batch)

    def _value(self, place: int, column: ImageColumn) -> Piece:
        options, quoted = self.options, self._quoted[place]
        self._count_losses(self.table.column_names[place], column, quoted)
        return represent(column, options.null_value_representation, options.missing_value_representation, quoted)

    def _count_losses(self, name: str, column: ImageColumn, quoted: bool) -> None:
        """Count values that contain a delimiter, and values equal to the text for NULL or a missing column."""
        states = self._quoted_states if quoted else self._states
        field, line, *alike = count_texts(column.values, self._delimiters, tuple(states))
        self.count(DELIMITER_INSIDE, name, field, delimiter="field")
        self.count(DELIMITER_INSIDE, name, line, delimiter="line")
        for (_, names), count in zip(states.items(), alike, strict=True):
            for state in names:
                self.count(TEXT_AS_STATE, name, count, state=state)


def _by_value(states: Iterable[tuple[str | None, str]]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for value, state in states:
        if value is not None:
            named.setdefault(value, []).append(state)
    return named


def _within_quotes(text: str) -> str | None:
    """Return the value that results in a text when it is quoted; None if no value does."""
    inner = text[1:-1]
    if len(text) < 2 or text[0] != '"' or text[-1] != '"' or inner.replace('""', "").count('"'):
        return None
    return inner.replace('""', '"')


class DelimitedTextFormatter(DelimitedFormatter):
    options: DelimitedTextOptions

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        return handle_key_updates(batch, self.options.pk_update_handling)

    def images(self, batch: ChangeBatch) -> dict[FieldShown, Image]:
        return {FieldShown.VALUE: batch.row_image()}


class DelimitedTextOpFormatter(DelimitedFormatter):
    def images(self, batch: ChangeBatch) -> dict[FieldShown, Image]:
        return {
            FieldShown.BEFORE: _missing_where_absent(batch.before),
            FieldShown.AFTER: _missing_where_absent(batch.after),
        }


def _missing_where_absent(image: Image) -> Image:
    exists = image.exists
    if exists is None or exists.true_count == len(exists):
        return image
    return Image(tuple(ImageColumn(column.values, and_present(exists, column)) for column in image.columns))


def _field_names(table: TableDef, options: DelimitedOptions, context: Context) -> list[str]:
    names = []
    for column in options.metadata(context):
        names += [f"{column.name}_name"] * options.include_meta_column_names + [column.name]
    cells = options.cells(len(table.columns))
    return names + [_NAMES[cell.part].format(table.column_names[cell.column]) for cell in cells]


def hive_table(table: TableDef, options: DelimitedOptions, context: Context, location: str) -> str | Diagnostic:
    """Return a Hive table over the lines of a table: metadata as text, then the columns by their types."""
    cells = options.cells(len(table.columns))
    names = _field_names(table, options, context)
    count = len(names) - len(cells)
    metadata = schemas.unique_names(names[:count], names[count:])
    columns = [
        (name, sql("STRING") if cell.part is FieldShown.NAME else schemas.hive_type(table.columns[cell.column]))
        for name, cell in zip(names[count:], cells, strict=True)
    ]
    return schemas.text_table(
        table,
        [*((name, sql("STRING")) for name in metadata), *columns],
        options.field_delimiter,
        options.line_delimiter,
        options.null_value_representation,
        location,
        header=getattr(options, "enable_field_descriptor_headers", False),
    )


def _framing(table: TableDef | None, options: DelimitedOptions, context: Context) -> writing.TextFraming:
    header = ""
    if isinstance(options, DelimitedTextOptions) and options.enable_field_descriptor_headers and table is not None:
        header = options.field_delimiter.join(_field_names(table, options, context)) + options.line_delimiter
    return writing.TextFraming(options.encoding, header)


def _writer(formatter: type[DelimitedFormatter], by_image: bool) -> writing.WriteSupport:
    return writing.WriteSupport(
        formatter=formatter,
        framing=_framing,
        projection=partial(template_projection, by_image=by_image),
        ddl=hive_table,
        show=_show,
    )


def _show(formatter: writing.Formatter, options: DelimitedOptions, context: Context) -> writing.Show:
    assert isinstance(formatter, DelimitedFormatter)
    lines = ShownLines(formatter.fields, formatter.value_places, options)
    return writing.show_text(options.encoding, lines.message)


WRITE_SIDES = {
    "delimitedtext": _writer(DelimitedTextFormatter, by_image=False),
    "delimitedtext_op": _writer(DelimitedTextOpFormatter, by_image=True),
}
