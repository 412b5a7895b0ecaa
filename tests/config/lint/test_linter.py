"""The linter: a corpus of handler files with all that is to be said of them, and the rules one by one.

`tests/lint/x.properties` is a handler file and `x.txt` beside it all findings, a line each, without the file's name;
`{formats}` in it stands for the ids of all formats that are written.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from contract.shown import templates
from hypothesis import assume, given
from hypothesis import strategies as st
from places import LINT, ROOT
from strategies import examples

from ggfmt.config.handlers import HandlerOptions, read_configuration
from ggfmt.config.lint.assembly import LEFT_OUT
from ggfmt.config.lint.checks import UNKNOWN_METADATA
from ggfmt.config.lint.reading import ConfigurationParser, Rules, has_properties, is_sentence, lint
from ggfmt.config.properties import parse_content
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    EVENT_HANDLERS,
    FILE_TYPES,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    HANDLERS,
    KEYS,
    OF_JAVA_ADAPTER,
    PROCESS,
    TARGETS,
    Formats,
    HandlerType,
    types_having,
)
from ggfmt.diagnostics.codes import CODES, Code, Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Format
from ggfmt.formats.avro.confluent import SchemaIds
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectOptions
from ggfmt.formats.goldengate.metacolumns import Template
from ggfmt.java.text import InvalidValueError, trim
from ggfmt.options.releases import RELEASES, UNKNOWN, is_later
from ggfmt.options.spec import Need, Options, option
from ggfmt.options.templates import HexBytes, PathTemplate
from ggfmt.options.value_types import (
    Bool,
    Charset,
    Choice,
    Delimiter,
    Int,
    NamePart,
    Pairs,
    Representation,
    SchemaDirectory,
    Size,
    TableKeys,
    Text,
    Unknown,
    ValueType,
    escape_value,
)
from ggfmt.options.value_types import Path as PathKind
from ggfmt.render.diagnostics import diagnostics_text, fold_similar

OF_COMMANDS = ("GG132", "GG133")  # of several files, and of the settings
OF_PARAMETER_FILES = ("GG151", "GG152", "GG153", "GG154", "GG155", "GG160", "GG161")
CORPUS = sorted(LINT.glob("*.properties"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory: whether a directory of schemas exists is asked there."""
    monkeypatch.chdir(tmp_path)


def told(text: str | bytes) -> list[str]:
    """All findings of a text, a line each, without the file's name."""
    content = in_java(text) if isinstance(text, str) else text
    return [str(finding).removeprefix("f").lstrip(": ") for finding in lint(content, "f")]


def in_java(text: str) -> bytes:
    """A file as Java reads it: other characters than those of ASCII as escapes."""
    return re.sub(r"[^\x00-\x7f]", lambda found: _escaped(found[0]), text).encode()


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def k(text: str, format: str = "delimitedtext") -> str:
    """A file with one handler `k`; the given lines start at line 3."""
    return f"gg.handlerlist=k\ngg.handler.k.format={format}\n{text}\n"


def codes(text: str) -> list[tuple[int | None, str]]:
    return [(finding.span.line, finding.code) for finding in lint(in_java(text), "f")]


# The corpus


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CORPUS])
def test_the_findings_of_the_corpus(path: Path) -> None:
    formats = ", ".join(f"`{name}`" for name, format in FORMATS.items() if format.writes)
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").replace("{formats}", formats)
    assert told(path.read_bytes()) == expected.splitlines()


@pytest.mark.parametrize("code", [code for code in CODES.values() if code.of_run], ids=lambda code: code.name)
def test_a_code_of_a_run_is_a_note_except_for_a_run(code: Code) -> None:
    for for_run, severity in ((False, Severity.NOTE), (True, code.severity)):
        name = "f.prm" if code.name in OF_PARAMETER_FILES else "f"
        found = lint(code.before.encode(), name, Rules(for_run=for_run))
        severities = set() if code.name == "GG156" and not for_run else {severity}
        assert {finding.severity for finding in found if finding.code == code.name} == severities


def test_what_is_allowed_is_a_warning_of_a_run() -> None:
    text = k(f"{UNDONE}\nggfmt.uncovered=ignore", "xml").encode()
    for for_run, severity in ((False, Severity.NOTE), (True, Severity.WARNING)):
        (finding,) = (item for item in lint(text, "f", Rules(for_run=for_run)) if item.code == "GG127")
        assert finding.severity is severity


def test_a_comment_after_a_value_counts_beside_what_ggfmt_does_not_do() -> None:
    found = codes(k("gg.handler.k.pathMappingTemplate=../x # elsewhere", "json"))
    assert found == [(3, "GG149"), (3, "GG113")]


def test_the_corpus_has_silent_files_and_every_code_of_a_file() -> None:
    silent = [path.stem for path in CORPUS if not path.with_suffix(".txt").read_bytes()]
    assert silent == [path.stem for path in CORPUS if path.stem.startswith("silent_")]
    assert len(silent) >= 8
    shown = "".join(path.with_suffix(".txt").read_text(encoding="utf-8") for path in CORPUS)
    of_files = [code for code in CODES if code.startswith("GG1") and code not in OF_COMMANDS + OF_PARAMETER_FILES]
    assert [code for code in of_files if f"[{code}]" not in shown] == ["GG156"]  # it is shown for a run alone


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CORPUS])
def test_a_run_says_the_same_less_notes_and_what_it_cannot_ignore(path: Path) -> None:
    linted = [
        finding
        for finding in lint(path.read_bytes(), str(path), Rules(for_run=True))
        if finding.severity is not Severity.NOTE or finding.code == LEFT_OUT
    ]
    # A run finds the layout and the values of variables when it opens the output, and nothing that is filled in.
    linted = [item for item in linted if item.code not in ("GG515", "GG411", "GG216", "GG131")]
    # In a run, a finding of a whole file has no line.
    linted = [item if item.span.source else replace(item, span=Span(item.span.file)) for item in linted]
    try:
        found = read_configuration([str(path)]).diagnostics
    except ConfigurationError as error:
        found = error.diagnostics
    ignored = [finding for finding in found if finding not in linted]
    assert [finding for finding in found if finding in linted] == linted
    assert {finding.severity for finding in ignored} <= {Severity.ERROR} or path.stem.startswith("template_")
    # The linter alone lets comments silence errors, and judges no line that is filled in.
    is_template = path.stem.startswith("template_")
    assert bool(ignored) == (is_template or path.stem in ("silent_ignored", "ignored_in_vain"))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in sorted((ROOT / "conf").iterdir())])
def test_our_own_configurations_are_clean(path: Path) -> None:
    assert {finding.severity for finding in lint(path.read_bytes(), str(path))} <= {Severity.NOTE}


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CORPUS])
def test_a_fix_is_the_key_that_is_meant_in_place_of_the_one_that_is_there(path: Path) -> None:
    for finding in lint(path.read_bytes(), "f"):
        if finding.fix is None:
            continue
        if finding.code in ("GG108", "GG144", "GG147", "GG150"):
            continue
        assert finding.code == "GG102"
        assert finding.span.source is not None
        assert finding.span.column is not None
        start = finding.span.column - 1
        source, end = finding.span.source, start + finding.span.length
        assert finding.message.startswith(f"`{source[start:end]}` is read as ")
        mended = source[:start] + finding.fix + source[end:]
        (entry,) = parse_content(mended.encode("iso-8859-1"), "f").entries
        assert (entry.key, entry.column) == (finding.fix, start + 1)
        assert told(f"gg.handlerlist=k\n{mended}") == [] or not finding.fix.startswith("gg.handler.k.")


