"""The corpus of handler files: right files are left alone, mistakes are found where they are, and their fixes mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from command_line import call, codes
from handler_files import Mistake, mistakes, planted, right_files, sections
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.config.properties import decode, parse_properties
from ggfmt.config.property_table import EVENT_HANDLER_TYPES, HANDLER_TYPES, TARGETS
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError

HERE = Path(__file__).parent
RIGHT = list(right_files(HERE / "right_files.txt"))
MISTAKES = list(mistakes(HERE / "mistakes.txt"))
OPERATION = '{"table":"GG.T","op_type":"I","op_ts":"2024-01-01 00:00:00.000000","pos":"1","after":{"ID":1}}'

# Why the check has more than the run. Without `--for-run`, errors of a run (`Code.of_run`) are notes.
LATER_IN_A_RUN = {
    "GG216": "a run that stops at another error has not read the mask of times",
    "GG515": "a run that stops at another error has not laid out its files",
}
BASES = {title: section.partition("---\n")[0] for title, section in sections(HERE / "mistakes.txt")}


def problems(content: bytes, for_run: bool = False) -> list[Diagnostic]:
    """The errors and warnings of a file, without those of a run unless `for_run`."""
    return [item for item in lint(content, "f", Rules(for_run=for_run)) if item.severity is not Severity.NOTE]


def errors(content: bytes, for_run: bool = False) -> set[str]:
    return {item.code for item in problems(content, for_run) if item.severity is Severity.ERROR}


def entries(content: bytes) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse_properties(decode(content).text, "f").entries]


def of_mistake(mistake: Mistake, found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings that have the words of a mistake and touch its place."""
    end = mistake.column + mistake.length
    for item in found:
        text, span = f"{item.severity.value} {item.message} {item.help}", item.span
        touches = span.column is not None and span.column < end and span.column + span.length > mistake.column
        if span.line == mistake.line and touches and all(word in text for word in mistake.words):
            yield item


@pytest.mark.parametrize("content", [pytest.param(content, id=title) for title, content in RIGHT])
def test_a_right_file_is_left_alone(content: bytes) -> None:
    assert [str(item) for item in problems(content)] == []


@pytest.mark.parametrize("release", ["12.3.2", "19.1", "21", "23", "26"])
@pytest.mark.parametrize("title", ["files", "kafka", "text"])
def test_a_file_that_is_right_in_several_releases_is_left_alone(title: str, release: str) -> None:
    template = "gg.handler.files.format.metaColumnsTemplate=${optype}\n" if title == "text" else ""
    content = f"{BASES[title]}{template}ggfmt.compatibility={release}\n".encode()
    assert [str(item) for item in problems(content, for_run=True)] == []


@pytest.mark.parametrize(
    ("title", "type", "name"),
    [
        *(("files", "gg.handler.fw.type", f"{name}Template") for name in ("pathMapping", "fileNameMapping")),
        ("files", "gg.handler.fw.type", "stateFileDirectory"),
        ("kafka", "gg.handler.k.type", "topicMappingTemplate"),
        *(("connect", "gg.handler.kc.type", name) for name in ("kafkaProducerConfigFile", "keyMappingTemplate")),
        ("proxy", "gg.handler.rest.type", "postDataUrl"),
    ],
)
def test_what_is_required_and_lacks_is_found_at_the_type(title: str, type: str, name: str) -> None:
    lines = [line for line in BASES[title].splitlines() if f".{name}=" not in line or "eventhandler" in line]
    (finding,) = (item for item in problems("\n".join(lines).encode()) if item.code == "GG109")
    assert name in finding.message
    assert finding.span.source is not None and finding.span.source.startswith(type)


def test_a_codec_without_a_library_stops_a_run_alone() -> None:
    content = BASES["files"].replace("SNAPPY", "LZO").encode()
    assert problems(content) == []
    assert [item.code for item in problems(content, for_run=True)] == ["GG149"]


def test_there_are_as_many_files_as_promised() -> None:
    assert len({content for _, content in RIGHT}) >= 130
    assert len({mistake.text for mistake in MISTAKES}) >= 1_150


