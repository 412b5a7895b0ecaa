"""Columns that are left out, and values that are masked, before anything else sees an operation.

Definitions, operations and rejected records go this way as they leave the reader, so that all that follows, such as
files in staging, schemas, names and logs, has what is shown.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, non_null_values, nulls, string_maps
from ggfmt.columnar.strings import by_value, canonical_numbers
from ggfmt.columnar.typed import as_text, typed_values
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, list_names, suggestion
from ggfmt.formats.api.reading import Event, Reject, UnknownTable
from ggfmt.formats.goldengate.metacolumns import KEYWORDS
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.selection import Mask, TableSelection, is_named, short_names
from ggfmt.model.table import STRING, Catalog, Column, Kind, SqlType, TableDef
from ggfmt.options.value_types import Keys, key_of

_MAX_LISTED = 20  # names in a help text
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE)
_TIMES = (Kind.DATE, Kind.TIMESTAMP)
_NUMBER = r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_FORMS = {
    **dict.fromkeys(_NUMBERS, _NUMBER),
    **dict.fromkeys((*_TIMES, Kind.TIME), r"[0-9].*"),
    Kind.INTEGER: "-?[0-9]+",
    Kind.BOOLEAN: "true|false|0|1",
}
# Other tokens may have any text, such as the SQL of the change or values that the user chose.
_SHOWN_TOKENS = pa.array(sorted({name for keyword in KEYWORDS.values() for name in keyword.tokens}), pa.string())
_WITHOUT_VALUES = ("GG310", "GG316", "GG512")  # codes whose messages have nothing of a record


def masked_table(table: TableDef, selection: TableSelection) -> TableDef:
    """Return the definition of what is shown of a table."""
    places, masks = _shown(table, selection)
    columns = tuple(_masked_column(table.columns[place], masks) for place in places)
    return table if columns == table.columns else replace(table, columns=columns)


def _shown(table: TableDef, selection: TableSelection) -> tuple[Sequence[int], Mapping[str, Mask]]:
    """Return the places of the columns to show, and the masks by column."""
    lists = [names for name, names in selection.columns if is_named(name, table.full_name)]
    places = [place for place, name in enumerate(table.column_names) if not lists or name in lists[0]]
    return places, {mask.column: mask for mask in selection.masks if is_named(mask.table, table.full_name)}


def _masked_column(column: Column, masks: Mapping[str, Mask]) -> Column:
    mask = masks.get(column.name)
    if mask is None or mask.how == "fixed":
        return column
    return replace(column, type=STRING) if mask.how == "hash" else replace(column, nullable=True)


def masked_batch(batch: ChangeBatch, selection: TableSelection) -> ChangeBatch:
    table = batch.table
    places, masks = _shown(table, selection)
    if len(places) == len(table.columns) and masks.keys().isdisjoint(table.column_names):
        return batch

    def masked(image: Image) -> Image:
        shown = ((image.columns[place], table.columns[place]) for place in places)
        columns = (
            values if column.name not in masks else _masked_values(values, column.type, masks[column.name], selection)
            for values, column in shown
        )
        return Image(tuple(columns), image.exists)

    before = masked(batch.before)
    shared = batch.before.columns is batch.after.columns
    after = Image(before.columns, batch.after.exists) if shared else masked(batch.after)
    tokens = None if batch.tokens is None else _shown_tokens(batch.tokens)
    return replace(batch, table=masked_table(table, selection), before=before, after=after, tokens=tokens)


def _masked_values(column: ImageColumn, type: SqlType, mask: Mask, selection: TableSelection) -> ImageColumn:
    values, count = column.values, len(column.values)
    if mask.how == "hash":
        values = hashed(values, type, selection.key)
    elif mask.how == "fixed":
        values = pc.if_else(values.is_valid(), pa.scalar(mask.text, pa.string()), pa.scalar(None, pa.string()))
    else:
        values = as_strings(nulls(count, pa.string()))
    return ImageColumn(values, column.present, unavailable=column.unavailable)


def hashed(texts: pa.StringArray, type: SqlType, key: bytes) -> pa.StringArray:
    """Return n HMAC-SHA256 in hexadecimal digits, and NULL for NULL. Numbers and times that are equal have equal ones,
    whatever their spelling."""
    if type.kind in _NUMBERS:
        texts = canonical_numbers(texts)
    elif type.kind in _TIMES:
        values, _ = typed_values(texts, pa.timestamp("us", "UTC" if type.zoned else None))
        texts = pc.coalesce(as_text(values), texts)
    return by_value(lambda text: hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex())(texts)[0]


def _shown_tokens(tokens: StringMapArray) -> StringMapArray:
    kept = pc.is_in(tokens.keys, _SHOWN_TOKENS)
    places = pa.array([0, *accumulate(non_null_values(pc.cast(kept, pa.int32())))], pa.int32())
    names, texts = as_strings(tokens.keys.filter(kept)), as_strings(tokens.items.filter(kept))
    return string_maps(places.take(tokens.offsets), names, texts)


def masked_events(events: Iterator[Event], selection: TableSelection, catalog: Catalog) -> Iterator[Event]:
    """Yield events with masked operations. Rejected records become empty, and errors lose what they quote of them."""
    try:
        for event in events:
            if isinstance(event, ChangeBatch):
                yield masked_batch(event, selection)
            elif isinstance(event, Reject):
                yield replace(event, record=b"", diagnostic=without_values(event.diagnostic, catalog))
            else:
                yield event
    except Abend as error:
        raise Abend.of(*(without_values(each, catalog) for each in error.diagnostics)) from None


def without_values(diagnostic: Diagnostic, catalog: Catalog) -> Diagnostic:
    """Return a diagnostic of a record with its code and its place alone, since its text may quote the record."""
    if isinstance(diagnostic, UnknownTable) or diagnostic.code in _WITHOUT_VALUES:
        return diagnostic
    old = diagnostic.span
    place = Span(file=old.file, offset=old.offset, message=old.message)
    table = catalog.get(old.table or "")
    if table is not None:
        field = old.field if old.field in table.column_names else None
        place = replace(place, table=table.full_name, field=field)
    message = f"{CODES[diagnostic.code].title}; `--mask` and `--columns` hide the details"
    return Diagnostic(diagnostic.code, message, place, "look at the record at its place in the input")


def check_masks(selection: TableSelection, tables: Collection[TableDef], keys: Keys, may_lack: bool) -> None:
    """Check masks and lists of columns against all definitions. Raises: UsageError GG592 for a name that nothing has
    (with `may_lack`: in another case only), GG593 for a mask that a column cannot have."""
    problems = [*_unknown_names(selection, tables, may_lack), *_unusable(selection, tables, keys)]
    if problems:
        raise UsageError.of(*dict.fromkeys(problems))


def _unknown_names(selection: TableSelection, tables: Collection[TableDef], may_lack: bool) -> Iterator[Diagnostic]:
    given = [("--columns", name, column) for name, columns in selection.columns for column in columns]
    given += [("--mask", mask.table, mask.column) for mask in selection.masks]
    names = {name for table in tables for name in short_names(table.full_name)}
    for option, name, column in given:
        near = [t for t in tables if name.casefold() in map(str.casefold, short_names(t.full_name))]
        columns = {each for table in near if is_named(name, table.full_name) for each in table.column_names}
        word, words = (column, columns) if columns else (name, names)
        message = f"`{option}` names {f'the column `{column}` of' if columns else 'the table'} `{name}`"
        if option == "--columns":
            alike = {table.full_name for table in near if not is_named(name, table.full_name)}
        else:
            bare = ((table, each) for table in near for each in _open(table, selection))
            alike = {f"{table.full_name}.{each}" for table, each in bare if each.casefold() == column.casefold()}
        if alike:
            help = f"upper and lower case differ: also name {list_names(sorted(alike))}"
            yield Diagnostic("GG592", f"{message}, and the data has another one", help=help)
        elif word not in words and not may_lack:
            known = suggestion(word, words) or f"the data has {list_names(sorted(words)[:_MAX_LISTED])}"
            help = known if words else "if it comes later, give its definition with `--definitions`"
            yield Diagnostic("GG592", f"{message}, which is not in the data", help=help)


def _open(table: TableDef, selection: TableSelection) -> Iterator[str]:
    """Yield the columns of a table whose values are shown as they are."""
    places, masks = _shown(table, selection)
    yield from (name for name in (table.column_names[place] for place in places) if name not in masks)


def _unusable(selection: TableSelection, tables: Collection[TableDef], keys: Keys) -> Iterator[Diagnostic]:
    for table in tables:
        name = table.full_name
        lists = [names for listed, names in selection.columns if is_named(listed, name)]
        masks = [mask for mask in selection.masks if is_named(mask.table, name)]
        key = [*filter(None, map(table.column_of, key_of(name, keys)))] or table.primary_keys
        for column in table.columns:
            own = [mask for mask in masks if mask.column == column.name]
            problem = _problem(column, own[0], column.name in key) if own else None
            if len(own) > 1:
                problem = "the column has two masks", "give one mask"
            elif len(lists) > 1:
                problem = "the table has two lists of `--columns`", "give one list"
            elif lists and column.name in key and column.name not in lists[0]:
                problem = "`--columns` leaves out a column of the key", "add the column, and mask it"
            if problem is not None:
                yield Diagnostic("GG593", problem[0], Span(table=name, field=column.name), problem[1])


def _problem(column: Column, mask: Mask, in_key: bool) -> tuple[str, str] | None:
    """Return why a column cannot have a mask, and what to do."""
    type, text = column.type, mask.text
    if in_key and mask.how != "hash":
        return f"a column of the key cannot have the mask `{mask.how}`: rows would be one", "give `hash`"
    fits = re.fullmatch(_FORMS.get(type.kind, ".*"), text, re.DOTALL) and (not type.length or len(text) <= type.length)
    if mask.how == "fixed" and not (fits or type.unseen):
        return f"`{text}` is not a value of the type `{type}`", "give a value of the type, or the mask `null`"
    return None
