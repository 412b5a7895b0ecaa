"""Templates for topics, keys, streams and the like: those of Kafka have values, ggfmt checks the keywords of others.

Keywords are compared without regard to case (GoldenGate for Big Data 12.3.2.1, 10.3.5, and later releases).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggfmt.diagnostics.diagnostic import did_you_mean, list_names
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.options import templates
from ggfmt.options.templates import COUNTS, NameTemplate, OfOperation, Piece, parse_pieces
from ggfmt.options.value_types import Text, ValueType, unwrap_cdata

# Those that have a value in messages of a transaction as a whole; any other keyword then ends GoldenGate's run.
OF_TRANSACTIONS = ("position", "opTimestamp", "emptyString", "groupName", "currentTimestamp", "null")

# Keywords that have no value, or that GoldenGate's manuals do not describe well enough.
_UNKNOWN_VALUES = templates.UNKNOWN_VALUES | {
    "opType": "may be a letter or a word: what GoldenGate writes is not known",
}
_KEYWORDS = (*OF_TRANSACTIONS, *(name for name in templates.KEYWORDS if name not in (*OF_TRANSACTIONS, *COUNTS)))
_OF_OPERATIONS = _KEYWORDS[len(OF_TRANSACTIONS) :]
_KEYWORD = re.compile(r"\$\{\s*([A-Za-z]*)")
_NULL = OfOperation("null")


class MessageTemplate(ValueType[str]):
    """A template for the topic or the key of a message."""

    legal = "a template"

    def parse(self, text: str) -> str:
        template = unwrap_cdata(text)
        for word, place in keywords(template):
            near = did_you_mean(word, _KEYWORDS)
            if near is not None and near.lower() != word.lower():
                message = f"has no keyword `${{{visible(word)}}}`"
                raise InvalidValueError(message, f"did you mean `{near}`?", template[slice(*place)])
        if template.count("{") > template.count("}"):
            raise InvalidValueError(
                "has a `${` that is not closed", "close it with `}`", template[template.rfind("${") :]
            )
        return template


def keywords(template: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the keywords of a template, those within others too, and the place of each with its `${`."""
    for match in _KEYWORD.finditer(template):
        yield match[1], match.span()


def of_one_operation(template: str) -> str | None:
    """Return the first keyword that has no value for a transaction as a whole, as the template has it."""
    known = {name.lower() for name in _OF_OPERATIONS}
    return next((word for word, _ in keywords(template) if word.lower() in known), None)


def parse_message_template(template: str) -> tuple[Piece, ...]:
    """Parse the template of topics or keys for messages of one operation each; empty for `${null}` alone.

    Raises: InvalidValueError also for a keyword without a value, and for `${null}` beside something else.
    """
    template = Text().parse(template)
    if not template:
        raise InvalidValueError("is empty", "write `${emptyString}` for an empty text, or `${null}` for no key")
    known = set(map(str.lower, _KEYWORDS))
    for word, place in keywords(template):
        if word.lower() not in known:
            help = f"keywords are {list_names(name for name in _KEYWORDS if name not in _UNKNOWN_VALUES)}"
            raise InvalidValueError(f"has no keyword `${{{visible(word)}}}`", help, template[slice(*place)])
        unknown = next((name for name in _UNKNOWN_VALUES if name.lower() == word.lower()), None)
        if unknown is not None:
            message = f"has `${{{unknown}}}`, which {_UNKNOWN_VALUES[unknown]}"
            raise InvalidValueError(message, "use another keyword, or a text of your own", template[slice(*place)])
    pieces = NameTemplate(template, parse_pieces(template))
    nulls = [piece for piece in pieces.all() if piece == _NULL]
    if nulls and pieces.pieces != (_NULL,):
        raise InvalidValueError("has `${null}` beside something else", "write `${emptyString}` for no text")
    return () if nulls else pieces.pieces
