"""Statements as DTS has them: texts, in which a table may have a schema or a database."""

from __future__ import annotations

from ggfmt.formats.dts.types import MYSQL, ORACLE, POSTGRESQL, like
from ggfmt.formats.records.statements import Effect, Name, Resolve, What, effects_of, unquoted
from ggfmt.model import sql

# DTS writes a dot inside a name in this way. Full names in the model use dots as separators, so it stays escaped.
ESCAPED_DOT = "\\u002E"

_SCHEMAS = {ORACLE, POSTGRESQL, "SQLServer"}  # sources whose tables have a schema besides their database


class NoTable(ValueError):
    """The statement does not name the table that it empties; the message says what is missing."""


def is_truncate(statement: str) -> bool:
    return any(effect.what is What.TRUNCATE for effect in effects_of(statement))


def truncated(statement: str, object_name: str | None, source_type: str) -> list[str]:
    """Return the full names of the tables that a TRUNCATE empties. Raises: NoTable if it does not name them."""
    effect = next(effect for effect in effects_of(statement) if effect.what is What.TRUNCATE)
    if "." in (object_name or "") and len(effect.names) < 2:
        return [str(object_name)]
    if not effect.names:
        raise NoTable("the TRUNCATE does not name its table in SQL syntax")
    resolve = resolver(object_name, source_type)
    names = [resolve(effect, name) for name in effect.names]
    found = [name for name in names if name is not None]
    if len(found) < len(names):
        of_schema = like(source_type) in _SCHEMAS
        raise NoTable(f"the TRUNCATE does not name the {'schema' if of_schema else 'database'} of its table")
    return found


def resolver(object_name: str | None, source_type: str) -> Resolve:
    """Return how names in a statement are resolved. `object_name`: that of its record, of a table or a database."""
    source = like(source_type)
    parts = object_name.split(".") if object_name else []
    before = parts[:-1] if len(parts) > 1 else parts
    wanted = 3 if source in _SCHEMAS else 2

    def resolve(effect: Effect, name: Name) -> str | None:
        own = [_plain(part, source) for part in name]
        full = own if effect.what is What.DROP_DATABASE else [*before[: max(0, wanted - len(own))], *own]
        return ".".join(full) if len(full) >= wanted or effect.what is What.DROP_DATABASE else None

    return resolve


def statement(parts: tuple[str, ...], source_type: str) -> str:
    dialect = sql.MYSQL if source_type == MYSQL else sql.ANSI
    names = (part.replace(ESCAPED_DOT, ".") for part in parts[-2:])
    return sql.sql("TRUNCATE TABLE {}", dialect.identifier(*names))


def _plain(part: str, source: str) -> str:
    """Remove the quotes from a part of a name, as DTS does."""
    text = unquoted(part)
    if text == part:
        text = part.upper() if source == ORACLE else part.lower() if source == POSTGRESQL else part
    return text.replace(".", ESCAPED_DOT)
