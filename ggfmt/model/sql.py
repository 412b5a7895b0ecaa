"""SQL as text. A name or a text from data enters it only as an identifier or a literal of a `SqlDialect`, and only `sql`
and `joined` put pieces together: their first argument is a constant of the program. mypy refuses a `str` in place of
`Sql`, and a test of the project refuses other constructors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NewType

from ggfmt.dataclasses import dataclass, field

Sql = NewType("Sql", str)  # a piece of SQL


class UnquotableError(ValueError):
    """A name that a dialect cannot write; the message says why."""


def sql(template: str, /, *pieces: Sql | int, **named: Sql | int) -> Sql:
    """Return a template with pieces of SQL in place of its fields, as in `str.format`."""
    return Sql(template.format(*pieces, **named))


def joined(separator: str, pieces: Iterable[Sql]) -> Sql:
    return Sql(separator.join(pieces))


def type_of_manifest(text: str) -> Sql:
    """Return the name of a type, as manifests have it. Raises: UnquotableError for a text that is no type."""
    if not re.fullmatch(r"[a-zA-Z0-9_ ,()<>\[\]]+", text):
        raise UnquotableError("a type in the manifest is damaged")
    return Sql(text)


@dataclass(frozen=True)
class SqlDialect:
    """How a system quotes.

    quote    the quote of names
    names    replacements of characters in names, besides that of the quote
    texts    replacements of characters in literals
    refused  characters that no name can have, as it cannot be empty; None: a name may be any text
    """

    quote: str
    names: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=lambda: {"'": "''"})
    refused: str | None = "\0"

    def identifier(self, *names: str) -> Sql:
        """Return names in quotes, with dots between them. Raises: UnquotableError."""
        return joined(".", map(self._identifier, names))

    def _identifier(self, name: str) -> Sql:
        wrong = next((character for character in self.refused or "" if character in name), None)
        if wrong is not None or (not name and self.refused is not None):
            raise UnquotableError("a name is empty" if not name else f"a name has the character {wrong!r}")
        escapes = {self.quote: self.quote * 2, **self.names}
        return Sql(f"{self.quote}{_escaped(name, escapes)}{self.quote}")

    def literal(self, text: str) -> Sql:
        """Return a text as a string literal. Raises: UnquotableError."""
        if "\0" in text and "\0" not in self.texts:
            raise UnquotableError("a text has the character NUL")
        return Sql(f"'{_escaped(text, self.texts)}'")


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join([escapes.get(character, character) for character in text])


_BACKSLASHES = {chr(code): f"\\{code:03o}" for code in range(0x20)}
_BACKSLASHES |= {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

POSTGRESQL = SqlDialect('"')  # with `standard_conforming_strings`
ANSI, MYSQL = SqlDialect('"', refused=None), SqlDialect("`", refused=None)  # as messages have statements
SPARK = SqlDialect("`", refused=None)  # of schemas of frames
HIVE = SqlDialect("`", texts=_BACKSLASHES)  # of statements for Spark and Databricks too
SNOWFLAKE = SqlDialect('"', texts=_BACKSLASHES)
# A dot in quotes divides names, as outside of them.
BIGQUERY = SqlDialect("`", {**_BACKSLASHES, "`": "\\`", "'": "'"}, _BACKSLASHES, refused="\0.")
