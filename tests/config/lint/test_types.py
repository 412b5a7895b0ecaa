"""Handlers without a type, types of handlers that are not listed, and keys that are given twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from handler_files import sections

from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import lint
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic

BASES = {title: base.partition("---\n")[0] for title, base in sections(Path(__file__).parent / "mistakes.txt")}
KAFKA, TEXT = BASES["kafka"], BASES["text"]


def named(findings: tuple[Diagnostic, ...], words: str) -> Iterator[Diagnostic]:
    for finding in findings:
        text = f"{finding.severity.value} {finding.message} {finding.help}"
        if all(word in text for word in words.split(" ")):
            yield finding


@pytest.mark.parametrize("title", ["files", "text", "kafka", "connect", "hdfs", "proxy"])
def test_a_handler_without_a_type_is_found(title: str) -> None:
    base = f"{BASES[title]}gg.classpath=/etc/hadoop/conf\n"
    name = base.partition("\n")[0].partition("=")[2].partition(",")[0]
    text = re.sub(rf"gg\.handler\.{name}\.type=.*\n", "", base)
    first = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"gg.handler.{name}."))
    places = {
        (item.span.line, item.code) for item in named(lint(text.encode(), "f"), f"gg.handler.{name}.type missing")
    }
    assert (first, "GG109") in places


def test_the_type_that_is_missing_is_the_one_that_has_all_properties() -> None:
    text = TEXT.replace("gg.handler.files.type=filewriter\n", "")
    (finding,) = (item for item in lint(text.encode(), "f") if item.code == "GG109")
    assert finding.help == "add `gg.handler.files.type=filewriter`"
    empty = lint(TEXT.replace("type=filewriter", "type=").encode(), "f")
    assert [str(item.span) for item in named(empty, "gg.handler.files.type empty")] == ["f:2:1"]


def test_a_handler_for_ggfmt_alone_needs_no_type() -> None:
    text = "gg.handlerlist=h\ngg.handler.h.format=json\ngg.handler.h.format.metaColumnsTemplate=${optype}\n"
    assert lint(text.encode(), "f") == ()


def test_a_type_on_a_block_that_is_not_listed() -> None:
    text = KAFKA.replace("gg.handler.k.type", "gg.handler.kk.type")
    (finding,) = named(lint(text.encode(), "f"), "gg.handler.kk.type listed")
    assert (str(finding.span), finding.help) == ("f:2:1", "did you mean `gg.handler.k.type`?")
    other = KAFKA.replace("gg.handler.k.type", "gg.handler.other.type")
    assert len(list(named(lint(other.encode(), "f"), "gg.handler.other.type listed"))) == 1
    assert not list(named(lint(f"{KAFKA}gg.handler.other.type=hdfs\n".encode(), "f"), "listed"))


@pytest.mark.parametrize(
    "key", ["jvm.bootoptions", "javawriter.bootoptions", "gg.classpath", "gg.log.level", "goldengate.userexit.writers"]
)
def test_a_key_of_the_process_that_is_given_twice(key: str) -> None:
    text = f"{key}=a\n{KAFKA.replace('gg.classpath', '# ')}{key}=b\n"
    line = len(text.splitlines())
    (finding,) = (item for item in lint(text.encode(), "f") if item.code == "GG107")
    assert (str(finding.span), finding.span.length) == (f"f:{line}:1", len(key))
    assert finding.message == f"`{key}` was given before, in line 1"
    assert fix_file(text.encode(), "f").content == text.encode()
    assert fix_file(text.encode(), "f", unsafe=True).content.decode() == text.partition("\n")[2]
    same = lint(text.replace("=b", "=a").encode(), "f")
    assert [item.severity for item in same if item.code == "GG128"] == [Severity.NOTE]
