"""Search and replacement in names and values (`gg.schemareplace*`, `gg.contentreplace*`, `gg.transform*`).

Names are those of catalogs, schemas, tables and columns, each replaced separately and once per definition. Values are
those of character columns (`Kind.STRING`), replaced a column at a time. Numbers, dates, NULL, missing columns and
tokens stay as they are.

Replacement comes before all other processing, except that the values of the source decide what is a primary key update.
Transforms select columns by the names of the source, and run after the replacements for all columns.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.images import key_updates
from ggfmt.columnar.pieces import text_buffer
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.java.text import TimeLimitError, time_limit, visible
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Kind, TableDef, split_name
from ggfmt.options.value_types import Replacements, Transform

if TYPE_CHECKING:
    from ggfmt.java.regex import JavaRegex
    from ggfmt.java.replacement import Replacement


MAX_SECONDS = 10  # of processor time, for the names of a table or a column of a batch
_SHOWN = 60  # characters of a pattern in messages


class UnusableName(Exception):
    """A definition has no usable names after the replacement. `diagnostic` (GG210) contains the names of the source."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


class Replacer:
    """Applies replacements to the batches of a task; the names of a definition are replaced once."""

    def __init__(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._tables: dict[TableDef, TableDef] = {}
        self._columns: dict[TableDef, Mapping[int, Sequence[Replacement]]] = {}

    def table(self, table: TableDef) -> TableDef:
        """Return the definition with its names replaced, or raise UnusableName."""
        replaced = self._tables.get(table)
        if replaced is None:
            replaced = self._tables[table] = replace_names(table, self._replacements.schema)
        return replaced

    def batch(self, batch: ChangeBatch) -> ChangeBatch:
        table = self.table(batch.table)
        columns = self._columns.get(batch.table)
        if columns is None:
            columns = self._columns[batch.table] = column_replacements(batch.table, self._replacements)
        if columns:
            batch = replace_content(batch, columns)
        return batch if table is batch.table else replace(batch, table=table)


def column_replacements(table: TableDef, replacements: Replacements) -> Mapping[int, Sequence[Replacement]]:
    """Return the replacements for the values of each column, by column index; columns without any are omitted."""
    names = dict(zip(("table", "schema", "catalog"), reversed(table.full_name.split(".")), strict=False))
    transforms = [
        transform
        for transform in replacements.transforms
        if all(_fits(transform, part, names.get(part, ""), table) for part in ("catalog", "schema", "table"))
    ]
    found = {}
    for index, column in enumerate(table.columns):
        if column.type.kind is not Kind.STRING:
            continue
        own = [item.replacement for item in transforms if _fits(item, "column", column.name, table)]
        if own or replacements.content:
            found[index] = (*replacements.content, *own)
    return found


def _fits(transform: Transform, part: str, name: str, table: TableDef) -> bool:
    """Return whether the pattern of a transform for a part matches a whole name, empty if the table lacks the part."""
    regex = transform.pattern(part)
    if regex is None:
        return True
    with _limited(regex, transform.key(part), "a name", Span(table=table.full_name)):
        return regex.compiled.fullmatch(name) is not None


def replace_names(table: TableDef, replacements: Sequence[Replacement]) -> TableDef:
    """Return the definition with its names replaced, the same object if no name changes, or raise UnusableName."""
    full_name = _replaced_parts(table.full_name, replacements)
    names = [_replaced(name, replacements) for name in table.column_names]
    if full_name == table.full_name and names == list(table.column_names):
        return table
    try:
        split_name(full_name)
        reason = None if full_name.count(".") == table.full_name.count(".") else "has a dot within a part"
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        raise _unusable(table, f"the table's name becomes `{full_name}`, which {reason}")
    first: dict[str, str] = {}
    for old, new in zip(table.column_names, names, strict=True):
        if not new:
            raise _unusable(table, f"the name of column `{old}` becomes empty")
        if new in first:
            raise _unusable(table, f"the columns `{first[new]}` and `{old}` both become `{new}`")
        first[new] = old
    columns = tuple(replace(column, name=name) for column, name in zip(table.columns, names, strict=True))
    key = table.stated_key and tuple(_replaced(name, replacements) for name in table.stated_key)
    return TableDef(full_name, columns, key)


def check_table_names(tables: Iterable[str], replacements: Replacements) -> None:
    """Raises: Abend if two tables get one name: their order could not be kept."""
    diagnostic = merged_tables_error(tables, replacements.schema)
    if diagnostic is not None:
        raise Abend.of(diagnostic)


def merged_tables_error(tables: Iterable[str], replacements: Sequence[Replacement]) -> Diagnostic | None:
    """Return a GG210 for the first two tables whose names become equal, or None."""
    if not replacements:
        return None
    first: dict[str, str] = {}
    for old in tables:
        new = _replaced_parts(old, replacements)
        if first.setdefault(new, old) != old:
            message = f"the tables `{first[new]}` and `{old}` both become `{new}`"
            return Diagnostic("GG210", message, Span(table=old), _HELP)
    return None


_HELP = "change `gg.schemareplaceregex`, so that names stay distinct"


def _unusable(table: TableDef, message: str) -> UnusableName:
    return UnusableName(Diagnostic("GG210", message, Span(table=table.full_name), _HELP))


def _replaced_parts(full_name: str, replacements: Sequence[Replacement]) -> str:
    return ".".join(_replaced(part, replacements) for part in full_name.split("."))


def _replaced(text: str, replacements: Sequence[Replacement]) -> str:
    for replacement in replacements:
        with _limited(replacement.regex, replacement.key, "a name", Span()):
            text = replacement.apply(text)
    return text


@contextmanager
def _limited(regex: JavaRegex, key: str, what: str, place: Span) -> Iterator[None]:
    """Raises: Abend with GG212 if a pattern takes too long."""
    try:
        with time_limit(MAX_SECONDS):
            yield
    except TimeLimitError:
        pattern = visible(regex.java[:_SHOWN])
        message = f"`{key}`: the pattern `{pattern}` takes more than {MAX_SECONDS} seconds for {what}"
        help = "rewrite the pattern so that a text can match in one way only: for example `a+`, not `(a+)+`"
        raise Abend("GG212", message, place, help) from None


def replace_content(batch: ChangeBatch, columns: Mapping[int, Sequence[Replacement]]) -> ChangeBatch:
    """Return the batch with values replaced, by column index. Unchanged columns are shared."""
    before = _replace_image(batch.before, batch.table, columns)
    if batch.after.columns is batch.before.columns:  # both images share the columns
        after = batch.after if before is batch.before else Image(before.columns, batch.after.exists)
    else:
        after = _replace_image(batch.after, batch.table, columns)
    if before is batch.before and after is batch.after:
        return batch
    key_update = batch.key_update
    if key_update is None and _keys_differ(batch, before, after):
        key_update = key_updates(batch)
        if key_update is None:
            key_update = pa.repeat(pa.scalar(False), len(batch))
    return replace(batch, before=before, after=after, key_update=key_update)


def _keys_differ(batch: ChangeBatch, before: Image, after: Image) -> bool:
    return any(
        new.columns[index] is not old.columns[index]
        for old, new in ((batch.before, before), (batch.after, after))
        for index in batch.table.key_indices
    )


def _replace_image(image: Image, table: TableDef, of: Mapping[int, Sequence[Replacement]]) -> Image:
    columns, names = list(image.columns), table.column_names
    for index, replacements in of.items():
        values = image.columns[index].values
        place = Span(table=table.full_name, field=names[index])
        for replacement in replacements:
            with _limited(replacement.regex, replacement.key, "the values of a column", place):
                values = replace_values(values, replacement)
        if values is not image.columns[index].values:
            old = image.columns[index]
            columns[index] = ImageColumn(values, old.present, unavailable=old.unavailable)
    changed = any(new is not old for new, old in zip(columns, image.columns, strict=True))
    return replace(image, columns=tuple(columns)) if changed else image


def replace_values(values: pa.StringArray, replacement: Replacement) -> pa.StringArray:
    """Return the values with all matches replaced, and NULL as NULL; the same array if nothing matches."""
    data = text_buffer(values)
    regex, re2 = replacement.regex, replacement.re2
    if regex.needle and data.to_pybytes().find(regex.needle.encode()) < 0:
        return values
    if re2 is None:
        return _by_distinct_value(values, replacement)
    # A match in a value is also a match in the concatenated values, unless the pattern depends on the end of a value.
    offsets = pa.py_buffer(array("i", (0, len(data))))
    whole = values if regex.is_anchored else pa.StringArray.from_buffers(1, offsets, data)
    if not pc.any(pc.match_substring_regex(whole, re2[0]), min_count=0).as_py():
        return values
    return pc.replace_substring_regex(values, *re2)


def _by_distinct_value(values: pa.StringArray, replacement: Replacement) -> pa.StringArray:
    encoded = values.dictionary_encode()
    search = replacement.regex.compiled.search
    distinct = non_null_values(as_strings(encoded.dictionary))
    if not any(map(search, distinct)):
        return values
    return pa.array(map(replacement.apply, distinct), pa.string()).take(encoded.indices)
