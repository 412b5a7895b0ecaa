"""What is made from the code: the generated parts of README.md and of the pages in ggfmt/docs, and the files in conf/.

    documents.py            bring them up to date
    documents.py --check    say which are stale, and end with 1 if there are any
    documents.py --block N  print the Nth shell block of README.md, counted from 1

A generated part is between `<!-- generated: KIND SUBJECT -->` and `<!-- /generated -->`; `_MAKERS` has the kinds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import io
import itertools
import json
import logging
import posixpath
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import fastavro
from fidelity import (
    MATRIX,
    FidelityLevel,
    depends,
    is_of_templates,
    level,
    surviving_aspects,
    unavoidable_losses,
)
from places import ROOT
from typer.models import OptionInfo
from typer.testing import CliRunner

from ggfmt import docs
from ggfmt.cli import app
from ggfmt.cli.typer_commands import COMMON as COMMON_OPTIONS
from ggfmt.cli.typer_commands import common
from ggfmt.config.handler_file import handler_file
from ggfmt.config.handler_options import KafkaOptions
from ggfmt.config.handlers import HandlerOptions, RunOptions, read_configuration
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    EVENT_HANDLERS,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    HANDLERS,
    OF_JAVA_ADAPTER,
    TARGETS,
    Formats,
    Owner,
)
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.codes import CODES, Code
from ggfmt.diagnostics.diagnostic import EXIT_CODES, GgfmtError
from ggfmt.doctor.finding import Finding, State
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import Aspect, Loss
from ggfmt.formats.dts.schema import record_schema
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.formats.goldengate.container_files import WITHOUT_EFFECT
from ggfmt.formats.goldengate.metacolumns import KEYWORDS
from ggfmt.frames.column_types import RULES
from ggfmt.frames.write import OPTIONS
from ggfmt.java.charsets import aliases, can_decode, refusal
from ggfmt.kernels import COST
from ggfmt.model.table import Kind
from ggfmt.model.type_names import TypeRule, rules
from ggfmt.options.reference import markdown_table, table_cells
from ggfmt.options.releases import RELEASES, manual_name
from ggfmt.options.spec import Options, OptionSpec
from ggfmt.reading.progress import STEPS
from ggfmt.reading.recognition import source_of_handler
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.render.diagnostics import diagnostics_text
from ggfmt.render.doctor import findings_text
from ggfmt.replicat.table import OTHER_FILES, MessageEffect, Section, all_entries
from ggfmt.sinks.messages.report import field_summary
from ggfmt.sinks.messages.run import RunSettings, execute
from ggfmt.sinks.messages.targets import make_targets
from ggfmt.spark.features import FEATURES
from ggfmt.spark.installations import OLDEST as OLDEST_JAVA
from ggfmt.version import VERSION

T = TypeVar("T")

README = ROOT / "README.md"
DOCS = ROOT / "ggfmt" / "docs"

_GENERATED = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- /generated -->)", re.DOTALL)
_SHELL = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MANUAL = datetime(2015, 9, 18, 13, 39, 35, 447000)
_TABLE = "GG.TCUSTORD"
_SHOWN_AS = {
    "qlik_avro": "qlik_json",
    "debezium_avro": "debezium_json",
    "kafkaconnect_avro": "kafkaconnect_json",
}  # in binary, the same members as in JSON
_SHOWN = {"cdl_json": 1, "kafkaconnect_json": 1}  # messages in the formats of other systems, if not three
_FORMAT_OF_TYPE = {
    Formats.DEFAULT: "delimited text by default",
    Formats.GIVEN: "only as given",
    Formats.OWN: "none: `kafkaconnect_json`",
    Formats.NONE: "none",
}
_NO_OTHER_FILES = {
    name: [f"gg.handler.{name.replace('_', '')}.format.generateSchema=false"]
    for name in ("json", "avro_row", "avro_op", "avro_op_ocf")
}


def documents() -> dict[str, Path]:
    """All files that are documents, by what they are called relative to the project."""
    files = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    return {str(file.relative_to(ROOT)): file for file in files}


def handler_files() -> dict[Path, str]:
    """The files in conf/, and what they are to hold."""
    written = (format for format in FORMATS.values() if format.writes is not None)
    return {ROOT / "conf" / f"{format.name}.properties": handler_file(format) for format in written}


def blocks(text: str) -> dict[str, str]:
    """The generated parts of a page as they are there, by their titles."""
    return {title: body for _, title, body, _ in _GENERATED.findall(text)}


def shell_blocks(text: str) -> list[str]:
    return _SHELL.findall(text)


def ggfmt_commands(block: str) -> list[list[str]]:
    """The arguments of every call of ggfmt in a shell block."""
    commands = []
    for line in block.replace("\\\n", " ").splitlines():
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            if words and words[0].rpartition("/")[2] == "ggfmt":
                commands.append(words[1:])
    return commands


def regenerated(text: str) -> str:
    """The page with all generated parts as they would be now; KeyError for an unknown title."""

    def fill(match: re.Match[str]) -> str:
        name, _, subject = match[2].partition(" ")
        return f"{match[1]}\n{_MAKERS[name](subject)}\n{match[4]}"

    return _GENERATED.sub(fill, text)


def stale(text: str) -> list[str]:
    """The titles of generated parts that are not as they would be made now."""
    now = blocks(regenerated(text))
    return [title for title, body in blocks(text).items() if body != now[title]]


def unwritten_pages() -> list[str]:
    """What a person must write before anything can be generated: the pages of codes and of formats."""
    return [
        f"write ggfmt/docs/{page.relative_to(DOCS)} with `<!-- generated: code {name} -->` and `<!-- /generated -->`"
        for name in CODES
        for page in [DOCS / "reference" / "codes" / f"{name}.md"]
        if not page.exists() or f"code {name}" not in blocks(page.read_text(encoding="utf-8"))
    ] + [
        f"write the page of `{name}` in ggfmt/docs/reference/formats: its title names the id"
        for name in FORMATS
        if name not in docs.aliases()
    ]


@contextlib.contextmanager
def without_spark() -> Iterator[None]:
    """Runs are in this process: the task function is the same, and the options for Spark are read all the same."""
    log = logging.getLogger("ggfmt")
    before = log.handlers[:], log.level, log.propagate
    with mock.patch("ggfmt.spark.session.SparkRunner", side_effect=lambda settings, **checks: InProcess()):
        yield
    log.handlers[:], log.level, log.propagate = before


def called(arguments: Sequence[str]) -> tuple[int, str]:
    """The exit code of a call of ggfmt without Spark, and what it prints on standard output and standard error."""
    with without_spark():
        result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100", "TERM": "dumb"})
    if isinstance(result.exception, GgfmtError):
        return result.exception.exit_code, result.output + diagnostics_text(result.exception.diagnostics)
    return result.exit_code, result.output


def command_options(name: str) -> list[tuple[str, str]]:
    """The options of a command as one writes them, each with its sentence."""
    named = [command.callback for command in app.registered_commands]
    (command,) = (each for each in (*named, common) if each is not None and each.__name__ == name)
    found = []
    defaults = inspect.signature(command).parameters
    for parameter, hint in get_type_hints(command, include_extras=True).items():
        if parameter in COMMON_OPTIONS and name != "common":
            continue
        infos = [about for about in getattr(hint, "__metadata__", ()) if isinstance(about, OptionInfo)]
        if not infos:
            continue
        info, type_ = infos[0], get_args(hint)[0]
        if info.hidden:
            continue
        value = info.metavar or "|".join(_choices(type_))
        default = defaults[parameter].default
        first = (info.default,) if isinstance(info.default, str) else ()  # where typer puts it in an `Annotated`
        names = "`, `".join((*first, *(info.param_decls or ()))).replace("/", "`, `")
        sentence = (info.help or "") + (f" Default: `{default}`." if isinstance(default, str) else "")
        sentence += " May be repeated." if "list[" in str(type_) else ""
        found.append((f"`{names}{' ' * bool(value)}{value}`", sentence))
    return found


def _choices(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((choices for part in get_args(hint) if (choices := _choices(part))), ())


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _options(subject: str) -> str:
    """The options of a set or of formats, as `json json_row`: what several formats share is there once."""
    sets: dict[str, type[Options]] = {"handler": HandlerOptions, "kafka": KafkaOptions, "ggfmt": RunOptions}
    if subject in sets:
        return markdown_table(sets[subject].specs())
    names = subject.split()
    tables = {name: table_cells(FORMATS[name].options.specs()) for name in names}
    headings = next(iter(tables.values()))[0]
    shared = _shared({name: rows for name, (_, rows) in tables.items()})
    if all(having == names for having in shared.values()):
        return _table(headings, list(shared))
    rows = [(row[0], "all" if having == names else _named(having), *row[1:]) for row, having in shared.items()]
    return _table((headings[0], "Formats", *headings[1:]), rows)


def _shared(lists: Mapping[str, Sequence[T]]) -> dict[T, list[str]]:
    """The items of all lists, each with the names of the lists that have it; an item of several is where the first has
    it."""
    found: dict[T, list[str]] = {}
    for name, items in lists.items():
        for item in items:
            found.setdefault(item, []).append(name)
    return found


def _commands(_: str) -> str:
    """A section for each command, in the order of `ggfmt --help`: what it does, and its options. Those that several
    commands have in the same sense have a section of their own.
    """
    headings = ("Option", "Meaning")
    commands = {command.callback.__name__: command for command in app.registered_commands if command.callback}
    uses = _shared({name: command_options(name) for name in commands})
    several = [option for option, names in uses.items() if len(names) > 1]
    parts = ["## Options of all commands\n", _table(headings, command_options("common"))]
    parts += ["## Options of several commands\n", _table(headings, several)]
    for name, command in commands.items():
        parts.append(f"## ggfmt {name.replace('_', '-')}\n\n{command.short_help}\n")
        own = [option for option, names in uses.items() if names == [name]]
        also = [option[0] for option in several if name in uses[option]]
        if also:
            own.append((", ".join(map(_without_value, also)), "See [above](#options-of-several-commands)."))
        parts += [_table(headings, own)] if own else []
    return "\n".join(parts)


def _without_value(names: str) -> str:
    """The last name of an option, which is its long one, as `--config`; of a switch, the name that turns it on."""
    long = [name for name in re.findall(r"(--[\w-]+)", names) if not name.startswith("--no-")]
    return f"`{long[-1]}`"


def _codes(group: str) -> str:
    """The codes that start like this, each with a link to its page, and the page that leads on from it."""
    rows = [
        (f"[{code.name}](codes/{code.name}.md)", _severity(code), code.title, _page_link(code, "reference"))
        for code in CODES.values()
        if code.name.startswith(group)
    ]
    return _table(("Code", "Severity", "Meaning", "What to do"), rows)


def _code(name: str) -> str:
    code = CODES[name]
    check = "; a note in `validate-config` without `--for-run`" if code.of_run else ""
    return f"{_sentence(_severity(code))}{check}. What to do: {_page_link(code, 'reference/codes')}.\n"


def _severity(code: Code) -> str:
    return f"{code.severity.value} of a run" if code.of_run else code.severity.value


def _page_link(code: Code, folder: str) -> str:
    """A link to the page that leads on from a code."""
    page = docs.pages()[code.page]
    return f"[{page.title}]({posixpath.relpath(page.path, folder)})"


def _settings(subject: str, output: str) -> RunSettings:
    handlers = read_configuration([str(ROOT / "conf" / f"{subject}.properties")], _NO_OTHER_FILES.get(subject, ()))
    return RunSettings(
        inputs=[str(ROOT / "samples" / "tcustord.json")],
        handlers=handlers.handlers,
        output=output,
        definitions=load_definitions([str(ROOT / "samples" / "TCUSTORD.def")]),
        current_timestamp=_MANUAL,
        quarantine=True,  # not every system has a form for a truncate
    )


def _messages(subject: str) -> str:
    """The messages of the sample's first file; those of Avro decoded."""
    with tempfile.TemporaryDirectory() as directory:
        settings = _settings(subject, directory)
        execute(settings, InProcess)
        first = min(Path(directory).glob(f"*/{_TABLE}/*"))
        if subject.startswith("avro"):
            shown = _decoded(first, settings)
        elif subject.startswith("dts"):
            shown = _dts_records(first)
        else:
            shown = first.read_text(encoding="utf-8")
        if not FORMATS[subject].doc.startswith(("Delimited", "JSON:", "XML", "Avro")):
            shown = "".join(shown.splitlines(keepends=True)[: _SHOWN.get(subject, 3)])
        return f"```text\n{shown.rstrip()}\n```\n"


