"""The parts of README.md that are made from the code, and the shell blocks that it shows.

usage: readme.py            bring README.md up to date
       readme.py --check    say which parts are stale, and end with 1 if there are any
       readme.py --block N  print the Nth shell block, counted from 1
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import fastavro
from typer.models import OptionInfo

from ggfmt.cli import app
from ggfmt.config.handlers import HandlerOptions, RunOptions, read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.codes import CODES
from ggfmt.engine.preparation import make_targets
from ggfmt.engine.report import field_summary
from ggfmt.engine.run import RunSettings, execute
from ggfmt.engine.runner import InProcess
from ggfmt.formats import FORMATS
from ggfmt.formats.dts.schema import record_schema
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.options.reference import markdown_table

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

_GENERATED = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- /generated -->)", re.DOTALL)
_SHELL = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MANUAL = datetime(2015, 9, 18, 13, 39, 35, 447000)
_TABLE = "GG.TCUSTORD"
SHOWN_AS = {"qlik_avro": "qlik_json"}  # in binary, the same members as in JSON
_MANY_LINES = 3  # of messages in the formats of other systems that are shown
_NO_OTHER_FILES = {
    name: [f"gg.handler.{name.replace('_', '')}.format.generateSchema=false"]
    for name in ("json", "avro_row", "avro_op", "avro_op_ocf")
}


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
    """The page with all generated parts made anew; KeyError for a title that nobody makes."""

    def fill(match: re.Match[str]) -> str:
        name, _, subject = match[2].partition(" ")
        return f"{match[1]}\n{_MAKERS[name](subject)}\n{match[4]}"

    return _GENERATED.sub(fill, text)


def stale(text: str) -> list[str]:
    """The titles of generated parts that are not as they would be made now."""
    now = blocks(regenerated(text))
    return [title for title, body in blocks(text).items() if body != now[title]]


def command_options(name: str) -> list[tuple[str, str]]:
    """The options of a command as one writes them, each with its sentence."""
    (command,) = (c.callback for c in app.registered_commands if c.callback is not None and c.callback.__name__ == name)
    found = []
    defaults = inspect.signature(command).parameters
    for parameter, hint in get_type_hints(command, include_extras=True).items():
        infos = [about for about in getattr(hint, "__metadata__", ()) if isinstance(about, OptionInfo)]
        if not infos:
            continue
        info, type_ = infos[0], get_args(hint)[0]
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
    sets = {"handler": HandlerOptions, "ggfmt": RunOptions}
    return markdown_table(sets[subject] if subject in sets else FORMATS[subject].options)


def _command(subject: str) -> str:
    return _table(("Option", "Meaning"), [(name, sentence) for name, sentence in command_options(subject)])


def _codes(_: str) -> str:
    rows = [
        (f"`{name}`", code.severity.value, code.title[0].upper() + code.title[1:], code.explanation)
        for name, code in CODES.items()
    ]
    return _table(("Code", "Severity", "What it is about", "Explanation"), rows)


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
            shown = "".join(shown.splitlines(keepends=True)[:_MANY_LINES])
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


def _losses(_: str) -> str:
    rows = [(f"`{name}`", " ".join(format.losses) or "Nothing.") for name, format in FORMATS.items()]
    return _table(("Format", "What its messages do not show"), rows)


def _summary(_: str) -> str:
    settings = _settings("delimitedtext", "out")
    assert settings.definitions is not None
    (target,) = make_targets(settings)
    return f"```text\n{field_summary(target, settings.definitions[_TABLE])}\n```\n"


_MAKERS: dict[str, Callable[[str], str]] = {
    "codes": _codes,
    "command": _command,
    "losses": _losses,
    "messages": _messages,
    "options": _options,
    "summary": _summary,
}


def main(arguments: list[str]) -> int:
    text = README.read_text(encoding="utf-8")
    if arguments[:1] == ["--block"]:
        print(shell_blocks(text)[int(arguments[1]) - 1], end="")
        return 0
    logging.disable()
    old = stale(text)
    if arguments == ["--check"]:
        for title in old:
            print(f"README.md: `{title}` is stale; run `python tests/readme.py`", file=sys.stderr)
        return 1 if old else 0
    README.write_text(regenerated(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
