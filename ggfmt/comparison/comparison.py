"""Comparison of two sides: their tables and columns, matched by name, and the result."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal, TypeAlias

import pyarrow as pa

from ggfmt.arrow.arrays import repeated
from ggfmt.commit.names import counted
from ggfmt.comparison.csv_options import csv_options
from ggfmt.comparison.database import DatabaseTable
from ggfmt.comparison.files import Columns, TableFile, ending_of, unreadable
from ggfmt.comparison.kinds import STRING, UNTYPED
from ggfmt.comparison.partitions import PartComparison
from ggfmt.comparison.rows import RowComparison, RowExample, TablePair
from ggfmt.comparison.sides import ComparisonSide, PartitionedFile, find_tables
from ggfmt.comparison.sql_database import SqlTable
from ggfmt.comparison.values import storage_type
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError, list_names, suggestion
from ggfmt.java.text import visible
from ggfmt.location import strip_credentials
from ggfmt.model.table import name_parts
from ggfmt.options.value_types import EVERY_TABLE, Keys, key_of
from ggfmt.rowfiles.csv_files import CsvFile, CsvOptions
from ggfmt.rowfiles.files import ColumnError
from ggfmt.scratch import Scratch, remove_abandoned
from ggfmt.summary import Summarized, Summary, SummaryTable

log = logging.getLogger("ggfmt")

_NULL = pa.null()
_TABS = ("tsv", "tab")  # endings of files with tabs as delimiters


class TableRows:
    """The rows of a table, in whatever files. `columns`: those of all files, with their stored types.

    Not `named`: columns have numbers as names. `sparse`: a column may be absent from a file if it is NULL in all rows,
    or if there are no rows. A column that some files lack is NULL there. Raises: Abend GG582 for a file that cannot be
    read, or whose columns have other types than before.
    """

    def __init__(self, parts: Sequence[PartitionedFile], options: CsvOptions) -> None:
        files = [(_opened(part, options), part.columns) for part in parts]
        # An empty file has no columns and no rows.
        self._files = [(file, constants) for file, constants in files if file.columns]
        self.named = all(file.named for file, _ in self._files)
        self.sparse = not self._files or any(file.sparse for file, _ in self._files)
        found: Columns = {}
        for file, constants in self._files:
            for name, type in (*file.columns.items(), *dict.fromkeys(constants, UNTYPED).items()):
                known = found.get(name, _NULL)
                if {known, type} == {STRING, UNTYPED}:
                    known = type = UNTYPED
                if known not in (_NULL, type) and type != _NULL:
                    own, others = storage_type(type), f"{storage_type(known)} in other files of the table"
                    reason = f"its column `{name}` has the type {own}, but the type {others}"
                    raise Abend.of(unreadable(file.file, reason, "compare the files one by one"))
                found[name] = type if known == _NULL else known
        self.columns = {name: STRING if type == _NULL else type for name, type in found.items()}

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns with these names, at least one; their names in the batches are their places, from `0`."""
        types = [storage_type(self.columns.get(name, STRING)) for name in names]
        schema = pa.schema([(f"{place}", type) for place, type in enumerate(types)])
        for file, constants in self._files:
            own = [name for name in names if name in file.columns and name not in constants]
            for batch in file.batches(own or [next(iter(file.columns))]):
                rows = len(batch[0])
                columns = dict(zip(own, batch, strict=False))
                arrays = []
                for name, type in zip(names, types, strict=True):
                    array = columns.get(name)
                    if array is None:
                        array = repeated(pa.scalar(constants.get(name), type), rows)
                    arrays.append(array.cast(type) if array.type != type else array)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


Rows: TypeAlias = "TableRows | DatabaseTable | SqlTable"


def _rows(place: ComparisonSide, table: str, options: CsvOptions) -> Rows:
    if place.database is not None:
        return place.database.tables[table]
    return TableRows(place.tables[table], options)


