"""Templates for topics, keys, streams and the like: those of Kafka have values, ggfmt checks the keywords of others.

Keywords are compared without regard to case (GoldenGate for Big Data 12.3.2.1, 10.3.5, and later releases).
"""

from __future__ import annotations

from ggfmt.java.text import InvalidValueError
from ggfmt.options.templates import UNKNOWN_VALUES, Count, NameTemplate, OfOperation, Piece, parse_pieces, place_of
from ggfmt.options.value_types import Text, ValueType, unwrap_cdata

# Those that have a value in messages of a transaction as a whole; any other keyword then ends GoldenGate's run.
OF_TRANSACTIONS = ("position", "opTimestamp", "emptyString", "groupName", "currentTimestamp", "null")

# Keywords that have no value, or that GoldenGate's manuals do not describe well enough.
_UNKNOWN_VALUES = UNKNOWN_VALUES | {
    "opType": "may be a letter or a word: what GoldenGate writes is not known",
}
_NULL = OfOperation("null")


class MessageTemplate(ValueType[str]):
    """A template for the topic or the key of a message."""

    legal = "a template"

    def parse(self, text: str) -> str:
        read_message_template(text)
        return unwrap_cdata(text)


def read_message_template(text: str) -> NameTemplate:
    """Parse the trimmed value of a template for messages, also with keywords for which ggfmt has no value."""
    text = unwrap_cdata(text)
    template = NameTemplate(text, parse_pieces(text))
    for piece in template.all():
        if isinstance(piece, Count):
            message = f"has `${{{piece.keyword}}}`, which counts the operations of a file: messages are in none"
            raise InvalidValueError(message, "use another keyword", place_of(text, piece))
    return template


def of_one_operation(template: NameTemplate) -> str | None:
    """Return the first keyword that has no value for a transaction as a whole."""
    return next((piece.keyword for piece in template.all() if piece.keyword not in ("", *OF_TRANSACTIONS)), None)


def parse_message_template(text: str) -> tuple[Piece, ...]:
    """Parse the template of topics or keys for messages of one operation each; empty for `${null}` alone.

    Raises: InvalidValueError also for a keyword without a value, and for `${null}` beside something else.
    """
    if not Text().parse(text):
        raise InvalidValueError("is empty", "write `${emptyString}` for an empty text, or `${null}` for no key")
    template = read_message_template(text)
    for piece in template.all():
        reason = _UNKNOWN_VALUES.get(piece.keyword)
        if reason is not None:
            message = f"has `${{{piece.keyword}}}`, which {reason}"
            raise InvalidValueError(message, "use another keyword, or a text of your own", place_of(text, piece))
    nulls = [piece for piece in template.all() if piece == _NULL]
    if nulls and template.pieces != (_NULL,):
        raise InvalidValueError("has `${null}` beside something else", "write `${emptyString}` for no text")
    return () if nulls else template.pieces
