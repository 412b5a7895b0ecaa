"""TRUNCATE as DTS has it: the text of a statement, in which the table may have a schema or a database."""

from __future__ import annotations

import re

from ggfmt.formats.dts.types import MYSQL, ORACLE, POSTGRESQL, like

# DTS writes a dot inside a name in this way. Full names in the model use dots as separators, so it stays escaped.
ESCAPED_DOT = "\\u002E"

_IGNORED = r"(?:\s+|/\*(?!!).*?\*/|--[^\n]*(?:\n|$)|\#[^\n]*(?:\n|$))"
_TRUNCATE = re.compile(
    rf"{_IGNORED}*truncate\b(?!{_IGNORED}*cluster\b)(?:{_IGNORED}*table\b)?", re.IGNORECASE | re.DOTALL
)
_NAME = r"`(?:``|[^`])+`|\"(?:\"\"|[^\"])+\"|\[[^\]]+\]|[\w$#@]+"
_FULL_NAME = re.compile(
    rf"{_IGNORED}*(?:only\b{_IGNORED}*)?((?:{_NAME})(?:\s*\.\s*(?:{_NAME}))*)", re.IGNORECASE | re.DOTALL
)
_PART = re.compile(_NAME)
_COMMA = re.compile(rf"{_IGNORED}*,", re.DOTALL)
_SCHEMAS = {ORACLE, POSTGRESQL, "SQLServer"}  # sources whose tables have a schema besides their database


class NoTable(ValueError):
    """The statement does not name the table that it empties; the message says what is missing."""


def is_truncate(statement: str) -> bool:
    return _TRUNCATE.match(statement) is not None


def truncated(statement: str, object_name: str | None, source_type: str) -> list[str]:
    """Return the full names of the tables that a TRUNCATE empties.

    Raises: NoTable if the statement does not name them.
    """
    named = _named(statement, like(source_type))
    parts = (object_name or "").split(".") if object_name else []
    if len(parts) > 1 and len(named) < 2:
        return [".".join(parts)]
    if not named:
        raise NoTable("the TRUNCATE does not name its table in SQL syntax")
    wanted = 3 if like(source_type) in _SCHEMAS else 2
    before = parts[:-1] if len(parts) > 1 else parts
    names = []
    for name in named:
        full = [*before[: max(0, wanted - len(name))], *name]
        if len(full) < wanted:
            raise NoTable(f"the TRUNCATE does not name the {'schema' if wanted == 3 else 'database'} of its table")
        names.append(".".join(full))
    return names


def statement(parts: tuple[str, ...], source_type: str) -> str:
    """Return a TRUNCATE statement for a table, from the parts of its name."""
    quote = "`" if source_type == MYSQL else '"'
    names = (part.replace(ESCAPED_DOT, ".").replace(quote, quote * 2) for part in parts[-2:])
    return f"TRUNCATE TABLE {'.'.join(quote + name + quote for name in names)}"


def _named(statement: str, source: str) -> list[list[str]]:
    """Return the table names in a TRUNCATE, each as a list of parts; none if the statement is not understood."""
    head = _TRUNCATE.match(statement)
    place = head.end() if head else 0
    names = []
    while True:
        name = _FULL_NAME.match(statement, place)
        if name is None:
            return []
        names.append([_plain(part[0], source) for part in _PART.finditer(name[1])])
        comma = _COMMA.match(statement, name.end())
        if comma is None:
            return names
        place = comma.end()


def _plain(part: str, source: str) -> str:
    """Remove the quotes from a part of a name, as DTS does."""
    if part[0] in '`"[':
        text = part[1:-1].replace(part[0] * 2, part[0])
    else:
        text = part.upper() if source == ORACLE else part.lower() if source == POSTGRESQL else part
    return text.replace(".", ESCAPED_DOT)