def _opened(part: PartitionedFile, options: CsvOptions) -> TableFile:
    reader = resolve_name(part.format.reader)
    if reader is not CsvFile:
        return TableFile(part.file, partial(reader, deleted=part.deleted) if part.deleted else reader)
    tabs = options.delimiter is None and ending_of(part.file.location) in _TABS
    of_file = replace(options, delimiter="\t") if tabs else options
    return TableFile(part.file, lambda open: CsvFile(open, of_file))


# Matching by names: which tables and columns of two sides belong together, and their key.

Fold = Callable[[str], str]
Names = tuple[str | None, str | None]  # the names on each side; None if it has none

_AS_IT_IS: Fold = str
_OF_COLUMNS: tuple[Fold, ...] = (_AS_IT_IS, str.casefold)


def _last_part(name: str) -> str:
    return name_parts(name)[-1]


_OF_TABLES: tuple[Fold, ...] = (*_OF_COLUMNS, _last_part, lambda name: _last_part(name).casefold())


def _match_names(a: Iterable[str], b: Iterable[str], folds: Sequence[Fold]) -> list[Names]:
    """Return pairs in order of A, then those only in B. Names that a fold makes equal match uniquely or not at all."""
    left_a, left_b = list(a), list(b)
    order = [*left_a]
    found: dict[str, str] = {}
    for fold in folds:
        of_a, of_b = _folded(left_a, fold), _folded(left_b, fold)
        for key in of_a.keys() & of_b.keys():
            if len(of_a[key]) == len(of_b[key]) == 1:
                found[of_a[key][0]] = of_b[key][0]
        left_a = [name for name in left_a if name not in found]
        left_b = [name for name in left_b if name not in found.values()]
    return [*((name, found.get(name)) for name in order), *((None, name) for name in left_b)]


def _folded(names: Iterable[str], fold: Fold) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(fold(name), []).append(name)
    return found


@dataclass(frozen=True)
class MatchedColumns:
    """The columns of a table: pairs, those of the key first; the number of key columns; columns of one side only; and
    by name why columns of both sides cannot be read."""

    pairs: tuple[TablePair, ...]
    keys: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    unread: Mapping[str, str] = field(default_factory=dict)

    def without(self, error: ColumnError) -> MatchedColumns:
        """Return the other columns. Without a part of the key, whole rows are compared."""
        place = next(at for at, pair in enumerate(self.pairs) if error.column in (pair.a, pair.b))
        pairs = (*self.pairs[:place], *self.pairs[place + 1 :])
        unread = {**self.unread, self.pairs[place].a: str(error)}
        return replace(self, pairs=pairs, keys=0 if place < self.keys else self.keys, unread=unread)


def matched_columns(
    table: str, a: Rows, b: Rows, ignored: Collection[str], by_characters: bool = False
) -> MatchedColumns:
    """Return the columns of both sides without the ignored ones, and without a key. Columns without names get those of
    the other side, by place. Raises: UsageError GG580 if their numbers differ."""
    if a.named != b.named and a.columns and b.columns:
        if len(a.columns) != len(b.columns):
            counts = f"one side has {len(a.columns)} columns, the other {len(b.columns)}"
            help = "name the columns with `--csv-option b.columns=ID,NAME`, or use a file with a header"
            raise _impossible(f"{counts}, and not all columns have names", help, table)
        names: list[Names] = list(zip(a.columns, b.columns, strict=True))
    else:
        names = _match_names(a.columns, b.columns, _OF_COLUMNS)
    pairs, only_a, only_b = [], [], []
    for of_a, of_b in names:
        if any(name in ignored for name in (of_a, of_b)):
            continue
        if of_a is None and not a.sparse:
            only_b.append(of_b or "")
        elif of_b is None and not b.sparse:
            only_a.append(of_a or "")
        else:
            of_a, of_b = of_a or of_b or "", of_b or of_a or ""
            types = a.columns.get(of_a, STRING), b.columns.get(of_b, STRING)
            pairs.append(TablePair(of_a, of_b, *types, by_characters))
    return MatchedColumns(tuple(pairs), 0, tuple(only_a), tuple(only_b))


