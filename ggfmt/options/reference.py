"""Option sets as tables: Markdown for documents, texts for a terminal, plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ggfmt.options.releases import FIRST_RELEASE, UNKNOWN, manual_name
from ggfmt.options.spec import Need, OptionSpec
from ggfmt.options.value_types import Choice

_HEADINGS = ("Property", "Legal values", "Default", "Need", "Releases", "Meaning")


def markdown_table(specs: Sequence[OptionSpec]) -> str:
    headings, rows = table_cells(specs)
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    for cells in rows:
        lines.append(" | ".join(cell.replace("|", "\\|") for cell in cells))
    return "".join(f"| {line} |\n" for line in lines)


def table_cells(specs: Sequence[OptionSpec]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows = []
    for spec in specs:
        need = "" if spec.need is Need.NONE else spec.need.value
        reach = releases(spec) if any(spec.since for spec in specs) else ""
        rows.append((f"`{spec.name}`", spec.kind.legal, default_words(spec), need, reach, sentence(spec)))
    filled = [place for place in range(len(_HEADINGS)) if any(row[place] for row in rows)]
    return tuple(_HEADINGS[place] for place in filled), [tuple(row[place] for place in filled) for row in rows]


def as_dict(spec: OptionSpec) -> dict[str, Any]:
    """Return an option for JSON. `default_text`: the form of the default in a properties file."""
    described: dict[str, Any] = {
        "property": spec.name,
        "kind": type(spec.kind).__name__.lower(),
        "legal": spec.kind.legal.replace("`", ""),
        "default": spec.default if isinstance(spec.default, bool | int | str | None) else spec.default_text,
        "default_text": spec.default_text,
        "doc": spec.doc,
        "since": spec.since,
        "until": spec.until,
        "aliases": list(spec.aliases),
        "need": spec.need.value,
        "source": spec.source,
    }
    if isinstance(spec.kind, Choice):
        described["words"] = dict(spec.kind.words)
    return described


class Dated(Protocol):
    @property
    def since(self) -> str: ...
    @property
    def until(self) -> str | None: ...


def releases(of: Dated) -> str:
    if of.since == UNKNOWN:
        return UNKNOWN if of.until is None else f"up to {manual_name(of.until)}"
    if of.until is not None:
        return f"{manual_name(of.since)} to {manual_name(of.until)}"
    if not of.since:
        return "ggfmt only"
    return "all" if of.since == FIRST_RELEASE else f"from {manual_name(of.since)}"


def default_words(spec: OptionSpec) -> str:
    if spec.default is None and spec.source and isinstance(spec.kind, Choice):
        return "not known"
    if spec.default is None or spec.default == ():
        return "none" if spec.attr or spec.need is Need.REQUIRED else ""
    return f"`{spec.default_text}`" if spec.default != "" else "empty"


def sentence(spec: OptionSpec) -> str:
    if not isinstance(spec.kind, Choice):
        return spec.doc
    meanings: dict[str, list[str]] = {}
    for word, meaning in spec.kind.words.items():
        meanings.setdefault(meaning, []).append(f"`{word}`")
    words = [f"{', '.join(alike)}: {meaning}" for meaning, alike in meanings.items() if meaning]
    return f"{spec.doc} {'; '.join(words)}." if words else spec.doc
