"""What formats do not show, as what becomes of operations, for the contracts of those formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from oracle import PlainImage, PlainOperation

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(9999, 12, 31)).map(lambda m: f"{m:%Y-%m-%d %H:%M:%S.%f}")
TIMES = st.one_of(st.none(), MOMENTS, st.sampled_from(["2013-06-02 22:14:36.123456", "1969-12-31 23:59:59.999999"]))


def as_held(operations: Iterable[PlainOperation]) -> list[PlainOperation]:
    """The operations as a reader has them: an empty time stamp or position is none."""
    return [replace(item, op_ts=item.op_ts or None, pos=item.pos or None) for item in operations]


def cut_off(op_ts: str | None, microseconds: int) -> str | None:
    """A time with no more than whole multiples of some microseconds."""
    if op_ts is None:
        return None
    moment = datetime.fromisoformat(op_ts)
    moment -= timedelta(microseconds=moment.microsecond % microseconds)
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}".rjust(26, "0")


def in_millis(op_ts: str | None) -> str | None:
    return cut_off(op_ts, 1000)


def in_seconds(op_ts: str | None) -> str | None:
    return cut_off(op_ts, 1_000_000)


def filled(image: PlainImage | None, columns: Iterable[str]) -> PlainImage | None:
    """The image with NULL where it lacks a column."""
    return None if image is None else {name: image.get(name) for name in columns}


def overlaid(item: PlainOperation) -> PlainImage | None:
    """The before image; of an update, what it lacks is as in the after image."""
    if item.op != "U" or item.before is None:
        return item.before
    assert item.after is not None
    return {**item.after, **item.before}


def each(image: PlainImage | None, change: Callable[[str, str], str | None]) -> PlainImage | None:
    """The image with its values changed, by column and text."""
    if image is None:
        return None
    return {name: value if value is None else change(name, value) for name, value in image.items()}


def without_catalog(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def flag(value: Any) -> str:
    """A boolean as a properties file has it."""
    return str(value).lower()


@st.composite
def templates(draw: st.DrawFn, tokens: bool) -> str:
    """A `metaColumnsTemplate` that gives a reader table, operation type, time, position, and tokens if asked for."""
    table = draw(
        st.sampled_from([["${objectname[table]}"], ["${objectname}"], ["${catalog[c]}", "${schema[s]}", "${table[t]}"]])
    )
    op = draw(st.sampled_from(["${optype}", "${OpType[op_type]}"]))
    items = [*table, op, "${timestamp[op_ts]}", "${position[pos]}", *(["${alltokens[tokens]}"] if tokens else [])]
    more = ["${currenttimestamp[now]}", "${static[site].A}", "${csn}", "${primarykeys}", "${currenttimestampmicro[m]}"]
    items += draw(st.lists(st.sampled_from(more), unique=True, max_size=2))
    return ", ".join(draw(st.permutations(items)))
