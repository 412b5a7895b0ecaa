"""Diagnostics as text: the shape, and that the carets stand where they should whatever the source line holds."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggfmt.errors import Diagnostic, Span
from ggfmt.render.diagnostics import diagnostics_json, diagnostics_rich, diagnostics_text, print_diagnostics, tally

ERROR = Diagnostic(
    "GG103",
    "`gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`",
    Span("conf/json.properties", 7, 38, 10, "gg.handler.k.format.pkUpdateHandling=del-insert"),
    "legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?",
)
WARNING = Diagnostic("GG101", "`foo` is not a property that ggfmt knows", Span("a", 100, 1, 3, "foo=1"))


def lines(source: str, column: int, length: int = 1) -> tuple[str, str]:
    """The source line and the caret line of a finding, less their gutters."""
    _, shown, carets = diagnostics_text([Diagnostic("GG101", "x", Span("f", 1, column, length, source))]).splitlines()
    assert shown.startswith("  1 | ")
    assert carets.startswith("    | ")
    return shown[6:], carets[6:]


def pointed_at(source: str, column: int, length: int = 1) -> str:
    """What stands above the carets, on a terminal that gives wide characters two columns."""
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
    text = diagnostics_text([Diagnostic("GG101", "`a\nb\x1b`", Span("f\x07"), "write `\t`")])
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


def test_rich_says_the_same_in_colour() -> None:
    text = diagnostics_rich([ERROR, WARNING])
    assert text.plain == diagnostics_text([ERROR, WARNING])
    styles = {text.plain[span.start : span.end]: span.style for span in text.spans}
    assert styles["error[GG103]"] == "bold red"
    assert styles["warning[GG101]"] == "bold yellow"


class Stream(io.TextIOWrapper):
    """A stream over bytes that may say it is a terminal."""

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
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file, terminal = Stream("utf-8", False), Stream("utf-8", True)
    print_diagnostics([ERROR], file)
    print_diagnostics([ERROR], terminal)
    assert file.content() == diagnostics_text([ERROR])
    assert "\x1b[1;31merror[GG103]\x1b[0m" in terminal.content()
    assert terminal.content().count("\n") == 4


def test_an_encoding_that_lacks_a_character() -> None:
    stream = Stream("ascii", False)
    print_diagnostics([Diagnostic("GG101", "`密`")], stream)
    assert stream.content() == "warning[GG101] `\\u5bc6`\n"


def test_json() -> None:
    assert json.loads(diagnostics_json([ERROR, Diagnostic("GG301", "x", Span("f", offset=7))])) == [
        {
            "code": "GG103",
            "severity": "error",
            "message": ERROR.message,
            "help": ERROR.help,
            "file": "conf/json.properties",
            "line": 7,
            "column": 38,
            "length": 10,
            "source": "gg.handler.k.format.pkUpdateHandling=del-insert",
        },
        {"code": "GG301", "severity": "error", "message": "x", "file": "f", "offset": 7},
    ]
    assert json.loads(diagnostics_json([])) == []


def test_tally() -> None:
    assert tally([]) == "no findings"
    assert tally([ERROR, WARNING, ERROR]) == "2 errors, 1 warning"
