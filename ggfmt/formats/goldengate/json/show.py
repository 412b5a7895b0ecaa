"""JSON, shown: the message with its names and values, and the delimiter behind it."""

from __future__ import annotations

from ggfmt.formats.api.show import ShownMessage, ShownPiece, TextShow, json_lines


class JsonShow(TextShow):
    def text(self, text: str) -> ShownMessage:
        lines, delimiter = json_lines(text)
        return ShownMessage((*lines[:-1], (*lines[-1], ShownPiece("delimiter", delimiter))))
