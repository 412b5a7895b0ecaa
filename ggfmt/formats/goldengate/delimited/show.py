"""Delimited text, shown: the line, and its fields as a reader would find them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ggfmt.formats.api.show import Line, ShownField, ShownMessage, ShownPiece, TextShow
from ggfmt.formats.goldengate.delimited import DelimitedOptions


class DelimitedTextShow(TextShow):
    """`names` are those of the fields, `value_places` the places of those with values, counted from 0."""

    def __init__(self, names: Sequence[str], value_places: Collection[int], options: DelimitedOptions) -> None:
        super().__init__(options.encoding)
        self._options = options
        self._names = names
        self._value_places = value_places

    def text(self, text: str) -> ShownMessage:
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
        return ShownMessage((whole,), self._fields(values), tuple(self._warnings(body, len(values))))

    def _fields(self, values: list[str]) -> tuple[ShownField, ...]:
        names = (*self._names, *["(no name)"] * (len(values) - len(self._names)))
        return tuple(
            ShownField(name, value, self._remark(number, value))
            for number, (name, value) in enumerate(zip(names, values, strict=False))
        )

    def _remark(self, number: int, value: str) -> str:
        """What a field stands for, where its text alone does not say it."""
        states = ["empty"] * (not value)
        if number in self._value_places:
            states += ["NULL"] * (value == self._options.null_value_representation)
            states += ["missing"] * (value == self._options.missing_value_representation)
        return " or ".join(states)

    def _warnings(self, body: str, count: int) -> list[str]:
        warnings = []
        if count != len(self._names):
            warnings.append(f"a reader finds {count} fields where {len(self._names)} were written")
        delimiter = self._options.line_delimiter
        if delimiter and delimiter in body:
            warnings.append(f"a reader finds {body.count(delimiter) + 1} lines where one was written")
        return warnings