def test_fixes() -> None:
    text = (LINT / "misprints.properties").read_bytes() + b"gg.handlerList=k\ngg.schemaReplaceRegex=x\n"
    assert [(finding.span.line, finding.fix) for finding in lint(text, "f") if finding.code == "GG102"] == [
        (2, "gg.handler.k.format"),
        (3, "gg.handler.k.format.iso8601Format"),
        (4, "gg.handler.k.format.keyValuePairDelimiter"),
        (6, None),
        (7, None),
        (14, "gg.handlerlist"),
        (15, "gg.schemareplaceregex"),
    ]


# Comments that are none


@pytest.mark.parametrize(
    "line",
    [
        "gg.log.pattern=%d{yyyy-MM-dd} # %-5p -- %m%n",
        "gg.classpath=/a/*://nas/share/*: //nas/other/*",
        "gg.eventhandler.s3.url=https://example.com//x#top",
        "jvm.bootoptions=-Xmx512m -Xms32m --add-opens=java.base/java.lang=ALL-UNNAMED -Dx=#1",
        'javawriter.bootoptions=-Dtext="a # b // c" -Xmx1g',
        "java.naming.provider.url=tcp://host:1 # key of another program",
        "gg.handler.k.format.fieldDelimiter=#",
        "gg.handler.k.format.fieldDelimiter= #",
        "gg.handler.k.format.nullValueRepresentation=--",
        "gg.handler.k.format.nullValueRepresentation=n/a",
        "gg.handler.k.format.nullValueRepresentation=CDATA[ // none]",
        "gg.handler.k.rootFilePath=/data//orders#1",
        "\\;gg.handler.x=1",
    ],
)
def test_no_comment(line: str) -> None:
    assert [code for _, code in codes(k(line)) if code == "GG113"] == []


@pytest.mark.parametrize(
    ("line", "column", "length"),
    [
        ("gg.handler.k.rootFilePath=/data // here", 33, 7),
        ("gg.handler.k.rootFilePath=/data //here", 33, 6),
        ("gg.handler.k.rootFilePath=/data #here", 33, 5),
        ("gg.handler.k.rootFilePath=/data ## here", 33, 7),
        ("gg.handler.k.rootFilePath=/data -- here", 33, 7),
        ("gg.handler.k.rootFilePath=/data\t# 这里", 33, 4),
        ("gg.handler.k.rootFilePath = # here", 29, 6),
        ("goldengate.userexit.timestamp=utc # here", 35, 6),
        ("GG.log=log4j # here", 14, 6),
    ],
)
def test_a_comment_behind_a_value(line: str, column: int, length: int) -> None:
    (finding,) = [finding for finding in lint(k(line).encode(), "f") if finding.code == "GG113"]
    assert (finding.span.line, finding.span.column, finding.span.length) == (3, column, length)


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.k.format.encoding=UTF-8 # the default",
        "gg.handler.k.format.includeOpType=true // always",
        "gg.handler.k.format.fieldDelimiter=| # a pipe",
        "gg.handler.k.format.lineDelimiter=CDATA[\\n] -- Unix",
        "gg.handler.k.format.insertOpKey=\\ I # blank",
        "gg.handler.k.schemaFilePath=dirdef # not there",
        "gg.handler.k.type=a.B # c",
        "gg.schemareplaceregex=CDATA[[$] # c",
    ],
)
def test_a_comment_gives_one_finding(line: str) -> None:
    assert len(codes(k(line))) == 1


def test_a_comment_does_not_hide_what_else_is_wrong() -> None:
    text = "gg.handlerlist=k # c\ngg.handler.k.format=json # c\ngg.handler.k.format.prettyPrint=yes\n"
    assert codes(text) == [(1, "GG104"), (2, "GG106"), (3, "GG103")]
    assert codes(k("gg.handler.k.type=hdfs # com.example\ngg.handler.k.foo=1")) == [(3, "GG113"), (4, "GG101")]


def test_a_comment_is_not_shown_with_a_secret() -> None:
    text = b"gg.handlerlist=k\ngg.handler.k.dbPassword=hunter2 # x\ngg.handler.k.type=a.B\ngg.handler.k.format=xml\n"
    (finding,) = lint(text, "f")
    assert finding.code == "GG113"
    assert "hunter2" not in diagnostics_text([finding])


@pytest.mark.parametrize("property", ["mode", "format", "type", "schemaFilePath", "format.lineDelimiter"])
def test_secrets_are_not_told(property: str) -> None:
    text = f"gg.handlerlist=k\ngg.handler.k.{property}=cdata[secret=hunter2] \ngg.k.format=password=hunter2\n"
    assert "hunter2" not in diagnostics_text(lint(text.encode(), "f"))


def test_a_line_of_prose_gives_one_finding() -> None:
    assert told("gg.handlerlist=k\n--gg.handler.k.fromat=xml\ngg.handler.k.type=hdfs\n") == [
        "2:1: warning[GG113] `--` does not start a comment; start the line with `#`"
    ]


# Blanks and wrappers


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.k.format.insertOpKey=I ",
        "gg.handler.k.format.insertOpKey= I\t",
        "gg.handler.k.format.fieldDelimiter=CDATA[|] ",
        "gg.handler.k.format.fieldDelimiter = ;",
        "gg.handler.k.format.fieldDelimiter=",
        "gg.handler.k.format.fieldDelimiter ",
        "gg.handler.k.format.nullValueRepresentation = ",
        "gg.handler.k.format.nullValueRepresentation= ",
        "gg.handler.k.mode=op\\ ",
        "gg.contentreplaceregex=\\\\s+ ",
    ],
)
def test_blanks_that_do_no_harm(line: str) -> None:
    assert codes(k(line)) == []


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\\n", "CDATA[\\n]"),
        ("\\u0020", "CDATA[ ]"),
        ("\\ ", "CDATA[ ]"),
        (" ", "CDATA[ ]"),
        ("\t", "CDATA[\\t]"),
        ("\x01", "CDATA[\\u0001]"),
        (", ", "CDATA[, ]"),
        ("\\ ,", "CDATA[ ,]"),
        ("\\t\\\\", "CDATA[\\t\\\\]"),
    ],
)
def test_blanks_of_a_delimiter(value: str, written: str) -> None:
    key = "gg.handler.k.format.keyValueDelimiter"
    assert told(k(f"{key}={value}")) == [
        f"3:{len(key) + len(value) + 2 if value in (' ', chr(9)) else len(key) + 2}: warning[GG114]"
        f" the blanks at the ends of `{key}` are trimmed away; write `{written}` to keep them, or remove them"
    ]


@given(st.text("|\\;,x", min_size=1, max_size=9), st.text(" \n\t\x01", max_size=9), st.text(" \n\t\x01", max_size=9))
def test_the_help_for_blanks_keeps_them(text: str, before: str, after: str) -> None:
    value = before + text + after
    written = escape_value(value).replace(" ", "\\ ")
    found = lint(k(f"gg.handler.k.format.keyValueDelimiter={written}").encode(), "f")
    helps = [finding.help for finding in found if finding.code == "GG114"]
    assert bool(helps) == bool(before or after)
    for help in helps:
        wrapped = str(help).partition("`")[2].partition("` to keep")[0]
        (entry,) = parse_content(f"x={wrapped}".encode(), "f").entries
        assert Text().parse(trim(entry.value)) == value


# Delimiters


def test_delimiters_of_tokens_count_only_with_tokens() -> None:
    line = "gg.handler.k.format.fieldDelimiter=,"
    assert codes(k(line)) == []
    assert codes(k(f"{line}\ngg.handler.k.includeTokens=true")) == [(3, "GG116")]
    assert codes(k("gg.handler.k.includeTokens=true\ngg.handler.k.format.nullValueRepresentation=k=v")) == []


def test_defaults_alone_are_not_told() -> None:
    assert codes(k("gg.handler.k.format.nullValueRepresentation=\ngg.handler.k.includeTokens=true")) == []


