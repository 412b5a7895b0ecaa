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
from ggfmt.commit.records import RecordedTotals
from ggfmt.diagnostics.diagnostic import UsageError, without_credentials
from ggfmt.doctor.finding import size_text
from ggfmt.formats import FORMATS
from ggfmt.location import Location
from ggfmt.reading.progress import STEPS
from ggfmt.render.report.facts import NOTHING_LOST, ReportData, kind_of, seconds_text
from ggfmt.render.report.markup import Content, Html, bar, code, element, join, key, marked, name
from ggfmt.sinks.messages.run_history import PastRun
from ggfmt.version import VERSION

MAX_TIMES = 48
MAX_TEXT = 400  # characters of a reason
LONG_ROWS = 500  # a browser makes more only where they are seen
MAX_ROWS = 10_000  # of a table: a browser opens these at once, and the manifest has all

# What a run of each mode does if its output exists. The mode `error` itself would read like a failure of the run.
_MODES = {"error": "the run stops", "append": "the run adds to it", "overwrite": "the run replaces it"}

Row = Sequence[Content]
Fact = tuple[str, Content]


def table(titles: Sequence[str], rows: Sequence[Row], caption: str) -> Html | None:
    """Return a table in a box that scrolls; None without rows.

    A `#` before a title is for numbers, which are right-aligned. A column without a title has bars.
    """
    if not rows:
        return None
    if len(rows) > MAX_ROWS:
        caption += f" {len(rows) - MAX_ROWS:,} more rows are only in the manifest in the output directory."
    classes = [("n" if title[0] == "#" else None) if title else "b" for title in titles]

    def line(tag: str, cells: Iterable[Content], scope: str | None = None) -> Html:
        pairs = zip(cells, classes, strict=True)
        return element("tr", *(element(tag, cell, scope=scope, class_=kind) for cell, kind in pairs))

    head = element("thead", line("th", (title.removeprefix("#") for title in titles), "col"))
    body = element("tbody", *(line("td", row) for row in rows[:MAX_ROWS]))
    whole = element("table", element("caption", caption), head, body)
    kind = "scroll long" if len(rows) > LONG_ROWS else "scroll"
    return element("div", whole, class_=kind, tabindex="0", role="region", aria_label=caption)


def facts(rows: Sequence[Fact]) -> Html:
    return element("dl", *(element("div", element("dt", key), element("dd", value)) for key, value in rows))


def _section(title: str, *parts: Html | None) -> Html | None:
    if not any(parts):
        return None
    id = title.lower().replace(" ", "-")
    return element("section", element("h2", title, id=id), *parts, aria_labelledby=id)


def _path(given: str) -> Html:
    return code(without_credentials(given))


def _cut(given: str) -> Html:
    shown = without_credentials(given)
    return marked(shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}...")


def about(run: ReportData) -> Html:
    manifest = run.manifest
    rows: list[Fact] = [("Run", code(manifest.run)), ("Output", _path(run.root))]
    if manifest.input_format:
        rows.append(("Input format", name(manifest.input_format)))
    if manifest.mode:
        rows.append(("If output exists", name(_MODES.get(manifest.mode, manifest.mode))))
    handlers = code(", ".join(manifest.replaced))
    replaced = element("p", "Later runs replaced the files of ", handlers, ". The totals belong to this run.")
    return join((facts(rows), replaced if manifest.replaced else None))


def by_type(run: ReportData) -> Html | None:
    whole = run.by_type.total()
    rows = [
        (join((key(kind), kind_of(kind))), bar({kind: count}, whole), count, f"{100 * count / whole:.1f} %")
        for kind, count in run.by_type.items()
    ]
    return _section("Operations by type", table(("Type", "", "#Operations", "#Share"), rows, "All tables together."))


