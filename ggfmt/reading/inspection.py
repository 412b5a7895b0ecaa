"""What a file is, and the commands that read it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from shlex import quote

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import Reject
from ggfmt.java.text import visible
from ggfmt.reading.files import InputFile
from ggfmt.reading.recognition import HEAD_BYTES, Recognition, recognize
from ggfmt.reading.row_files import MAX_COLUMNS, describe_unrecognized, find_rows
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.reading.splits import Budget, Range


@dataclass(frozen=True)
class FileFacts:
    """A file: facts about it by name, and the commands to run next."""

    file: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


def inspect_file(file: InputFile) -> FileFacts:
    """Return what a file is. Files that cannot be read are an Abend GG310."""
    made = FileFacts(file.shown)
    if file.compression is not None:
        made.facts.append(("compression", file.compression))
    try:
        found = recognize(file)
    except GgfmtError as error:
        problem = error.diagnostics[0]
        made.facts.append(("kind", problem.message))
        made.facts.extend([("next", problem.help)] if problem.help else [])
        return made
    if not found.head.strip():
        made.facts.append(("kind", "nothing: the file is empty"))
    elif found.reasons:
        _add_changes(made, file, found)
    else:
        _add_unrecognized(made, file, found)
    return made


def _add_changes(made: FileFacts, file: InputFile, found: Recognition) -> None:
    names = list(found.reasons)
    made.facts.append(("kind", f"changes in the format {' or '.join(names)}: {found.reasons[names[0]]}"))
    if found.envelope is not None:
        made.facts.append(("messages", found.envelope))
    made.facts.extend(_contents(file, names[0]))
    if made.facts[-1][0] == "problem":
        return
    more = "" if len(names) == 1 else f" --input-format {names[0]}"
    made.commands.append(f"ggfmt preview {quote(file.shown)}{more} --to json")
    made.commands.append(f"ggfmt run {quote(file.shown)}{more} --to json -o out")


def _contents(file: InputFile, name: str) -> Iterator[tuple[str, str]]:
    """Yield the tables of the first records, and the first record that cannot be read."""
    try:
        scan = Scan(ScanRequest([file.shown], name), [file])
        job = scan.discover_from_head(scan.job)
        if job is None and file.size < HEAD_BYTES:
            job, _ = scan.discover(InProcess())
        if job is None:
            return
        reader = job.reader(job.catalog, Projection())
        chunks = Range(scan.input(0), 0, None, Budget(HEAD_BYTES)).chunks(scan.reader)
        events = [*(event for chunk in chunks for event in reader.read(chunk)), *reader.flush()]
    except GgfmtError as error:
        yield "problem", str(error.diagnostics[0])
        return
    for table in job.definitions:
        columns = ", ".join(f"{visible(c.name)} ({c.type.kind.value})" for c in table.columns[:MAX_COLUMNS])
        key = f"key {', '.join(map(visible, table.key_names))}" if table.key_names else "no key"
        yield "table", f"{visible(table.full_name)}: {columns}{', ...' * (len(table.columns) > MAX_COLUMNS)}; {key}"
    for reject in islice((event for event in events if isinstance(event, Reject)), 1):
        yield "problem", visible(str(reject.diagnostic))


def _add_unrecognized(made: FileFacts, file: InputFile, found: Recognition) -> None:
    said = describe_unrecognized(file.shown, found.stored, found.head, found.envelope)
    rows = find_rows(found.stored, found.head)
    if rows is not None and said is not None and rows.what in said[0]:
        made.facts.extend((("kind", rows.what), *rows.facts))
        command = rows.command(file.shown)
        if command is not None:
            made.commands.extend((command.replace("ggfmt run", "ggfmt preview", 1).replace(" -o out", ""), command))
        if rows.help:
            made.facts.append(("next", rows.help))
        return
    what, help = said or (
        "is a text without records that ggfmt knows",
        "name files with changes, or see `ggfmt formats`; for CSV, `ggfmt run FILE --csv` says what is missing",
    )
    made.facts.extend((("kind", what.rpartition("looks like ")[2].removeprefix("is ")), ("next", help)))
