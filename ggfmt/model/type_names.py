"""Types by the names that databases and tools have for them: `double precision`, `NUMBER(*,2)`, `int(10) unsigned`.

`type_names.txt` has the names of each dialect. A type without such a name is a text (`SqlType.unknown`).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind, SqlType

UNSIGNED_DIGITS = 20  # of a number of 64 bits without a sign
_MAX_DIGITS = 38  # of Oracle's `NUMBER(*,s)`

_MAX_DIMENSIONS = 6  # of an array in PostgreSQL
_NUMBERS = lazy_regex(r"\(((?:[^()']|'(?:[^'\\]|\\.)*')*)\)")
_SIZE = lazy_regex(r"\s*(-? ?[0-9]{1,9})\s*(?:char|byte|octets|codeunits[0-9]+|[kmg])?\s*", re.IGNORECASE)
_ARRAY = lazy_regex(r" ?(?:\[ ?[0-9]* ?\]|\barray)$", re.IGNORECASE)
_SCHEMA = lazy_regex(r"^(?:pg_catalog|public|extensions|sys|sysibm|mdsys)\.")  # of types that come with a database
_WORDS = r"(?:signed|ascii|unicode|compressed|binary)(?= |$)"  # of MySQL
# What may follow a type, and does not change its values
_CLAUSES = lazy_regex(rf" (?:character set|charset|collate|ccsid) \S+| for (?:sbcs|mixed) data| {_WORDS}")
_OF_BYTES = lazy_regex(r" (?:character set|charset) binary\b")
_UNSIGNED = lazy_regex(r" (?:unsigned|zerofill)\b")  # in MySQL, the second implies the first


class TypeRule(NamedTuple):
    """The kind of a type, and the facts beside it in `type_names.txt`."""

    kind: Kind
    facts: tuple[str, ...] = ()


@cache
def rules() -> dict[str, dict[str, TypeRule]]:
    """Return the rules by dialect and name."""
    found: dict[str, dict[str, TypeRule]] = {}
    for line in (pkgutil.get_data(__package__, "type_names.txt") or b"").decode().splitlines():
        if line.startswith("["):
            names = found.setdefault(line[1:-1], {})
        elif line and line[0] != "#":
            head, _, listed = line.partition(": ")
            kind, *facts = head.split()
            names.update(dict.fromkeys(listed.split(", "), TypeRule(Kind(kind), tuple(facts))))
    return found


@lru_cache(maxsize=4096)
def type_of(text: str, dialect: str, complete: bool = True) -> SqlType:
    """Return the type that a text means in a dialect. `complete`: sizes that the text lacks are those of the manual;
    records may leave out sizes that the column has."""
    text = " ".join(text.split())
    if dialect == "postgres" and text.count("[") <= _MAX_DIMENSIONS and (array := _ARRAY.search(text)):
        item = type_of(text[: array.start()], dialect)
        return SqlType(Kind.STRING, item=item, unknown=item.unknown)
    found = _NUMBERS.search(text)
    sizes = [_size(part) for part in found[1].split(",")] if found else []
    name = re.sub(" ?[.] ?", ".", " ".join(re.sub('["`]', "", _NUMBERS.sub(" ", text)).lower().split()))
    unsigned = dialect == "mysql" and _UNSIGNED.search(name) is not None
    plain = _CLAUSES.sub("", _UNSIGNED.sub("", name) if unsigned else name)
    rule = rule_of(_SCHEMA.sub("", plain), dialect)
    if rule is None:
        return unknown_type(text) if name else SqlType(Kind.STRING)
    if rule.kind is Kind.STRING and _OF_BYTES.search(name):
        rule = rule._replace(kind=Kind.BINARY)
    return sized_type(rule, sizes, unsigned, complete)


def rule_of(name: str, dialect: str) -> TypeRule | None:
    """Return the rule for a name in small letters, without numbers; None for a name that the dialect lacks."""
    return rules()[dialect].get(name)


def unknown_type(text: str) -> SqlType:
    return SqlType(Kind.STRING, unknown=re.sub(" ?([.,()]) ?", r"\1", " ".join(text.split()))[:60])


def _size(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    return None if found is None else int(found[1].replace(" ", ""))


def sized_type(rule: TypeRule, sizes: Sequence[int | None], unsigned: bool = False, complete: bool = True) -> SqlType:
    kind, facts = rule
    number, scale = (*sizes, None, None)[:2]
    number = None if number is not None and number < 0 else number
    digits = next((int(fact) for fact in facts if fact.isdecimal()), None)
    if kind is Kind.INTEGER:
        precision = int(facts[0][1:]) if facts[0].startswith("=") else UNSIGNED_DIGITS if digits == 64 else None
        if digits is None or unsigned:
            return SqlType(kind, precision=precision)
        return SqlType(kind, bits=digits if digits < 64 else None)
    if kind is Kind.DECIMAL and not number and scale is None:
        if "*" in facts:
            return SqlType(Kind.NUMBER)
        number, scale = map(int, facts) if complete and facts else (None, None)
        return SqlType(kind, precision=number, scale=scale)
    if kind is Kind.DECIMAL:
        return SqlType(kind, precision=number or _MAX_DIGITS, scale=scale or 0)
    if kind is Kind.FLOAT and facts:
        limit, by_default = int(facts[0].lstrip("=")), facts[0].startswith("=")
        is_single = by_default if number is None or scale is not None else number <= limit
        return SqlType(kind if is_single else Kind.DOUBLE)
    if kind is Kind.DATE:
        return SqlType(kind, timed="timed" in facts)
    if kind in (Kind.TIME, Kind.TIMESTAMP):
        return SqlType(kind, scale=digits if number is None else number, zoned="zoned" in facts)
    return SqlType(kind, length=number if "N" in facts else None)
