"""The table of what was measured, in Markdown, and the figures that are made of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from comparison.running import Run
from comparison.workloads import IN_TURNS, WORKLOADS, Side, Workload

# The runs of each side of each workload, by their names; a text where it did not run says why.
Results = Mapping[tuple[str, str], Sequence[Run] | str]

# Each with the width that its column is to have.
COLUMNS = {
    "Workload": 30,
    "Side": 26,
    "1,000 operations/s": 18,
    "MB/s": 5,
    "Seconds": 18,
    "CPU, µs/operation": 17,
    "Start and stop, s": 17,
    "Python, MB": 10,
    "Worker, MB": 10,
    "JVM, MB": 7,
    "Time, ratio": 16,
    "CPU, ratio": 16,
}

ENGINES = ("ggfmt", "Spark", "DuckDB", "Polars", "fastavro in mapPartitions")
NOTES = (
    "Medians of the rounds, in which the sides of a workload take turns; in brackets the least and the most. Seconds "
    "and CPU are those between the start and the stop of a session, CPU of all processes. The last two columns compare "
    "an operation with that of the first side in the same round: above 1, it is slower than that.",
    "Spark (with its own reader and writers), DuckDB and Polars read numbers as floating-point numbers, whose digits "
    "they do not keep, and take a missing column for NULL. They pass over broken lines, which ggfmt sets aside with "
    "their reasons.",
)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """The median, with the least and the most."""
    least, most = min(values), max(values)
    digits = _digits(median(values))
    shown = f"{median(values):,.{digits}f}"
    return shown if len(values) == 1 else f"{shown} ({least:,.{digits}f}–{most:,.{digits}f})"


def _digits(number: float) -> int:
    """How many behind the point are worth showing."""
    return 0 if number >= 100 else 1 if number >= 10 else 2


def each(runs: Sequence[Run], part: str) -> list[float]:
    """`seconds` or `cpu` of an operation, or of a whole run that has none, by round."""
    return [float(getattr(run.measure, part)) / (run.operations or 1) for run in runs]


def ratios(over: Sequence[Run], under: Sequence[Run], part: str) -> list[float]:
    """Round by round."""
    return [a / b for a, b in zip(each(over, part), each(under, part), strict=False) if b]


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(f'{cell:{width}}' for cell, width in zip(cells, COLUMNS.values(), strict=True))} |"


def head() -> str:
    return "\n".join((line(tuple(COLUMNS)), line(["-" * width for width in COLUMNS.values()])))


def rows(workload: Workload, results: Results) -> str:
    """A line for each side that was to run, in order."""
    lines: list[str] = []
    first = next(
        (results[workload.name, it.name] for it in workload.sides if (workload.name, it.name) in results), None
    )
    for side in workload.sides:
        found = results.get((workload.name, side.name))
        if found is not None:
            title = "" if lines else workload.title
            lines.append(line((title, side.name, *_cells(side, found, first))))
    return "\n".join(lines)


def _cells(side: Side, found: Sequence[Run] | str, first: Sequence[Run] | str | None) -> tuple[str, ...]:
    if isinstance(found, str):
        return (f"does not run: {found.replace('|', '/')}", *[""] * 9)
    seconds = [run.measure.seconds for run in found]
    rate = size = cpu = around = ""
    if found[0].operations:
        rate = spread([run.operations / run.measure.seconds / 1e3 for run in found])
        size = f"{median([run.size / run.measure.seconds / 1e6 for run in found]):,.0f}"
        cpu = f"{median(each(found, 'cpu')) * 1e6:,.2f}"
        around = f"{median([run.measure.whole - run.measure.seconds for run in found]):,.1f}"
    peaks = (max(run.measure.peaks[kind] for run in found) for kind in ("driver", "worker", "jvm"))
    memory = (f"{peak / 1e6:,.0f}" if peak else "" for peak in peaks)
    compared = ("", "")
    if found is not first and first is not None and not isinstance(first, str):
        compared = (spread(ratios(found, first, "seconds")), spread(ratios(found, first, "cpu")))
    return (rate, size, spread(seconds), cpu, around, *memory, *compared)


def _rate(runs: Sequence[Run]) -> str:
    if not runs or not runs[0].operations:
        return ""
    rate = median([run.operations / run.measure.seconds / 1e3 for run in runs])
    return f"{rate:,.{_digits(rate)}f}"


def brief(results: Results) -> str:
    """Thousand operations a second, a line for each workload and a column for each engine, for documents to quote."""
    lines = []
    for workload in WORKLOADS.values():
        found = [_of(results, workload.name, engine) for engine in ENGINES]
        rates = [_rate(runs) for runs in found]
        if rates[0] and any(rates[1:]):
            lines.append(f"| {' | '.join((workload.title, *rates))} |")
    headings = f"| Thousand operations a second | {' | '.join(ENGINES)} |\n| --- |{' ---: |' * len(ENGINES)}"
    return "\n".join((headings, *lines)) if lines else ""


@dataclass(frozen=True)
class Figure:
    """A number that is made of the results of a workload's sides, and what it is to be.

    `value` takes the results and what to compare, `seconds` or `cpu`, and gives a number for each round; `parts` are
    what makes sense.
    """

    title: str
    wanted: str
    value: Callable[[Results, str], list[float]]
    parts: tuple[str, ...] = ("seconds", "cpu")


def _of(results: Results, workload: str, side: str) -> Sequence[Run]:
    found = results.get((workload, side), ())
    return () if isinstance(found, str) else found


def _ratio(workload: str, over: str, under: str = "ggfmt", less: float = 0) -> Callable[[Results, str], list[float]]:
    def value(results: Results, part: str) -> list[float]:
        found = ratios(_of(results, workload, over), _of(results, workload, under), part)
        return [ratio - less for ratio in found]

    return value


def _dearest(workload: str, basis: str) -> Callable[[Results, str], list[float]]:
    """The largest of the ratios of a workload's sides to one of them, less sides with other tables."""

    def value(results: Results, part: str) -> list[float]:
        names = [side for name, side in results if name == workload and side != basis and not side.endswith(IN_TURNS)]
        found = (ratios(_of(results, workload, name), _of(results, workload, basis), part) for name in names)
        return max(filter(None, found), key=median, default=[])

    return value


