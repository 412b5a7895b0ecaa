"""What one `operation` element says: its table, its columns in order, and their values before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ggfmt.columnar.from_python import MISSING
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.records.problems import name_problem
from ggfmt.formats.records.refused import legal_values
from ggfmt.model.change import OpType

_ATTRIBUTES = frozenset({"table", "type", "ts", "current_ts", "pos", "numCols"})
_TRUE = ("true", "1")
# For each operation type, the image that it cannot have.
_SURPLUS = {"I": ("before",), "U": (), "D": ("after",), "T": ("before", "after")}


@dataclass(slots=True)
class XmlOperation:
    """An operation as it is written. `before` and `after` are in the order of `columns`; None is NULL, `MISSING` a
    missing value. `type` is the word that the message has, `kind` what it stands for where that is known;
    `unknown` names what the format does not know."""

    table: str
    type: str | None
    op_ts: str | None
    position: str | None
    columns: tuple[str, ...]
    before: list[str | None]
    after: list[str | None]
    tokens: dict[str, str]
    unknown: list[str]
    kind: str = ""

    @property
    def has_before(self) -> bool:
        return self.before.count(MISSING) < len(self.before)

    @property
    def has_after(self) -> bool:
        return self.after.count(MISSING) < len(self.after)


def examine(element: Any, with_tokens: bool) -> XmlOperation | Diagnostic:
    """The operation of an element, or what is wrong with it whatever its type and its table's definition are.

    A Diagnostic is handed through.
    """
    if isinstance(element, Diagnostic):
        return element
    if element.tag != "operation":
        return _malformed("the record is no `operation` element", Span())
    table = element.get("table")
    problem = _table_problem(table)
    if problem is not None:
        return problem
    operation = XmlOperation(table, element.get("type"), element.get("ts"), element.get("pos"), (), [], [], {}, [])
    operation.unknown += [name for name in element.keys() if name not in _ATTRIBUTES]  # noqa: SIM118 - no dict
    here = Span(table=table, position=operation.position)
    names = []
    for child in element:
        if child.tag == "col":
            names.append(child.get("name"))
            try:
                _add_values(child, operation)
            except ValueError as error:
                return _malformed(str(error), Span(table=table, field=names[-1], position=operation.position))
        elif child.tag != "tokens":
            operation.unknown.append(child.tag)
        elif with_tokens:
            operation.tokens = {
                token.findtext("Name") or "": token.findtext("Value") or "" for token in child.iterchildren("token")
            }
    operation.columns = tuple(names)
    reason = _columns_problem(operation.columns)
    declared = element.get("numCols")
    if reason is None and declared is not None and declared.strip() != str(len(names)):
        reason = f"`numCols` is not {len(names)}, the number of the columns"
    return operation if reason is None else _malformed(reason, here)


def _add_values(column: Any, operation: XmlOperation) -> None:
    """Adds the values of a `col` element; ValueError, with the reason, if it is not one."""
    before: str | None = MISSING
    after: str | None = MISSING
    for child in column:
        tag = child.tag
        if tag == "before":
            before = _value(child)
        elif tag == "after":
            after = _value(child)
        elif tag != "missing":
            operation.unknown.append(tag)
    operation.before.append(before)
    operation.after.append(after)


def _value(element: Any) -> str | None:
    if len(element):
        raise ValueError("a value has elements inside")
    text: str | None = element.text
    if text is None or text.isspace():
        if element.get("missing") in _TRUE:
            return MISSING
        return None if element.get("isNull") in _TRUE else text or ""
    return text


def misfit(operation: XmlOperation, kind: str | None, kinds: Mapping[str, str]) -> Diagnostic | None:
    """What is wrong with the type of an operation, which is `kind`, or with its images as far as the type tells."""
    here = Span(table=operation.table, position=operation.position)
    legal = legal_values(kinds)
    if operation.type is None:
        return Diagnostic("GG305", "the operation has no `type`", here, legal)
    if kind is None:
        word = operation.type if len(operation.type) <= 40 else operation.type[:37] + "..."
        return Diagnostic("GG304", f"`type` cannot be `{word}`", here, legal)
    has = {"before": operation.has_before, "after": operation.has_after}
    surplus = [image for image in _SURPLUS[kind] if has[image]]
    if not surplus:
        return None
    name = OpType(kind).name.lower()
    article = {True: "an", False: "a"}
    images = " and ".join(f"{article[image == 'after']} {image} image" for image in surplus)
    return Diagnostic("GG307", f"{article[name[0] in 'aeiou']} {name} has {images}", here)


@lru_cache(maxsize=1024)
def _table_problem(name: str | None) -> Diagnostic | None:
    if name is None:
        return Diagnostic("GG305", "the operation has no `table`", help="every operation must name its table")
    return name_problem(name)


@lru_cache(maxsize=1024)
def _columns_problem(names: tuple[str | None, ...]) -> str | None:
    if None in names:
        return "a `col` element has no `name`"
    return None if len(set(names)) == len(names) else "two `col` elements have the same `name`"


def _malformed(reason: str, place: Span) -> Diagnostic:
    return Diagnostic("GG312", reason, place)