def test_two_images_with_one_name_are_an_error() -> None:
    lines = "gg.handlerlist=k\ngg.handler.k.type=file\ngg.handler.k.format=json\n"
    assert codes(lines + "gg.handler.k.format.beforeObjectName=after") == [(4, "GG410")]
    assert codes(lines + "gg.handler.k.format.beforeObjectName=old\ngg.handler.k.format.afterObjectName=old") == [
        (4, "GG410")
    ]
    assert codes(lines + "gg.handler.k.format.beforeObjectName=old") == []


def test_the_entry_that_counts_is_told() -> None:
    text = k("gg.handler.k.format.lineDelimiter=;\ngg.handler.k.format.fieldDelimiter=;\ngg.handler.k.mode=op")
    assert codes(text) == [(4, "GG116")]
    assert codes(text + "gg.handler.k.format.lineDelimiter=;") == [(6, "GG128"), (6, "GG116")]


@pytest.mark.parametrize("value", ["|", "\\u0001", "CDATA[\\u0001]", "CDATA[ ]", "\\uD83D\\uDE00", ""])
def test_one_character_is_one(value: str) -> None:
    assert [code for _, code in codes(k(f"gg.handler.k.format.fieldDelimiter={value}")) if code == "GG117"] == []


@pytest.mark.parametrize("charset", ["ISO-2022-JP", "x-IBM930", "UTF-16", "CESU-8", "GB18030", "x-SJIS_0213"])
def test_charsets_of_many_bytes(charset: str) -> None:
    lines = f"gg.handler.k.format.encoding={charset}\ngg.handler.k.format.insertOpKey="
    assert codes(k(lines + "I")) == []
    lacking = [(4, "GG118")] if charset in ("ISO-2022-JP", "x-IBM930", "x-SJIS_0213") else []
    assert codes(k(lines + "\U0001f600")) == lacking


def test_the_charset_of_the_machine_is_not_judged() -> None:
    assert codes(k("gg.handler.k.format.insertOpKey=\U0001f600\ngg.handler.k.format.encoding=native")) == []


# What is no property, and what is filled in


@pytest.mark.parametrize(
    "line",
    [
        "The File Writer Handler", "kafka", "- a point", "| a | b |", "**Note**: x", "<a href=x>",
        "Note: this is not it", "```properties",
    ],
)  # fmt: skip
def test_prose(line: str) -> None:
    entries = parse_content(line.encode(), "f").entries
    assert all(map(is_sentence, entries))
    assert codes(f"{line}\n{k('')}{line}\n# c\n\n{line}") == [(1, "GG130"), (5, "GG130")]


@pytest.mark.parametrize("line", ["a.b c d", "a b", "a=b c d", "a.b: c d e", "a: b", "gg.a b c", "JVM.x y z", "=a b c"])
def test_no_prose(line: str) -> None:
    assert [finding.help for finding in lint(k(line).encode(), "f") if "comment" in (finding.help or "")] == []


def test_prose_is_told_of_ten_places_at_most() -> None:
    found = lint(("two words here\nx.y=1\n" * 500 + k("")).encode(), "f")
    assert len([finding for finding in found if finding.help]) == 10
    assert str(found[9 + 9]) == (
        "f:19:1: note[GG130] 491 lines are not properties in this and later places; a comment without `#`?"
    )


def test_a_document_with_a_few_properties_is_told_in_a_few_lines() -> None:
    readme = (ROOT / "README.md").read_bytes()
    assert not has_properties(readme)
    found = lint(readme * 10 + k("").encode(), "README.md")
    assert len(found) < 250
    assert len(fold_similar(found)) < 40
    assert len([finding for finding in found if finding.code == "GG130" and finding.help]) <= 10


def test_properties_of_other_programs_are_notes_or_on_a_command_line_warnings() -> None:
    Path("f").write_text(k("linger.ms=5"))
    assert told(k("linger.ms=5")) == ["3:1: note[GG130] `linger.ms` is not a property of GoldenGate"]
    assert read_configuration(["f"]).diagnostics == ()
    assert [finding.code for finding in read_configuration(["f"], ["linger.ms=5"]).diagnostics] == ["GG101"]


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.k.rootFilePath=${OUT}",
        "gg.handler.k.format.encoding={{ encoding }}",
        "gg.handler.k.mode={{mode}}",
        "gg.handler.k.maxFileSize=${var.size}",
        "gg.handler.k.xPassword=${PASSWORD}",
    ],
)
def test_a_line_that_is_filled_in_is_not_judged(line: str) -> None:
    assert codes(k(f"{line}\ngg.handler.k.format.foo=1")) == [(3, "GG131"), (4, "GG101")]


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.${name}.mode=x",
        "gg.handler.{{ name }}.mode=x",
        "{{ prefix }}.mode=x",
        "gg.handler.k.type=${TYPE}",
        "gg.handler.k.format={{ format }}",
        "gg.handlerlist={{ handlers|join(',') }}",
        "{% if kafka -%}",
        "%{ if kafka ~}",
        "%{for name in names}",
    ],
)
def test_nothing_is_judged_where_handlers_and_lines_are_filled_in(line: str) -> None:
    assert codes(f"gg.handler.x.foo=1\n{line}\ngg.handler.x.foo=2\n# ggfmt: ignore GG101\na=1") == [(2, "GG131")]


def test_a_line_that_starts_with_a_variable_is_not_judged_and_all_others_are() -> None:
    assert codes(k("${handler}.mode=x\ngg.handler.k.foo=1")) == [(3, "GG131"), (4, "GG101")]
    text = k("gg.handler.k.pathMappingTemplate=out/\n${fullyQualifiedTableName}\ngg.handler.k.foo=1")
    assert codes(text) == [(4, "GG101"), (5, "GG101")]


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.k.pathMappingTemplate=/${groupName}/${currentTimestamp[yyyy]}",
        "gg.handler.k.metaHeadersTemplate=${csn}",
        "gg.handler.k.partitioner.GG.T=${schemaName}",
        "gg.contentreplaceregex=(?<a>x)\ngg.contentreplacestring=${a}",
        "gg.eventhandler.s3.bucketMappingTemplate=${tableName}",
        "gg.classpath=${HOME}/x",
        "gg.log.pattern=%d{HH} %-5p %m%n",
        "gg.contentreplaceregex=\\\\{\\\\{.*\\\\}\\\\}",
        "# {{ a comment }}",
        "What ${HOME} and {{ x }} are, nobody knows",
    ],
)
def test_what_goldengate_itself_fills_in(line: str) -> None:
    assert [code for _, code in codes(k(line)) if code == "GG131"] == []


def test_a_comment_silences_what_is_said_of_a_template() -> None:
    assert codes(k("# ggfmt: ignore GG131\ngg.handler.k.rootFilePath=${OUT}")) == []


@pytest.mark.parametrize("place", ["{{ 'hunter2' }}", "{% set x = 'hunter2' %}", "${hunter2}"])
def test_a_place_with_a_secret_is_not_shown(place: str) -> None:
    lines = ["type=jms_text", "destination=q", "connectionFactory=c", f"password={place}"]
    (finding,) = lint(k("\n".join(f"gg.handler.k.{line}" for line in lines)).encode(), "f")
    assert finding.code == "GG131"
    assert "hunter2" not in diagnostics_text([finding])


@pytest.mark.parametrize("start", ["{% a", "%{ if ", "{{", "${", "{%" + " " * 99, "x "])
def test_a_long_line_takes_no_time(start: str) -> None:
    begun, line = time.process_time(), start * (200_000 // len(start))
    lint(f"gg.handlerlist=k\ngg.handler.k.x={line}\n{line}".encode(), "f")
    assert time.process_time() - begun < 5


def test_a_target_needs_no_list() -> None:
    assert codes("gg.target=s3\ngg.handler.filewriter.foo=1") == [(1, "GG109"), (1, "GG146"), (2, "GG125")]
    assert codes("GG.Target=s3\ngg.handlerlist=k\ngg.handler.k.format=jsn") == [(3, "GG106")]
    Path("f").write_text("gg.target=s3")
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["f"])
    assert str(raised.value) == (
        "f:1:11: error[GG146] GoldenGate makes the handlers of `s3` itself: File Writer -> s3; `gg.format` sets"
        " the format of its files; set `ggfmt.target.format` and `ggfmt.target.template` so that ggfmt writes"
        " the files of its staging area"
    )


