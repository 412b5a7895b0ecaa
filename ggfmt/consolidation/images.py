"""Images in Spark's SQL: whether one has a column, what it has there, and what an operation tells of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from ggfmt.frames.shapes import AFTER, BEFORE, MISSING


def has(image: str, name: str) -> Column:
    """Whether an image is there and has a column; never null."""
    missing = F.coalesce(F.array_contains(MISSING[image], F.lit(name)), F.lit(False))
    return F.col(image).isNotNull() & ~missing


def value(image: str, name: str) -> Column:
    return F.col(image).getField(name)


def lacks(image: str, names: Iterable[str]) -> Column:
    """Whether an image is not there or lacks one of some columns; never null."""
    wanted = F.array(*(F.lit(name) for name in names)).cast("array<string>")
    return F.col(image).isNull() | F.coalesce(F.arrays_overlap(MISSING[image], wanted), F.lit(False))


def is_told(op: Column, name: str, before: bool) -> Column:
    """Whether an operation tells what a column of its row is afterwards: by its after image, or where an update has
    changed others only and it matters (`before`), by its before image."""
    after = (op != "D") & has(AFTER, name)
    return after | ((op == "U") & has(BEFORE, name)) if before else after


def told(name: str, before: bool) -> Column:
    """What it tells, where it does."""
    return F.when(has(AFTER, name), value(AFTER, name)).otherwise(value(BEFORE, name)) if before else value(AFTER, name)


def is_partial(key: str) -> Column:
    """Whether an after image may lack columns; a whole one may seem to where its key is NULL. It reads no more of the
    image than the key."""
    return value(AFTER, key).isNull() | F.coalesce(F.size(MISSING[AFTER]) > 0, F.lit(False))


def before_tells_more() -> Column:
    """Whether a before image may have columns that the after image lacks."""
    more = F.size(F.array_except(MISSING[AFTER], F.coalesce(MISSING[BEFORE], F.array().cast("array<string>")))) > 0
    return F.coalesce(more, F.lit(False))


def changes_key(key: Iterable[str]) -> Column:
    """Whether both images have a column of the key, and not the same in it."""
    return any_of(
        has(BEFORE, name) & has(AFTER, name) & ~value(BEFORE, name).eqNullSafe(value(AFTER, name)) for name in key
    )


def same_key(one: Iterable[str], other: Iterable[str]) -> Column:
    """Whether columns are pairwise the same; NULL is the same as NULL. Names are quoted where they have to be."""
    pairs = [F.col(left).eqNullSafe(F.col(right)) for left, right in zip(one, other, strict=True)]
    return balanced(and_, [F.lit(True), *pairs])


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of some conditions, that are never null, holds."""
    return balanced(or_, [F.lit(False), *conditions])


def balanced(operation: Callable[[Column, Column], Column], columns: Sequence[Column]) -> Column:
    """All columns by an operation on two, in a tree that is not deep: Spark's planner takes one by recursion."""
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    return operation(balanced(operation, columns[:half]), balanced(operation, columns[half:]))
