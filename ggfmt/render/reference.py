"""What commands print that explain ggfmt: pages, the table of formats, and the explanation of a word."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from ggfmt.config import symbols
from ggfmt.config.property_table import KEYS, EventHandlerType, HandlerType, Owner, OwnerKind, Target
from ggfmt.diagnostics.codes import Code
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.options.reference import as_dict, default_words, releases, table_cells
from ggfmt.options.releases import RELEASES
from ggfmt.options.spec import Need, OptionSpec
from ggfmt.options.value_types import Choice, ReleaseChoice
from ggfmt.render.diagnostics import Piece, plain, print_styled, write_text
from ggfmt.render.wrapping import indented

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ggfmt.render.tables import FittedTable

_HOW_TO_SHOW = "`ggfmt docs TOPIC` shows a page, `ggfmt docs GG205` a code, and `ggfmt docs canal_json` a format."
_LINK = re.compile(r"\[([^]]+)\]\(([^):]+)\)")


def print_page(text: str, stream: TextIO) -> None:
    """Write a page of Markdown to a stream: rendered if it is a terminal, else unchanged."""
    if not stream.isatty():
        write_text(text if text.endswith("\n") else f"{text}\n", stream)
        return
    from rich.console import Console

    from ggfmt.render.pages import PAGE_WIDTH, Page

    console = Console(file=stream)
    # Lines of code are not cropped: the terminal breaks those that are too long, and they can be copied as wholes.
    # Addresses of links are text: older pagers and terminals show the escapes of a link, or nothing.
    page = Page(_LINK.sub(_command, text), hyperlinks=False)
    console.print(page, width=min(console.width, PAGE_WIDTH), crop=False)


def print_topics(sections: Mapping[str, Sequence[tuple[str, str]]], stream: TextIO) -> None:
    width = max(len(topic) for topics in sections.values() for topic, _ in topics) + 2

    def pieces(columns: int | None) -> Iterator[Piece]:
        for title, topics in sections.items():
            yield f"{title}\n", "section"
            for topic, sentence in topics:
                yield f"  {topic:{width}}", "title"
                yield f"{indented(sentence, width + 2, columns)}\n", ""
            yield "\n", ""
        yield f"{indented(_HOW_TO_SHOW, 0, columns)}\n", ""

    print_styled(pieces, _STYLES, stream)


def _command(link: re.Match[str]) -> str:
    """Return a link to another page as the command that shows it; any other link as its text."""
    page = link[2].partition("#")[0]
    if not page.endswith(".md"):
        return link[1]
    topic = posixpath.basename(page).removesuffix(".md")
    # The text of a link to a code is the code.
    return f"`ggfmt docs {topic}`" if topic == link[1] else f"{link[1]} (`ggfmt docs {topic}`)"


# Tables for the terminal.


def options_table(specs: Sequence[OptionSpec], title: str | None = None) -> FittedTable:
    from rich.text import Text

    from ggfmt.render.tables import FittedTable

    headings, rows = table_cells(specs)
    cells = [[Text(cell.replace("`", ""), "" if column else "bold") for column, cell in enumerate(row)] for row in rows]
    shown = None if title is None else Text(title)
    return FittedTable([Text(text) for text in headings], cells, title=shown, title_justify="left", show_lines=True)


def formats_table() -> FittedTable:
    from rich.text import Text

    from ggfmt.render.tables import FittedTable

    rows = []
    for name, format in FORMATS.items():
        marks = ("yes" if part is not None else "" for part in (format.reads, format.writes, format.schema_kind))
        rows.append([Text(cell) for cell in (name, *marks, format.doc)])
    headings = [Text(heading) for heading in ("format", "reads", "writes", "schema", "description")]
    return FittedTable(headings, rows, box=None, pad_edge=False)


def print_rich(renderable: RenderableType, stream: TextIO) -> None:
    """Print a table, as wide as the terminal; into a pipe without color, as wide as it needs."""
    from rich.console import Console

    Console(file=stream, width=None if stream.isatty() else 200).print(renderable)


# The explanation of a word: text for people (plain, or in color), Markdown, and data for JSON.

_WIDTH = 100
_STYLES = {
    "section": "bold cyan",
    "title": "bold",
    "label": "cyan",
    "without": "red",
    "with": "green",
    "lines": "bold",
    "code": "",
}

_Fact = tuple[str, tuple[str, ...]]  # label, and lines


@dataclass(frozen=True)
class Sample:
    label: str
    lines: tuple[str, ...]
    style: str = "code"


@dataclass(frozen=True)
class Explanation:
    title: str
    paragraphs: tuple[str, ...]
    facts: tuple[_Fact, ...] = ()
    samples: tuple[Sample, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


def explain(word: symbols.Symbol, given: str) -> Explanation:
    if isinstance(word, Code):
        return _code(word)
    if isinstance(word, symbols.KeywordSymbol):
        return _keyword(word)
    if isinstance(word, symbols.PropertySymbol):
        return _property(word, given)
    return _owners(word)


def explanation_text(explanation: Explanation, columns: int | None = None) -> str:
    return plain(_pieces(explanation, columns))


def explanation_markdown(explanation: Explanation) -> str:
    parts = [f"## {explanation.title}", *explanation.paragraphs]
    facts = []
    for label, lines in explanation.facts:
        several = (f"  * {re.sub(r' {2,}', ': ', line)}" for line in lines)
        facts += [f"* {label}: {lines[0]}"] if len(lines) == 1 else [f"* {label}:", *several]
    parts += ["\n".join(facts)] if facts else []
    for sample in explanation.samples:
        parts.append(f"{sample.label}:\n\n" + "\n".join(("```text", *sample.lines, "```")))
    return "\n\n".join(parts) + "\n"


def explanation_json(explanation: Explanation) -> str:
    return json.dumps(explanation.data, indent=2, ensure_ascii=False) + "\n"


def print_explanation(explanation: Explanation, stream: TextIO) -> None:
    print_styled(lambda columns: _pieces(explanation, columns), _STYLES, stream)


def _pieces(explanation: Explanation, columns: int | None) -> Iterator[Piece]:
    """Yield the parts of the text. `columns`: the width of a terminal; None: lines of facts have any length."""
    yield f"{explanation.title}\n", "title"
    for paragraph in explanation.paragraphs:
        yield f"\n{indented(paragraph, 0, min(columns or _WIDTH, _WIDTH))}\n", ""
    if explanation.facts:
        yield "\n", ""
        width = max(len(label) for label, _ in explanation.facts) + 2
        for label, lines in explanation.facts:
            for number, line in enumerate(lines):
                yield f"  {label if not number else '':{width}}", "label"
                yield f"{indented(line, width + 2, columns)}\n", ""
    for sample in explanation.samples:
        yield "\n", ""
        yield f"{sample.label}:\n", "label"
        for line in sample.lines:
            yield f"  {line}".rstrip() + "\n", sample.style


def _code(code: Code) -> Explanation:
    before, after = code.before.splitlines(), code.after.splitlines()
    data = {
        "kind": "code",
        "code": code.name,
        "severity": code.severity.value,
        "of_run": code.of_run,
        "title": code.title,
        "explanation": code.explanation,
        "before": before,
        "after": after,
        "page": code.page,
    }
    samples = (Sample("Before", tuple(before), "without"), Sample("After", tuple(after), "with"))
    facts: list[_Fact] = [("severity", (code.severity.value,))]
    if code.of_run:
        facts = [("severity", (f"{code.severity.value} of a run; `validate-config` without `--for-run`: note",))]
    if code.question:
        facts.append(("question", (code.question,)))
    return Explanation(
        f"{code.name}: {code.title}",
        (code.explanation,),
        (*facts, ("page", (f"`ggfmt docs {code.page}`",))),
        tuple(sample for sample in samples if sample.lines),
        data,
    )


def _keyword(word: symbols.KeywordSymbol) -> Explanation:
    title, facts = f"${{{word.name}}}", tuple((f"in {where}", (doc,)) for where, doc in word.meanings)
    data = {"kind": "keyword", "keyword": word.name, "meanings": dict(word.meanings)}
    return Explanation(title, ("A keyword of templates.",), facts, data=data)


_OWNERS = {
    OwnerKind.HANDLER: "a type of handlers",
    OwnerKind.FORMAT: "a format",
    OwnerKind.EVENT_HANDLER: "a type of event handlers of the File Writer",
    OwnerKind.TARGET: "a target, whose handlers GoldenGate makes itself",
    OwnerKind.OWN: "the properties of ggfmt itself",
}


def _owners(owners: tuple[Owner, ...]) -> Explanation:
    """Explain formats, types and targets of one name."""
    name = owners[0].name
    facts: list[_Fact] = []
    for owner in owners:
        if len(owners) > 1 or owner.name not in FORMATS:
            facts += [("what it is", (_OWNERS[owner.kind],)), *([("meaning", (owner.doc,))] if owner.doc else [])]
        facts += _owner_facts(owner)
    facts.append(("properties", (f"`ggfmt options {name}` lists them",)))
    if name in FORMATS:
        facts.append(("page", (f"`ggfmt docs {name}` shows it",)))
    of_goldengate = name not in FORMATS
    data = {
        "kind": "format" if name in FORMATS else "owner",
        "format" if name in FORMATS else "name": name,
        "explanation": owners[0].doc,
        **({} if of_goldengate else _abilities(FORMATS[name])),
        "properties": [spec.name for owner in owners for spec in owner.properties],
    }
    return Explanation(name, (owners[0].doc,) if not of_goldengate else (), tuple(facts), data=data)


def _abilities(format: Format) -> dict[str, Any]:
    abilities = {"read": format.reads is not None, "written": format.writes is not None, "schema": format.schema_kind}
    return {**abilities, "losses": [{"loss": loss.id, "what": loss.text} for loss in format.losses]}


def _owner_facts(owner: Owner) -> Iterator[_Fact]:
    if owner.name in FORMATS and owner.kind is not OwnerKind.EVENT_HANDLER:
        format = FORMATS[owner.name]
        for label, able in (("read", format.reads), ("written", format.writes)):
            yield label, ("yes" if able is not None else "no",)
        yield "schema", (format.schema_kind or "none",)
        if format.losses:
            yield "not shown", tuple(loss.text for loss in format.losses)
        return
    if owner.kind is not OwnerKind.OWN:
        yield "releases", (releases(owner),)
    if isinstance(owner, HandlerType):
        yield "`format`", (owner.formats.value,)
    elif isinstance(owner, EventHandlerType):
        yield "in ggfmt", (owner.work.value,)
    elif isinstance(owner, Target) and owner.chain:
        yield "chain", (" -> ".join(("File Writer", *owner.chain)),)


def _property(word: symbols.PropertySymbol, given: str) -> Explanation:
    applied = any(variant.spec.attr or word.kind is OwnerKind.OWN for variant in word.variants) or _is_key(word)
    paragraphs = [f"`{given}` is read as `{word.name}`."] if word.renamed else []
    if _one_meaning(word.variants) and word.variants[0].spec.doc:
        paragraphs.append(word.variants[0].spec.doc)
    data = {
        "kind": "property",
        "property": word.name,
        "key": word.key,
        "renamed": word.renamed,
        "others": list(word.others),
        "variants": [
            {"formats": list(variant.formats), "owners": _names(variant), **as_dict(variant.spec)}
            for variant in word.variants
        ],
    }
    facts = list(_facts(word.variants))
    if not applied:
        facts.append(("in ggfmt", ("refused, because it changes messages" if _changes(word) else "no effect",)))
    if word.keyword is not None:
        facts += [(f"keyword in {where}", (doc,)) for where, doc in word.keyword.meanings]
    if word.others:
        facts.append(("other keys", tuple(f"`{key}`" for key in word.others)))
    samples = []
    if applied:
        from ggfmt.sinks.messages.example import example

        made = example(word)
        samples.append(Sample("For example", made.lines, "lines"))
        if made.operation:
            what = made.operation[0].upper() + made.operation[1:]
            samples.append(Sample(f"{what} without the last line", made.before, "without"))
            samples.append(Sample("The same with the last line", made.after, "with"))
        data["example"] = {
            "lines": list(made.lines),
            "operation": made.operation or None,
            "before": list(made.before),
            "after": list(made.after),
        }
    return Explanation(word.key, tuple(paragraphs), tuple(facts), tuple(samples), data)


def _is_key(word: symbols.PropertySymbol) -> bool:
    return word.variants[0].owners[0] is KEYS


def _changes(word: symbols.PropertySymbol) -> bool:
    return any(variant.spec.changes for variant in word.variants)


def _names(variant: symbols.Variant) -> list[str]:
    return [
        owner.name
        for owner in variant.owners
        if owner.kind in (OwnerKind.FORMAT, OwnerKind.HANDLER, OwnerKind.EVENT_HANDLER)
    ]


def _facts(variants: Sequence[symbols.Variant]) -> Iterator[_Fact]:
    """Yield the facts: first those that differ between formats, then common ones."""
    facts_of_variants = [list(_spec_facts(variant.spec)) for variant in variants]
    common = [fact for fact in facts_of_variants[0] if all(fact in facts for facts in facts_of_variants)]
    for variant, facts in zip(variants, facts_of_variants, strict=True):
        names = _names(variant)
        if names and names != ["handler"]:
            kinds = {OwnerKind.HANDLER: "handlers", OwnerKind.EVENT_HANDLER: "event handlers"}
            label = "formats" if variant.formats else kinds[variant.owners[0].kind]
            yield label, (", ".join(name if name != "handler" else "all" for name in names),)
        if not _one_meaning(variants) and variant.spec.doc:
            yield "meaning", (variant.spec.doc,)
        yield from (fact for fact in facts if fact not in common)
    yield from common


def _one_meaning(variants: Sequence[symbols.Variant]) -> bool:
    return len({variant.spec.doc for variant in variants}) == 1


def _spec_facts(spec: OptionSpec) -> Iterator[_Fact]:
    if isinstance(spec.kind, ReleaseChoice):
        yield "legal values", (f"{spec.kind.legal}, and fuller names such as `12.3.2.1.1` and `21c`",)
        yield from _release_facts()
    elif isinstance(spec.kind, Choice):
        width = max(map(len, spec.kind.words)) + 2
        lines = tuple(f"{f'`{word}`':{width}}  {doc}" for word, doc in spec.kind.words.items())
        yield "legal values", lines if any(spec.kind.words.values()) else (spec.kind.legal,)
    else:
        yield "legal values", (spec.kind.legal,)
    if spec.attr or spec.default is not None:
        yield "default", (default_words(spec),)
    if spec.need is not Need.NONE:
        yield "need", (spec.need.value,)
    if spec.since:
        yield "releases", (releases(spec),)
    if spec.aliases:
        yield "aliases", (list_names(spec.aliases),)
    if spec.source:
        yield "source", (f"{_CERTAINTY[spec.source[:1]]}{spec.source[1:]}",)


_CERTAINTY = {
    "S": "the text of the",
    "E": "seen in",
    "L": "the code of",
    "I": "inferred from",
    "M": "not confirmed by any source at hand:",
}


def _release_facts() -> Iterator[_Fact]:
    before: tuple[str, ...] = ()
    options = (format.options for format in FORMATS.values())
    specs = [spec for of_format in options if of_format.of_goldengate for spec in of_format.specs()]
    for release in RELEASES.values():
        lines = [change for change in release.changes if change not in before]
        since = [spec.name for spec in specs if before and spec.since == release.name]
        until = [spec.name for spec in specs if spec.until == release.name]
        for label, names in (("new", since), ("last release with", until)):
            lines += [f"{label}: {list_names(dict.fromkeys(names))}"] if names else []
        yield release.name, tuple(lines or ["no change in messages"])
        before = release.changes
