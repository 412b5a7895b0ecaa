"""Kinds of values, option declarations, and the tables made of them."""

from __future__ import annotations

import io
import json
import pickle
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ggfmt.config.handlers import HandlerOptions
from ggfmt.config.properties import parse_properties
from ggfmt.formats import FORMATS
from ggfmt.java.text import JAVA_BLANKS, InvalidValueError, trim, visible
from ggfmt.options.reference import as_dict, markdown_table
from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import (
    Bool,
    Charset,
    Choice,
    Delimiter,
    Int,
    NamePart,
    Path,
    Representation,
    SchemaDirectory,
    Size,
    Text,
    ValueType,
    escape_value,
    unwrap_cdata,
)
from ggfmt.render.reference import options_table

CHOICE = Choice({"tx": "a transaction", "delete-insert": "two operations"})

CHARSETS = ["native", "UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "windows-1252", "x-IBM930", "IBM037"]

PRINTABLE = st.characters(min_codepoint=32, exclude_characters="/", exclude_categories=["Cs"])

KINDS_AND_VALUES: list[tuple[ValueType[Any], st.SearchStrategy[Any]]] = [
    (Bool(), st.booleans()),
    (Int(), st.integers(0, 10**18 - 1)),
    (Int(-5), st.integers(-5, 10)),
    (Size(), st.integers(1, 10**15 - 1)),
    (Text(), st.text()),
    (Text(), st.text("CDATA[] x")),
    (Delimiter(single=True), st.text(max_size=3)),
    (Representation(), st.text(max_size=3)),
    (NamePart(), st.text(PRINTABLE, max_size=64).filter(lambda text: len(text.encode()) <= 64)),
    (CHOICE, st.sampled_from(list(CHOICE.words))),
    (Path(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).filter(trim)),
    (SchemaDirectory(), st.text("/ab ", min_size=1).filter(trim)),
    (Charset(), st.sampled_from(CHARSETS)),
    (Charset(messages=False), st.sampled_from(CHARSETS)),
]


@pytest.mark.parametrize(("kind", "values"), KINDS_AND_VALUES)
def test_what_a_kind_renders_it_reads_back(kind: ValueType[Any], values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def check(value: Any) -> None:
        text = kind.render(value)
        assert kind.parse(trim(text)) == value
        (entry,) = parse_properties(f"key={escape_value(text)}", "f").entries
        assert kind.parse(trim(entry.value)) == value

    check()


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS_AND_VALUES])
def test_any_text_is_a_value_or_illegal(kind: ValueType[Any]) -> None:
    @given(st.text(st.characters()) | st.text("0123456789kmgtb- "))
    def check(text: str) -> None:
        try:
            kind.parse(trim(text))
        except InvalidValueError as illegal:
            error = illegal
        else:
            return
        told = trim(text) if len(trim(text)) <= 60 else trim(text)[:57] + "..."
        assert str(error) in ("is not a path", f"cannot be `{told}`")
        assert error.help

    check()


@given(st.text(st.characters()) | st.text("CDATA[] \t"))
def test_delimiters_and_representations_are_read_as_texts_are(text: str) -> None:
    def read(kind: ValueType[str]) -> str | None:
        try:
            return kind.parse(trim(text))
        except InvalidValueError:
            return None

    kinds = (Delimiter(), Delimiter(single=True, line=True), Delimiter(tokens=True), Representation())
    assert {read(kind) for kind in kinds} == {read(Text())}
    assert {kind.render(text) for kind in kinds} == {Text().render(text)}
    assert {kind.legal for kind in kinds} == {Text().legal}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("CDATA[\n]", "\n"),
        ("CDATA[]", ""),
        ("CDATA[ ]", " "),
        ("CDATA[]]", "]"),
        ("CDATA[a]b]", "a]b"),
        ("  CDATA[\x01]\t", "\x01"),
        ("CDATA[x", "CDATA[x"),
        ("CDATA[x]y", "CDATA[x]y"),
        ("xCDATA[x]", "xCDATA[x]"),
        ("cdata[x]", "cdata[x]"),
        ("\n", ""),
        (" \x01|\x01 ", "|"),
        ("\u00a0", "\u00a0"),
    ],
)
def test_trimming_and_cdata(text: str, value: str) -> None:
    assert Text().parse(trim(text)) == unwrap_cdata(trim(text)) == value


