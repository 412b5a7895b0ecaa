"""Images in Spark's SQL: whether one has a column, what it has there, and what an operation tells of a row."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

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


def is_told(op: Column, name: str) -> Column:
    """Whether an operation tells what a column of its row is afterwards: by its after image, or where an update has
    changed others only, by its before image."""
    return (op.isin("I", "U") & has(AFTER, name)) | ((op == "U") & has(BEFORE, name))


def told(name: str) -> Column:
    """What it tells, where it does."""
    return F.when(has(AFTER, name), value(AFTER, name)).otherwise(value(BEFORE, name))


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of some conditions, that are never null, holds."""
    return reduce(or_, conditions, F.lit(False))
