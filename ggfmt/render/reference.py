"""What commands print that explain ggfmt: pages, the table of formats, and the explanation of a word."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

from ggfmt.config import symbols
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    EVENT_HANDLERS,
    HANDLER_TYPES,
    HANDLERS,
    KEYS,
    METADATA_KEYWORDS,
    NAME_KEYWORDS,
    PROCESS,
    TARGETS,
    EventHandlerType,
    HandlerType,
    Owner,
    OwnerKind,
    Target,
)
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.codes import Code
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.formats.goldengate import metacolumns
from ggfmt.lazy import lazy_regex
from ggfmt.options import templates
from ggfmt.options.reference import as_dict, default_words, releases, table_cells
from ggfmt.options.releases import RELEASES, Release, find_release
from ggfmt.options.spec import Need, OptionSpec
from ggfmt.options.templates import MessageTemplate, PathTemplate
from ggfmt.options.value_types import Choice, ReleaseChoice, ValueType
from ggfmt.render.diagnostics import Piece, plain, print_styled
from ggfmt.render.terminal import write_text
from ggfmt.render.wrapping import indented

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ggfmt.render.tables import FittedTable

_HOW_TO_SHOW = "`ggfmt docs TOPIC` shows a page, `ggfmt docs GG205` a code, and `ggfmt docs canal_json` a format."
_LINK = lazy_regex(r"\[([^]]+)\]\(([^):]+)\)")


def print_page(text: str, stream: TextIO) -> None:
    """Write a page of Markdown to a stream: rendered if it is a terminal, else unchanged."""
    if not stream.isatty():
        write_text(text if text.endswith("\n") else f"{text}\n", stream)
        return
    from rich.console import Console

    from ggfmt.render.pages import PAGE_WIDTH, TerminalPage

    console = Console(file=stream)
    # Lines of code are not cropped: the terminal breaks those that are too long, and they can be copied as wholes.
    # Addresses of links are text: older pagers and terminals show the escapes of a link, or nothing.
    page = TerminalPage(_LINK.sub(_command, text), hyperlinks=False)
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
    if isinstance(word, symbols.ReplicatWord):
        return _replicat_word(word)
    if isinstance(word, symbols.ValueSymbol):
        data = {"kind": "value", "value": word.word, "meanings": [list(meaning) for meaning in word.meanings]}
        facts = tuple((f"`{key}`", (doc or "a legal value",)) for key, doc in word.meanings)
        return Explanation(word.word, ("A value of properties.",), facts, data=data)
    if isinstance(word, Release):
        return _release(word)
    return _owners(word)


_KINDS_OF_WORDS = {"parameters": "a parameter", "options": "an option of MAP", "functions": "a function"}
_EFFECTS_OF_WORDS = {
    "decides": "It decides about messages, and ggfmt applies it.",
    "none": "It changes no message.",
    "assumed": "It may change messages. ggfmt assumes that it does not.",
    "refused": "It changes messages, and ggfmt does not apply it: a run stops.",
}


def _replicat_word(word: symbols.ReplicatWord) -> Explanation:
    first = word.entries[0]
    kinds = " and ".join(_KINDS_OF_WORDS[entry.section.value] for entry in word.entries)
    effect = _EFFECTS_OF_WORDS.get(first.effect.value, f"It belongs in the file of {first.effect.value}.")
    named = {"default": first.default, "holds for": first.scope, "source": first.source}
    facts = [("form", tuple(entry.shown for entry in word.entries))]
    facts += [(label, (text,)) for label, text in named.items() if text]
    data = {
        "names": list(first.names),
        "kinds": [entry.section.value for entry in word.entries],
        "forms": [entry.shown for entry in word.entries],
        "default": first.default or None,
        "scope": first.scope or None,
        "effect": first.effect.value,
        "source": first.source,
        "doc": first.doc,
    }
    title = f"{first.shown.split(' ')[0]}: {kinds} of a Replicat"
    return Explanation(title, (first.doc, effect), tuple(facts), data=data)


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
    title = f"${{{word.name}}}"
    facts: list[_Fact] = [(f"in {where}", (doc,)) for where, doc in word.meanings]
    column = metacolumns.KEYWORDS.get(word.name.lower())
    if column is not None and not column.argument:
        field = next((name for name, keyword in metacolumns.FIXED_NAMES.items() if keyword == column.name), column.name)
        facts.append(("form", (f"`metaColumnsTemplate=${{{column.name}[{field}]}}`: the brackets name the field",)))
    for label, kind in (("of files", PathTemplate), ("of messages", MessageTemplate)):
        if word.name in _keywords_of(kind()):
            having = (spec.name for owner in symbols.OWNERS for spec in owner.own if isinstance(spec.kind, kind))
            facts.append((f"templates {label}", (list_names(dict.fromkeys(having)),)))
    tables = (("metadata", METADATA_KEYWORDS), ("names", NAME_KEYWORDS))
    for label, known in ((label, found) for label, table in tables if (found := table.find(word.name)) is not None):
        facts.append((f"releases of {label}", (releases(known),)))
    data = {"kind": "keyword", "keyword": word.name, "meanings": dict(word.meanings)}
    return Explanation(title, ("A keyword of templates.",), tuple(facts), data=data)


def _keywords_of(kind: ValueType[Any]) -> list[str]:
    """Return the keywords that have a value in templates of a kind."""
    others = templates.COUNTS if isinstance(kind, MessageTemplate) else templates.OF_AN_OPERATION
    return [name for name in templates.MEANINGS if name not in (*others, *templates.UNKNOWN_VALUES)]


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
    if any(isinstance(owner, HandlerType | EventHandlerType) for owner in owners):
        facts.append(("new file", (f"`ggfmt init {name}`",)))
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
    for label, need in (("required", Need.REQUIRED), ("usual", Need.USUAL)):
        names = [spec.name for spec in owner.own if spec.need is need]
        if names:
            yield label, (list_names(names),)
    if isinstance(owner, HandlerType):
        yield "`format`", (owner.formats.value,)
    elif isinstance(owner, EventHandlerType):
        yield "in ggfmt", (owner.work.value,)
    elif isinstance(owner, Target) and owner.chain:
        yield "chain", (_chain(owner),)


def _property(word: symbols.PropertySymbol, given: str) -> Explanation:
    is_key = word.variants[0].owners[0] is KEYS
    applied = is_key or word.kind is OwnerKind.OWN or any(variant.spec.attr for variant in word.variants)
    paragraphs = [f"`{given}` is read as `{word.name}`."] if word.renamed else []
    if _one_meaning(word.variants) and word.variants[0].spec.doc:
        paragraphs.append(word.variants[0].spec.doc)
    named = dict(named_values(word))
    data = {
        "kind": "property",
        "property": word.name,
        "key": word.key,
        "renamed": word.renamed,
        "others": list(word.others),
        "values": named,
        "variants": [
            {"formats": list(variant.formats), "owners": _names(variant), **as_dict(variant.spec)}
            for variant in word.variants
        ],
    }
    facts = [fact for fact in _facts(word.variants) if not named or fact[0] != "legal values"]
    if named:
        width = max(map(len, named)) + 2
        facts.insert(0, ("values", tuple(f"{f'`{name}`':{width}}  {text}" for name, text in named.items())))
    if not applied:
        facts.append(("in ggfmt", (_effect([variant.spec for variant in word.variants]),)))
    if word.variants[0].spec.attr == "format":
        types = [type.name for type in HANDLER_TYPES.values() if type.ignores_format]
        facts.append(("no effect", (f"on handlers of the types {list_names(types)}",)))
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


def _effect(specs: Sequence[OptionSpec]) -> str:
    if any(spec.changes for spec in specs):
        return "refused, because it changes messages"
    if any(spec.custom for spec in specs):
        return "no effect, although its Java code may change messages"
    return "no effect on the files of a batch" if any(spec.online for spec in specs) else "no effect"


def named_values(word: symbols.PropertySymbol) -> Iterator[tuple[str, str]]:
    """Yield the values of a property that names what has properties, each with what it is."""
    if word.key in (f"{kind.value}type" for kind in (OwnerKind.HANDLER, OwnerKind.EVENT_HANDLER)):
        types: Mapping[str, Owner] = HANDLER_TYPES if word.kind is OwnerKind.HANDLER else EVENT_HANDLER_TYPES
        yield from ((owner.name, owner.doc) for owner in types.values())
    elif word.key == "gg.target":
        for target in TARGETS.values():
            yield target.name, "; ".join((releases(target), *([_chain(target)] if target.chain else ())))
    elif word.key == "gg.stage":
        for stage in PROCESS.words(word.key):
            targets = ", ".join(target.name for target in TARGETS.values() if stage in target.stages)
            yield stage, f"of {targets or 'no target that is known'}"


def _chain(target: Target) -> str:
    return " -> ".join(("File Writer", *target.chain))


def _names(variant: symbols.Variant) -> list[str]:
    return [
        owner.name
        for owner in variant.owners
        if owner.kind in (OwnerKind.FORMAT, OwnerKind.HANDLER, OwnerKind.EVENT_HANDLER)
    ]


def _facts(variants: Sequence[symbols.Variant]) -> Iterator[_Fact]:
    """Yield each fact of the variants once; where they differ, with the owners that it holds for."""
    having = [[*dict.fromkeys(_shown(variant))] for variant in variants]
    several = len({name for names in having for name in names}) > 1
    facts_of_variants = [dict(_spec_facts(variant.spec)) for variant in variants]
    if any(name not in _ALL for names in having for name in names):
        kinds = {OwnerKind.HANDLER: "handlers", OwnerKind.EVENT_HANDLER: "event handlers"}
        label = "formats" if variants[0].formats else kinds[variants[0].owners[0].kind]
        yield label, (_listed(name for names in having for name in names),)
    if not _one_meaning(variants):
        for variant, facts in zip(variants, facts_of_variants, strict=True):
            facts |= {"meaning": (variant.spec.doc,)} if variant.spec.doc else {}
    longest = max(facts_of_variants, key=len)
    for label in dict.fromkeys((*(["meaning"] if "meaning" in longest else ()), *longest, *chain(*facts_of_variants))):
        names_of: dict[tuple[str, ...], list[str]] = {}
        for names, facts in zip(having, facts_of_variants, strict=True):
            if label in facts:
                names_of.setdefault(facts[label], []).extend(names)
        of_all = len(names_of) == 1 and (label == "aliases" or all(label in facts for facts in facts_of_variants))
        if of_all or not several:
            yield from ((label, lines) for lines in names_of)
            continue
        shown: list[str] = []
        for lines, names in names_of.items():
            head = f"{_listed(names)}:"
            shown += [f"{head} {lines[0]}"] if len(lines) == 1 else [head, *lines]
        yield label, tuple(shown)


_ALL = ("all others", "any in ggfmt")


def _shown(variant: symbols.Variant) -> Iterator[str]:
    for name in _names(variant):
        is_listed = any(owner in variant.owners for owner in (HANDLERS, EVENT_HANDLERS))
        yield name if name not in (HANDLERS.name, EVENT_HANDLERS.name) else _ALL[not is_listed]


def _listed(names: Iterable[str]) -> str:
    found = dict.fromkeys(names)
    return ", ".join(sorted(found, key=_ALL.__contains__))


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
    if isinstance(spec.kind, MessageTemplate | PathTemplate):
        yield "keywords", (list_names(f"${{{name}}}" for name in _keywords_of(spec.kind)),)
    if spec.default or (spec.need is not Need.REQUIRED and (spec.attr or spec.default is not None)):
        yield "default", (default_words(spec),)
    if spec.need is not Need.NONE:
        yield (
            "need",
            (
                " or ".join((f"{spec.need.value},", list_names(spec.substitutes)))
                if spec.substitutes
                else spec.need.value,
            ),
        )
    if spec.since:
        yield "releases", (releases(spec),)
    if spec.replaced_by:
        yield "replaced by", (f"`{spec.replaced_by}`",)
    if spec.aliases:
        yield "aliases", (list_names(spec.aliases),)
    if spec.source:
        yield "source", (f"{_CERTAINTY[spec.source[:1]]}{spec.source[2:]}",)


_CERTAINTY = {"S": "", "E": "seen in ", "L": "the code of ", "I": "inferred: ", "M": "not confirmed: "}


def _release(release: Release) -> Explanation:
    """Explain a release: its messages, and what came with it or ended with it."""
    facts: list[_Fact] = [("messages", next(lines for name, lines in _release_facts() if name == release.name))]
    owners = (("handlers", HANDLER_TYPES), ("event handlers", EVENT_HANDLER_TYPES), ("targets", TARGETS))
    for label, table in owners:
        since = [owner.name for owner in table.values() if find_release(owner.since) == release.name]
        until = [owner.name for owner in table.values() if owner.until == release.name]
        facts += [(f"first with {label}", (list_names(since),))] if since else []
        facts += [(f"last with {label}", (list_names(until),))] if until else []
    facts.append(("in a file", (f"`ggfmt.compatibility={release.name}`",)))
    data = {"kind": "release", "release": release.name, "manual": release.manual, **dict(facts)}
    return Explanation(f"GoldenGate for Big Data {release.manual}", ("A release.",), tuple(facts), data=data)


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
