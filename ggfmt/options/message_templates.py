"""Templates for topics, keys, streams and the like, of which ggfmt writes none: it checks their keywords alone.

Keywords are compared without regard to case (GoldenGate for Big Data 12.3.2.1, 10.3.5, and later releases).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggfmt.diagnostics.diagnostic import did_you_mean
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.options.value_types import ValueType, unwrap_cdata

# Those that have a value in messages of a transaction as a whole; any other keyword then ends GoldenGate's run.
OF_TRANSACTIONS = ("position", "opTimestamp", "emptyString", "groupName", "currentTimestamp", "null")

_OF_OPERATIONS = (
    *("fullyQualifiedTableName", "catalogName", "schemaName", "tableName", "opType", "primaryKeys", "staticMap"),
    *("columnValue", "custom", "toLowerCase", "toUpperCase", "substring", "regex", "xid", "csn", "token", "uuid"),
    *("static", "concat", "env", "javaProp"),
)
_KEYWORDS = (*OF_TRANSACTIONS, *_OF_OPERATIONS)
_KEYWORD = re.compile(r"\$\{\s*([A-Za-z]*)")


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
