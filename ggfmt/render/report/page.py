"""The page of `ggfmt report`: its sections, and its file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from ggfmt.commit.names import counted
from ggfmt.commit.records import HandlerTotals
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, without_credentials
from ggfmt.formats import FORMATS
from ggfmt.location import Location
from ggfmt.reading.progress import STEPS
from ggfmt.render.report import plots
from ggfmt.render.report.facts import ReportData, kind_of
from ggfmt.render.report.plots import Content, Markup, code, element, join, name, seconds, size, text
from ggfmt.sinks.messages.rejects import RejectedRecord
from ggfmt.sinks.messages.run_history import PastRun
from ggfmt.version import VERSION

MAX_BARS = 15
MAX_TEXT = 400  # characters of a reason
MAX_ROWS = 10_000  # of a table: a browser opens these at once, and the manifest has all

_FILTERED = 12  # the minimum number of rows for which the script of the page offers filters and sorting
_EXISTING = {"error": "refused", "append": "kept", "overwrite": "replaced"}  # by the mode of a run

Row = Sequence[Content]
Fact = tuple[str, Content]


def table(titles: Sequence[str], rows: Sequence[Row], caption: str, class_: str | None = None) -> Markup:
    """Return a table in a box that scrolls. A table with a class is short; long ones without can be filtered.

    A `#` before a title is for numbers, which are right-aligned and sorted by value. A column without a title has bars.
    """
    classes = [("n" if title[0] == "#" else None) if title else "b" for title in titles]

    def line(tag: str, cells: Iterable[Content], **more: str) -> Markup:
        pairs = zip(cells, classes, strict=True)
        return element("tr", *(element(tag, cell, **more, class_=kind) for cell, kind in pairs))

    parts = (
        element("caption", caption),
        element("thead", line("th", (title.removeprefix("#") for title in titles), scope="col")),
        element("tbody", *(line("td", row) for row in rows[:MAX_ROWS])),
    )
    whole = element("table", *parts, class_=class_, data_filter=len(rows) >= _FILTERED and class_ is None)
    box = element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
    more = (
        f"{len(rows) - MAX_ROWS:,} more rows are not on this page; the manifest in the output directory has all rows."
    )
    return join((box, element("p", more, class_="note") if len(rows) > MAX_ROWS else None))


def foldable(what: str, number: int, content: Markup) -> Markup:
    return element("details", element("summary", f"{what} ({number:,})"), content)


def folded(titles: Sequence[str], rows: Sequence[Row], caption: str, most: int = 0) -> Markup | None:
    """Return a table that can be folded, or as it is with at most `most` rows; None without rows."""
    whole = table(titles, rows, caption)
    return (foldable(caption, len(rows), whole) if len(rows) > most else whole) if rows else None


def facts(rows: Sequence[Fact]) -> Markup:
    return element("dl", *(element("div", element("dt", key), element("dd", value)) for key, value in rows))


def _section(title: str, *parts: Markup | None) -> Markup | None:
    if not any(parts):
        return None
    key = title.lower().replace(" ", "-")
    return element("section", element("h2", title, id=key), *parts, aria_labelledby=key)


def _note(*parts: Content) -> Markup:
    return element("p", *parts, class_="note")


def _path(given: str) -> Markup:
    return code(without_credentials(given))


def _cut(given: str) -> str:
    shown = without_credentials(given)
    return shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}..."


def about(run: ReportData) -> Markup:
    manifest = run.manifest
    rows: list[Fact] = [("Run", code(manifest.run)), ("Output", _path(run.root))]
    if manifest.input_format:
        rows.append(("Input format", name(manifest.input_format)))
    if manifest.mode:
        rows.append(("Existing output", name(_EXISTING.get(manifest.mode, manifest.mode))))
    if not manifest.replaced:
        return facts(rows)
    handlers = [part for handler in manifest.replaced for part in (", ", code(handler))][1:]
    return join(
        (facts(rows), _note("Later runs replaced the files of ", *handlers, ". The totals belong to this run."))
    )


def over_time(run: ReportData) -> Markup | None:
    title = "Operations over time"
    by_time = run.totals.operations_by_time
    if by_time is None:
        return _section(title, element("p", "This run recorded no times: it used an earlier version of ggfmt."))
    if not run.moments:
        return _section(title, element("p", "The operations in the input have no times."))
    shown = [(plots.series(run.moments, by_time.step, frame.steps), frame) for frame in (plots.WIDE, plots.NARROW)]
    wide = shown[0][0]
    format = FORMATS.get(run.manifest.input_format)
    zone = (
        "as in the input" if format is None else "in UTC" if format.times_in_utc else "in the time zone of the source"
    )
    left_out = (
        (wide.before, "long before all others"),
        (wide.after, "long after all others"),
        (run.untimed, "without a time"),
    )
    notes = [f"Times are {zone}."]
    for number, what in left_out:
        if number:
            notes.append(f" {counted(number, 'operation')} {what} {'is' if number == 1 else 'are'} left out.")
    figures = []  # a wide and a narrow window each show one
    for data, frame in shown:
        caption = element("figcaption", f"Each column is {data.step.words}. ", *notes)
        figures.append(element("figure", plots.columns(data, frame), caption, class_=frame.name))
    rows: list[Row] = [(start, *(count.get(kind, 0) for kind in run.by_type)) for start, count in plots.rows(wide)]
    listed = table(("From", *_kinds(run)), rows, title)
    legend = [element("li", plots.key(kind), kind_of(kind)) for kind in run.by_type]
    return _section(title, element("ul", *legend, class_="legend"), *figures, foldable("As a table", len(rows), listed))


def _kinds(run: ReportData) -> list[str]:
    return [f"#{kind_of(kind).capitalize()}" for kind in run.by_type]


def by_type(run: ReportData) -> Markup | None:
    if not run.by_type:
        return None
    most, whole = max(run.by_type.values()), sum(run.by_type.values())
    rows = [
        (join((plots.key(kind), kind_of(kind))), plots.bar({kind: count}, most), count, f"{100 * count / whole:.1f} %")
        for kind, count in run.by_type.items()
    ]
    title = "Operations by type"
    return _section(title, table(("Type", "", "#Operations", "#Share"), rows, title, "bars short"))


def by_table(run: ReportData) -> Markup | None:
    if not run.tables:
        return None
    first, all_tables = run.tables[:MAX_BARS], counted(len(run.tables), "table")
    most = max(item.total for item in first)
    bars = [(name(item.name), plots.bar(item.operations, most), item.total) for item in first]
    drawn = all_tables if len(first) == len(run.tables) else f"the first {len(first)} of {all_tables}"
    rows: list[Row] = [
        (name(item.name), *(item.operations.get(kind, 0) for kind in run.by_type), item.total, item.files, item.size)
        for item in run.tables
    ]
    return _section(
        "Operations by table",
        table(("Table", "", "#Operations"), bars, f"Operations of {drawn}", "bars"),
        folded(("Table", *_kinds(run), "#All", "#Files", "#Bytes"), rows, "All tables"),
    )


def rejects(run: ReportData) -> Markup | None:
    if not run.rejects:
        return None
    rows = [(name(found.handler), code(found.code), found.title, found.count) for found in run.rejects]
    listed = table(("Handler", "Code", "Reason", "#Rejects"), rows, "By handler and reason", "short")
    if not run.examples:
        missing = "The files with the reasons in `_rejects` are missing, or in another directory."
        return _section("Rejects", listed, _note(missing))
    items = element("ul", *(_example(example, handlers) for example, handlers in run.examples), class_="examples")
    return _section("Rejects", listed, element("h3", "The first rejects, with their places in the input"), items)


def _example(example: RejectedRecord, handlers: list[str]) -> Markup:
    place: list[Content] = ["handler " if len(handlers) == 1 else "handlers ", name(", ".join(handlers))]
    if example.file:
        place += [", ", _path(example.file)]
    if example.offset is not None:
        place.append(f", byte {example.offset:,}")
    for what, known in (("table", example.table), ("column", example.column), ("position", example.position)):
        if known:
            place += [f", {what} ", code(_cut(known))]
    return element(
        "li",
        element("p", code(example.code), " ", name(_cut(example.reason))),
        element("p", name(_cut(example.help)), class_="help") if example.help else None,
        element("p", *place, class_="help"),
    )


def losses(run: ReportData) -> Markup | None:
    rows = []
    for handler, loss in run.losses:
        what = join((_cut(loss.what), " ", code(loss.loss) if loss.loss else None))
        rows.append((name(handler), name(loss.table), name(loss.column), loss.values, what))
    titles = ("Handler", "Table", "Column", "#Values", "What happened")
    characters = []
    for handler, totals in run.totals.handlers.items():
        if totals.lost_characters:
            became = f": {counted(totals.lost_characters, 'character')} that the encoding does not have became `?`."
            characters.append(element("p", "Handler ", code(handler), became))
    return _section("Losses", folded(titles, rows, "Values that could not be shown as they are", MAX_BARS), *characters)


def warnings(run: ReportData) -> Markup | None:
    rows = [(name(_cut(warning)),) for warning in run.totals.warnings]
    return (
        _section("Warnings", foldable("Lines of the log", len(rows), table(("Warning",), rows, "Warnings")))
        if rows
        else None
    )


def handlers(run: ReportData) -> Markup | None:
    cards = [_handler(run, handler, totals) for handler, totals in run.totals.handlers.items()]
    return _section("Handlers", element("div", *cards, class_="cards") if cards else None)


def _handler(run: ReportData, handler: str, totals: HandlerTotals) -> Markup:
    settings = run.manifest.handlers.get(handler)
    rows: list[Fact] = []
    if settings is not None:
        rows.append(("Format", code(settings.format)))
    rows.append(("Messages", f"{totals.messages:,}, {size(totals.bytes)} in {counted(totals.files, 'file')}"))
    if totals.extra_messages:
        rows.append(("Extra messages", f"{totals.extra_messages:,}, from updates of primary keys"))
    if totals.left_out:
        rows.append(("Left out", counted(totals.left_out, "truncate")))
    if totals.rejects:
        rows.append(("Rejects", sum(totals.rejects.values())))
    if settings is not None:
        rows.append(("Tokens", "included" if settings.include_tokens else "not included"))
        rows += [(key, _path(value)) for key, value in settings.options.items()]
        if not settings.options:
            rows.append(("Options", "all at their defaults"))
    limits = element("ul", *(element("li", loss.what) for loss in totals.not_shown))
    folded_limits = foldable("Limits of the format", len(totals.not_shown), limits) if totals.not_shown else None
    return element("article", element("h3", name(handler)), facts(rows), folded_limits)


def time_spent(run: ReportData) -> Markup | None:
    steps = run.totals.seconds_by_step
    if not steps:
        return None
    most = max(steps.values())
    order = [*(step for step in STEPS if step in steps), *sorted(steps.keys() - STEPS)]
    rows = [(name(step), plots.plain_bar(steps[step], most), f"{steps[step]:,.3f}") for step in order]
    meanings = [(step, STEPS[step]) for step in order if step in STEPS]
    return _section(
        "Where the time went",
        table(("Step", "", "#Seconds"), rows, "Seconds by step", "bars short"),
        _note("Tasks run in parallel, and their times are added: steps may take longer than the run."),
        foldable("Meaning of the steps", len(meanings), facts(meanings)),
    )


def uncounted_records(run: ReportData) -> Markup | None:
    totals = run.totals
    rows = [(f"{key} records", count) for key, count in sorted(totals.other_records.items())]
    rows += [(f"unknown member `{key}`", count) for key, count in sorted(totals.unknown_members.items())]
    rows += [(f"records of `{key}`, not selected", count) for key, count in sorted(totals.skipped_records.items())]
    if totals.records_rejected_by_reader:
        rows.append(("records that could not be read", totals.records_rejected_by_reader))
    named = [(name(what), count) for what, count in rows]
    listed = folded(("What", "#Records"), named, "Input that is not in the messages", MAX_BARS)
    return _section("Other records", listed)


def files(run: ReportData) -> Markup | None:
    manifest = run.manifest
    titles = ("File", "Handler", "#Messages", "#Bytes", "First position", "Last position")
    rows = []
    for file in manifest.files:
        count = file.operations if file.rejects is None else counted(file.rejects, "reject")
        positions = (name(file.first_position or ""), name(file.last_position or ""))
        rows.append((_path(file.path), name(file.handler), count, file.bytes, *positions))
    others = [
        folded(("File", "#Bytes"), [(_path(entry.path), entry.bytes) for entry in entries], what)
        for what, entries in (("Schemas", manifest.schemas), ("Input files", manifest.inputs))
    ]
    return _section("Files", folded(titles, rows, "Output files"), *others)


# The page of a run: one file without a reference to any other, for a browser without a network. A
# Content-Security-Policy allows only the page's own style and script, by their hashes: data of a manifest can become
# neither.


def page(run: PastRun) -> str:
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    data = ReportData(run)
    shown = {key: value if isinstance(value, Markup) else text(value) for key, value in _values(data).items()}
    digests = {tag: _digest(template, tag) for tag in ("style", "script")}
    return Template(template).substitute(shown, **digests)


def _digest(template: str, tag: str) -> str:
    content = template.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _values(run: ReportData) -> Mapping[str, str | int]:
    manifest, totals = run.manifest, run.totals
    troubles = list(run.verdict())
    pair = element("div", by_type(run), time_spent(run), class_="pair")
    sections = (by_table, rejects, losses, warnings, handlers, uncounted_records, files)
    return {
        "run": manifest.run,
        "committed": run.committed,
        "grade": "warn" if troubles else "good",
        "verdict": "; ".join(troubles) or "nothing set aside, no value lost",
        "about": about(run),
        "operations": totals.operations_read,
        "tables": counted(len(run.tables), "table"),
        "messages": run.messages,
        "handlers": counted(len(totals.handlers), "handler"),
        "rejects": run.rejected,
        "values_lost": run.values_lost,
        "characters_lost": counted(run.characters_lost, "character"),
        "read": size(totals.input_bytes),
        "inputs": counted(len(manifest.inputs), "file"),
        "written": size(run.size),
        "files": counted(run.files, "file"),
        "time": seconds(totals.seconds),
        "rate": run.rate,
        "sections": join((over_time(run), pair, *(section(run) for section in sections))),
        "programs": ", ".join(
            f"{key} {value}" for key, value in {"ggfmt": manifest.ggfmt, **manifest.versions}.items()
        ),
        "version": VERSION,
    }


def write_page(run: PastRun, file: Path) -> None:
    """Write the page atomically. UsageError GG563 for a file within the output directory, else GG506."""
    root = Location.of(run.root)
    if root.is_local and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root.path)):
        message = "the page would be within the output directory"
        raise UsageError(
            Diagnostic("GG563", message, Span(file=str(file)), "give a file outside of the output directory")
        )
    content = page(run).encode()
    try:
        if file.exists() and not file.is_file():  # such as `/dev/stdout`; a directory cannot be opened
            file.write_bytes(content)
            return
        target = Path(os.path.realpath(file))
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            draft.write_bytes(content)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        message = f"the page cannot be written: {error.strerror}"
        raise UsageError(Diagnostic("GG506", message, Span(file=str(file)), "give another file")) from None
