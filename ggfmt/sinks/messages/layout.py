"""Where the files of a handler are, below its directory: as ggfmt lays them out, or as templates say.

A name that a template makes is escaped as the name of a table is: no part of it leaves the directory, is hidden, or is
longer than file systems take. Two tables or partitions that get one name are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, counts_by_value, non_null_values, numbered
from ggfmt.commit.names import FILE_NAME_BYTES, NAME_BYTES, NUMBER_BYTES, FileLocation, plain_place, safe_name, stamp
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, list_names
from ggfmt.java.text import InvalidValueError, TimeLimitError, time_limit, visible
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import TableDef
from ggfmt.options.templates import DATA_SLASH, NUMBER, MissingValueError, NameContext, NameTemplate, TemplateValue
from ggfmt.options.value_types import Keys

PATH_BYTES = 900  # object stores take names of 1,024 bytes, of which the output directory has some
MAX_SECONDS = 10  # for the expressions of a template and one name
_HELP = "change `pathMappingTemplate` or `fileNameMappingTemplate`"

Partition = tuple[TemplateValue, ...]

# The rows of a table by the values of some of its columns, which go to files of their own (`partitioner`).

MAX_PARTITIONS = 10_000

_MISSING, _NULL, _TEXT = "-", "0", "="


class Partitioner:
    """A division of the operations of one definition by columns. Raises: Abend GG515 for columns that the table
    lacks."""

    def __init__(self, table: TableDef, columns: Sequence[str]) -> None:
        keyed = table.with_keys(columns)
        unknown = keyed.not_in_key(columns)
        if unknown:
            message = f"`partitioner` names `{unknown[0]}`, which is not a column of the table"
            raise Abend("GG515", message, Span(table=table.full_name), "name one of its columns")
        self._indices = [table.column_names.index(name) for name in keyed.primary_keys]

    def divide(self, batch: ChangeBatch) -> tuple[pa.Int64Array, list[tuple[Partition, int, int]]]:
        """Return the rows by partition, and the partitions as they are met, each with the place of its first row among
        them and their number. The image before a delete, else that after it, has the values."""
        image = batch.row_image()
        of_row = pa.repeat(pa.scalar(0, pa.int64()), len(batch))
        distinct: list[list[str]] = []
        for index in self._indices:
            encoded = _states(image, index, len(batch)).dictionary_encode()
            distinct.append(non_null_values(as_strings(encoded.dictionary)))
            places = pc.multiply(of_row, len(distinct[-1]))
            of_row = pc.add(places, pc.cast(encoded.indices, pa.int64()))
        numbers = non_null_values(pc.unique(of_row))
        if len(numbers) == 1:
            return numbered(len(batch)), [(_values(numbers[0], distinct), 0, len(batch))]
        order = pc.cast(pc.array_sort_indices(of_row), pa.int64())  # a stable sort
        counts = counts_by_value(of_row)
        ends = dict(zip(sorted(counts), accumulate(counts[number] for number in sorted(counts)), strict=True))
        return order, [(_values(it, distinct), ends[it] - counts[it], counts[it]) for it in numbers]


def _states(image: Image, index: int, length: int) -> pa.StringArray:
    """Return texts that distinguish missing, NULL and a text."""
    column = image.columns[index]
    present = image.exists_mask(length)
    if column.present is not None:
        present = pc.and_(present, column.present)
    texts = pc.binary_join_element_wise(pa.scalar(_TEXT), column.values.cast(pa.string()), "")
    return pc.if_else(present, pc.fill_null(texts, _NULL), _MISSING)


def _values(number: int, distinct: list[list[str]]) -> Partition:
    states = []
    for states_of_column in reversed(distinct):
        number, place = divmod(number, len(states_of_column))
        states.append(states_of_column[place])
    return tuple(
        TemplateValue(state != _MISSING, state[1:] if state.startswith(_TEXT) else None) for state in reversed(states)
    )


def too_many_partitions(table: str) -> Diagnostic:
    message = f"`partitioner` divides the table into more than {MAX_PARTITIONS:,} parts, each with separate files"
    return Diagnostic("GG515", message, Span(table=table), "choose columns with fewer distinct values")


@dataclass(frozen=True)
class OutputLayout:
    """`path` and `file` are templates, None for ggfmt's own names, which end with `suffix`.

    `partitions`: the columns that divide the rows of a table into files, by full name.
    """

    suffix: str
    path: NameTemplate | None = None
    file: NameTemplate | None = None
    partitions: Keys = ()
    group: str = ""

    @property
    def has_templates(self) -> bool:
        return self.path is not None or self.file is not None

    def columns(self, table: str) -> tuple[str, ...]:
        return dict(self.partitions).get(table, ())

    def place(
        self,
        table: TableDef | None,
        moment: datetime,
        partition: Partition = (),
        counts: Mapping[str, int] | None = None,
    ) -> FileLocation:
        """Return where the files of a table (None: all tables) are, or of a partition.

        `counts`: the operations of a full file by type. Raises: Abend GG515 if the templates make no name, GG516 if a
        value has none.
        """
        name = "" if table is None else table.full_name
        place = plain_place(name, stamp(moment), self.suffix)
        if not self.has_templates:
            return place
        parts = () if table is None else table.parts
        columns = (column.upper() for column in self.columns(name))
        values = dict(zip(columns, partition, strict=True))
        facts = NameContext(moment, name, parts, self.group, values, counts or {})
        span = Span(table=name or None)
        try:
            with time_limit(MAX_SECONDS):
                if self.path is not None:
                    place = replace(place, directory="/".join(_directories(self.path.show(facts))))
                if self.file is not None:
                    place = _named(place.directory, self.file.show_numbered(facts))
        except MissingValueError as error:
            raise Abend("GG516", str(error), span, error.help) from None
        except InvalidValueError as error:
            raise Abend("GG515", str(error), span, error.help or _HELP) from None
        except TimeLimitError:
            message = f"a regular expression of a template takes more than {MAX_SECONDS} seconds"
            raise Abend("GG515", message, span, "rewrite it so that a text can match in one way only") from None
        size = len(place.path.encode()) + NUMBER_BYTES + 1
        if size > PATH_BYTES:
            message = f"the templates make a path of {size:,} bytes; the limit is {PATH_BYTES:,}"
            raise Abend("GG515", message, span, _HELP)
        return place


def _directories(path: str) -> list[str]:
    return [safe_name(_with_slashes(part)) for part in path.split("/") if part not in ("", ".")]


def _named(directory: str, text: str) -> FileLocation:
    stem, _, ending = text.partition(NUMBER)
    if not stem:
        raise InvalidValueError("`fileNameMappingTemplate` makes an empty name")
    ending = safe_name(_with_slashes(ending)[1:]) if ending else ""
    ending = f".{ending}" if ending else ""
    room = FILE_NAME_BYTES - NUMBER_BYTES - 1 - len(ending.encode())
    return FileLocation(directory, safe_name(_with_slashes(stem), min(NAME_BYTES, room)), ending)


def _with_slashes(text: str) -> str:
    return text.replace(DATA_SLASH, "/")


def event_name_conflict_error(one: str, other: str, path: str) -> Abend:
    """Return GG514 for two event handlers (empty: the File Writer) whose files would have one name."""
    names = [f"the event handler `{name}`" if name else "the File Writer" for name in (one, other)]
    help = "change `pathMappingTemplate` or `fileNameMappingTemplate` of one, or set `finalizeAction=delete`"
    return Abend("GG514", f"{names[0]} and {names[1]} would write the same file, `{visible(path)}`", Span(), help)


def file_name_conflict_error(
    one: tuple[str, Partition], other: tuple[str, Partition], columns: tuple[str, ...], path: str
) -> Abend:
    """Return GG514 for two tables, or two partitions of one, whose files would have one name."""
    shown = visible(path)
    if one[0] != other[0]:
        message = f"the tables `{one[0]}` and `{other[0]}` would be in the same file, `{shown}`"
        help = f"{_HELP}: use `${{fullyQualifiedTableName}}` to keep tables apart"
    else:
        names = list_names(columns)
        message = f"rows that differ in {names} would be in the same file, `{shown}`"
        help = f"{_HELP}, so that different values make different names"
    return Abend("GG514", message, Span(table=other[0]), help)