def with_key(table: str, columns: MatchedColumns, key: Sequence[str]) -> MatchedColumns:
    """Return the columns with a key, if there are some. Raises: UsageError GG580 for a key column that a side lacks."""
    first: list[TablePair] = []
    if not columns.pairs:
        return columns
    for name in key:
        pair = _pair(columns.pairs, name)
        if pair is None:
            known = [pair.a for pair in columns.pairs]
            message = f"the key has the column `{name}`, which is not compared: both sides must have it"
            help = suggestion(name, known) or "name columns of both sides that are not ignored"
            raise _impossible(message, help, table)
        first.append(pair)
    if len(set(first)) < len(first):
        raise _impossible("the key has a column twice", "name each column once", table)
    rest = [pair for pair in columns.pairs if pair not in first]
    return replace(columns, pairs=(*first, *rest), keys=len(first))


def _impossible(message: str, help: str, table: str | None = None) -> UsageError:
    return UsageError("GG580", message, Span(table=table), help)


def _pair(pairs: Iterable[TablePair], name: str) -> TablePair | None:
    for fold in _OF_COLUMNS:
        found = [pair for pair in pairs if fold(name) in (fold(pair.a), fold(pair.b))]
        if len(found) == 1:
            return found[0]
    return None


def named_columns(names: Iterable[str], *sides: Collection[str]) -> dict[str, set[str]]:
    """Return the columns of both sides for each name: the one of that name, or else the only one equal in any case."""
    found = {}
    for name in names:
        alike = [[column for column in columns if column.casefold() == name.casefold()] for columns in sides]
        exact = {name for columns in sides if name in columns}
        called = exact or {columns[0] for columns in alike if len(columns) == 1}
        if called:
            found[name] = called
    return found


@dataclass(frozen=True)
class ComparisonOptions:
    """`keys` of tables or of every table; only `table`, if given; columns to ignore; options of CSV files by name;
    compare `as_` `values` or `text`; and how many examples of each kind to keep for a table."""

    a: str
    b: str
    keys: Keys = ()
    table: str | None = None
    ignored: Sequence[str] = ()
    csv: Sequence[tuple[str, str]] = ()
    as_: Literal["values", "text"] = "values"
    examples: int = 5


@dataclass(frozen=True)
class TableComparison:
    """The result of a table. Rows are `equal`, `missing` (only in A), `extra` (only in B) or `different` (equal key,
    other values).

    `by_column`: in how many different rows a column differs; `column_examples`: one of each. `respelled`: how many
    equal values of a column are written in two ways, with `respelled_examples`, and `respelled_rows` where whole rows
    are compared. Without a `key`, whole rows are compared, and none is
    different. `repeated_a` and `repeated_b`: the number of keys that a side has more than once; their rows are compared
    as whole rows. `columns_a` and `columns_b`: columns of one side only. `unread`: by column of both sides why it
    cannot be read; the others were compared. `only`: the side that has the table, if the other lacks it; its rows are
    not counted.
    """

    table: str
    key: tuple[str, ...] = ()
    equal: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)
    column_examples: Mapping[str, RowExample] = field(default_factory=dict)
    respelled: Mapping[str, int] = field(default_factory=dict)
    respelled_examples: Mapping[str, RowExample] = field(default_factory=dict)
    respelled_rows: int = 0
    repeated_a: int = 0
    repeated_b: int = 0
    columns_a: tuple[str, ...] = ()
    columns_b: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    only: str | None = None
    examples: tuple[RowExample, ...] = ()

    @property
    def same(self) -> bool:
        differs = self.missing or self.extra or self.different or self.columns_a or self.columns_b or self.unread
        return not differs and self.only is None

    @property
    def rows_a(self) -> int:
        return self.equal + self.different + self.missing

    @property
    def rows_b(self) -> int:
        return self.equal + self.different + self.extra