def _decoded(file: Path, settings: RunSettings) -> str:
    (handler,) = (target.settings for target in make_targets(settings))
    assert settings.definitions is not None
    table, options = settings.definitions[_TABLE], handler.options
    assert isinstance(options, AvroOptions)
    document = avro_schema(table, options, handler.context, handler.format == "avro_op").document
    schema = fastavro.parse_schema(dict(document))
    lines = []
    with file.open("rb") as stream:
        while stream.tell() < file.stat().st_size:
            lines.append(json.dumps(fastavro.schemaless_reader(stream, schema, None), ensure_ascii=False))
    return "\n".join(lines)


def _dts_records(file: Path) -> str:
    """The records of a file with lengths, as JSON; bytes as texts."""
    schema, data, lines = fastavro.parse_schema(record_schema()), file.read_bytes(), []
    while data:
        size = int.from_bytes(data[:4], "big")
        record = fastavro.schemaless_reader(io.BytesIO(data[4 : 4 + size]), schema, None)
        lines.append(json.dumps(record, ensure_ascii=False, default=lambda value: value.decode("utf-8")))
        data = data[4 + size :]
    return "".join(f"{line}\n" for line in lines)


def _steps(_: str) -> str:
    rows = "".join(f"| `{step}` | {what} |\n" for step, what in STEPS.items())
    return f"| Step | Meaning |\n| --- | --- |\n{rows}"


