"""The page of `ggfmt report`: its sections, its style and its file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ggfmt.commit.names import counted
from ggfmt.commit.records import HandlerTotals
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, without_credentials
from ggfmt.formats import FORMATS
from ggfmt.location import Location
from ggfmt.reading.progress import STEPS
from ggfmt.render.report import plots
from ggfmt.render.report.facts import ReportData, kind_of
from ggfmt.render.report.plots import Content, Markup, code, element, join, name, seconds, size
from ggfmt.sinks.messages.rejects import RejectedRecord
from ggfmt.sinks.messages.run_history import PastRun
from ggfmt.version import VERSION

MAX_BARS = 15
MAX_TEXT = 400  # characters of a reason

# Tables of the page: their cells, and their maximum number of rows.

MAX_ROWS = 10_000  # a browser opens these at once; the manifest has all
Row = Sequence[Content]

_FILTERED = 12  # the minimum number of rows for which the script of the page offers filters and sorting


@dataclass(frozen=True)
class Column:
    """`number`: counts, right-aligned and sorted by value; `bar`: bars, with a heading only for screen readers."""

    title: str
    number: bool = False
    bar: bool = False


def table(columns: Sequence[Column], rows: Sequence[Row], caption: str, class_: str | None = None) -> Markup:
    """Return a table in a box that scrolls. A table with a class is short; long ones without can be filtered."""
    classes = ["n" if column.number else "b" if column.bar else None for column in columns]
    heads = [
        element("th", column.title, scope="col", class_=kind) for column, kind in zip(columns, classes, strict=True)
    ]
    body = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, classes, strict=True)))
        for row in rows[:MAX_ROWS]
    ]
    parts = [element("caption", caption), element("thead", element("tr", *heads)), element("tbody", *body)]
    whole = element("table", *parts, class_=class_, data_filter=len(rows) >= _FILTERED and class_ is None)
    note = None
    if len(rows) > MAX_ROWS:
        more = (
            f"{len(rows) - MAX_ROWS:,} more rows are not on this page; the manifest in the output directory has all "
            "rows."
        )
        note = element("p", more, class_="note")
    return join((element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption), note))


def foldable(what: str, number: int, content: Markup) -> Markup:
    return element("details", element("summary", f"{what} ({number:,})"), content)


def facts(rows: Sequence[tuple[str, Content]]) -> Markup:
    return element("dl", *(element("div", element("dt", key), element("dd", value)) for key, value in rows))


def top(number: int, of: int, noun: str) -> str:
    return counted(of, noun) if number >= of else f"the first {number} of {counted(of, noun)}"


def heading(run: ReportData) -> Markup:
    manifest = run.manifest
    troubles = list(run.verdict())
    badge = "Committed: " + ("; ".join(troubles) if troubles else "nothing set aside, no value lost")
    rows = [
        ("Run", code(manifest.run)),
        ("Output", code(without_credentials(run.root))),
        ("Input format", name(manifest.input_format) if manifest.input_format else None),
        ("Mode", name(manifest.mode) if manifest.mode else None),
    ]
    replaced = [part for handler in manifest.replaced for part in (", ", code(handler))][1:]
    note = ("Later runs replaced the files of ", *replaced, ". The totals belong to this run.")
    return element(
        "header",
        element("h1", "ggfmt run of ", element("time", run.committed)),
        element("p", element("span", badge, class_="badge warn" if troubles else "badge good")),
        facts([(title, value) for title, value in rows if value is not None]),
        element("p", *note, class_="note") if replaced else None,
    )


def tiles(run: ReportData) -> Markup:
    totals = run.totals
    shown = [
        ("Operations read", f"{totals.operations_read:,}", f"of {counted(len(run.tables), 'table')}"),
        ("Messages", f"{run.messages:,}", f"by {counted(len(totals.handlers), 'handler')}"),
        ("Rejects", f"{run.rejected:,}", "of all handlers"),
        ("Values lost", f"{run.values_lost:,}", f"and {counted(run.characters_lost, 'character')}"),
        ("Read", size(totals.input_bytes), f"in {counted(len(run.manifest.inputs), 'file')}"),
        ("Written", size(run.size), f"in {counted(run.files, 'file')}"),
        ("Time", seconds(totals.seconds), f"{run.rate:,} operations/s"),
    ]
    parts = [
        element("div", element("dt", title), element("dd", element("b", value), element("span", more)))
        for title, value, more in shown
    ]
    return element("dl", *parts, class_="tiles")


def _zone(input_format: str) -> str:
    format = FORMATS.get(input_format)
    if format is None:
        return "Times are as in the input."
    return "Times are in UTC." if format.times_in_utc else "Times are in the time zone of the source."


def over_time(run: ReportData) -> Markup | None:
    by_time = run.totals.operations_by_time
    if by_time is None:
        return _section(
            "Operations over time", element("p", "This run recorded no times: it used an earlier version of ggfmt.")
        )
    if not run.moments:
        return _section("Operations over time", element("p", "The operations in the input have no times."))
    wide = plots.series(run.moments, by_time.step, plots.WIDE.steps)
    narrow = plots.series(run.moments, by_time.step, plots.NARROW.steps)
    notes = [_zone(run.manifest.input_format)]
    for number, what in (
        (wide.before, "long before all others"),
        (wide.after, "long after all others"),
        (run.untimed, "without a time"),
    ):
        if number:
            notes.append(f" {counted(number, 'operation')} {what} {'is' if number == 1 else 'are'} left out.")
    kinds = list(run.by_type)
    columns = (Column("From"), *(Column(kind_of(kind).capitalize(), number=True) for kind in kinds))
    rows: list[Row] = [(start, *(count.get(kind, 0) for kind in kinds)) for start, count in plots.rows(wide)]
    legend = [element("li", plots.key(kind), kind_of(kind)) for kind in kinds]
    return _section(
        "Operations over time",
        element("ul", *legend, class_="legend"),
        *(_figure(data, frame, notes) for data, frame in ((wide, plots.WIDE), (narrow, plots.NARROW))),
        foldable("As a table", len(rows), table(columns, rows, "Operations over time")),
    )


def _figure(data: plots.Series, frame: plots.Frame, notes: list[str]) -> Markup:
    """Return a plot and its notes; a wide and a narrow window each show one plot."""
    caption = element("figcaption", f"Each column is {data.step.words}. ", *notes)
    return element("figure", plots.columns(data, frame), caption, class_=frame.name)


def by_type(run: ReportData) -> Markup | None:
    if not run.by_type:
        return None
    most, whole = max(run.by_type.values()), sum(run.by_type.values())
    columns = (Column("Type"), Column("", bar=True), Column("Operations", number=True), Column("Share", number=True))
    rows = [
        (join((plots.key(kind), kind_of(kind))), plots.bar({kind: count}, most), count, f"{100 * count / whole:.1f} %")
        for kind, count in run.by_type.items()
    ]
    return _section("Operations by type", table(columns, rows, "Operations by type", "bars short"))


def by_table(run: ReportData) -> Markup | None:
    tables = run.tables
    if not tables:
        return None
    first = tables[:MAX_BARS]
    most = max(item.total for item in first)
    caption = f"Operations of {top(len(first), len(tables), 'table')}"
    bars = table(
        (Column("Table"), Column("", bar=True), Column("Operations", number=True)),
        [(name(item.name), plots.bar(item.operations, most), item.total) for item in first],
        caption,
        "bars",
    )
    kinds = list(run.by_type)
    columns = (
        Column("Table"),
        *(Column(kind_of(kind).capitalize(), number=True) for kind in kinds),
        *(Column(title, number=True) for title in ("All", "Files", "Bytes")),
    )
    rows: list[Row] = [
        (name(item.name), *(item.operations.get(kind, 0) for kind in kinds), item.total, item.files, item.size)
        for item in tables
    ]
    return _section("Operations by table", bars, foldable("All tables", len(rows), table(columns, rows, "All tables")))


def rejects(run: ReportData) -> Markup | None:
    if not run.rejects:
        return None
    columns = (Column("Handler"), Column("Code"), Column("Reason"), Column("Rejects", number=True))
    rows = [(name(found.handler), code(found.code), found.title, found.count) for found in run.rejects]
    parts = [table(columns, rows, "By handler and reason", "short")]
    if run.examples:
        items = [_example(example, handlers) for example, handlers in run.examples]
        parts.append(element("h3", "The first rejects, with their places in the input"))
        parts.append(element("ul", *items, class_="examples"))
    else:
        text = "The files with the reasons in `_rejects` are missing, or in another directory."
        parts.append(element("p", text, class_="note"))
    return _section("Rejects", *parts)


def _example(example: RejectedRecord, handlers: list[str]) -> Markup:
    place: list[Markup | str] = ["handler " if len(handlers) == 1 else "handlers ", name(", ".join(handlers))]
    if example.file:
        place += [", ", code(without_credentials(example.file))]
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


def _cut(text: str) -> str:
    text = without_credentials(text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


def losses(run: ReportData) -> Markup | None:
    parts: list[Markup] = []
    if run.losses:
        titles = ("Handler", "Table", "Column", "Values", "What happened")
        columns = tuple(Column(title, number=title == "Values") for title in titles)
        rows = [
            (
                name(handler),
                name(loss.table),
                name(loss.column),
                loss.values,
                join((_cut(loss.what), " ", code(loss.loss) if loss.loss else None)),
            )
            for handler, loss in run.losses
        ]
        parts.append(_long("Values that could not be shown as they are", columns, rows))
    for handler, totals in run.totals.handlers.items():
        if totals.lost_characters:
            characters = counted(totals.lost_characters, "character")
            text = f": {characters} that the encoding does not have became `?`."
            parts.append(element("p", "Handler ", code(handler), text))
    return _section("Losses", *parts) if parts else None


def warnings(run: ReportData) -> Markup | None:
    texts = run.totals.warnings
    if not texts:
        return None
    rows = [(name(_cut(text)),) for text in texts]
    content = foldable("Lines of the log", len(rows), table((Column("Warning"),), rows, "Warnings"))
    return _section("Warnings", content)


def handlers(run: ReportData) -> Markup | None:
    cards = [_handler(run, handler, totals) for handler, totals in run.totals.handlers.items()]
    return _section("Handlers", element("div", *cards, class_="cards")) if cards else None


def _handler(run: ReportData, handler: str, totals: HandlerTotals) -> Markup:
    settings = run.manifest.handlers.get(handler)
    rows: list[tuple[str, Markup | str]] = []
    if settings is not None:
        rows.append(("Format", code(settings.format)))
    rows.append(("Messages", f"{totals.messages:,}, {size(totals.bytes)} in {counted(totals.files, 'file')}"))
    if totals.extra_messages:
        rows.append(("Extra messages", f"{totals.extra_messages:,}, from updates of primary keys"))
    if totals.left_out:
        rows.append(("Left out", counted(totals.left_out, "truncate")))
    if totals.rejects:
        rows.append(("Rejects", f"{sum(totals.rejects.values()):,}"))
    if settings is not None:
        rows.append(("Tokens", "included" if settings.include_tokens else "not included"))
        rows += [(key, code(without_credentials(value))) for key, value in settings.options.items()]
        if not settings.options:
            rows.append(("Options", "all at their defaults"))
    parts = [element("h3", name(handler)), facts(rows)]
    if totals.not_shown:
        items = [element("li", loss.what) for loss in totals.not_shown]
        parts.append(foldable("Limits of the format", len(items), element("ul", *items)))
    return element("article", *parts)


def time_spent(run: ReportData) -> Markup | None:
    steps = run.totals.seconds_by_step
    if not steps:
        return None
    most = max(steps.values())
    columns = (Column("Step"), Column("", bar=True), Column("Seconds", number=True))
    order = [*(step for step in STEPS if step in steps), *sorted(steps.keys() - STEPS)]
    rows = [(name(step), plots.plain_bar(steps[step], most), f"{steps[step]:,.3f}") for step in order]
    meanings = [(step, STEPS[step]) for step in order if step in STEPS]
    note = "Tasks run in parallel, and their times are added: steps may take longer than the run."
    return _section(
        "Where the time went",
        table(columns, rows, "Seconds by step", "bars short"),
        element("p", note, class_="note"),
        foldable("Meaning of the steps", len(meanings), facts(meanings)),
    )


def files(run: ReportData) -> Markup | None:
    manifest = run.manifest
    parts = []
    if manifest.files:
        titles = ("File", "Handler", "Messages", "Bytes", "First position", "Last position")
        columns = tuple(Column(title, number=title in ("Messages", "Bytes")) for title in titles)
        rows = [
            (
                code(without_credentials(file.path)),
                name(file.handler),
                file.operations if file.rejects is None else f"{counted(file.rejects, 'reject')}",
                file.bytes,
                name(file.first_position or ""),
                name(file.last_position or ""),
            )
            for file in manifest.files
        ]
        parts.append(foldable("Output files", len(rows), table(columns, rows, "Output files")))
    for what, entries in (("Schemas", manifest.schemas), ("Input files", manifest.inputs)):
        if entries:
            pairs = [(code(without_credentials(entry.path)), entry.bytes) for entry in entries]
            listed = table((Column("File"), Column("Bytes", number=True)), pairs, what)
            parts.append(foldable(what, len(pairs), listed))
    return _section("Files", *parts) if parts else None


def uncounted_records(run: ReportData) -> Markup | None:
    totals = run.totals
    rows = [(f"{key} records", count) for key, count in sorted(totals.other_records.items())]
    rows += [(f"unknown member `{key}`", count) for key, count in sorted(totals.unknown_members.items())]
    rows += [(f"records of `{key}`, not selected", count) for key, count in sorted(totals.skipped_records.items())]
    if totals.records_rejected_by_reader:
        rows.append(("records that could not be read", totals.records_rejected_by_reader))
    if not rows:
        return None
    columns = (Column("What"), Column("Records", number=True))
    return _section(
        "Other records", _long("Input that is not in the messages", columns, [(name(k), n) for k, n in rows])
    )


def _long(caption: str, columns: tuple[Column, ...], rows: Sequence[Row]) -> Markup:
    whole = table(columns, rows, caption)
    return foldable(caption, len(rows), whole) if len(rows) > MAX_BARS else whole


def _section(title: str, *parts: Markup) -> Markup:
    key = title.lower().replace(" ", "-")
    return element("section", element("h2", title, id=key), *parts, aria_labelledby=key)


# The page of a run: one file without a reference to any other, for a browser without a network. A
# Content-Security-Policy allows only the page's own style and script, by their hashes: data of a manifest can become
# neither.


def page(run: PastRun) -> str:
    data = ReportData(run)
    style, script = _own("page.css"), _own("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("meta", name_="referrer", content="no-referrer"),
        element("meta", name_="robots", content="noindex"),
        element("meta", name_="generator", content=f"ggfmt {VERSION}"),
        element("title", f"ggfmt run {data.manifest.run}"),
        element("style", style),
    )
    main = element(
        "main",
        heading(data),
        tiles(data),
        over_time(data),
        element("div", by_type(data), time_spent(data), class_="pair"),
        by_table(data),
        rejects(data),
        losses(data),
        warnings(data),
        handlers(data),
        uncounted_records(data),
        files(data),
        _footer(data),
    )
    body = element("body", main, element("script", script))
    return join((Markup("<!DOCTYPE html>\n"), element("html", head, body, lang="en"), Markup("\n")))


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


def _footer(facts: ReportData) -> Markup:
    versions = {"ggfmt": facts.manifest.ggfmt, **facts.manifest.versions}
    programs = ", ".join(f"{key} {value}" for key, value in versions.items())
    text = f"Written by {programs}. ggfmt {VERSION} made this page from the manifest of the run."
    return element("footer", element("p", text))


def _own(name: str) -> Markup:
    return Markup(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