def test_two_files_with_a_list_each() -> None:
    Path("a").write_text("gg.handlerlist=x,k,z\ngg.handler.k.format=xml\ngg.handler.x.format=xml\n")
    Path("b").write_text("gg.handlerlist=k\ngg.handler.k.format=json\n")
    assert [str(finding) for finding in read_configuration(["a", "b"]).diagnostics] == [
        "a:1:1: warning[GG132] `gg.handlerlist` is overridden in b: `x`, `z` do not run;"
        " list the handlers of both files in the last, or with `--set gg.handlerlist=...`"
    ]
    assert read_configuration(["a", "b"], ["gg.handlerlist=k"]).diagnostics == ()
    Path("a").write_text("gg.handlerlist=k\n")
    assert read_configuration(["a", "b"]).diagnostics == ()


# Other rules


def test_directories_of_schemas_that_exist(tmp_path: Path) -> None:
    lines = f"gg.handler.k.format.schemaDirectory=dirdef\ngg.handler.k.schemaFilePath={tmp_path}"
    assert codes(k(lines, "json")) == [(3, "GG119")]
    os.mkdir("dirdef")
    assert codes(k(lines, "json")) == []


def test_the_default_directory_of_schemas_is_not_told() -> None:
    assert codes(k("", "json")) == []


@pytest.mark.parametrize("type", [*FILE_TYPES, "HDFS", "FileWriter", "com.example.Handler"])
@pytest.mark.parametrize("format", [name for name, format in FORMATS.items() if format.by_table])
def test_types_that_take_files(type: str, format: str) -> None:
    assert codes(of_type(type, format=format)) in ([], [(4, "GG142")])


@pytest.mark.parametrize("format", [name for name, format in FORMATS.items() if format.writes and not format.by_table])
def test_other_formats_go_to_any_type(format: str) -> None:
    release = FORMATS[format].since
    lines = ["format.metaColumnsTemplate=${optype}"] if release == "19.1" else []
    lines += ["topicName=orders"] if release == "12.2" else []
    text = of_type("kafka", "mode=op", "partitionByTable=false", *lines, format=format)
    assert codes(f"{text}\nggfmt.compatibility={release}") == []


def test_releases_are_compared_by_their_first_two_numbers() -> None:
    lines = "gg.handler.k.format.genericWrapperUseFingerprint=true\nggfmt.compatibility="
    assert codes(k(lines + "12.2", "avro_op")) == [(3, "GG111")]
    assert codes(k(lines + "12.3", "avro_op")) == []
    assert codes(k(lines + "12.4", "avro_op")) == [(4, "GG103")]


def test_an_option_of_a_later_release_that_is_off_does_no_harm() -> None:
    assert codes(k("gg.handler.k.format.genericWrapperUseFingerprint=false", "avro_op")) == []


@pytest.mark.parametrize(
    ("listed", "there", "near"),
    [
        ("hdfs", "hafs", True),
        ("kafka", "kafkahandler", True),
        ("KafkaHandler", "kafka", True),
        ("k", "kafka", False),
        ("hdfs", "flume", False),
    ],
)
def test_near_misses_of_handlers(listed: str, there: str, near: bool) -> None:
    (finding,) = lint(f"gg.handlerlist={listed}\ngg.handler.{there}.format=json\n".encode(), "f")
    assert finding.code == "GG104"
    assert finding.help == (f"did you mean `{there}`?" if near else f"add `gg.handler.{listed}.format=delimitedtext`")


def test_a_handler_that_is_called_name() -> None:
    assert codes("gg.handlerlist=name\ngg.handler.name.format=json\n") == []


def test_a_file_without_a_list_is_looked_at_all_the_same() -> None:
    assert codes("gg.handler.x.foo=1\ngg.handler.name.foo=1\ngg.handler.name.bar=1") == [
        (1, "GG105"),
        (1, "GG101"),
        (2, "GG101"),
        (3, "GG101"),
    ]


# Types of handlers


def of_type(type: str, *lines: str, format: str = "json") -> str:
    head = ["gg.handlerlist=k", f"gg.handler.k.type={type}"]
    known = HANDLER_TYPES.get(type.lower())
    if known is None or not known.ignores_format:
        head.append(f"gg.handler.k.format={format}")
    given = {line.partition("=")[0].lower() for line in lines}
    needed = [spec for spec in known.own if spec.need is not Need.NONE] if known else []
    if type == "kafka" and "topicname" in given:  # it was there before the templates
        needed = []
    names = [item.name for item in needed if item.name.lower() not in {*given, "format"}]
    texts = (f"{name}={NEEDED.get(name) or values_of(name)}" for name in names)
    return "\n".join([*head, *(f"gg.handler.k.{line}" for line in (*lines, *texts))])


NEEDED = {
    "connectionURL": "jdbc:x",
    "pathMappingTemplate": "dirout/${tableName}",
    "fileNameMappingTemplate": "${tableName}_${currentTimestamp}.txt",
}

# What is said of a handler without messages.
WITHOUT_MESSAGES = (LEFT_OUT, "GG148")


# Where the default of an option is no text that a file may have, or says too little beside the other properties.
LAYOUT = {
    "pathmappingtemplate": "${tableName}/${columnValue[x]}",
    "filenamemappingtemplate": "${tableName}.txt",
    "bom": "efbbbf",
    "attime": "03:00",
    "mode": "op",
    "finalizeaction": "move-rename",
    "filerenamemappingtemplate": "${tableName}_${operationCount}.txt",
    "movepathmappingtemplate": "done",
    "eventhandler": "",
    "rootfilepath": "./out",
    "format": "json",
    "partitioner.x": "x",
}


def values_of(name: str) -> str:
    """A legal value of an option of ggfmt by that name; of other properties anything is legal."""
    if name.lower() in LAYOUT:
        return LAYOUT[name.lower()]
    specs = (*HandlerOptions.specs(), *KafkaConnectOptions.specs())
    spec = next((spec for spec in specs if name.lower() in map(str.lower, (spec.name, *spec.aliases))), None)
    if spec is not None and isinstance(spec.kind, Template):
        return ""
    if spec is not None:
        return spec.default_text or "."
    kinds = [known.kind for type in HANDLER_TYPES.values() if (known := type.find(name)) is not None]
    return next((legal_text(kind) for kind in kinds if not isinstance(kind, Unknown)), "x")


def legal_text(kind: ValueType[Any]) -> str:
    """A legal value of a kind."""
    if isinstance(kind, Choice):
        return next(iter(kind.words))
    return next(text for text in ("false", "10", "03:00", "${optype}", "x", "a.B") if accepts(kind, text))


def accepts(kind: ValueType[Any], text: str) -> bool:
    try:
        kind.parse(text)
    except InvalidValueError:
        return False
    return True


def concrete(name: str) -> str:
    return re.sub("<.*>", "x", name)


@pytest.mark.parametrize("type", HANDLER_TYPES.values(), ids=lambda type: type.name)
@pytest.mark.parametrize("spelling", [str, str.lower, str.upper, lambda name: name[:1].upper() + name[1:]])
def test_every_property_of_a_type_is_accepted_in_silence(type: HandlerType, spelling: Callable[[str], str]) -> None:
    names = {concrete(spec.name) for spec in type.properties if not spec.changes} - {"type", "format"}
    lines = [f"{spelling(name)}={values_of(name)}" for name in names]
    found = lint(of_type(spelling(type.name), *lines).encode(), "f")
    shown = [item for item in found if item.code not in ("GG138", "GG140", "GG142")]  # all releases at once
    assert [finding.message for finding in shown if finding.code not in WITHOUT_MESSAGES] == []
    assert bool(shown) == (type.formats is Formats.NONE)


