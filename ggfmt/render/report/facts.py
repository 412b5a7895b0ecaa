"""Figures of a manifest for the page and the text, combined and sorted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from ggfmt.commit.names import counted
from ggfmt.commit.records import LossCount, Manifest
from ggfmt.diagnostics.codes import CODES
from ggfmt.model.change import OpType
from ggfmt.sinks.messages.rejects import RejectedRecord
from ggfmt.sinks.messages.run_history import PastRun

TYPES = {kind.value: kind.name.lower() for kind in OpType}
_STAMP = "%Y-%m-%d_%H-%M-%S.%f"
_EARLIEST = "0001-01-01 00:00:00"


@dataclass
class Table:
    name: str
    operations: dict[str, int] = field(default_factory=dict)
    files: int = 0
    size: int = 0

    @property
    def total(self) -> int:
        return sum(self.operations.values())


@dataclass(frozen=True)
class TimeBucket:
    time: datetime
    operations: dict[str, int]


@dataclass(frozen=True)
class Rejects:
    handler: str
    code: str
    count: int

    @property
    def title(self) -> str:
        return CODES[self.code].title if self.code in CODES else ""


class ReportData:
    def __init__(self, run: PastRun) -> None:
        self.root = run.root
        self.runs = run.runs
        self.manifest: Manifest = run.manifest
        self.totals = run.manifest.totals
        self._examples = run.rejects
        handlers = self.totals.handlers.values()
        self.characters_lost = sum(handler.lost_characters for handler in handlers)
        self.messages = sum(handler.messages for handler in handlers)
        self.files = sum(handler.files for handler in handlers)
        self.size = sum(handler.bytes for handler in handlers)
        self.rate = int(self.totals.operations_read / self.totals.seconds) if self.totals.seconds else 0  # by second

    @cached_property
    def committed(self) -> str:
        try:
            moment = datetime.strptime(self.manifest.time, _STAMP)
        except ValueError:
            return self.manifest.time
        return f"{moment:%Y-%m-%d %H:%M:%S} UTC"

    @cached_property
    def tables(self) -> list[Table]:
        tables = {name: Table(name, dict(kinds)) for name, kinds in self.totals.operations.items()}
        for file in self.manifest.files:
            if file.table:
                table = tables.setdefault(file.table, Table(file.table))
                table.files += 1
                table.size += file.bytes
        return sorted(tables.values(), key=lambda table: (-table.total, table.name))

    @cached_property
    def by_type(self) -> dict[str, int]:
        counts = Counter[str]()
        for kinds in self.totals.operations.values():
            counts.update(kinds)
        return in_order(counts)

    @cached_property
    def moments(self) -> list[TimeBucket]:
        """Return the time units of the manifest in order, without invalid days."""
        by_time = self.totals.operations_by_time
        found = []
        for text, kinds in by_time.times.items() if by_time is not None else ():
            try:
                found.append(TimeBucket(datetime.fromisoformat(text + _EARLIEST[len(text) :]), kinds))
            except ValueError:
                continue
        return sorted(found, key=lambda moment: moment.time)

    @property
    def untimed(self) -> int:
        """Count operations without a known time; 0 if the manifest is of a ggfmt that did not count them."""
        if self.totals.operations_by_time is None:
            return 0
        return self.totals.operations_read - sum(sum(moment.operations.values()) for moment in self.moments)

    @cached_property
    def rejects(self) -> list[Rejects]:
        return [
            Rejects(name, code, count)
            for name, handler in self.totals.handlers.items()
            for code, count in sorted(handler.rejects.items(), key=lambda item: (-item[1], item[0]))
        ]

    @cached_property
    def examples(self) -> list[tuple[RejectedRecord, list[str]]]:
        """Group the first rejected records by code, each with the handlers that rejected it for this reason."""
        handlers: dict[RejectedRecord, list[str]] = {}
        for found in self._examples:
            handlers.setdefault(replace(found, handler=""), []).append(found.handler)
        return sorted(handlers.items(), key=lambda item: item[0].code)

    @cached_property
    def losses(self) -> list[tuple[str, LossCount]]:
        found = [(name, loss) for name, handler in self.totals.handlers.items() for loss in handler.losses]
        return sorted(found, key=lambda item: -item[1].values)

    @property
    def rejected(self) -> int:
        return sum(found.count for found in self.rejects)

    @property
    def values_lost(self) -> int:
        return sum(loss.values for _, loss in self.losses)

    def verdict(self) -> Iterator[str]:
        """Yield what did not get into the output unchanged."""
        if self.rejected:
            yield counted(self.rejected, "reject")
        if self.values_lost:
            yield f"{counted(self.values_lost, 'value')} not shown as they are"
        if self.characters_lost:
            yield f"{counted(self.characters_lost, 'character')} became `?`"


def kind_of(kind: str) -> str:
    return TYPES.get(kind, kind)


def in_order(kinds: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not 0, in the order of `OpType`; unknown types come last."""
    return {kind: kinds[kind] for kind in (*TYPES, *sorted(kinds.keys() - TYPES)) if kinds.get(kind)}


def operations_of(kinds: Mapping[str, int]) -> str:
    """Return `3 inserts, 1 update`."""
    return ", ".join(counted(count, kind_of(kind)) for kind, count in in_order(kinds).items())