def over_time(run: ReportData) -> Html | None:
    title = "Operations over time"
    if run.totals.operations_by_time is None:
        return _section(title, element("p", "This run recorded no times: it used an earlier version of ggfmt."))
    if not run.times:
        return _section(title, element("p", "The operations in the input have no times."))
    step, times = run.by_time(MAX_TIMES)
    format = FORMATS.get(run.manifest.input_format)
    zone = (
        "as in the input" if format is None else "in UTC" if format.times_in_utc else "in the time zone of the source"
    )
    untimed = f" Left out: {counted(run.untimed, 'operation')} without a time." if run.untimed else ""
    caption = f"Times are {zone}. Rows are by {step}. Times without operations have no row.{untimed}"
    return _section(title, table(("From", *_kinds(run)), _counts(run, list(times.items())), caption))


def by_table(run: ReportData) -> Html | None:
    counts = _counts(run, [(item.name, item.operations) for item in run.tables])
    rows = [(*row, item.files, item.size) for row, item in zip(counts, run.tables, strict=True)]
    caption = f"{counted(len(run.tables), 'table')}, by number of operations."
    return _section("Operations by table", table(("Table", *_kinds(run), "#Files", "#Bytes"), rows, caption))


def _kinds(run: ReportData) -> list[str]:
    return ["", *(f"#{kind_of(kind).capitalize()}" for kind in run.by_type), "#All"]


def _counts(run: ReportData, named: Sequence[tuple[str, Mapping[str, int]]]) -> list[Row]:
    totals = [sum(kinds.values()) for _, kinds in named]
    most = max(totals, default=0)
    return [
        (name(owner), bar(kinds, most), *(kinds.get(kind, 0) for kind in run.by_type), total)
        for (owner, kinds), total in zip(named, totals, strict=True)
    ]


def rejects(run: ReportData) -> Html | None:
    if not run.rejects:
        return None
    counts = [(name(found.handler), code(found.code), found.title, found.count) for found in run.rejects]
    listed = table(("Handler", "Code", "Reason", "#Rejects"), counts, "By handler and reason.")
    if not run.examples:
        missing = "The files with the reasons in `_rejects` are missing, or in another directory."
        return _section("Rejects", listed, element("p", missing))
    rows = []
    for found, handlers in run.examples:
        byte = None if found.offset is None else f"byte {found.offset:,}"
        data = {"table": found.table, "column": found.column, "position": found.position}
        parts = [found.file, byte, *(f"{what} {known}" for what, known in data.items() if known)]
        place = join(element("p", _cut(part)) for part in parts if part)
        reason = join((_cut(found.reason), element("p", _cut(found.help), class_="help") if found.help else None))
        rows.append((code(found.code), reason, name(", ".join(handlers)), place))
    titles = ("Code", "Reason", "Handlers", "Place in the input")
    return _section("Rejects", listed, table(titles, rows, "The first rejects."))


def losses(run: ReportData) -> Html | None:
    rows: list[Row] = [
        (name(handler), name(loss.table), name(loss.column), loss.values, join((_cut(loss.what), " ", code(loss.loss))))
        for handler, loss in run.losses
    ]
    titles = ("Handler", "Table", "Column", "#Values", "What happened")
    characters = [
        element("p", "Handler ", code(handler), f": {counted(totals.lost_characters, 'character')} became `?`.")
        for handler, totals in run.totals.handlers.items()
        if totals.lost_characters
    ]
    return _section("Losses", table(titles, rows, "Values that could not be shown as they are."), *characters)


def warnings(run: ReportData) -> Html | None:
    rows = [(_cut(warning),) for warning in run.totals.warnings]
    return _section("Warnings", table(("Warning",), rows, "Lines of the log."))


def handlers(run: ReportData) -> Html | None:
    cards = [_handler(run, handler, totals) for handler, totals in run.totals.handlers.items()]
    return _section("Handlers", element("div", *cards, class_="cards") if cards else None)


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
        rows += [(key, _path(value)) for key, value in settings.options.items()]
    if totals.not_shown:
        rows.append(("Limits of the format", marked(" ".join(loss.what for loss in totals.not_shown))))
    return element("article", element("h3", name(handler)), facts(rows))