@dataclass(frozen=True, repr=False)
class Comparison(Summarized):
    """The result of two sides (without credentials), table by table; numbers of rows are sums over the tables.

    `skipped_a` and `skipped_b`: files that may have rows, and were not compared. With any, and if no side has a row,
    the sides are not the `same`.
    """

    a: str
    b: str
    tables: tuple[TableComparison, ...]
    skipped_a: tuple[str, ...] = ()
    skipped_b: tuple[str, ...] = ()

    @property
    def _summary(self) -> Summary:
        kinds = ("equal", "missing", "extra", "different")
        rows = [
            (table.table, *(getattr(table, kind) for kind in kinds), "yes" if table.same else "no")
            for table in self.tables
        ]
        facts = [
            f"{self.a} and {self.b} are {'the same' if self.same else 'not the same'}",
            counted(len(self.tables), "table"),
            ", ".join(f"{getattr(self, kind):,} {kind}" for kind in kinds) + " rows",
        ]
        return Summary("ggfmt.compare", facts, [SummaryTable(("table", *kinds, "same"), rows)])

    @property
    def same(self) -> bool:
        return self.equal > 0 and self.differing == 0 and not self.skipped_a and not self.skipped_b

    @property
    def differing(self) -> int:
        """The number of tables that are not the same."""
        return sum(not table.same for table in self.tables)

    @property
    def equal(self) -> int:
        return sum(table.equal for table in self.tables)

    @property
    def missing(self) -> int:
        return sum(table.missing for table in self.tables)

    @property
    def extra(self) -> int:
        return sum(table.extra for table in self.tables)

    @property
    def different(self) -> int:
        return sum(table.different for table in self.tables)


@dataclass(frozen=True)
class _ComparedTable:
    name: str
    a: Rows
    b: Rows
    columns: MatchedColumns


def compare(options: ComparisonOptions) -> Comparison:
    """Compare two sides. Raises: UsageError GG310 for a path that does not exist, GG580 and GG581 for an impossible
    comparison. Raises: Abend GG582 for a file that cannot be read, GG587 if there is no room for temporary files."""
    if options.examples < 0:
        raise _impossible(f"the number of examples cannot be {options.examples}", "give 0 or more")
    if options.as_ not in ("values", "text"):
        raise _impossible(f"rows cannot be compared as `{options.as_}`", "give `values` or `text`")
    with ExitStack() as opened:
        places = [opened.enter_context(closing(find_tables(given))) for given in (options.a, options.b)]
        return _compare_sides(options, places)


def _compare_sides(options: ComparisonOptions, places: Sequence[ComparisonSide]) -> Comparison:
    names = [_select_tables(place, options.table) for place in places]
    alone = all(len(of) == 1 for of in names) and (options.table or not all(place.named for place in places))
    matched = _match_names(names[0], names[1], _OF_TABLES)
    pairs = [(names[0][0], names[1][0])] if alone else _without_other_schemas(places, matched)
    tables = list(_tables(options, places, pairs))
    with _scratch() as directory:
        compared = {
            table.name: _compared(table, options.examples, directory / f"{n}") for n, table in enumerate(tables)
        }
    found = []
    for a, b in pairs:
        both = a is not None and b is not None
        found.append(compared[a or ""] if both else TableComparison(a or b or "", only="b" if a is None else "a"))
    skipped = (_skipped(place, of, options.table) for place, of in zip(places, names, strict=True))
    return Comparison(strip_credentials(places[0].given), strip_credentials(places[1].given), tuple(found), *skipped)


def _skipped(place: ComparisonSide, tables: Sequence[str], wanted: str | None) -> tuple[str, ...]:
    """Return the skipped files of the tables that are compared, and those of no table if these are all."""
    others = wanted is None or not place.named
    return tuple(name for table, names in place.skipped.items() if others or table in tables for name in names)


def _without_other_schemas(places: Sequence[ComparisonSide], pairs: Sequence[Names]) -> list[Names]:
    """Return the pairs without tables of a database whose schemas have no table of the other side."""
    left: list[Names] = []
    for at, place in enumerate(places):
        if place.database is None:
            continue
        schemas = {name: table.schema for name, table in place.database.tables.items()}
        common = {schemas[names[at] or ""] for names in pairs if None not in names}
        if common:
            left += [names for names in pairs if names[1 - at] is None and schemas[names[at] or ""] not in common]
    if left:
        example = next(filter(None, left[0]))
        message = "skipped %s of other schemas of the database, for example `%s`"
        log.warning(message, counted(len(left), "table"), visible(example))
    return [names for names in pairs if names not in left]