@pytest.mark.parametrize("type", HANDLER_TYPES.values(), ids=lambda type: type.name)
def test_what_only_other_types_have_is_told_with_their_names(type: HandlerType) -> None:
    """A warning where the whole table of the type was at hand, else a note."""
    kept = {spec.name for spec in HandlerOptions.specs()} if type.formats is not Formats.NONE else set()
    of_formats = {spec.name for format in FORMATS.values() for spec in format.options.specs()}
    of_formats |= {spec.name for owner in FORMAT_OWNERS.values() for spec in owner.own}
    foreign = [
        name
        for other in HANDLER_TYPES.values()
        for name in other.own.names
        if type.find(name) is None and name not in kept | of_formats and name != "avroCodec"
    ]
    assert foreign
    names = list(dict.fromkeys(foreign))
    every = lint(of_type(type.name, *(f"{name}=x" for name in names)).encode(), "f")
    found = [item for item in every if item.code not in (*WITHOUT_MESSAGES, "GG142")]
    assert {finding.code for finding in found} == {"GG110" if type.complete else "GG125"}
    assert len(found) == len(names)
    for name, finding in zip(names, sorted(found, key=lambda finding: finding.span.line or 0), strict=True):
        assert name in str(finding)
        assert all(f"`{owner}`" in str(finding) for owner in types_having(name)), name


@pytest.mark.parametrize("type", HANDLER_TYPES.values(), ids=lambda type: type.name)
def test_what_nobody_knows_is_a_note_where_the_table_of_the_type_has_gaps(type: HandlerType) -> None:
    found = lint(of_type(type.name, "zzzz=1").encode(), "f")
    shown = [finding for finding in found if finding.code not in (*WITHOUT_MESSAGES, "GG142")]
    assert [finding.code for finding in shown] == ["GG101" if type.complete else "GG125"]


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("filewriter", "true", ["GG136"]),
        ("FileWriter", " TRUE ", ["GG136"]),
        ("filewriter", "false", []),
        ("com.example.Handler", "true", []),
        ("kafka", "true", ["GG110"]),
    ],
)
def test_control_files_that_are_not_written_are_told(type: str, value: str, expected: list[str]) -> None:
    found = lint(of_type(type, f"CreateControlFile={value}").encode(), "f")
    assert [finding.code for finding in found if finding.code != "GG142"] == expected


def test_without_a_type_properties_of_all_are_accepted() -> None:
    names = {concrete(spec.name).lower() for type in HANDLER_TYPES.values() for spec in type.own if not spec.changes}
    names -= {"avrocodec", "format"}
    lines = [f"gg.handler.k.{name}={values_of(name)}" for name in sorted(names)]
    found = codes(k("\n".join(lines)))
    assert [code for _, code in found if code not in ("GG136", "GG140", "GG142")] == []
    assert codes(k("gg.handler.k.zzzz=1")) == [(3, "GG101")]


@pytest.mark.parametrize("type", [*HANDLER_TYPES, "com.example.Handler", "nonsense"])
def test_no_messages_out_of_nowhere(type: str) -> None:
    """Delimited text is written without a `format` where that is the default, and nowhere else."""
    Path("f").write_text(f"gg.handlerlist=k\ngg.handler.k.type={type}\n")
    known = HANDLER_TYPES.get(type)
    if known is not None and known.formats is Formats.DEFAULT:
        assert [config.format for config in read_configuration(["f"]).handlers] == ["delimitedtext"]
        return
    if known is not None and known.formats is Formats.OWN:
        assert [config.format for config in read_configuration(["f"]).handlers] == ["kafkaconnect_json"]
        return
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["f"])
    assert {finding.code for finding in raised.value.diagnostics} - {"GG109", "GG123"} == {LEFT_OUT, "GG148"}
    assert "`hdfs`, `filewriter`, `kafka`" in str(raised.value)
    Path("f").write_text(of_type(type))
    if type == "kafkarestproxy":  # it has formats of its own
        return
    if known is None or known.formats is Formats.GIVEN:
        assert [config.format for config in read_configuration(["f"]).handlers] == ["json"]
    else:
        content = of_type(type).replace(
            ".type=", ".format=json\ngg.handler.k.format.prettyPrint=true\ngg.handler.k.type="
        )
        found = [item for item in lint(content.encode(), "f") if item.code not in WITHOUT_MESSAGES]
        assert [(item.code, item.span.line, item.help) for item in found] == [
            ("GG110", 2, "remove it"),
            ("GG110", 3, "remove it"),
        ]


def test_a_handler_without_messages_is_left_out_and_the_others_are_run() -> None:
    Path("f").write_text(
        "gg.handlerlist=h,j\ngg.handler.h.type=HBase\ngg.handler.j.type=redis\ngg.handler.j.format=json\n"
    )
    configuration = read_configuration(["f"])
    assert [config.name for config in configuration.handlers] == ["j"]
    assert list(map(str, configuration.diagnostics)) == [
        "f:2:19: note[GG124] handlers of the type `HBase` have no formatter; `ggfmt run` leaves `h` out"
    ]
    with pytest.raises(ConfigurationError, match="ggfmt writes messages of none of the handlers"):
        read_configuration(["f"], [], ["h"])


@pytest.mark.parametrize(
    "key",
    [
        *(
            "gg.eventhandlerlist",
            "gg.stage",
            "gg.format",
            "gg.format.timestamp",
        ),
        *("gg.mdp.type", "gg.mdp.ConnectionUrl", "gg.classpath"),
        *("gg.includeggtokens", "gg.recoverypath", "gg.log", "gg.log.level", "gg.report.time", "jvm.bootoptions"),
        *("javawriter.stats.full", "goldengate.userexit.writers", "java.naming.provider.url", "gg.contentreplaceregex"),
        *("gg.schemareplaceregex", "gg.aggregate.operations.flush.interval", "gg.compressed.update"),
        *("gg.validate.keyupdate", "gg.operation.aggregator.memory"),
    ],
)
def test_keys_around_the_handlers_are_accepted_in_silence(key: str) -> None:
    known = PROCESS.find(key)
    value = legal_text(known.kind) if known is not None and key != "gg.stage" else "x"
    found = codes(k(f"gg.handler.k.type=hdfs\n{key}={value}"))
    # Some came with a release whose metadata are not known.
    of_19_1 = ("gg.compressed.update", "gg.validate.keyupdate")
    of_21 = ("gg.stage", "gg.format")
    assert found == ([(2, UNKNOWN_METADATA)] if key in of_19_1 else [(2, "GG139")] if key in of_21 else [])


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.k.filter=a<b and c>d",
        "gg.handler.k.format.nullValueRepresentation=<null>",
        "gg.schemareplaceregex=(?<name>x)",
        "gg.handler.k.topicMappingTemplate=${tableName}_yourself",
        "com.example.key=<value>",
    ],
)
def test_what_looks_like_a_placeholder(line: str) -> None:
    assert [code for _, code in codes(k(line)) if code == "GG129"] == []


def test_handlers_that_goldengate_makes_by_itself_are_not_judged() -> None:
    Path("f").write_text("gg.target=s3\ngg.format=json\ngg.handler.filewriter.zzzz=1\n")
    assert {(item.code, item.severity) for item in lint(Path("f").read_bytes(), "f")} == {
        (code, Severity.NOTE) for code in ("GG109", "GG125", "GG146")
    }
    with pytest.raises(ConfigurationError, match="GoldenGate makes the handlers of `s3` itself"):
        read_configuration(["f"])
    assert codes("gg.target=s3\n" + k("gg.handler.k.zzzz=1")) == [(3, "GG139"), (4, "GG101")]


