"""Figures of a manifest for the page and the text, combined and sorted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

from ggfmt.commit.names import counted
from ggfmt.commit.records import STEPS, LossCount, Manifest
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.codes import CODES
from ggfmt.model.change import OpType
from ggfmt.reading.rejects import RejectedRecord
from ggfmt.sinks.messages.run_history import PastRun

TYPES = {kind.value: kind.name.lower() for kind in OpType}
_EARLIEST = "0001-01-01 00:00:00"
NOTHING_LOST = "nothing set aside, no value lost"


@dataclass
class Table:
    name: str
    operations: dict[str, int] = field(default_factory=dict)
    files: int = 0
    size: int = 0


@dataclass(frozen=True)
class Rejects:
    handler: str
    code: str
    title: str
    count: int


class ReportData:
    def __init__(self, run: PastRun) -> None:
        self.root = run.root
        self.runs = run.runs
        self.manifest: Manifest = run.manifest
        self.totals = run.manifest.totals
        self.query = run.manifest.consolidated  # None for messages
        handlers = self.totals.handlers
        self.rate = int(self.totals.operations_read / self.totals.seconds) if self.totals.seconds else 0  # by second
        by_time = self.totals.operations_by_time
        self.times = {} if by_time is None else by_time.times
        self.untimed = 0 if by_time is None else sum(by_time.untimed.values())
        self.rejects = [
            Rejects(name, code, CODES[code].title if code in CODES else "", count)
            for name, of in [("", run.manifest.rejects), *((name, each.rejects) for name, each in handlers.items())]
            for code, count in sorted(of.items(), key=lambda item: (-item[1], item[0]))
        ]
        losses = [(name, loss) for name, handler in handlers.items() for loss in handler.losses]
        self.losses: list[tuple[str, LossCount]] = sorted(losses, key=lambda item: -item[1].values)
        tables = run.manifest.tables.values()
        self.unresolved = sum(table.unresolved for table in tables)
        self.rejected = sum(found.count for found in self.rejects)
        self.values_lost = sum(loss.values for _, loss in losses)
        self.characters_lost = sum(handler.lost_characters for handler in handlers.values())
        # The first rejected records by code, each with the handlers that rejected it for this reason.
        examples: dict[RejectedRecord, list[str]] = {}
        for found in run.rejects:
            examples.setdefault(replace(found, handler=""), []).append(found.handler)
        self.examples = sorted(examples.items(), key=lambda item: item[0].code)

    @property
    def committed(self) -> str:
        day, _, clock = self.manifest.time.partition("_")
        return f"{day} {clock.partition('.')[0].replace('-', ':')} UTC"

    @cached_property
    def tables(self) -> list[Table]:
        tables = {name: Table(name, dict(kinds)) for name, kinds in self.totals.operations.items()}
        for file in self.manifest.files:
            if file.table:
                table = tables.setdefault(file.table, Table(file.table))
                table.files += 1
                table.size += file.bytes
        return sorted(tables.values(), key=lambda table: (-sum(table.operations.values()), table.name))

    @cached_property
    def by_type(self) -> Counter[str]:
        counts = sum(map(Counter, self.totals.operations.values()), Counter[str]())
        return Counter({kind: counts[kind] for kind in in_order(counts)})

    def by_time(self, most: int) -> tuple[str, dict[str, Counter[str]]]:
        """Return a time unit, and the operations by the starts of that unit: at most `most`, except of years."""
        step, found = "", dict[str, Counter[str]]()
        by_time = self.totals.operations_by_time
        for step, width in STEPS.items():
            if by_time is None or width > STEPS[by_time.step]:
                continue
            found = {}
            for text, kinds in sorted(self.times.items()):
                start = text[:width] + "0" * step.startswith("10 ")
                found.setdefault(start, Counter()).update(kinds)
            if len(found) <= most:
                break
        return step, found

    def verdict(self) -> Iterator[str]:
        """Yield what did not get into the output unchanged."""
        if self.rejected:
            yield counted(self.rejected, "reject")
        if self.values_lost:
            yield f"{counted(self.values_lost, 'value')} not shown as they are"
        if self.characters_lost:
            yield f"{counted(self.characters_lost, 'character')} became `?`"
        if self.unresolved:
            yield f"{self.unresolved:,} unresolved"
        if self.manifest.set_aside:
            yield f"{counted(len(self.manifest.set_aside), 'table')} set aside"
        for what in ("contradictions", "unfit"):
            if count := sum(sum(getattr(table, what).values()) for table in self.manifest.tables.values()):
                noun, verb = (
                    ("value", "did not fit the type") if what == "unfit" else ("operation", "contradicted a row")
                )
                yield f"{counted(count, noun)} {verb}"


def time_text(text: str) -> str:
    """Return the first second of a time unit of the manifest."""
    return text + _EARLIEST[len(text) :]


def kind_of(kind: str) -> str:
    return TYPES.get(kind, kind)


def in_order(kinds: Mapping[str, float]) -> list[str]:
    """Return the types whose count is not 0, in the order of `OpType`; unknown types come last."""
    return [kind for kind in (*TYPES, *sorted(kinds.keys() - TYPES)) if kinds.get(kind)]


def operations_of(kinds: Mapping[str, int]) -> str:
    """Return `3 inserts, 1 update`."""
    return ", ".join(counted(kinds[kind], kind_of(kind)) for kind in in_order(kinds))


def seconds_text(value: float) -> str:
    """Return `0.34 s`, `12.3 s`, `2 min 5 s`, `1 h 2 min`."""
    if value < 59.95:
        return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"