def test_each_type_and_each_target_has_a_dozen_of_mistakes() -> None:
    kinds: dict[str, Iterable[str]] = {"handler": HANDLER_TYPES, "eventhandler": EVENT_HANDLER_TYPES, "target": TARGETS}
    counts = Counter(owner for mistake in MISTAKES for owner in mistake.owners)
    owners = [f"{kind} {type}" for kind, types in kinds.items() for type in types]
    assert {owner: counts[owner] for owner in owners if counts[owner] < 12} == {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.change[-1])
def test_a_mistake_is_found_where_it_is_and_its_fix_mends_the_file(mistake: Mistake) -> None:
    content = mistake.text.encode()
    found = problems(content)
    findings = list(of_mistake(mistake, lint(content, "f") if "note" in mistake.words else found))
    assert findings, [str(item) for item in found]
    assert len([item for item in found if item.span.line != mistake.line]) <= 2, [str(item) for item in found]
    if mistake.mended is not None:
        assert [str(item) for item in problems(mistake.mended.encode())] == []
        return
    assert any(item.fix is not None or item.rewrite for item in findings)
    fixed = fix_file(content, "f", unsafe=True).content
    assert [str(item) for item in problems(fixed)] == []
    lines = mistake.text.splitlines(keepends=True)
    others = entries("".join(lines[: mistake.line - 1] + lines[mistake.line :]).encode())
    changed = entries(fixed)
    assert len(changed) - len(others) in (0, 1)
    assert [entry for entry in changed if entry in others] == others


@pytest.mark.parametrize(
    "content",
    [
        *(pytest.param(content, id=title) for title, content in RIGHT),
        *(pytest.param(mistake.text.encode(), id=mistake.change[-1]) for mistake in MISTAKES),
    ],
)
def test_the_check_and_the_run_agree(content: bytes, tmp_path: Path) -> None:
    """What a run refuses is an error of a check for a run, of the same code, and the other way about.

    Of one table: what two tables have in common (GG514) is not in a handler file.
    """
    file, given = tmp_path / "f.properties", tmp_path / "in.json"
    file.write_bytes(content)
    given.write_text(OPERATION)
    ended = call("run", given, "-c", file, "-o", tmp_path / "out", "--master", "none")
    refused = set(codes(ended, Severity.ERROR)) if isinstance(ended.exception, GgfmtError) else set()
    assert (ended.exit_code == 0) == (refused == set()), ended.output
    checked = errors(content, for_run=True)
    assert refused <= checked
    assert checked - refused <= (LATER_IN_A_RUN.keys() if refused else set())
    assert errors(content) == {code for code in checked if not CODES[code].of_run}


OF_ONE_FILE = [list(group) for _, group in groupby(MISTAKES, key=lambda mistake: mistake.base)]


@given(st.sampled_from(OF_ONE_FILE).flatmap(lambda group: st.lists(st.sampled_from(group), min_size=2, max_size=6)))
@examples(100)
def test_the_fixes_of_several_mistakes_change_nothing_else(chosen: list[Mistake]) -> None:
    lines = list(chosen[0].base)
    for mistake in chosen:
        lines = planted(lines, mistake.change)
    content = "".join(f"{line}\n" for line in lines).encode()
    keys = {line.lstrip("+-").partition("=")[0] for mistake in chosen for line in mistake.change}
    found = lint(content, "f")
    for unsafe in (False, True):
        mended = [item for item in found if item.fix is not None or (unsafe and item.rewrite)]
        fixed = fix_file(content, "f", unsafe=unsafe)
        assert fix_file(fixed.content, "f", unsafe=unsafe).content == fixed.content
        left = {(item.code, item.message) for item in fixed.findings}
        assert [str(item) for item in mended if (item.code, item.message) in left] == []
        touched = keys | {lines[(item.span.line or 1) - 1].partition("=")[0] for item in mended}
        before, after = entries(content), entries(fixed.content)
        kept = [entry for entry in before if entry[0] not in touched]
        known = {key for key, _ in before} - touched
        assert [entry for entry in after if entry[0] in known] == kept
        assert len(after) <= len(before)