# Releases, and what ggfmt does not do


def test_the_releases_that_all_properties_of_a_handler_fit() -> None:
    lines = ["format.includePrimaryKeys=true", "format.metaColumnsTemplate=${optype}"]
    text = of_type("hdfs", *lines) + "\nggfmt.compatibility="
    for release in ("12.2", "12.3", "21", "23", "26"):
        (finding,) = [finding for finding in lint((text + release).encode(), "f") if finding.code == "GG111"]
        assert finding.span.line == (4 if release >= "20" else 5), release
        assert finding.help == "all properties of `k` fit 12.3.2 and 19.1: set `ggfmt.compatibility` to one of them"
    for release in ("12.3.2", "19.1"):
        assert [item.code for item in lint((text + release).encode(), "f") if item.code == "GG111"] == []


def test_the_releases_of_properties_are_known() -> None:
    options: list[type[Options]] = [*(format.options for format in FORMATS.values()), HandlerOptions]
    for spec in (spec for owner in options if owner.of_goldengate for spec in owner.specs()):
        assert spec.since in (*RELEASES, "")  # nothing for what formats of GoldenGate have of ggfmt's
        assert spec.until is None or (spec.until in RELEASES and not is_later(spec.since, spec.until))
    lacking = {spec.since for owner in FORMAT_OWNERS.values() for spec in owner.own if spec.changes}
    assert lacking <= {*RELEASES, OF_JAVA_ADAPTER}


def test_what_is_off_or_as_ever_fits_every_release() -> None:
    lines = ["format.includePosition=false", "format.wrapStringsInQuotes=false"]
    for release in ("12.2", "21"):
        found = codes(of_type("hdfs", *lines, format="delimitedtext") + f"\nggfmt.compatibility={release}")
        assert [code for _, code in found if code != "GG139"] == []


# What a given release does not have, by its place, with what it has instead
PLANTED = [
    ("12.2.0.1", "type=kafka topicMappingTemplate=t", "`topicMappingTemplate` came with", "12.3.1.1", "topicName"),
    ("12.2.0.1", "type=kafka topicName=t logSuccessfullySentMessages=true", "`logSuccessfully", "12.3.2.1", ""),
    ("12.2.0.1", "type=hdfs pathMappingTemplate=p", "`pathMappingTemplate` came with", "12.3.2.1", "rootFilePath"),
    ("12.2.0.1", "type=hdfs fileNameMappingTemplate=p", "`fileNameMapping", "12.3.1.1", "fileSuffix"),
    ("12.2.0.1", "type=elasticsearch ServerAddressList=h:9300", "the type `elasticsearch` came", "12.3.1.1", ""),
    ("12.2.0.1", "type=bigquery projectId=p", "the type `bigquery` came with", "12.3.2.1", ""),
    ("12.2.0.1", "gg.target=snowflake", "the target `snowflake` came with", "21.1", ""),
    ("12.3.1.1", "type=filewriter", "the type `filewriter` came with", "12.3.2.1", ""),
    ("19.1", "gg.target=iceberg", "the target `iceberg` came with", "23.7", ""),
    ("23.1", "gg.target=iceberg", "the target `iceberg` came with", "23.7", ""),
    ("21.1", "type=kafka topicName=t", "`topicName` is not known after", "12.2.0.1", "topicMappingTemplate"),
    ("21.1", "type=hdfs rootFilePath=p", "`rootFilePath` is not known after", "12.3.1.1", "pathMappingTemplate"),
    ("19.1", "type=flume", "the type `flume` is not known after", "12.3.2.1", ""),
    ("12.3.2.1", "type=kafka format.metaColumnsTemplate=${optype[op]}", "names in brackets", "19.1", ""),
]


def _of_release(release: str, lines: str) -> list[Diagnostic]:
    prefix = "" if lines.startswith("gg.") else "gg.handler.k."
    text = "".join(f"{prefix}{line}\n" for line in lines.split())
    text = f"{text if not prefix else f'gg.handlerlist=k{chr(10)}{text}'}ggfmt.compatibility={release}"
    return [item for item in lint(text.encode(), "f") if item.code == "GG111"]


@pytest.mark.parametrize(("release", "lines", "start", "bound", "instead"), PLANTED)
def test_what_a_given_release_does_not_have(release: str, lines: str, start: str, bound: str, instead: str) -> None:
    (finding,) = _of_release(release, lines)
    assert finding.message.startswith(start)
    assert f" GoldenGate for Big Data {bound}, and `ggfmt.compatibility` is {release}" in finding.message
    assert (finding.help or "").startswith(f"write `{instead}`, or" if instead else "remove it, or")


def test_the_metadata_of_before_are_replaced_by_a_template() -> None:
    for lines in ("type=kafkaconnect includeOpType=true", "type=hdfs format=json format.includePrimaryKeys=true"):
        (finding,) = _of_release("21.1", lines)
        assert finding.message.endswith(" up to 19.1; `metaColumnsTemplate` replaces it")


def test_what_is_reported_once_and_what_is_not_known() -> None:
    assert len(_of_release("12.2", "gg.target=snowflake gg.stage=s3")) == 2
    assert len(_of_release("12.2", "type=filewriter pathMappingTemplate=p stateFileDirectory=d")) == 1
    for name in ("pubsub", "redis", "cassandra", "mongodb", "jdbc", "jms"):
        assert _of_release("12.2", f"type={name} username=u") == []
    Path("f").write_text("gg.handlerlist=k\ngg.handler.k.type=pubsub\nggfmt.compatibility=12.2\n")
    assert "no source says whether it has handlers of the type `pubsub`" in str(read_configuration(["f"]).release)
    assert _of_release("", "type=bigquery")[0].message.endswith("`ggfmt.compatibility` is 12.2")
    for release in ("23", "23ai", "23.7", "23.8", "26ai"):
        assert _of_release(release, "gg.target=iceberg") == []
    assert _of_release("12.3.1.1", "type=hdfs rootFilePath=p fileNameMappingTemplate=f") == []


def test_every_statement_of_a_release_has_a_source_or_is_unknown() -> None:
    types = (*HANDLER_TYPES.values(), *EVENT_HANDLER_TYPES.values(), *TARGETS.values())
    for owner in (*types, HANDLERS, EVENT_HANDLERS, KEYS, PROCESS):
        if owner in types:
            assert (owner.since == UNKNOWN) is not bool(owner.source), owner.name
            assert owner.source[:1] in "SEI", owner.name
        for known in owner.own:
            assert known.since == UNKNOWN or known.source or known.attr, f"{owner.name} {known.name}"
            assert not known.until or known.source or known.attr, f"{owner.name} {known.name}"
            assert not known.replaced_by or owner.find(known.replaced_by) is not None, known.name


UNDONE = "gg.handler.k.format.metaColumnsTemplate=${optype}"  # in XML, where it can never be done


def test_what_ggfmt_does_not_do_is_refused_where_messages_are_written() -> None:
    Path("f").write_text(k(f"{UNDONE}\nggfmt.compatibility=21", "xml"))
    assert told(Path("f").read_bytes()) == [
        "3:1: note[GG127] `gg.handler.k.format.metaColumnsTemplate` is fine in GoldenGate for Big Data 12.3.2,"
        " but ggfmt does not do it; what ggfmt would write differs from GoldenGate's messages;"
        " `ggfmt.uncovered=ignore` allows it"
    ]
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["f"])
    assert [str(finding) for finding in raised.value.diagnostics] == [
        "f:3:1: error[GG127] `gg.handler.k.format.metaColumnsTemplate` is fine in GoldenGate for Big Data 12.3.2,"
        " but ggfmt does not do it; what ggfmt would write differs from GoldenGate's messages;"
        " `ggfmt.uncovered=ignore` allows it"
    ]
    allowed = read_configuration(["f"], ["ggfmt.uncovered=ignore"])
    assert [finding.code for finding in allowed.diagnostics] == ["GG127"]
    assert len(allowed.handlers) == 1


