"""The report of a run that has a manifest: `ggfmt run`, `ggfmt consolidate` and `ggfmt apply`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from ggfmt.commit.names import counted
from ggfmt.commit.records import RecordedRows, RecordedTotals
from ggfmt.doctor.finding import size_text
from ggfmt.formats import FORMATS
from ggfmt.location import strip_credentials
from ggfmt.reading.progress import STEPS
from ggfmt.render.report import markup as ui
from ggfmt.render.report.facts import NOTHING_LOST, ReportData, kind_of, seconds_text
from ggfmt.render.report.markup import Fact, Html, Row, code, cut, element, join, marked, name, section, table
from ggfmt.render.report.page import Report
from ggfmt.sinks.messages.run_history import PastRun

MAX_TIMES = 48

# What a run of each mode does if its output exists. The mode `error` itself would read like a failure of the run.
_MODES = {"error": "the run stops", "append": "the run adds to it", "overwrite": "the run replaces it"}


def run_report(past: PastRun, command: str = "", ending: str = "Committed", statements: Sequence[str] = ()) -> Report:
    """Return the report of a run. `command`: default by its manifest; `statements`: of SQL."""
    run = ReportData(past)
    manifest = run.manifest
    command = command or ("run" if run.query is None else "consolidate")
    sql = [(code(statement),) for statement in statements]
    programs = {"ggfmt": manifest.ggfmt, **manifest.versions}
    return Report(
        f"{command} of {run.committed}" if manifest.time else command,
        ending,
        list(run.verdict()),
        NOTHING_LOST,
        list(_about(run, command)),
        list(_tiles(run)),
        [*(card(run) for card in _CARDS), section("Statements", table(("SQL",), sql, "In this order."))],
        f"Written by {', '.join(f'{program} {version}' for program, version in programs.items())}. ",
    )


def _about(run: ReportData, command: str) -> Iterator[Fact]:
    manifest, query = run.manifest, run.query
    if manifest.run:
        yield "Run", code(manifest.run)
    if run.root:
        yield ("Database" if command == "apply" else "Output"), ui.path(run.root)
    if manifest.input_format:
        yield "Input format", name(manifest.input_format)
    if query is not None:
        until = f", until {query.as_of}" if query.as_of else ""
        yield "Rows", name(f"{query.kind}{until}{'' if command == 'apply' else f', as {query.to}'}")
    if manifest.mode and command != "apply":
        yield "If output exists", name(_MODES.get(manifest.mode, manifest.mode))
    if manifest.replaced:
        handlers = code(", ".join(manifest.replaced))
        yield "Replaced", join(("Later runs replaced the files of ", handlers, ". The totals belong to this run."))
    if manifest.files and command != "apply":
        yield "Next", code(f"ggfmt verify {quote(strip_credentials(run.root))}")


def _tiles(run: ReportData) -> Iterator[tuple[str, str | int, str]]:
    totals = run.totals
    handlers, tables = totals.handlers.values(), counted(len(run.tables), "table")
    rate = f"{run.rate:,} operations/s"
    if run.query is None:
        yield "Operations read", totals.operations_read, f"of {tables}"
        yield "Messages", sum(of.messages for of in handlers), f"by {counted(len(handlers), 'handler')}"
        lost = "Values lost", run.values_lost, f"and {counted(run.characters_lost, 'character')}"
        size, files = sum(of.bytes for of in handlers), sum(of.files for of in handlers)
    else:
        yield "Operations", totals.operations_read, f"by the last run of {tables}"
        yield "Rows", sum(of.rows for of in run.manifest.tables.values()), f"of {tables}"
        lost = "Unresolved", run.unresolved, "operations or rows"
        own = [file for file in run.manifest.files if file.rejects is None]
        size, files, rate = sum(file.bytes for file in own), len(own), "without the commit"
    yield "Rejects", run.rejected, "of all handlers" if run.query is None else "records"
    yield lost
    yield "Read", size_text(totals.input_bytes), f"in {counted(len(run.manifest.inputs), 'file')}"
    if files:
        yield "Written", size_text(size), f"in {counted(files, 'file')}"
    yield "Time", seconds_text(totals.seconds), rate


def by_type(run: ReportData) -> Html | None:
    whole = run.by_type.total()
    rows = [
        (join((ui.key(kind), kind_of(kind))), ui.bar({kind: count}, whole), count, f"{100 * count / whole:.1f} %")
        for kind, count in run.by_type.items()
    ]
    return section("Operations by type", table(("Type", "", "#Operations", "#Share"), rows, "All tables together."))


def over_time(run: ReportData) -> Html | None:
    title = "Operations over time"
    if run.query is not None:
        return None
    if run.totals.operations_by_time is None:
        return section(title, element("p", "This run recorded no times: it used an earlier version of ggfmt."))
    if not run.times:
        return section(title, element("p", "The operations in the input have no times."))
    step, times = run.by_time(MAX_TIMES)
    format = FORMATS.get(run.manifest.input_format)
    zone = (
        "as in the input" if format is None else "in UTC" if format.times_in_utc else "in the time zone of the source"
    )
    untimed = f" Left out: {counted(run.untimed, 'operation')} without a time." if run.untimed else ""
    caption = f"Times are {zone}. Rows are by {step}. Times without operations have no row.{untimed}"
    return section(title, table(("From", *_kinds(run)), _counts(run, list(times.items())), caption))


def by_table(run: ReportData) -> Html | None:
    titles, manifest = ["#Files", "#Bytes"], run.manifest
    counts = _counts(run, [(item.name, item.operations) for item in run.tables])
    rows: list[Row] = [(*row, item.files, item.size) for row, item in zip(counts, run.tables, strict=True)]
    if run.query is not None:
        titles = ["#Rows", "#Unresolved", *titles, "Key"]
        of = [manifest.tables.get(item.name, RecordedRows()) for item in run.tables]
        rows = [
            (*row[:-2], each.rows, each.unresolved, *row[-2:], name(", ".join(each.key) or "all columns"))
            for row, each in zip(rows, of, strict=True)
        ]
    caption = f"{counted(len(run.tables), 'table')}, by number of operations."
    return section("Operations by table", table(("Table", *_kinds(run), *titles), rows, caption))


def doubts(run: ReportData) -> Html | None:
    found = [
        (owner, f"set aside for the next run: {of.reason}", of.kept) for owner, of in run.manifest.set_aside.items()
    ]
    for owner, of in run.manifest.tables.items():
        found += [(owner, f"operations contradict the row: {kind}", count) for kind, count in of.contradictions.items()]
        found += [(owner, f"values of {column} do not fit their type", count) for column, count in of.unfit.items()]
        found += [(owner, f"values of {it} that no operation set", sum(of.unset[it].values())) for it in of.unset]
    rows = [(name(owner), cut(what), count) for owner, what, count in found]
    return section("Doubts", table(("Table", "What", "#Count"), rows, "Uncertain rows and values."))


def _kinds(run: ReportData) -> list[str]:
    return ["", "#All", *(f"#{kind_of(kind).capitalize()}" for kind in run.by_type)]


def _counts(run: ReportData, named: Sequence[tuple[str, Mapping[str, int]]]) -> list[Row]:
    totals = [sum(kinds.values()) for _, kinds in named]
    most = max(totals, default=0)
    return [
        (name(owner), ui.bar(kinds, most), total, *(kinds.get(kind, 0) for kind in run.by_type))
        for (owner, kinds), total in zip(named, totals, strict=True)
    ]


def rejects(run: ReportData) -> Html | None:
    if not run.rejects:
        return None
    counts = [(name(found.handler or "all"), code(found.code), found.title, found.count) for found in run.rejects]
    listed = table(("Handler", "Code", "Reason", "#Rejects"), counts, "By handler and reason.")
    if not run.examples:
        missing = "The files with the reasons in `_rejects` are missing, or in another directory."
        return section("Rejects", listed, element("p", missing))
    rows = []
    for found, handlers in run.examples:
        byte = None if found.offset is None else f"byte {found.offset:,}"
        data = {"table": found.table, "column": found.column, "position": found.position}
        parts = [found.file, byte, *(f"{what} {known}" for what, known in data.items() if known)]
        place = join(element("p", cut(part)) for part in parts if part)
        reason = join((cut(found.reason), element("p", cut(found.help), class_="help") if found.help else None))
        rows.append((code(found.code), reason, name(", ".join(handlers)), place))
    titles = ("Code", "Reason", "Handlers", "Place in the input")
    return section("Rejects", listed, table(titles, rows, "The first rejects."))


def losses(run: ReportData) -> Html | None:
    rows: list[Row] = [
        (name(handler), name(loss.table), name(loss.column), loss.values, join((cut(loss.what), " ", code(loss.loss))))
        for handler, loss in run.losses
    ]
    titles = ("Handler", "Table", "Column", "#Values", "What happened")
    rows += [
        (name(handler), None, None, totals.lost_characters, marked("characters became `?`"))
        for handler, totals in run.totals.handlers.items()
        if totals.lost_characters
    ]
    return section("Losses", table(titles, rows, "Values that could not be shown as they are."))


def warnings(run: ReportData) -> Html | None:
    rows = [(cut(warning),) for warning in run.totals.warnings]
    return section("Warnings", table(("Warning",), rows, "Lines of the log."))


def handlers(run: ReportData) -> Html | None:
    cards = [_handler(run, handler, totals) for handler, totals in run.totals.handlers.items()]
    return section("Handlers", element("div", *cards, class_="cards") if cards else None)


def _handler(run: ReportData, handler: str, totals: RecordedTotals) -> Html:
    rows: list[Fact] = [
        ("Messages", f"{totals.messages:,}, {size_text(totals.bytes)} in {counted(totals.files, 'file')}")
    ]
    if totals.extra_messages:
        rows.append(("Extra messages", f"{totals.extra_messages:,}, from updates of primary keys"))
    if totals.left_out:
        rows.append(("Left out", counted(totals.left_out, "truncate")))
    settings = run.manifest.handlers.get(handler)
    if settings is not None:
        rows += [
            ("Format", code(settings.format)),
            ("Tokens", "included" if settings.include_tokens else "not included"),
        ]
        rows += [(key, ui.path(value)) for key, value in settings.options.items()]
    if totals.not_shown:
        rows.append(("Limits of the format", marked(" ".join(loss.what for loss in totals.not_shown))))
    return element("article", element("h3", name(handler)), ui.facts(rows))


def time_spent(run: ReportData) -> Html | None:
    steps = run.totals.seconds_by_step
    whole = sum(steps.values())
    rows = [
        (name(step), ui.bar({"": took}, whole), f"{took:,.3f}", STEPS.get(step, "")) for step, took in steps.items()
    ]
    caption = "Tasks run in parallel, and their times are added: steps may take longer than the run."
    return section("Where the time went", table(("Step", "", "#Seconds", "Meaning"), rows, caption))


def uncounted_records(run: ReportData) -> Html | None:
    totals = run.totals
    rows = [(name(f"{kind} records"), count) for kind, count in sorted(totals.other_records.items())]
    rows += [(marked(f"unknown member `{member}`"), count) for member, count in sorted(totals.unknown_members.items())]
    for source, places in sorted(totals.mapped_operations.items()):
        counts = [(place, what, count) for place, fates in places.items() for what, count in fates.items()]
        left = [each for each in counts if each[1] not in ("read", "reached")]
        rows += [(marked(f"operations of `{source}`, {what} {place}".rstrip()), count) for place, what, count in left]
    rows += [
        (marked(f"records of `{it}`, not selected"), count) for it, count in sorted(totals.skipped_records.items())
    ]
    if totals.records_rejected_by_reader:
        rows.append((name("records that could not be read"), totals.records_rejected_by_reader))
    return section("Other records", table(("What", "#Records"), rows, "Input that is not in the messages."))


def files(run: ReportData) -> Html | None:
    manifest = run.manifest
    what = "#Messages" if run.query is None else "#Rows"
    titles = ("File", "Handler", what, "#Bytes", "First position", "Last position")
    rows = []
    for file in manifest.files:
        count = file.operations + file.rows if file.rejects is None else counted(file.rejects, "reject")
        positions = (name(file.first_position or ""), name(file.last_position or ""))
        rows.append((ui.path(file.path), name(file.handler), count, file.bytes, *positions))
    parts = [
        table(("File", "#Bytes"), [(ui.path(entry.path), entry.bytes) for entry in entries], what)
        for what, entries in (("Schemas.", manifest.schemas), ("Input files.", manifest.inputs))
    ]
    return section("Files", table(titles, rows, "Output files."), *parts)


_CARDS = (
    *(by_type, over_time, by_table, rejects, doubts, losses, warnings, handlers, time_spent, uncounted_records),
    files,
)
