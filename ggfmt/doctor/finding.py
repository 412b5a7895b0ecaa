"""A finding of `ggfmt doctor`: what there is, whether that will do, and what to do if not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

LITTLE_SPACE = 10**9
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


class State(str, Enum):
    """A problem keeps a run from working, a warning does not; from the best to the worst."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What was found of one thing, called `name` in lower case with underscores.

    `message` is one clause, `help` what to do. `facts` is the same for a program: values that JSON has, under keys that
    depend on the name alone; what is not known is None.
    """

    name: str
    state: State
    message: str
    help: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def worst(findings: Iterable[Finding]) -> State:
    """The state of all findings together; `OK` for none."""
    order = list(State)
    return max((finding.state for finding in findings), key=order.index, default=State.OK)


def size_text(size: int) -> str:
    """A number of bytes for a person: `63.1 MB`."""
    value, unit = float(size), _UNITS[0]
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == _UNITS[0] else f"{value:.1f} {unit}"