def test_a_filter_is_not_passed_over_in_silence() -> None:
    assert codes(of_type("kafka", "Filter=insert")) == [(4, "GG127")]
    assert codes(of_type("hbase", "filter=insert")) == [(1, "GG148"), (2, LEFT_OUT)]
    assert codes(of_type("com.example.Handler", "filter=insert")) == []


def test_of_a_property_given_twice_the_last_counts_here_too() -> None:
    assert codes(k(f"{UNDONE}\n{UNDONE}\nggfmt.compatibility=21", "xml")) == [(4, "GG128"), (4, "GG127")]
    assert codes(k(f"{UNDONE}\ngg.handler.k.format.MetaColumnsTemplate=", "xml")) == [(4, "GG107")]


def test_a_comment_does_not_allow_messages_that_differ() -> None:
    Path("f").write_text(k(f"# ggfmt: ignore GG127\n{UNDONE}", "xml"))
    assert lint(Path("f").read_bytes(), "f") == ()
    with pytest.raises(ConfigurationError, match="GG127"):
        read_configuration(["f"])


def test_what_the_release_does_not_have_is_not_missed() -> None:
    Path("f").write_text(k(f"{UNDONE}\nggfmt.compatibility=12.3", "xml"))
    assert [finding.code for finding in read_configuration(["f"]).diagnostics] == ["GG111"]
    Path("f").write_text(k(UNDONE, "xml"))
    with pytest.raises(ConfigurationError, match="GG127"):
        read_configuration(["f"])


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_legal_is_advised_away(format: str) -> None:
    for known in (spec for spec in FORMAT_OWNERS[format].own if spec.changes):
        text = k(f"gg.handler.k.format.{known.name}=x\nggfmt.compatibility={known.since}", format)
        found = [finding for finding in lint(text.encode(), "f") if finding.span.line == 3]
        assert "remove" not in " ".join(map(str, found))
        assert {finding.code for finding in found} <= {"GG102", "GG103", "GG117", "GG119", "GG127"}


# Comments that ask for silence


@pytest.mark.parametrize(
    "comment", ["# ggfmt: ignore GG101", "!ggfmt:ignore gg101,GG999x", "  ## GGFMT: Ignore GG101 x"]
)
def test_an_ignored_warning(comment: str) -> None:
    assert codes(k(f"{comment}\n# more\ngg.handler.k.foo=1")) == []
    assert codes(k(f"{comment}\n\ngg.handler.k.foo=1")) == [(3, "GG122"), (5, "GG101")]


def test_an_ignored_finding_in_a_continued_line() -> None:
    lines = "# ggfmt: ignore GG113, GG108\ngg.classpath=/a:\\\n  #/b\n# ggfmt: ignore GG108\ngg.log=\\\n  \\u1\n"
    text = k(f"{lines}gg.handler.k.type=hdfs")
    assert told(text) == ["3:24: warning[GG122] the property below has no finding `GG108`; remove it"]


def test_errors_cannot_be_ignored_in_a_run() -> None:
    text = k("# ggfmt: ignore GG103\ngg.handler.k.mode=x\n# ggfmt: ignore GG101\ngg.handler.k.foo=1\n")
    assert told(text) == []
    Path("f").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["f"])
    assert [finding.code for finding in raised.value.diagnostics] == ["GG103"]


def test_whether_a_comment_is_needed_is_asked_only_where_all_is_known() -> None:
    Path("f").write_text(k("# ggfmt: ignore GG101\ngg.handler.k.mode=op\n# ggfmt: ignore\n#"))
    assert [finding.code for finding in read_configuration(["f"]).diagnostics] == ["GG122", "GG122"]
    assert [finding.code for finding in read_configuration(["f"], [], ["k"]).diagnostics] == ["GG122"]
    assert [finding.code for finding in read_configuration(["f"], ["gg.log=x"]).diagnostics] == ["GG122"]


def test_notes_are_for_the_linter() -> None:
    text = k("gg.handler.k.format.pkUpdateHandling=delete-insert")
    assert codes(text) == [(3, "GG121")]
    Path("f").write_text(text)
    assert read_configuration(["f"]).diagnostics == ()
    Path("f").write_text(text + "gg.handler.k.mode=x")
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["f"])
    assert [finding.code for finding in raised.value.diagnostics] == ["GG103"]


# Whatever comes


@dataclass(frozen=True)
class NewOptions(Options):
    between: str = option(Delimiter(single=True), ";", "Stands between values.")
    of_tokens: str = option(Delimiter(tokens=True), "&", "Stands between tokens.", since="21.1")
    nothing: str = option(Representation(), "", "Stands for nothing.")
    charset: str = option(Charset(), "UTF-8", "The charset.")
    write_them: bool = option(Bool(), True, "Write schemas.")
    there: str = option(SchemaDirectory("write_them"), "x", "Where schemas are.")


def test_the_checks_hold_for_a_format_that_is_declared_later() -> None:
    new = Format("new", "New.", NewOptions, writes="nowhere", schema_kind="new", by_table=True)

    def found(*lines: str) -> list[tuple[int | None, str]]:
        text = "\n".join(("gg.handlerlist=k", "gg.handler.k.format=new", *(f"gg.handler.k.{line}" for line in lines)))
        reading = ConfigurationParser([("f", parse_content(text.encode(), "f"))], {"new": new})
        reading.handlers()
        return [(finding.span.line, finding.code) for finding in reading.reported()]

    assert found("type=kafka") == [(2, "GG112"), (3, "GG109")]
    assert found("format.between=ab", "format.nothing=xaby") == [(3, "GG117"), (4, "GG116")]
    assert found("includeTokens=true", "format.ofTokens=;") == [(4, "GG116")]
    assert found("format.charset=US-ASCII", "format.nothing=\\u00e4") == [(4, "GG118")]
    assert found("format.there=nix", "schemaFilePath=nix") == [(3, "GG119"), (4, "GG119")]
    assert found("format.there=nix", "schemaFilePath=nix", "format.writeThem=false") == []
    assert found("format.between=\\ ", "format.nothing=CDATA[x") == [(3, "GG114"), (4, "GG115")]


PIECES = st.sampled_from(
    [
        *(
            "gg.handlerlist",
            "gg.handler.",
            "k",
            "name",
            ".format",
            ".formatter",
            "=",
            ":",
            ",",
            "\n",
            "\r\n",
            "\\",
            " ",
        ),
        *(
            "json",
            "delimitedtext",
            "avro_row_ocf",
            ".type",
            "kafka",
            ".prettyPrint",
            ".schemaDirectory",
            "\\u",
            "\ud800",
        ),
        *(
            ".fieldDelimiter",
            ".nullValueRepresentation",
            ".encoding",
            "US-ASCII",
            "x-IBM834",
            "CDATA[",
            "]",
            "# ",
            "//",
        ),
        *(
            "# ggfmt: ignore ",
            "GG101",
            "GG122",
            "gg.schemareplaceregex",
            "gg.contentreplacestring1",
            "--",
            "0x01",
            "^A",
        ),
        *("\\t", "\\ud800", "\x00", "ggfmt.compatibility", "12.3", "password", "\x85", "\u2028"),
        *(
            "kafkaconnect",
            "hbase",
            "jms",
            "com.x.Y",
            "gg.target",
            "gg.eventhandler.",
            "21",
            "ggfmt.uncovered",
            "ignore",
        ),
        *(".format.metaColumnsTemplate", ".format.flatten", ".format.includeOpType", "true", "<name>", "your-x"),
    ]
)


