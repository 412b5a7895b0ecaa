"""Round numbers: for axes of counts and of times, and for figures in a text."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

_EPOCH = datetime(1970, 1, 1)
_DAY = 86400
_MONDAY = 4  # the first one of 1970 was the fifth day
_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def ticks(most: int, number: int = 5) -> list[int]:
    """Round counts from 0 to the first that is no less than `most`, about so many steps apart."""
    for exponent in count():
        for factor in (1, 2, 5):
            step = factor * 10**exponent
            if step * number >= most:
                return list(range(0, max(most, 1) + step, step))[: -(-max(most, 1) // step) + 1]
    raise AssertionError


def compact(value: int) -> str:
    """A count in few characters: `950`, `1.5k`, `20M`."""
    for unit, letter in _UNITS:
        if value >= 0.9995 * unit:  # which is shown as 1 of it
            return f"{value / unit:.3g}{letter}" if value < 999.5 * unit else f"{value // unit:,}{letter}"
    return str(value)


def size(value: int) -> str:
    """Bytes in few characters: `950 bytes`, `1.5 kB`, `20 MB`."""
    if value < _UNITS[-1][0]:
        return f"{value} byte{'s' * (value != 1)}"
    short = compact(value)
    return f"{short[:-1]} {short[-1]}B"


def seconds(value: float) -> str:
    """`0.34 s`, `12.3 s`, `2 min 5 s`, `1 h 2 min`."""
    if value < 59.95:
        return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


@dataclass(frozen=True)
class Step:
    """A step of an axis of time: so many seconds, or so many months."""

    words: str
    seconds: int = 0
    months: int = 0

    def index(self, moment: datetime) -> int:
        """Which step a moment is in; those that follow each other have numbers that do."""
        if self.months:
            return (moment.year * 12 + moment.month - 1) // self.months
        seconds = calendar.timegm(moment.timetuple()) - self._offset
        return seconds // self.seconds

    def start(self, index: int) -> datetime:
        """The first moment of a step, no earlier and no later than there are moments."""
        if self.months:
            year, month = divmod(index * self.months, 12)
            return datetime(min(max(year, 1), 9999), month + 1, 1)
        seconds = index * self.seconds + self._offset
        return _EPOCH + timedelta(seconds=min(max(seconds, -62135596800), 253402300799))

    @property
    def _offset(self) -> int:
        return _MONDAY * _DAY if self.seconds == 7 * _DAY else 0


STEPS = (
    Step("a second", 1),
    Step("5 seconds", 5),
    Step("10 seconds", 10),
    Step("30 seconds", 30),
    Step("a minute", 60),
    Step("5 minutes", 300),
    Step("10 minutes", 600),
    Step("30 minutes", 1800),
    Step("an hour", 3600),
    Step("3 hours", 3 * 3600),
    Step("6 hours", 6 * 3600),
    Step("12 hours", 12 * 3600),
    Step("a day", _DAY),
    Step("a week", 7 * _DAY),
    Step("a month", months=1),
    Step("3 months", months=3),
    Step("a year", months=12),
    Step("10 years", months=120),
    Step("100 years", months=1200),
    Step("1,000 years", months=12000),
)
# What a manifest counts by, and the step that is as long. Longer ones are made of whole ones of it.
_OF_MANIFEST = {
    "second": 0,
    "10 seconds": 2,
    "minute": 4,
    "10 minutes": 6,
    "hour": 8,
    "day": 12,
    "month": 14,
    "year": 16,
}


def step_for(first: datetime, last: datetime, counted_by: str, most: int) -> Step:
    """The shortest step by which two moments are less than `most` steps apart, and which is made of whole steps of
    the manifest (`counted_by`)."""
    for step in STEPS[_OF_MANIFEST[counted_by] :]:
        if step.index(last) - step.index(first) < most:
            return step
    return STEPS[-1]


def time_ticks(step: Step, first: int, last: int, most: int) -> list[int]:
    """The steps from `first` to `last` that get a label: at most so many, at round times."""
    for longer in STEPS[STEPS.index(step) :]:
        found = [n for n in range(first, last + 1) if n == first or _begins(step, n, longer)]
        if len(found) > 1 and not _begins(step, first, longer):
            found = found[1:]  # a label that is not round would stand too near to the next
        if len(found) <= most:
            return found
    return [first]


def _begins(step: Step, index: int, longer: Step) -> bool:
    """Whether a longer step begins within this one."""
    return longer.index(step.start(index)) != longer.index(step.start(index - 1))


def time_labels(step: Step, moments: Sequence[datetime]) -> list[tuple[str, str]]:
    """For each moment what differs most and, where it is another one than before, what it is part of: the time and
    its day, the day and its year."""
    labels = []
    before = ""
    for moment in moments:
        if step.months >= 12:
            label, part_of = f"{moment.year}", ""
        elif step.months:
            label, part_of = f"{moment:%b}", f"{moment.year}"
        elif step.seconds >= _DAY:
            label, part_of = f"{moment.day} {moment:%b}", f"{moment.year}"
        else:
            label = f"{moment:%H:%M:%S}" if step.seconds < 60 else f"{moment:%H:%M}"
            part_of = f"{moment.day} {moment:%b} {moment.year}"
        labels.append((label, part_of if part_of != before else ""))
        before = part_of
    return labels
