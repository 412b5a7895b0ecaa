"""Backslashes that Java drops: where they are found, what is harmless, and what a fix makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA

from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import lint
from ggfmt.config.properties import Entry, line_of, parse_content
from ggfmt.diagnostics.diagnostic import Diagnostic

K = "gg.handler.k.format."


def entry(line: str) -> Entry:
    (found,) = parse_content(line.encode(), "f").entries
    return found


def lost(text: str) -> Iterator[Diagnostic]:
    return (finding for finding in lint(text.encode(), "f") if finding.code == "GG150")


def fixed(text: str) -> str:
    return fix_file(text.encode(), "f").content.decode()


@pytest.mark.parametrize(
    ("line", "place", "right"),
    [
        (f"{K}nullValueRepresentation=\\N", "\\N", "\\\\N"),
        (f"{K}nullValueRepresentation=CDATA[\\N]", "\\N", "\\\\N"),
        (f"{K}nullValueRepresentation=\\\\\\N", "\\N", "\\\\N"),
        ("gg.contentreplaceregex=\\s+", "\\s", "\\\\s"),
        ("gg.contentreplaceregex=[\\r\\n]+\\s*a\\.b", "\\s*a\\.", "\\\\s*a\\\\."),
        ("gg.contentreplaceregex=\\|", "\\|", "\\\\|"),
        ("gg.contentreplacestring=\\$1", "\\$", "\\\\$"),
        ("gg.transform.t.matcher.columnRegex=A\\$.*", "\\$", "\\\\$"),
        ("gg.handler.k.topicMappingTemplate=${regex[${tableName}][\\.][_]}", "\\.", "\\\\."),
        ("gg.handler.k.kafkaProducerConfigFile=C:\\ogg\\new.properties", "\\ogg\\new.properties",
         "\\\\ogg\\\\new.properties"),
        ("gg.handler.k.kafkaProducerConfigFile=dirprm\\fast", "\\fast", "\\\\fast"),
        ("gg.handler.k.kafkaProducerConfigFile=\\\\host\\share", "\\\\host\\share", "\\\\\\\\host\\\\share"),
        ("gg.classpath=.\\lib;C\\:\\temp\\*", "\\lib;C\\:\\temp\\*", "\\\\lib;C\\:\\\\temp\\\\*"),
        ("jvm.bootoptions=-Xmx1g -Da=\"D:\\reports\"", "\\reports", "\\\\reports"),
        ("ggfmt.variables=HOME=\\ogg", "\\o", "\\\\o"),
        ("gg.handler.k.userName=CORP\\ogg", "\\o", "\\\\o"),
    ],
)  # fmt: skip
def test_a_lost_backslash_is_found_where_it_is_and_doubled(line: str, place: str, right: str) -> None:
    (finding,) = lost(f"gg.handlerlist=k\n{line}\n")
    span = finding.span
    assert span.source is not None and span.column is not None
    assert (span.line, span.source[span.column - 1 : span.column - 1 + span.length]) == (2, place)
    assert finding.fix == right
    assert fixed(f"{line}\n") == line.replace(place, right) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        f"{K}fieldDelimiter=\\|",
        f"{K}fieldDelimiter=\\u0001",
        f"{K}fieldDelimiter=\\,\\:\\=\\ \\#\\!\\;",
        f"{K}lineDelimiter=CDATA[\\r\\n]",
        f"{K}nullValueRepresentation=\\\\N",
        "gg.contentreplaceregex=\\\\s+\\\\.[\\r\\n\\t]\\ \\:\\-",
        "gg.contentreplaceregex=[\\u0000-\\u001f]",
        "gg.handler.k.topicMappingTemplate=\\${tableName}",
        "gg.classpath=C\\:\\\\ogg\\\\new:/opt/x\\ y/*",
        "jvm.bootoptions=-Xmx1g \\\n  -Xms1g",
        "log4j.pattern=\\d",
        "# C:\\ogg",
        f"{K}nullValueRepresentation=x # \\N",
    ],
)
def test_a_backslash_that_does_no_harm(line: str) -> None:
    assert list(lost(f"gg.handlerlist=k\n{line}\n")) == []


def test_a_character_by_its_number_has_one_finding() -> None:
    """`\\x01` has no meaning for GoldenGate with two backslashes either."""
    found = lint(f"gg.handlerlist=k\n{K}fieldDelimiter=\\x01\n".encode(), "f")
    assert [finding.code for finding in found if finding.span.line == 2] == ["GG117"]


def test_the_lines_of_a_continued_value_are_looked_at_one_by_one() -> None:
    places = [(it.span.line, it.span.column) for it in lost("jvm.bootoptions=-Da=C:\\a \\\n  -Db=C:\\b\n")]
    assert places == [(1, 23), (2, 9)]


def test_a_key_is_looked_at_too() -> None:
    (finding,) = lost("gg.handlerlist=k\ngg.handler.k\\.partitioner.A\\B=x\n")
    assert (finding.span.column, finding.span.length, finding.fix) == (28, 2, "\\\\B")


def test_of_a_secret_nothing_is_shown() -> None:
    (finding,) = lost("gg.handler.k.password=tiger\\scott\n")
    assert finding.fix is None
    assert "tiger" not in f"{finding}{finding.span.source}" and "scott" not in f"{finding}{finding.span.source}"


def test_a_path_whose_name_starts_with_u_is_fixed_too() -> None:
    assert fixed("gg.handler.k.schemaFilePath=C:\\ogg\\users\\tmp\n") == (
        "gg.handler.k.schemaFilePath=C:\\\\ogg\\\\users\\\\tmp\n"
    )


@given(st.lists(st.text("abNs019_", min_size=1), min_size=1, max_size=3))
def test_a_fixed_path_is_the_path_that_is_meant(names: list[str]) -> None:
    path = "\\".join(["C:", *names])
    assert entry(fixed(f"gg.handler.k.schemaDirectory={path}")).value == path


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_what_java_itself_writes_has_no_finding(value: str) -> None:
    assert list(lost(f"gg.handlerlist=k\n{line_of(f'{K}nullValueRepresentation', value)}\n")) == []


def test_the_example_of_each_kind() -> None:
    path = SHARED_DATA / "cases/handlers/lost_backslashes.properties"
    if not path.exists():
        pytest.skip("the cases are not there")
    assert [finding.span.line for finding in lost(path.read_text(encoding="utf-8"))] == [8, 9, 10, 11]
