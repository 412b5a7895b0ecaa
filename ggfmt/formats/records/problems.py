"""Problems with records that several formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.reading import UnknownTable
from ggfmt.formats.json.files import AVRO_JSON
from ggfmt.formats.json.values import AVRO_TYPES, NestedValueError
from ggfmt.java.text import visible
from ggfmt.model.change import OpType
from ggfmt.model.table import split_name

# For each operation type: the images that it must not have, and the images that it must have.
IMAGE_RULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "I": (("before",), ("after",)),
    "U": ((), ("after",)),
    "D": (("after",), ("before",)),
    "T": (("before", "after"), ()),
}

# The errors that dialects raise for a record that should be an operation and is not, and their messages.

Decoded = TypeVar("Decoded")
MAX_SHOWN = 40  # characters of a word of the input in a message
MAX_MEMBERS = 5  # names of members in a message
NAME_TABLE = "every change must name its table"


class RecordError(Exception):
    """A record that should be an operation and is not; the diagnostic says why."""

    def __init__(
        self, code: str, message: str, help: str | None = None, table: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, Span(table=table, field=field), help)


class UndiscoveredTableError(RecordError):
    """A record that no reader can understand before a discovery has read the whole input (GG205)."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__("GG205", message, help)
        self.diagnostic = UnknownTable("GG205", message, help=help)


def missing_member_error(
    member: str, help: str | None = None, table: str | None = None, what: str = "the record"
) -> RecordError:
    """Return a GG305 error: `what` lacks a member."""
    return RecordError("GG305", f"{what} has no `{member}`", help, table)


def no_op(member: str, value: str, legal: Iterable[str], table: str | None = None, more: str = "") -> RecordError:
    """Return a GG304 error: the value of a member is not an operation type."""
    word = value if len(value) <= MAX_SHOWN else "..."
    return RecordError("GG304", f"`{member}` cannot be `{word}`", f"{legal_values(legal)}{more}", table)


def legal_values(words: Iterable[str]) -> str:
    return f"legal values are {', '.join(f'`{word}`' for word in words)}"


def decoded(decode: Callable[[Any], Decoded], data: Any, otherwise: str, table: str | None = None) -> Decoded:
    """Return the decoded data. Raises: RecordError (GG308) with `otherwise`, or the message of a `NestedValueError`."""
    try:
        return decode(data)
    except NestedValueError as error:
        raise RecordError("GG308", str(error), None, table) from None
    except (ValueError, RecursionError):
        raise RecordError("GG308", otherwise, None, table) from None


def avro_json(here: Span) -> Diagnostic:
    """Return GG321 for a record in Avro's JSON encoding."""
    return Diagnostic("GG321", f"the record is {AVRO_JSON.what}, which ggfmt does not read", here, AVRO_JSON.help)


def unexplained_object(table: str, column: str, members: Sequence[str]) -> Diagnostic:
    """Return GG322, or GG321 for Avro's JSON encoding, for a column of objects that all have the same members."""
    here = Span(table=table, field=column)
    if "." in column or (len(members) == 1 and members[0] in AVRO_TYPES):
        return avro_json(here)
    shown = ", ".join(f"`{visible(name)}`" for name in members[:MAX_MEMBERS])
    more = " and others" if len(members) > MAX_MEMBERS else ""
    reason = f"each value of the column is an object with the members {shown}{more}, and no schema describes it"
    help = (
        "if the objects are the values, declare the column as text with `--definitions`; otherwise configure the "
        "source to write plain values, or records with schemas"
    )
    return Diagnostic("GG322", reason, here, help)


def name_problem(name: str) -> Diagnostic | None:
    """Return GG306 if the table name is invalid, else None."""
    try:
        split_name(name)
    except ValueError as error:
        word = name if len(name) <= 80 else name[:77] + "..."
        help = "a table name is `[catalog.][schema.]table`"
        return Diagnostic("GG306", f"the table name `{word}` {error}", help=help)
    return None


def unknown_column(what: str, table: str, column: str, position: str | None = None, given: bool = True) -> Diagnostic:
    """Return GG204 for a column that a definition lacks; `given`: by the user, not by the data."""
    help = (
        "correct the definition, or leave it out of `--definitions` so that ggfmt infers it; for a metadata column, "
        "pass the writer's handler file with `--input-config`"
    )
    if not given:
        help = "the definition comes from an earlier record: also read the record that adds the column"
    reason = f"{what} has a column that the definition of the table lacks"
    return Diagnostic("GG204", reason, Span(table=table, field=column, position=position), help)


def contradiction(kind: str, has_before: bool, has_after: bool) -> Diagnostic | None:
    """Return GG307 if the images of an operation contradict its type, else None."""
    surplus, lacking = IMAGE_RULES[kind]
    has = {"before": has_before, "after": has_after}
    reasons = [f"has {'an' if image == 'after' else 'a'} {image} image" for image in surplus if has[image]]
    reasons += [f"has no {image} image" for image in lacking if not has[image]]
    if not reasons:
        return None
    name = OpType(kind).name.lower()
    article = "an" if name[0] in "aeiou" else "a"
    return Diagnostic("GG307", f"{article} {name} {' and '.join(reasons)}")


def contradictions(
    op: pa.StringArray, has_before: pa.BooleanArray, has_after: pa.BooleanArray
) -> dict[int, Diagnostic]:
    """Return GG307 by row for the operations whose images contradict their type."""
    has = {"before": has_before, "after": has_after}
    wrong = pa.repeat(pa.scalar(False), len(op))
    for kind, (surplus, lacking) in IMAGE_RULES.items():
        rows = pc.equal(op, kind)
        if rows.true_count:
            for image in surplus:
                wrong = pc.or_(wrong, pc.and_(rows, has[image]))
            for image in lacking:
                wrong = pc.or_(wrong, pc.and_not(rows, has[image]))
    problems = {}
    for row in non_null_values(pc.indices_nonzero(wrong)):
        problem = contradiction(op[row].as_py(), has_before[row].as_py(), has_after[row].as_py())
        assert problem is not None, "the kernel and the rule of one operation disagree"
        problems[row] = problem
    return problems
