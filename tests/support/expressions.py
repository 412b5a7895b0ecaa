"""Expressions of parameter files, made without the parser, and what they are for operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.columnar.columns import text_column, texts, token_maps
from ggfmt.diagnostics.diagnostic import Span
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.replicat.engine import CompiledMapping, compile_mapping
from ggfmt.replicat.statements import (
    Call,
    ColumnMapping,
    ColumnReference,
    Expression,
    Filter,
    MapStatement,
    NumberLiteral,
    ObjectName,
    Operation,
    TextLiteral,
    WrittenName,
)
from ggfmt.replicat.values import RowImages

MISSING, UNDECIDED = "<missing>", "<undecided>"
TABLE = TableDef(
    "GG.T",
    (
        Column("A", SqlType(Kind.NUMBER), key=1),
        Column("B", SqlType(Kind.DECIMAL)),
        Column("C", SqlType(Kind.STRING)),
        Column("D", SqlType(Kind.STRING)),
        Column("F", SqlType(Kind.DOUBLE)),
    ),
)


def span() -> Span:
    return Span(file="r.prm", line=3, column=5)


def column(name: str, image: str = "AFTER", quoted: bool = False) -> ColumnReference:
    return ColumnReference(WrittenName(name, quoted), span(), image)


def number(text: str) -> NumberLiteral:
    return NumberLiteral(text, span())


def text(text: str) -> TextLiteral:
    return TextLiteral(text, span())


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments, span())


def operation(symbol: str, left: Expression | None, right: Expression, enclosed: bool = False) -> Operation:
    return Operation(symbol, left, right, span(), enclosed)


def enclosed(symbol: str, left: Expression, right: Expression) -> Operation:
    return operation(symbol, left, right, True)


def statement(
    columns: Mapping[str, Expression] | None = None,
    filters: Sequence[Filter] = (),
    defaults: bool = True,
    **more: Any,
) -> MapStatement:
    name = ObjectName((WrittenName("T"),), span())
    pairs = None
    if columns is not None:
        pairs = tuple(ColumnMapping(WrittenName(name), value, span()) for name, value in columns.items())
    return MapStatement(name, name, span(), columns=pairs, defaults=defaults, filters=tuple(filters), **more)


def condition(expression: Expression, tested: str = "IUD", is_where: bool = False) -> Filter:
    return Filter(expression, span(), tested, is_where)


def batch_of(rows: Sequence[Mapping[str, Any]], table: TableDef = TABLE) -> ChangeBatch:
    """Return operations with one image each. A row has values of columns, NULL if it has none, and `op`, `before` and
    `tokens`."""
    ops = [row.get("op", "I") for row in rows]
    old = [row if op == "D" else row.get("before") for op, row in zip(ops, rows, strict=True)]
    new = [None if op == "D" else row for op, row in zip(ops, rows, strict=True)]
    tokens = [row.get("tokens", {}) for row in rows]
    return ChangeBatch(
        table,
        texts(ops),
        texts(["2024-01-01 00:00:00.000000"] * len(rows)),
        texts([str(number) for number in range(len(rows))]),
        _image(old, table),
        _image(new, table),
        pa.array(range(len(rows)), pa.int64()),
        token_maps(tokens) if any(tokens) else None,
    )


def _image(rows: Sequence[Mapping[str, Any] | None], table: TableDef) -> Image:
    columns = []
    for name in table.column_names:
        values = [None if row is None else row.get(name) for row in rows]
        present = pa.array([value != MISSING for value in values], pa.bool_())
        garbage = ["no value" if value == MISSING else value for value in values]
        columns.append(ImageColumn(text_column(garbage).values, None if all(present.to_pylist()) else present))
    return Image(tuple(columns), pa.array([row is not None for row in rows], pa.bool_()))


def results(mapping: CompiledMapping, batch: ChangeBatch) -> list[Any]:
    """Return what the last column of a mapping gets, or whether the condition of its only filter holds."""
    evaluate = mapping.filters[0][1] if mapping.filters else (mapping.columns or ())[-1].evaluate
    assert evaluate is not None
    found = evaluate(RowImages(batch, mapping.reasons))
    values: list[Any] = found.values.to_pylist()
    for row in range(len(batch)):
        if found.undecided is not None and found.undecided[row].is_valid:
            values[row] = UNDECIDED
        elif found.missing is not None and found.missing[row].as_py():
            values[row] = MISSING
    return values


def compute(expression: Expression, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    return results(compile_mapping(statement({"NEW": expression}), TABLE), batch_of(rows))


def decide(expression: Expression, rows: Sequence[Mapping[str, Any]], is_where: bool = False) -> list[Any]:
    return results(compile_mapping(statement(None, [condition(expression, is_where=is_where)]), TABLE), batch_of(rows))