def _select_tables(place: ComparisonSide, table: str | None) -> list[str]:
    """Return the tables of a side to compare. A file, or a directory of one table, matches any requested name."""
    names = list(place.tables)
    if table is None or table in names:
        return names if table is None else [table]
    called = [name for name in names if any(fold(table) == fold(name) for fold in _OF_TABLES)]
    called = called or ([] if place.named else names)
    if len(called) != 1:
        message = f"table `{table}` not found" if not called else f"several tables match `{table}`"
        help = suggestion(table, names) or f"give one of {list_names(names[:10])}"
        raise UsageError("GG580", message, place.given, help)
    return called


def _tables(
    options: ComparisonOptions, places: Sequence[ComparisonSide], pairs: Sequence[Names]
) -> Iterator[_ComparedTable]:
    csv = csv_options(options.csv, "a"), csv_options(options.csv, "b")
    parts = {part for place in places for name in place.tables for part in (name, name.rpartition(".")[2])}
    keyed = {table for table, _ in options.keys if table != EVERY_TABLE and table not in parts}
    if keyed:
        raise _impossible(f"a key names the table `{min(keyed)}`, which neither side has", "check the names")
    unused = set(options.ignored) if all(None not in names for names in pairs) else set()
    for a, b in pairs:
        if a is None or b is None:
            continue
        rows_a, rows_b = (_rows(place, name, of) for place, name, of in zip(places, (a, b), csv, strict=True))
        named = named_columns(options.ignored, rows_a.columns, rows_b.columns)
        unused -= named.keys()
        ignored = {column for columns in named.values() for column in columns}
        columns = matched_columns(a, rows_a, rows_b, ignored, options.as_ == "text")
        key = key_of(a, options.keys) or key_of(b, options.keys)
        if not key:  # a key from a manifest does not apply if a part of it is ignored
            known = (place.key(name) for place, name in zip(places, (a, b), strict=True))
            key = next((names for names in known if names and all(_pair(columns.pairs, each) for each in names)), ())
        yield _ComparedTable(a, rows_a, rows_b, with_key(a, columns, key))
    if unused:
        message = f"no table has the column `{min(unused)}` to ignore"
        raise _impossible(message, "name a column of one of the sides")


@contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a directory for temporary files. Errors of files that are read are not OSError at this point."""
    remove_abandoned()
    try:
        with Scratch() as directory:
            yield directory
    except OSError as error:
        help = "set TMPDIR to a directory with enough space for the rows of both sides"
        message = f"rows cannot be written to temporary files: {error.strerror or error}"
        raise Abend("GG587", message, help=help) from None


def _compared(table: _ComparedTable, examples: int, directory: Path) -> TableComparison:
    columns = table.columns
    rows = RowComparison(columns.pairs, columns.keys, examples)
    if columns.pairs:
        directory.mkdir(parents=True)
        schemas = [
            pa.schema([(f"{place}", storage_type(getattr(pair, of))) for place, pair in enumerate(columns.pairs)])
            for of in ("type_a", "type_b")
        ]
        names = [pair.a for pair in columns.pairs], [pair.b for pair in columns.pairs]
        sides = table.a.batches(names[0]), table.b.batches(names[1])
        try:
            PartComparison(rows, columns.keys, schemas, directory).compare(*sides)
        except ColumnError as error:
            others = columns.without(error)
            for side in sides:  # read to the end: a database has one connection
                with suppress(ColumnError):
                    deque(side, maxlen=0)
            return _compared(replace(table, columns=others), examples, directory / "others")
    found = vars(rows.found) | {"examples": tuple(rows.found.examples)}
    for name in ("by_column", "column_examples", "respelled", "respelled_examples"):
        found[name] = {columns.pairs[place].a: value for place, value in sorted(found[name].items())}
    repeated_a, repeated_b = found.pop("repeated")
    return TableComparison(
        table.name,
        tuple(pair.a for pair in columns.pairs[: columns.keys]),
        **found,
        repeated_a=repeated_a,
        repeated_b=repeated_b,
        columns_a=columns.only_a,
        columns_b=columns.only_b,
        unread=columns.unread,
    )