def time_spent(run: ReportData) -> Html | None:
    steps = run.totals.seconds_by_step
    most = max(steps.values(), default=0)
    rows = [(name(step), bar({"": taken}, most), f"{taken:,.3f}", STEPS.get(step, "")) for step, taken in steps.items()]
    caption = "Tasks run in parallel, and their times are added: steps may take longer than the run."
    return _section("Where the time went", table(("Step", "", "#Seconds", "Meaning"), rows, caption))


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
    return _section("Other records", table(("What", "#Records"), rows, "Input that is not in the messages."))


def files(run: ReportData) -> Html | None:
    manifest = run.manifest
    titles = ("File", "Handler", "#Messages", "#Bytes", "First position", "Last position")
    rows = []
    for file in manifest.files:
        count = file.operations if file.rejects is None else counted(file.rejects, "reject")
        positions = (name(file.first_position or ""), name(file.last_position or ""))
        rows.append((_path(file.path), name(file.handler), count, file.bytes, *positions))
    parts = [
        table(("File", "#Bytes"), [(_path(entry.path), entry.bytes) for entry in entries], what)
        for what, entries in (("Schemas.", manifest.schemas), ("Input files.", manifest.inputs))
    ]
    return _section("Files", table(titles, rows, "Output files."), *parts)


def page(run: PastRun) -> str:
    """Return one file for a browser without a network.

    Its Content-Security-Policy allows only its own style, by its hash, and no script: no data can become either.
    """
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    style = hashlib.sha256(template.partition("<style>")[2].partition("</style>")[0].encode()).digest()
    digest = f"sha256-{base64.b64encode(style).decode()}"
    return Template(template).substitute(_values(ReportData(run)), style=digest)


def _values(run: ReportData) -> dict[str, Html]:
    manifest, totals = run.manifest, run.totals
    handlers_of_run = totals.handlers.values()
    troubles = list(run.verdict())
    sections = (by_type, over_time, by_table, rejects, losses, warnings, handlers, time_spent, uncounted_records, files)
    programs = {"ggfmt": manifest.ggfmt, **manifest.versions}
    values: dict[str, str | int] = {
        "run": manifest.run,
        "committed": run.committed,
        "grade": "warn" if troubles else "good",
        "verdict": "; ".join(troubles) or NOTHING_LOST,
        "about": about(run),
        "operations": totals.operations_read,
        "tables": counted(len(run.tables), "table"),
        "messages": sum(handler.messages for handler in handlers_of_run),
        "handlers": counted(len(totals.handlers), "handler"),
        "rejects": run.rejected,
        "values_lost": run.values_lost,
        "characters_lost": counted(run.characters_lost, "character"),
        "read": size_text(totals.input_bytes),
        "inputs": counted(len(manifest.inputs), "file"),
        "written": size_text(sum(handler.bytes for handler in handlers_of_run)),
        "files": counted(sum(handler.files for handler in handlers_of_run), "file"),
        "time": seconds_text(totals.seconds),
        "rate": run.rate,
        "sections": join(section(run) for section in sections),
        "programs": ", ".join(f"{program} {version}" for program, version in programs.items()),
        "version": VERSION,
    }
    return {key: join((value,)) for key, value in values.items()}


def write_page(run: PastRun, file: Path) -> None:
    """Write the page atomically. Raises: UsageError GG563 for a file within the output directory, else GG506."""
    root = Location.of(run.root)
    target = Path(os.path.realpath(file))
    if root.is_local and target.is_relative_to(os.path.realpath(root.path)):
        help = "give a file outside of the output directory"
        raise UsageError("GG563", "the page would be within the output directory", str(file), help)
    content = page(run).encode()
    try:
        if file.exists() and not file.is_file():  # such as `/dev/stdout`; a directory cannot be opened
            file.write_bytes(content)
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            draft.write_bytes(content)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        message = f"the page cannot be written: {error.strerror}"
        raise UsageError("GG506", message, str(file), "give another file") from None
