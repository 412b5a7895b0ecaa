"""Hypothesis strategies for definitions, operations and options; and ChangeBatches from plain operations and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar
from unittest.mock import patch

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable

from ggfmt import kernels
from ggfmt.columnar.columns import token_maps
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, Kind, SqlType, TableDef


def examples(weight: int) -> settings:
    """The number of examples of a property: `weight` per cent of what the profile (`conftest.py`) draws."""
    assert settings.default is not None
    return settings(max_examples=max(1, settings.default.max_examples * weight // 100))


T = TypeVar("T")


def both_ways(make: Callable[..., T], *arguments: Any) -> list[T]:
    """What a function makes with native kernels, if there are any, and without them."""
    made = [make(*arguments)]
    with patch.object(kernels, "native", None):
        made.append(make(*arguments))
    return made


NUMERIC = frozenset({"integer", "decimal", "float", "double"})
GARBAGE = 'no value |"\\'  # what is in place of a missing column, for it must not be looked at

_NASTY = [
    *'"\\|,=\n\r\t\b\f\0\x01\x1f\x7f\x85\u2028\xe9\u20ac\ufeff\uffff{}[]:/ 0',
    "😀",
    "null",
    "NULL",
    "\\n",
    "\\u0041",
]
_characters = st.characters(exclude_categories=["Cs"])
texts = st.lists(st.one_of(st.sampled_from(_NASTY), _characters), max_size=6).map("".join)
names = texts.filter(bool)
table_names = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="."), min_size=1, max_size=6
    ),
    min_size=1,
    max_size=3,
).map(".".join)

_digits = st.text("0123456789", min_size=1, max_size=38)
_signs = st.sampled_from(["", "-"])
_fractions = st.one_of(st.just(""), _digits.map(lambda digits: "." + digits))
_exponents = st.one_of(
    st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "-", "+"]), st.integers(0, 400))
)
json_numbers = st.builds(
    "{}{}{}{}".format,
    _signs,
    st.one_of(st.just("0"), _digits.map(lambda digits: "1" + digits[1:])),
    _fractions,
    _exponents,
)
java_numbers = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.one_of(
        _digits,
        _digits.map(lambda d: f"{d}."),
        _digits.map(lambda d: f".{d}"),
        st.builds("{}.{}".format, _digits, _digits),
    ),
    _exponents,
)
numbers = st.one_of(
    json_numbers, java_numbers, st.sampled_from(["17520.00", "-0", "00", "-.0", "9" * 38, "+1", "1E+5"])
)

booleans = st.sampled_from(["true", "false"])


@st.composite
def tables(draw: st.DrawFn, column_names: st.SearchStrategy[str] = names, widest: int = 300) -> PlainTable:
    width = draw(st.sampled_from([1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 12, 15, 20, 30, 40, widest]))
    if width > 30:
        drawn = [f"C{i}" for i in range(width)]
    else:
        drawn = draw(st.lists(column_names, min_size=width, max_size=width, unique=True))
    kinds = draw(st.lists(st.sampled_from(list(Kind)), min_size=1, max_size=width))
    keys = draw(st.permutations(range(width)))[: draw(st.integers(0, min(3, width)))] if width <= 30 else [1, 0]
    return PlainTable(
        draw(table_names),
        tuple(
            PlainColumn(name, kinds[i % len(kinds)].value, keys.index(i) + 1 if i in keys else 0)
            for i, name in enumerate(drawn)
        ),
    )


@st.composite
def operations(
    draw: st.DrawFn,
    table: PlainTable,
    most: int = 6,
    least: int = 0,
    number: st.SearchStrategy[str] = numbers,
    boolean: st.SearchStrategy[str] = booleans,
) -> list[PlainOperation]:
    """Operations of a table, with values of a small pool so that wide tables are no slower to draw."""
    ops = draw(st.lists(st.sampled_from("IUUDT"), min_size=least, max_size=2 if len(table.columns) > 30 else most))
    pools = {
        "number": draw(st.lists(number, min_size=1, max_size=5)),
        "boolean": draw(st.lists(boolean, min_size=1, max_size=3)),
        "text": draw(st.lists(texts, min_size=1, max_size=5)),
    }
    width = len(table.columns)
    codes = iter(draw(st.binary(min_size=2 * width * len(ops), max_size=2 * width * len(ops))))

    def image() -> PlainImage:
        cells: dict[str, str | None] = {}
        for column in table.columns:
            pool = pools["number" if column.kind in NUMERIC else column.kind if column.kind == "boolean" else "text"]
            choice = next(codes) % (len(pool) + 2)
            if choice:  # 0 is missing
                cells[column.name] = None if choice == 1 else pool[choice - 2]
        return cells

    result = []
    for op in ops:
        before, after = image(), image()
        has_before = op == "D" or (op == "U" and draw(st.integers(0, 3)) > 0)
        result.append(
            PlainOperation(
                op,
                draw(st.one_of(st.none(), st.just("2013-06-02 22:14:36.000000"), texts)),
                draw(st.one_of(st.none(), st.just("00000000000000001444"), texts)),
                before if has_before else None,
                after if op in "IU" else None,
                draw(st.one_of(st.just({}), st.dictionaries(texts, texts, max_size=3))),
            )
        )
    return result


@dataclass(frozen=True)
class Changes:
    """A table, operations of it, and whether missing values are null in the arrays or hold something meaningless."""

    table: PlainTable
    operations: list[PlainOperation]
    garbage: bool


@st.composite
def changes(draw: st.DrawFn, /, **options: Any) -> Changes:
    table = draw(tables())
    return Changes(table, draw(operations(table, **options)), draw(st.booleans()))


_words = {
    name: st.one_of(st.just(word), texts)
    for name, word in zip(("insert_op_key", "update_op_key", "delete_op_key", "truncate_op_key"), "IUDT", strict=True)
}

delimited_options = st.fixed_dictionaries(
    {
        **{
            name: st.booleans()
            for name in (
                "include_column_names",
                "include_op_timestamp",
                "include_current_timestamp",
                "include_op_type",
                "include_table_name",
                "include_position",
                "iso8601_format",
            )
        },
        **_words,
        "field_delimiter": st.one_of(st.sampled_from(["|", "\x01", "\t"]), texts),
        "line_delimiter": st.one_of(st.sampled_from(["\n", "\r\n"]), texts),
        "key_value_delimiter": st.one_of(st.just("="), texts),
        "key_value_pair_delimiter": st.one_of(st.just(","), texts),
        "null_value_representation": st.one_of(st.just("NULL"), texts),
        "missing_value_representation": st.one_of(st.just(""), texts),
    }
)

json_options = st.fixed_dictionaries(
    {
        **{
            name: st.booleans()
            for name in ("pretty_print", "treat_all_columns_as_strings", "iso8601_format", "include_primary_keys")
        },
        **_words,
        "json_delimiter": st.one_of(st.sampled_from(["", "\n"]), texts),
    }
)


def table_def(table: PlainTable) -> TableDef:
    return TableDef(
        table.name, tuple(Column(column.name, SqlType(Kind(column.kind)), key=column.key) for column in table.columns)
    )


def _image(table: PlainTable, images: Sequence[PlainImage | None], garbage: bool) -> Image:
    absent = GARBAGE if garbage else None
    columns = []
    for column in table.columns:
        values = [(image or {}).get(column.name, absent) for image in images]
        present = [image is not None and column.name in image for image in images]
        columns.append(
            ImageColumn(pa.array(values, pa.string()), None if all(present) else pa.array(present, pa.bool_()))
        )
    exists = [image is not None for image in images]
    return Image(tuple(columns), None if all(exists) else pa.array(exists, pa.bool_()))


def make_batch(changes: Changes, definition: TableDef | None = None) -> ChangeBatch:
    table, ops = changes.table, changes.operations
    return ChangeBatch(
        definition or table_def(table),
        pa.array([op.op for op in ops], pa.string()),
        pa.array([op.op_ts for op in ops], pa.string()),
        pa.array([op.pos for op in ops], pa.string()),
        _image(table, [op.before for op in ops], changes.garbage),
        _image(table, [op.after for op in ops], changes.garbage),
        pa.array(range(len(ops)), pa.int64()),
        token_maps(op.tokens for op in ops),
    )


_A = TypeVar("_A", bound="pa.Array[Any]")


def slice_batch(batch: ChangeBatch, start: int, stop: int) -> ChangeBatch:
    """The operations from `start` to `stop`, as arrays that are views with an offset."""

    def view(array: _A) -> _A:
        return array.slice(start, stop - start)

    def view_if_any(array: _A | None) -> _A | None:
        return None if array is None else view(array)

    def image(whole: Image) -> Image:
        columns = (ImageColumn(view(column.values), view_if_any(column.present)) for column in whole.columns)
        return Image(tuple(columns), view_if_any(whole.exists))

    arrays: Mapping[str, Any] = {
        field.name: view_if_any(getattr(batch, field.name))
        for field in fields(batch)
        if field.name not in ("table", "before", "after")
    }
    return replace(batch, before=image(batch.before), after=image(batch.after), **arrays)


def plain_operations(batch: ChangeBatch) -> list[PlainOperation]:
    """The operations of a batch, row by row."""

    def image(whole: Image, row: int) -> PlainImage | None:
        if whole.exists is not None and not whole.exists[row].as_py():
            return None
        return {
            name: column.values[row].as_py()
            for name, column in zip(batch.table.column_names, whole.columns, strict=True)
            if column.present is None or column.present[row].as_py()
        }

    return [
        PlainOperation(
            batch.op[row].as_py(),
            batch.op_ts[row].as_py(),
            batch.position[row].as_py(),
            image(batch.before, row),
            image(batch.after, row),
            {} if batch.tokens is None else dict(batch.tokens[row].as_py()),
        )
        for row in range(len(batch))
    ]