def _exit_codes(_: str) -> str:
    return _table(("Code", "Meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES.items()])


def _losses(subject: str) -> str:
    """The losses of formats, as `json json_row`, a sentence a line; formats are named where not all have the loss."""
    names = subject.split()
    shared = _shared({name: _loss_texts(FORMATS[name].losses) for name in names})
    lines = []
    for text, having in shared.items():
        lines.append(f"* {text}\n" if having == names else f"* {_named(having)}: {text}\n")
    return "".join(lines)


def _loss_texts(losses: Sequence[Loss]) -> list[str]:
    """The sentences of losses; one that happens with a setting and unless it is set has no condition."""
    plain = [replace(loss, only=(), unless=()).text for loss in losses]
    shown = []
    for place, loss in enumerate(losses):
        either = [
            other
            for number, other in enumerate(losses)
            if plain[number] == plain[place] and (other.only, other.unless) == (loss.unless, loss.only)
        ]
        shown.append(plain[place] if either else loss.text)
    return list(dict.fromkeys(shown))


def _fidelity(_: str) -> str:
    """How much of each aspect formats keep, in a row for those that keep the same."""
    rows = [(format.name, tuple(_kept(format, aspect) for aspect in MATRIX)) for format in _written()]
    return _table(("Format", *(aspect.value for aspect in MATRIX)), _grouped(rows))


def _kept(format: Format, aspect: Aspect) -> str:
    found = [loss for loss in format.losses if aspect in loss.aspects and not is_of_templates(loss)]
    left = level([loss for loss in found if not depends(loss)], aspect)
    if left is FidelityLevel.KEPT and any(depends(loss) for loss in found):
        return "settings"
    return {FidelityLevel.KEPT: "kept", FidelityLevel.PART: "in part", FidelityLevel.LOST: "lost"}[left]


def _no_tokens(_: str) -> str:
    """Pairs of formats that each keep some tokens, and together none."""
    apart: dict[str, list[str]] = {}
    for first, second in itertools.combinations(_written(), 2):
        losses = [unavoidable_losses(format) for format in (first, second)]
        alone = [level(one, Aspect.TOKENS) for one in losses]
        if FidelityLevel.LOST not in alone and not surviving_aspects(*losses)[Aspect.TOKENS]:
            apart.setdefault(first.name, []).append(second.name)
    return "".join(f"* `{first}` and {_named(others)}\n" for first, others in apart.items())


def _written() -> list[Format]:
    return [format for format in FORMATS.values() if format.writes is not None]


def _formats(subject: str) -> str:
    """All formats with links to their pages; `subject` is the way there."""
    rows = []
    for name, format in FORMATS.items():
        page, _ = docs.aliases()[name]
        abilities = (("yes" if part is not None else "") for part in (format.reads, format.writes))
        link = f"[`{name}`]({subject}{page.path.rpartition('/')[2]})"
        rows.append((link, *abilities, format.schema_kind or "", format.doc))
    return _table(("Format", "Read", "Written", "Schemas", "Description"), rows)


def _types(_: str) -> str:
    pages = {
        "filewriter": "[its list](eventhandlers.md#the-file-writer)",
        "kafkaconnect": "[its list](formats/kafkaconnect.md#options)",
    }
    rows = []
    for known in HANDLER_TYPES.values():
        names = pages.get(known.name) or _names(known.own)
        rows.append((known.name, (_FORMAT_OF_TYPE[known.formats], names, "" if known.complete else "may have gaps")))
    table = _table(("Type", "`format`", "Own properties", "List"), _grouped(rows))
    return f"Every type has {_names(HANDLERS.own)}.\n\n{table}"


def _grouped(rows: Iterable[tuple[str, tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Rows of a name and its cells, as one row for all names with the same cells."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, cells in rows:
        names.setdefault(cells, []).append(name)
    return [(_named(having), *cells) for cells, having in names.items()]


def _properties(subject: str) -> str:
    """The properties of a type of handlers or event handlers, as the linter knows them: `handler filewriter`."""
    kind, _, name = subject.partition(" ")
    types: Mapping[str, Owner] = HANDLER_TYPES if kind == "handler" else EVENT_HANDLER_TYPES
    of_all = HANDLERS if kind == "handler" else EVENT_HANDLERS
    return markdown_table(of_all.own if name == "all" else types[name].own)


def _names(specs: Iterable[OptionSpec]) -> str:
    return ", ".join(f"`{spec.name}`" for spec in specs)


def _event_handlers(_: str) -> str:
    rows = []
    for known in EVENT_HANDLER_TYPES.values():
        work = _sentence(known.work.value)
        rows.append((known.name, (f"from {manual_name(known.since)}", work, _names(known.own))))
    return _table(("Type", "Releases", "What ggfmt does", "Own properties"), _grouped(rows))


def _targets(_: str) -> str:
    rows = [(it.name, (" → ".join(("File Writer", *it.chain)), it.doc)) for it in TARGETS.values()]
    return _table(("`gg.target`", "Chain", "Its files"), _grouped(rows))


def _without_effect(_: str) -> str:
    return _table(("Property", "Why"), _grouped((name, (_sentence(why),)) for name, why in WITHOUT_EFFECT.items()))


def _row_types(_: str) -> str:
    return _table(("Column of the source", "Rows"), [case for rule in RULES.values() for case in rule.cases])


def _type_names(_: str) -> str:
    rows = []
    for dialect, title in (("mysql", "MySQL"), ("oracle", "Oracle"), ("postgres", "PostgreSQL"),
                           ("sqlserver", "SQL Server"), ("db2", "Db2")):  # fmt: skip
        names: dict[str, list[str]] = {}
        for name, rule in rules()[dialect].items():
            if rule.kind is not Kind.STRING:
                names.setdefault(_type_label(rule), []).append(f"`{name}`")
        rows += [(title if not place else "", label, ", ".join(of)) for place, (label, of) in enumerate(names.items())]
    return _table(("Dialect", "Type", "Names"), rows)


def _type_label(rule: TypeRule) -> str:
    """Return the words for a kind of types and its facts in `type_names.txt`."""
    kind, facts = rule
    sizes = [fact for fact in facts if fact.isdecimal()]
    if kind is Kind.INTEGER:
        return f"integer of {sizes[0]} bits" if sizes else f"integer of up to {facts[0][1:]} digits"
    if kind is Kind.DECIMAL:
        plain = f"({', '.join(sizes)})" if len(sizes) == 2 else "any digits"
        return f"decimal; without numbers: {plain}"
    if kind is Kind.NUMBER:
        return "decimal with any digits"
    if kind is Kind.FLOAT and facts:
        by_default = "float" if facts[0].startswith("=") else "double"
        return f"float up to ({facts[0].lstrip('=')}), then double; without a number: {by_default}"
    words = [kind.value, "with a time of day" if "timed" in facts else "", "with a zone" if "zoned" in facts else ""]
    digits = f"; without a number: {sizes[0]} digits" if sizes else ""
    return " ".join(filter(None, words)) + digits


def _releases(_: str) -> str:
    rows = [(name, tuple(map(_sentence, release.changes))) for name, release in RELEASES.items()]
    return _table(("Release", "Columns", "Metadata", "Wrappers of Avro messages"), _grouped(rows))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _keywords(_: str) -> str:
    rows = []
    for keyword in KEYWORDS.values():
        form = f"${{{keyword.name}{'.ARGUMENT' if keyword.argument else ''}}}"
        doc = keyword.doc + (f"; the argument is {keyword.argument}" if keyword.argument else "")
        doc += f". Refused: {keyword.refused}" if keyword.refused else ""
        tokens = ", ".join(f"`{name}`" for name in keyword.tokens)
        rows.append((f"`{form}`", _sentence(doc), tokens, "assumed" if keyword.assumed else "documented"))
    return _table(("Item", "Value", "From the tokens", "Known"), rows)


def _about(subject: str) -> str:
    """What the package of a format says of it, less the first sentence."""
    text = inspect.getdoc(importlib.import_module(f"ggfmt.formats.{subject}"))
    assert text is not None
    return text.partition("\n\n")[2] + "\n"


def _summary(_: str) -> str:
    settings = _settings("delimitedtext", "out")
    assert settings.definitions is not None
    (target,) = make_targets(settings)
    return f"```text\n{field_summary(target, settings.definitions[_TABLE])}\n```\n"


def _writing(_: str) -> str:
    return _table(("Option", "Meaning"), [(f"`{name}`", text) for name, text in OPTIONS.items()])


def _spark_features(subject: str) -> str:
    """Which Spark what needs."""
    rows = [f"| {it.need} | {it.name}: {it.what} |" for it in FEATURES]
    return "\n".join(["| Spark from | What works |", "| --- | --- |", *rows])


def _required(subject: str) -> str:
    """The libraries that pip installs besides Spark, as words of a command line."""
    listed = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.M | re.S)
    assert listed is not None
    found = re.findall(r'^ *"([^"]+)"', listed[1], re.M)
    words = " ".join(f"'{entry}'" for entry in found if not entry.startswith("pyspark") and ";" not in entry)
    return f"```bash\npip install {words}\n```\n"


def _kernels(subject: str) -> str:
    """What it costs to have no kernels."""
    assert subject == "cost"
    return "\n".join(textwrap.wrap(f"Without native kernels, {COST}. All results are the same.", 118)) + "\n"


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refused_formats(_: str) -> str:
    """What a handler may have for a format in GoldenGate, and not in ggfmt."""
    lacking = [owner for owner in FORMAT_OWNERS.values() if owner.name not in FORMATS or owner.since == OF_JAVA_ADAPTER]
    of_goldengate = [owner.name for owner in lacking if owner.since != OF_JAVA_ADAPTER]
    of_adapter = [owner.name for owner in lacking if owner.since == OF_JAVA_ADAPTER]
    unwritten = [name for name, format in FORMATS.items() if format.writes is None]
    return (
        f"* ggfmt refuses these formats of GoldenGate: {_named(of_goldengate)}.\n"
        f"* ggfmt refuses these formats of the older Java adapter: {_named(of_adapter)}.\n"
        f"* ggfmt reads these formats, but does not write them: {_named(unwritten)}.\n"
    )


def _template_formats(_: str) -> str:
    """Which formats of GoldenGate have templates of metadata."""
    has: dict[bool, list[str]] = {True: [], False: []}
    for name, format in FORMATS.items():
        if format.reads is not None and ".goldengate." in format.reads:
            has["metaColumnsTemplate" in {spec.name for spec in format.options.specs()}].append(name)
    return f"Formats with templates: {_named(has[True])}.\n\nFormats without: {_named(has[False])}.\n"


def _reading(_: str) -> str:
    """What reading costs, as `tests/bench/compare.py --workload reading --record` has measured it."""
    record = json.loads((ROOT / "tests" / "bench" / "reading.json").read_text(encoding="utf-8"))
    costs = record["microseconds"]
    rows = [(f"`{name}`", f"{cost:.2f}", f"{cost / costs['json']:.1f}") for name, cost in costs.items()]
    table = _table(("Format", "Microseconds of computing an operation", "Compared with `json`"), rows)
    return f"{table}\n{record['machine']}; medians of {record['rounds']} rounds.\n"


def _unsplit(_: str) -> str:
    """Formats of which the sample, as a run writes it by default, is read by one task."""
    found = []
    for name, format in FORMATS.items():
        if format.writes is None or format.reads is None:
            continue
        with tempfile.TemporaryDirectory() as directory:
            execute(_settings(name, directory), InProcess)
            file = next(path for path in sorted(Path(directory).glob("*/*/*")) if "_ggfmt" not in path.parts)
            handlers = read_configuration([str(ROOT / "conf" / f"{name}.properties")], _NO_OTHER_FILES.get(name, ()))
            _, source = source_of_handler(handlers)
            request = ScanRequest([str(file)], name, source)
            (planned,) = Scan(request, request.list()).inputs
            found += [] if planned.layout.splittable else [name]
    return f"One task reads each file of these formats: {_named(found)}.\n"


def _charsets(_: str) -> str:
    refused = [name for name in aliases() if refusal(name)]
    unread = [name for name in aliases() if name not in refused and not can_decode(name)]
    return (
        f"ggfmt refuses these charsets:\n\n{_listed(refused)}\n\n"
        f"ggfmt writes these charsets, but does not read them:\n\n{_listed(unread)}\n"
    )


def _listed(names: Sequence[str]) -> str:
    """Show names in a table of one cell."""
    return _table(("Charsets",), [(_named(names),)]).rstrip()


def _doctor(_: str) -> str:
    """What `ggfmt doctor` prints on a machine with a Java that is too old."""
    packages = "/home/ann/.venv/lib/python3.11/site-packages"
    found = {
        "python": "3.11.7 in `/home/ann/.venv/bin/python`, on Linux x86_64",
        "ggfmt": f"{VERSION} in `{packages}/ggfmt`",
        "user": "ann (1000)",
        "java": "JAVA_HOME names `/opt/java11`, which is Java 11.0.13, too old",
        "spark": f"4.3.0 in `{packages}/pyspark`",
        "arrow": "26.0.1",
        "msgspec": "0.22.0",
        "lxml": "6.1.3",
        "fastavro": "1.13.1",
        "scratch": "`/tmp`, 78.2 GB free",
    }
    findings = [Finding(name, State.OK, message) for name, message in found.items()]
    place = list(found).index("java")
    advice = f"`pip install 'ggfmt[java]'` or `apt-get install openjdk-{OLDEST_JAVA}-jre-headless`"
    help = f"name the directory above `bin/java` of Java {OLDEST_JAVA} or newer, or get one: {advice}"
    findings[place] = Finding("java", State.PROBLEM, found["java"], help)
    return f"```text\n{findings_text(findings).rstrip()}\n```\n"


def _replicat(subject: str) -> str:
    """A table of the words of parameter files: of a section or of all, with an effect."""
    section, effect = subject.split()
    effects = OTHER_FILES if effect == "others" else (MessageEffect(effect),)
    known = [entry for entry in all_entries() if section in ("all", entry.section.value) and entry.effect in effects]
    known.sort(key=lambda entry: (list(Section).index(entry.section), entry.names))
    rows = ["| Word | What it does | Default | Holds for | Source |", "| --- | --- | --- | --- | --- |"]
    for entry in known:
        cells = (
            f"`{entry.shown}`",
            entry.doc,
            f"`{entry.default}`" if entry.default else "",
            entry.scope,
            entry.source,
        )
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    rows = [re.sub(r" {2,}", " ", row) for row in rows]
    return "\n" + "\n".join(rows) + "\n"


_MAKERS: dict[str, Callable[[str], str]] = {
    "about": _about,
    "charsets": _charsets,
    "code": _code,
    "codes": _codes,
    "commands": _commands,
    "doctor": _doctor,
    "exit-codes": _exit_codes,
    "formats": _formats,
    "losses": _losses,
    "fidelity": _fidelity,
    "no-tokens": _no_tokens,
    "kernels": _kernels,
    "keywords": _keywords,
    "messages": _messages,
    "options": _options,
    "reading": _reading,
    "refused-formats": _refused_formats,
    "replicat": _replicat,
    "required": _required,
    "releases": _releases,
    "spark-features": _spark_features,
    "steps": _steps,
    "summary": _summary,
    "template-formats": _template_formats,
    "properties": _properties,
    "event-handlers": _event_handlers,
    "targets": _targets,
    "without-effect": _without_effect,
    "types": _types,
    "row-types": _row_types,
    "type-names": _type_names,
    "unsplit": _unsplit,
    "writing": _writing,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Bring the generated parts of the documents up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing; say which are stale")
    parser.add_argument("--block", type=int, metavar="N", help="print the Nth shell block of README.md, from 1")
    given = parser.parse_args(arguments)
    if given.block is not None:
        print(shell_blocks(README.read_text(encoding="utf-8"))[given.block - 1], end="")
        return 0
    if missing := unwritten_pages():
        print("\n".join(missing), file=sys.stderr)
        return 1
    logging.getLogger("ggfmt").addHandler(logging.NullHandler())
    if given.check:
        old = [f"{name}: `{title}`" for name, file in documents().items() for title in stale(file.read_text("utf-8"))]
        old += [str(file.relative_to(ROOT)) for file, text in handler_files().items() if _differs(file, text)]
        for title in old:
            print(f"{title} is stale; run `python tests/tools/documents.py`", file=sys.stderr)
        return 1 if old else 0
    for file, text in handler_files().items():
        file.write_text(text, encoding="utf-8")
    for file in documents().values():
        file.write_text(regenerated(file.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def _differs(file: Path, text: str) -> bool:
    return not file.exists() or file.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
