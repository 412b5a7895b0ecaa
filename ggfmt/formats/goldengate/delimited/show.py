"""Delimited text, shown: the line, and its fields as a reader would find them."""

from __future__ import annotations

from ggfmt.formats.api.show import Line, Shown, ShownField, ShownPiece, TextShow
from ggfmt.formats.api.writing import Formatter
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions


class DelimitedTextShow(TextShow):
    def __init__(self, formatter: Formatter, options: DelimitedTextOptions) -> None:
        super().__init__(options.encoding)
        self._options = options
        self._names = formatter.fields
        self._metadata = len(formatter.fields) - len(formatter.table.columns) * (1 + options.include_column_names)

    def text(self, text: str) -> Shown:
        options = self._options
        ending = options.line_delimiter if text.endswith(options.line_delimiter) else ""
        body = text.removesuffix(ending)
        values = body.split(options.field_delimiter) if options.field_delimiter else [body]
        line: list[ShownPiece] = []
        for number, value in enumerate(values):
            if number:
                line.append(ShownPiece("delimiter", options.field_delimiter))
            line.append(ShownPiece("null" if self._remark(number, value) else "value", value))
        whole: Line = (*line, ShownPiece("delimiter", ending))
        return Shown((whole,), self._fields(values), tuple(self._warnings(body, len(values))))

    def _fields(self, values: list[str]) -> tuple[ShownField, ...]:
        names = (*self._names, *["(no name)"] * (len(values) - len(self._names)))
        return tuple(
            ShownField(name, value, self._remark(number, value))
            for number, (name, value) in enumerate(zip(names, values, strict=False))
        )

    def _remark(self, number: int, value: str) -> str:
        """What a field stands for, where its text alone does not say it."""
        states = ["empty"] * (not value)
        if self._is_value(number):
            states += ["NULL"] * (value == self._options.null_value_representation)
            states += ["missing"] * (value == self._options.missing_value_representation)
        return " or ".join(states)

    def _is_value(self, number: int) -> bool:
        """Whether the field at a place, counted from 0, has the value of a column."""
        behind = number - self._metadata
        return behind >= 0 and (behind % 2 == 1 or not self._options.include_column_names)

    def _warnings(self, body: str, count: int) -> list[str]:
        warnings = []
        if count != len(self._names):
            warnings.append(f"a reader finds {count} fields where {len(self._names)} were written")
        delimiter = self._options.line_delimiter
        if delimiter and delimiter in body:
            warnings.append(f"a reader finds {body.count(delimiter) + 1} lines where one was written")
        return warnings