@examples(300)
@given(
    st.binary()
    | st.lists(PIECES | st.text()).map(lambda pieces: "".join(pieces).encode("utf-8", "surrogatepass"))
    | st.lists(PIECES).map(lambda pieces: k("".join(pieces)).encode("utf-16", "surrogatepass")[2:])
    | st.lists(PIECES).map(lambda pieces: k("gg.handler.k." + "".join(pieces)).encode("utf-8", "surrogatepass"))
)
def test_any_bytes_give_findings_or_none(content: bytes) -> None:
    findings = lint(content, "f")
    diagnostics_text(findings).encode()
    places = [(finding.span.line or 0, finding.span.column or 0) for finding in findings]
    assert places == sorted(places)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.text("CDATA[] \\#!=:/-\n\t", max_size=9)
ANY_TEXT = (Text, Delimiter, Representation)
WORDS = ["|", ";", "~", "NULL", "before", "__", "hex:00"]


def is_legal(kind: ValueType[Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return bool(kind.parse(text) == text)
        except InvalidValueError:
            return False

    return check


VALUES: list[tuple[type[ValueType[Any]], Callable[[Any], st.SearchStrategy[Any]]]] = [
    (PathTemplate, lambda kind: st.sampled_from(["${tableName}", "a_${currentTimestamp}.x"]).map(kind.parse)),
    (HexBytes, lambda kind: st.binary(min_size=1, max_size=4).map(bytes.hex)),
    (Bool, lambda kind: st.booleans()),
    (Int, lambda kind: st.integers(kind.low, 10**6 if kind.high is None else kind.high)),
    (Size, lambda kind: st.integers(1, 10**12)),
    (
        NamePart,
        lambda kind: st.text(st.characters(min_codepoint=32, exclude_characters="/", exclude_categories=["Cs"])),
    ),
    (Text, lambda kind: TEXTS if type(kind) in ANY_TEXT else st.sampled_from(list(filter(is_legal(kind), WORDS)))),
    (Template, lambda kind: templates(True).map(kind.parse)),
    (SchemaIds, lambda kind: st.sampled_from([(("A", "1"),), (("A", "1"), ("B.C", "2147483647"))])),
    (Pairs, lambda kind: st.sampled_from([(("A", "1"),), (("A", "1"), ("B.C", "x y"))])),
    (TableKeys, lambda kind: st.sampled_from([(), (("S.T", ("A",)),), (("T", ("A", "B C")), ("S.U", ("D",)))])),
    (Choice, lambda kind: st.sampled_from(list(kind.words))),
    (PathKind, lambda kind: TEXTS.filter(lambda text: bool(trim(text)) and "\0" not in text)),
    (Charset, lambda kind: st.sampled_from(["native", "UTF-8", "US-ASCII", "ISO-8859-1", "windows-1252", "UTF-16"])),
]


def some_of(options: type[Options]) -> st.SearchStrategy[dict[str, Any]]:
    """Values for some of the options, by attribute."""
    specs = {spec.attr: spec.kind for spec in options.specs()}
    values = {name: next(make for type, make in VALUES if isinstance(kind, type))(kind) for name, kind in specs.items()}
    return st.fixed_dictionaries({}, optional=values)


@st.composite
def handlers(draw: st.DrawFn) -> tuple[str, Format, Options, HandlerOptions]:
    name = draw(st.text("abcXYZ019_- äß", min_size=1, max_size=6).map(lambda text: f"h{text.strip()}"))
    format = draw(st.sampled_from([format for format in FORMATS.values() if format.writes]))
    handler = HandlerOptions(**draw(some_of(HandlerOptions)))
    handler = replace(handler, event_handler=None, finalize_action="none", bom="")
    handler = replace(handler, file_rename_mapping_template=None, move_path_mapping_template=None)
    assume(handler.roll_on_metadata_change or not format.by_table)
    if format.by_table:
        assume(handler.partition_by_table and ("." in handler.type or handler.type in ("", *FILE_TYPES)))
    options = format.options(**draw(some_of(format.options)))
    assume(format.name_problem(options, Context()) is None)
    return name, format, options, handler


def lines_of(name: str, options: Options, prefix: str) -> list[str]:
    key = f"gg.handler.{name}.{prefix}".replace(" ", "\\ ")
    return [f"{key}{spec.name}={escape_value(spec.kind.render(value))}" for spec, value in options.non_defaults()]


@examples(100)
@given(handlers(), st.sampled_from(["\n", "\r\n"]))
def test_a_valid_configuration_is_read_back_without_errors(
    configured: tuple[str, Format, Options, HandlerOptions], newline: str
) -> None:
    name, format, options, handler = configured
    key = name.replace(" ", "\\ ")
    lines = [f"gg.handlerlist={name}", f"gg.handler.{key}.format={format.name}"]
    lines += lines_of(name, handler, "") + lines_of(name, options, "format.") + ["ggfmt.compatibility=23"]
    content = in_java(newline.join(lines))
    assert [finding for finding in lint(content, "f") if finding.severity is Severity.ERROR] == []
    Path("f").write_bytes(content)
    (read,) = read_configuration(["f"]).handlers
    assert (read.name, read.format, read.options, read.handler) == (name, format.name, options, handler)


def test_what_is_filled_in_is_a_note_unless_a_run_is_asked_for() -> None:
    content = k("gg.handler.k.rootFilePath=${OUT}").encode()
    severities = [item.severity for run in (False, True) for item in lint(content, "f", Rules(for_run=run))]
    assert severities == [Severity.NOTE, Severity.WARNING]


def test_the_linter_loads_nothing_heavy() -> None:
    program = "import json, sys, ggfmt.config.lint.reading; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in json.loads(ended.stdout)}
    assert "ggfmt" in loaded
    assert loaded & {"pyarrow", "fastavro", "lxml", "msgspec", "pyspark", "typer", "rich", "numpy"} == set()


@pytest.mark.parametrize("text", ["json.row", "json.Row", "json.", ".json", "com.acme.fmt", "a..B", "a.B c"])
def test_a_word_with_dots_is_no_java_class(text: str) -> None:
    """A class has packages and a capital letter, and is not nearly a format or a type."""
    assert codes(f"gg.handlerlist=h\ngg.handler.h.format={text}\n") == [(2, "GG106")]
    type = {"json.row": "kafka.connect", "json.Row": "Kafka.Connect"}.get(text, text)
    assert "GG123" in [code for _, code in codes(f"gg.handlerlist=h\ngg.handler.h.type={type}\n")]


@pytest.mark.parametrize("text", ["com.acme.Format", "com.acme.Format$Inner", "_a.B", "my.Json"])
def test_a_java_class_is_not_for_ggfmt_to_judge(text: str) -> None:
    assert codes(f"gg.handlerlist=h\ngg.handler.h.format={text}\n") == [(2, "GG149")]
    assert "GG123" not in [code for _, code in codes(f"gg.handlerlist=h\ngg.handler.h.type={text}\n")]


def test_a_property_with_a_class_takes_no_other_text() -> None:
    line = "gg.handlerlist=h\ngg.handler.h.type=hdfs\ngg.handler.h.format=json\ngg.handler.h.hiveJdbcDriver="
    assert codes(f"{line}org.apache.hive.jdbc.HiveDriver\n") == []
    assert codes(f"{line}org.apache.hive.jdbc\n") == [(4, "GG103")]
    assert codes(f"{line}org.apache.hive.jdbc.HiveDriver gg.handler.h.mode=op\n") == [(4, "GG103")]


def test_two_properties_on_a_line() -> None:
    (finding,) = lint(b"gg.handlerlist=h\ngg.handler.h.format=json gg.handler.h.a=1g\n", "f")
    assert (finding.code, "in a separate line" in str(finding.help)) == ("GG106", True)