def _worker(results: Results, _: str) -> list[float]:
    runs = [run for workload, side in results if side.startswith("ggfmt") for run in _of(results, workload, side)]
    return [max(run.measure.peaks["worker"] for run in runs) / 1e6] if runs else []


def _seconds(results: Results, _: str) -> list[float]:
    return [run.measure.seconds for run in _of(results, "small", "ggfmt")]


_TIME, _CPU = ("seconds",), ("cpu",)
_SESSION = _ratio("sample", "ggfmt", "PySpark, an empty job")
_FOUND = _ratio("delimited", "ggfmt, columns found", less=1)
FIGURES = (
    Figure("JSON to delimited text, times as fast as DuckDB", "at least 1, aim 2", _ratio("delimited", "DuckDB")),
    Figure("JSON to delimited text, times as fast as Spark", "at least 4", _ratio("delimited", "Spark")),
    Figure("JSON to JSON, times as fast as DuckDB", "at least 1, aim 1.5", _ratio("json", "DuckDB")),
    Figure("JSON to JSON, times as fast as Spark", "at least 4", _ratio("json", "Spark")),
    Figure(
        "JSON to Avro, times as fast as fastavro", "at least 8, aim 15", _ratio("avro", "fastavro in mapPartitions")
    ),
    Figure("Reading the dearest format, to reading JSON", "at most 4, aim 2", _dearest("reading", "json"), _CPU),
    Figure(
        "Reading qlik_avro of 200 tables in turns, to JSON of the same",
        "at most 4",
        _ratio("reading", f"qlik_avro{IN_TURNS}", f"json{IN_TURNS}"),
        _CPU,
    ),
    Figure("From the dearest format to JSON, to that from JSON", "", _dearest("formats", "from json")),
    Figure("120 columns, times as fast as Spark", "at least 3", _ratio("wide", "Spark")),
    Figure("120 columns, times as fast as DuckDB", "aim 1", _ratio("wide", "DuckDB")),
    Figure("200 tables, rate to that of one", "at least 0.8, aim 0.95", _ratio("tables", "ggfmt, one table")),
    Figure("Columns found, added to the time of known ones", "at most 0.25", _FOUND),
    Figure("Second core, rate to that of one", "at least 1.8, aim 1.95", _ratio("delimited", "ggfmt, one core"), _TIME),
    Figure("Largest worker, MB", "at most 300", _worker, _TIME),
    Figure("The sample, to an empty PySpark job", "at most 0.5, aim 0.33", _SESSION),
    Figure("54 MB after the session is up, s", "at most 1, aim 0.7", _seconds, _TIME),
)


def figures(results: Results) -> str:
    """A line for each figure whose sides have run."""
    lines = []
    for figure in FIGURES:
        found = {part: values for part in figure.parts if (values := figure.value(results, part))}
        if found:
            cells = (spread(found[part]) if part in found else "" for part in ("seconds", "cpu"))
            lines.append(f"| {' | '.join((figure.title, *cells, figure.wanted))} |")
    return "\n".join(("| Figure | By time | By CPU | Wanted |", "| --- | --- | --- | --- |", *lines)) if lines else ""
