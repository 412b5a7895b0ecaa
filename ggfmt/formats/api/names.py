"""The check of the names in messages: no record of a message has a name twice, and names are legal in its encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.model.table import TableDef

TEMPLATE = "metaColumnsTemplate"


class Name(NamedTuple):
    """A name in a message, and what it names, in words.

    property  the property of the format that sets it; empty if the format or the table does
    column    the column that it is made from; empty for none
    """

    text: str
    what: str
    property: str = ""
    column: str = ""


class NameProblem(NamedTuple):
    """Why messages cannot be written, and the properties that set the names; none if the table is the cause."""

    diagnostic: Diagnostic
    properties: Sequence[str]


Records = Iterable[Sequence[Name]]  # the names in each record, or object, of a message


def column_names(table: TableDef, flag: str = "", prefix: str = "", property: str = "") -> list[Name]:
    """Return the names of columns, each with those of its flag."""
    names = []
    for name in table.column_names:
        names.append(Name(prefix + name, "a column", property, name))
        if flag:
            names.append(Name(name + flag, f"the flag of `{name}`"))
    return names


def name_problem(records: Records, table: str, legal: Callable[[str], object] | None = None) -> NameProblem | None:
    """Return the first problem of the names in messages of a table. `legal`: whether a name is legal in Avro."""
    for record in records:
        seen: dict[str, Name] = {}
        for name in record:
            other = seen.setdefault(name.text, name)
            if legal is not None and not legal(name.text):
                message = f"`{name.text}`, the name of {name.what}, is not a legal Avro name"
            elif other is not name:
                message = f"messages would have the name `{name.text}` twice: for {other.what} and for {name.what}"
            else:
                continue
            involved = dict.fromkeys((other, name))
            properties = [each.property for each in involved if each.property]
            place = Span(table=table or None, field=name.column or other.column or None)
            code = "GG410" if legal is None else "GG206"
            return NameProblem(Diagnostic(code, message, place, _remedy(properties)), properties)
    return None


def _remedy(properties: Sequence[str]) -> str:
    if TEMPLATE in properties:
        return f"give the field another name in `{TEMPLATE}`: `${{keyword[name]}}`"
    if properties:
        return f"set another {' or '.join(f'`{property}`' for property in properties)}"
    return "set `gg.schemareplaceregex` and `gg.schemareplacestring` to replace the characters or the name"
