"""Which tables and columns of two sides belong together, and by which key: by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ggfmt.comparison.rows import Pair
from ggfmt.comparison.tables import TableRows
from ggfmt.comparison.values import STRING
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, suggestion

Fold = Callable[[str], str]
Names = tuple[str | None, str | None]  # on either side; None where there is none

_AS_IT_IS: Fold = str
_OF_COLUMNS: tuple[Fold, ...] = (_AS_IT_IS, str.casefold)


def _last_part(name: str) -> str:
    return name.rpartition(".")[2].casefold()


_OF_TABLES: tuple[Fold, ...] = (*_OF_COLUMNS, _last_part)


def matched_tables(a: Iterable[str], b: Iterable[str]) -> list[Names]:
    """Tables of one name; then of those that are left of one name in any case, and of one last part of it."""
    return _matched(a, b, _OF_TABLES)


def has_name(table: str, name: str) -> bool:
    return any(fold(table) == fold(name) for fold in _OF_TABLES)


def _matched(a: Iterable[str], b: Iterable[str], folds: Sequence[Fold]) -> list[Names]:
    """In the order of A, and then those of B alone. Names that are alike to a fold are told apart or left alone."""
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
    """The columns of a table: pairs, those of the key first; how many these are; and columns of one side alone."""

    pairs: tuple[Pair, ...]
    keys: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def matched_columns(table: str, a: TableRows, b: TableRows, ignored: Collection[str]) -> MatchedColumns:
    """The columns of both sides without the ignored ones, and no key. Columns without names are those of the other side
    by their places; UsageError GG580 where these are not as many."""
    if a.named != b.named and a.columns and b.columns:
        if len(a.columns) != len(b.columns):
            message = f"one side has {len(a.columns)} columns, the other {len(b.columns)}, and not all have names"
            help = "give their names as `--csv-option b.columns=ID,NAME`, or a file with a header"
            raise UsageError(Diagnostic("GG580", message, Span(table=table), help))
        names: list[Names] = list(zip(a.columns, b.columns, strict=True))
    else:
        names = _matched(a.columns, b.columns, _OF_COLUMNS)
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
            pairs.append(Pair(of_a, of_b, a.columns.get(of_a, STRING), b.columns.get(of_b, STRING)))
    return MatchedColumns(tuple(pairs), 0, tuple(only_a), tuple(only_b))


def with_key(table: str, columns: MatchedColumns, key: Sequence[str]) -> MatchedColumns:
    """The same with a key, if there are columns to compare. UsageError GG580 for one that both sides do not have."""
    first: list[Pair] = []
    if not columns.pairs:
        return columns
    for name in key:
        pair = _pair(columns.pairs, name)
        if pair is None:
            known = [pair.a for pair in columns.pairs]
            message = f"the key has the column `{name}`, which is not compared: both sides have to have it"
            help = suggestion(name, known) or "name columns of both sides that are not ignored"
            raise UsageError(Diagnostic("GG580", message, Span(table=table), help))
        first.append(pair)
    if len(set(first)) < len(first):
        raise UsageError(Diagnostic("GG580", "the key has a column twice", Span(table=table), "name it once"))
    rest = [pair for pair in columns.pairs if pair not in first]
    return MatchedColumns((*first, *rest), len(first), columns.only_a, columns.only_b)


def has_key(columns: MatchedColumns, key: Sequence[str]) -> bool:
    return all(_pair(columns.pairs, name) is not None for name in key)


def _pair(pairs: Iterable[Pair], name: str) -> Pair | None:
    for fold in _OF_COLUMNS:
        found = [pair for pair in pairs if fold(name) in (fold(pair.a), fold(pair.b))]
        if len(found) == 1:
            return found[0]
    return None


def named_columns(names: Iterable[str], *sides: Collection[str]) -> dict[str, set[str]]:
    """What each name calls of the columns of both sides: those of that name, or else of it in any case, if a side has
    one such."""
    found = {}
    for name in names:
        alike = [[column for column in columns if column.casefold() == name.casefold()] for columns in sides]
        exact = {name for columns in sides if name in columns}
        called = exact or {columns[0] for columns in alike if len(columns) == 1}
        if called:
            found[name] = called
    return found
