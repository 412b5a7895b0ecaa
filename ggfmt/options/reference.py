"""Option sets as tables: Markdown for documents, texts for a terminal, plain data for JSON."""

from __future__ import annotations

from typing import Any

from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.spec import Options, OptionSpec
from ggfmt.options.value_types import Choice

_HEADINGS = ("Property", "Legal values", "Default", "Releases", "Meaning")


def markdown_table(options: type[Options]) -> str:
    headings, rows = table_cells(options)
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    for cells in rows:
        lines.append(" | ".join(cell.replace("|", "\\|") for cell in cells))
    return "".join(f"| {line} |\n" for line in lines)


def table_cells(options: type[Options]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    headings = tuple(heading for heading in _HEADINGS if heading != "Releases" or options.of_goldengate)
    rows = []
    for spec in options.specs():
        reach = (releases(spec),) if options.of_goldengate else ()
        rows.append((f"`{spec.name}`", spec.kind.legal, default_words(spec), *reach, sentence(spec)))
    return headings, rows


def as_dicts(options: type[Options]) -> list[dict[str, Any]]:
    """Return the options for JSON. `default_text`: the form of the default in a properties file."""
    return [as_dict(spec) for spec in options.specs()]


def as_dict(spec: OptionSpec) -> dict[str, Any]:
    described: dict[str, Any] = {
        "property": spec.name,
        "kind": type(spec.kind).__name__.lower(),
        "legal": spec.kind.legal.replace("`", ""),
        "default": spec.default_text if isinstance(spec.default, tuple) else spec.default,
        "default_text": spec.default_text,
        "doc": spec.doc,
        "since": spec.since,
        "until": spec.until,
        "aliases": list(spec.aliases),
    }
    if isinstance(spec.kind, Choice):
        described["words"] = dict(spec.kind.words)
    return described


def releases(spec: OptionSpec) -> str:
    if spec.until is not None:
        return f"{spec.since} to {spec.until}"
    if not spec.since:
        return "ggfmt only"
    return "all" if spec.since == FIRST_RELEASE else f"from {spec.since}"


def default_words(spec: OptionSpec) -> str:
    if spec.default is None or spec.default == ():
        return "none"
    return f"`{spec.default_text}`" if spec.default != "" else "empty"


def sentence(spec: OptionSpec) -> str:
    if not isinstance(spec.kind, Choice):
        return spec.doc
    meanings: dict[str, list[str]] = {}
    for word, meaning in spec.kind.words.items():
        meanings.setdefault(meaning, []).append(f"`{word}`")
    words = (f"{', '.join(alike)}: {meaning}" for meaning, alike in meanings.items())
    return f"{spec.doc} {'; '.join(words)}."