@given(st.text(st.sampled_from(JAVA_BLANKS)), st.text(), st.text(st.sampled_from(JAVA_BLANKS)))
def test_cdata_keeps_blanks_and_trimming_drops_those_around_it(before: str, value: str, after: str) -> None:
    assert Text().parse(trim(f"{before}CDATA[{value}]{after}")) == value


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Bool(), "TRUE", True),
        (Int(), "+007", 7),
        (Size(), "1g", 1 << 30),
        (Size(), "10 MB", 10 << 20),
        (Size(), "7", 7),
        (CHOICE, "Delete-Insert", "delete-insert"),
        (Charset(), "utf8", "UTF-8"),
        (Charset(), "Latin1", "ISO-8859-1"),
        (Charset(), "cp1252", "windows-1252"),
        (Path(), "CDATA[ x]", " x"),
    ],
)
def test_other_ways_to_write_a_value(kind: ValueType[Any], text: str, value: Any) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "message", "help"),
    [
        (Bool(), "yes", "cannot be `yes`", "legal values are `true`, `false`"),
        (Int(1), "0", "cannot be `0`", "give a whole number from 1"),
        (Size(), "0k", "cannot be `0k`", "give a number of bytes from 1"),
        (Int(), "1" * 99, f"cannot be `{'1' * 57}...`", "give a whole number from 0"),
        (CHOICE, "ins", "cannot be `ins`", "legal values are `tx`, `delete-insert`"),
        (
            CHOICE,
            "insert-delete",
            "cannot be `insert-delete`",
            "legal values are `tx`, `delete-insert`",
        ),
        (
            CHOICE,
            "delete_insert",
            "cannot be `delete_insert`",
            "legal values are `tx`, `delete-insert`; did you mean `delete-insert`?",
        ),
        (Path(), "", "is not a path", "give a path"),
        (
            NamePart(),
            "../x",
            "cannot be `../x`",
            "give any string of 64 bytes or less, without `/` and control characters",
        ),
        (Text(), "\ud800", "cannot be `\ud800`", "give both halves of the surrogate pair"),
    ],
)
def test_illegal_values(kind: ValueType[Any], text: str, message: str, help: str) -> None:
    with pytest.raises(InvalidValueError) as raised:
        kind.parse(text)
    assert str(raised.value) == message
    assert raised.value.help is not None
    assert raised.value.help.startswith(help)


@given(st.text(st.characters()))
def test_visible_text_prints(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(text) == text or not text.isprintable()


# Declarations

OPTION_SETS = [pytest.param(format.options, id=name) for name, format in FORMATS.items()]
OPTION_SETS.append(pytest.param(HandlerOptions, id="handler"))


@pytest.mark.parametrize("options", OPTION_SETS)
def test_every_default_is_legal_and_every_option_has_a_sentence(options: type[Options]) -> None:
    specs = options.specs()
    names = [name.lower() for spec in specs for name in (spec.name, *spec.aliases)]
    assert len(set(names)) == len(names)
    for spec in specs:
        assert re.fullmatch(r"[A-Z]([^`]|`[^`]+`)*\.", spec.doc), spec.name
        assert spec.kind.legal
        if spec.default is not None:
            assert spec.value(spec.kind.render(spec.default)) == spec.default
    assert pickle.loads(pickle.dumps(options())) == options()
    assert hash(options()) == hash(options())


@dataclass(frozen=True)
class Sample(Options):
    pretty_print: bool = option(Bool(), False, "Lay it out.")
    iso8601_format: str = option(CHOICE, "tx", "Choose.", since="12.3.1", until="21", aliases=("iso8601Forma",))
    delimiter: str = option(Text(), "|", "Divide.")
    root: str | None = option(Path(), None, "Go there.")
    control: str = option(Text(), "\x01", "Divide\tmore.")


def test_declarations() -> None:
    assert [(spec.name, spec.attr, spec.default_text) for spec in Sample.specs()] == [
        ("prettyPrint", "pretty_print", "false"),
        ("iso8601Format", "iso8601_format", "tx"),
        ("delimiter", "delimiter", "|"),
        ("root", "root", ""),
        ("control", "control", "CDATA[\\u0001]"),
    ]
    parsed = Sample.parse({"prettyPrint": " TRUE ", "delimiter": "", "iso8601Format": ""})
    assert parsed == Sample(pretty_print=True, delimiter="")
    assert [(spec.name, value) for spec, value in parsed.non_defaults()] == [("prettyPrint", True), ("delimiter", "")]


# Tables


def test_markdown_table() -> None:
    assert markdown_table(Sample.specs()) == (
        "| Property | Legal values | Default | Releases | Meaning |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| `prettyPrint` | `true`, `false` | `false` | all | Lay it out. |\n"
        "| `iso8601Format` | `tx`, `delete-insert` | `tx` | 12.3.1 to 21.1 "
        "| Choose. `tx`: a transaction; `delete-insert`: two operations. |\n"
        "| `delimiter` | any string | `\\|` | all | Divide. |\n"
        "| `root` | a path | none | all | Go there. |\n"
        "| `control` | any string | `CDATA[\\u0001]` | all | Divide\tmore. |\n"
    )


@pytest.mark.parametrize("options", OPTION_SETS)
def test_tables_name_every_option(options: type[Options]) -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(options_table(options.specs(), "title [x]"))
    shown = console.export_text()
    data = json.loads(json.dumps([as_dict(spec) for spec in options.specs()]))
    for spec, described in zip(options.specs(), data, strict=True):
        assert spec.name in shown
        assert f"| `{spec.name}` |" in markdown_table(options.specs())
        assert described["property"] == spec.name
        assert described["default"] == (spec.default_text if isinstance(spec.default, tuple) else spec.default)
        assert described["doc"] == spec.doc
    assert "title [x]" in shown


def test_dictionaries() -> None:
    assert as_dict(Sample.specs()[1]) == {
        "property": "iso8601Format",
        "kind": "choice",
        "legal": "tx, delete-insert",
        "default": "tx",
        "default_text": "tx",
        "doc": "Choose.",
        "since": "12.3.1",
        "until": "21",
        "need": "optional",
        "source": "",
        "aliases": ["iso8601Forma"],
        "words": {"tx": "a transaction", "delete-insert": "two operations"},
    }
