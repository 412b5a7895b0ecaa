"""The page of a report, whatever the command: what it has, and its file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError, UsageError
from ggfmt.location import Location
from ggfmt.render.report.markup import Fact, Html, code, cut, element, facts, join, marked, section, table
from ggfmt.version import VERSION

_USED = re.compile(r'href="#(GG\d{3})"')  # no data has a quote on the page


@dataclass(frozen=True)
class Report:
    """What a command did. `title`: `run of 2026-01-31`; `ending`: `Committed`; `troubles`: what to look at, which
    decides on the color; `calm`: what to say if there are none; `tiles`: a title, a figure, and what belongs to it."""

    title: str
    ending: str
    troubles: Sequence[str]
    calm: str = ""
    about: Sequence[Fact] = ()
    tiles: Sequence[tuple[str, str | int, str]] = ()
    cards: Sequence[Html | None] = ()
    source: str = ""


def failure(command: str, ending: str, found: Iterable[Diagnostic]) -> Report:
    """Return the report of a run that an error has ended."""
    return Report(command, "", [ending], cards=[findings("Errors", found)])


def findings(title: str, found: Iterable[Diagnostic]) -> Html | None:
    rows = [
        (code(each.code), cut(f"{each.span or ''}"), cut(each.message), cut(each.help) if each.help else None)
        for each in found
    ]
    return section(title, table(("Code", "Where", "What", "What to do"), rows, f"{title} of ggfmt."))


def page(report: Report) -> str:
    """Return one file for a browser without a network.

    Its Content-Security-Policy allows only its own style and script, by their hashes: no data can become either.
    """
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    cards = join(report.cards)
    used = [CODES[each] for each in sorted({*_USED.findall(cards)}) if each in CODES]
    meanings = [(element("b", each.name, id=each.name), each.title, cut(each.explanation)) for each in used]
    caption = "ggfmt explain CODE shows an example."
    tiles = (
        element("div", element("dt", title), element("dd", element("b", value), element("span", note)))
        for title, value, note in report.tiles
    )
    values = {
        "title": report.title,
        "grade": "warn" if report.troubles else "good",
        "verdict": marked(": ".join(filter(None, (report.ending, "; ".join(report.troubles) or report.calm)))),
        "about": facts(report.about),
        "tiles": element("dl", *tiles, class_="tiles") if report.tiles else None,
        "cards": cards,
        "codes": section("Codes", table(("Code", "Title", "Meaning"), meanings, caption)),
        "source": report.source,
        "version": VERSION,
    }
    hashes = {f"{tag}_hash": _hash(template, tag) for tag in ("style", "script")}
    return Template(template).substitute({key: join((value,)) for key, value in values.items()}, **hashes)


def _hash(template: str, tag: str) -> str:
    content = template.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def check_place(file: Path, output: str) -> None:
    """Raises: UsageError GG563 for a file within the output directory."""
    if "://" in output and not output.lower().startswith("file:"):
        return
    root = Location.of(output)
    if root.is_local and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root.path)):
        help = "give a file outside of the output directory"
        raise UsageError("GG563", "the report would be within the output directory", str(file), help)


def write_report(
    content: str,
    file: Path,
    error: type[GgfmtError] = UsageError,
    message: str = "the page cannot be written",
    help: str = "give another file",
) -> None:
    """Write a page or another text atomically. Raises: an error GG506 with the message and the help."""
    try:
        if file.exists() and not file.is_file():  # such as `/dev/stdout`; a directory cannot be opened
            file.write_bytes(content.encode())
            return
        target = Path(os.path.realpath(file))
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            draft.write_bytes(content.encode())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as problem:
        raise error("GG506", f"{message}: {problem.strerror}", str(file), help) from None
