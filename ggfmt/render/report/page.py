"""The page of a run: one file without a reference to any other, for a browser without a network.

A Content-Security-Policy forbids the page all but its own style and script, by their hashes: what a manifest says
cannot become either.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib import resources
from pathlib import Path

from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.location import Location
from ggfmt.render.report import sections
from ggfmt.render.report.facts import ReportData
from ggfmt.render.report.markup import Markup, element, join
from ggfmt.sinks.messages.run_history import PastRun
from ggfmt.version import VERSION


def page(run: PastRun) -> str:
    """The HTML document, with a line break at its end."""
    facts = ReportData(run)
    style, script = _own("page.css"), _own("page.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("meta", name_="referrer", content="no-referrer"),
        element("meta", name_="robots", content="noindex"),
        element("meta", name_="generator", content=f"ggfmt {VERSION}"),
        element("title", f"ggfmt run {facts.manifest.run}"),
        element("style", style),
    )
    main = element(
        "main",
        sections.heading(facts),
        sections.tiles(facts),
        sections.over_time(facts),
        element("div", sections.by_type(facts), sections.time_spent(facts), class_="pair"),
        sections.by_table(facts),
        sections.rejects(facts),
        sections.losses(facts),
        sections.warnings(facts),
        sections.handlers(facts),
        sections.uncounted_records(facts),
        sections.files(facts),
        _footer(facts),
    )
    body = element("body", main, element("script", script))
    return join((Markup("<!DOCTYPE html>\n"), element("html", head, body, lang="en"), Markup("\n")))


def write_page(run: PastRun, file: Path) -> None:
    """Writes the page, all of it or nothing. UsageError GG563 for a file within the output directory, GG506 for one
    that cannot be written."""
    root = Location.of(run.root)
    if root.is_local and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root.path)):
        message = "the page would lie within the output directory"
        raise UsageError(Diagnostic("GG563", message, Span(file=str(file)), "give a file outside of it"))
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
    told = ", ".join(f"{key} {value}" for key, value in versions.items())
    text = f"Written by {told}. This page is by ggfmt {VERSION}, from the manifest of the run alone."
    return element("footer", element("p", text))


def _own(name: str) -> Markup:
    """A file of this package, which is markup as it is."""
    return Markup(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
