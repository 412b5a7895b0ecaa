"""Fixes of handler files: what is fixed, and that nothing else of a file changes."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from places import LINT, SHARED_DATA
from strategies import examples

from ggfmt.config.comments import before_comment
from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import lint
from ggfmt.config.properties import decode, parse_properties
from ggfmt.config.property_table import EVENT_HANDLER_TYPES, HANDLER_TYPES
from ggfmt.java.text import trim

CASES = SHARED_DATA / "cases" / "handlers"
FILES = [*sorted(LINT.glob("*.properties")), *sorted(CASES.glob("*.properties"))]

# Names with a free part

_PATTERNS = [
    (f"gg.{owner}.type={type.name}\ngg.{owner}.", spec.name)
    for owner, types in (("handler.k", HANDLER_TYPES), ("eventhandler.e", EVENT_HANDLER_TYPES))
    for type in types.values()
    for spec in type.own
    if spec.is_open
]


@pytest.mark.parametrize(("head", "pattern"), _PATTERNS)
def test_names_that_fit_one_pattern_are_several_properties(head: str, pattern: str) -> None:
    type, _, prefix = head.partition("\n")
    start = "gg.handlerlist=k\ngg.handler.k.format=json\ngg.handler.k.eventHandler=e\n"
    one, other = (f"{prefix}{re.sub('<.*>', middle, pattern)}" for middle in ("Some", "Other"))
    text = f"{start}{type}\n{one}=1\n{other}=2\n"
    assert "GG107" not in {finding.code for finding in lint(text.encode(), "f")}
    assert fix_file(text.encode(), "f", unsafe=True).content == text.encode()
    again = f"{text}{one.replace('Some', 'SOME')}=3\n"  # the case of a name does not matter
    if "partitioner" not in pattern:  # behind it is the name of a table
        assert "GG107" in {finding.code for finding in lint(again.encode(), "f")}


# Characters that only look like those of ASCII

KAFKA = """\
gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.keyMappingTemplate=${primaryKeys}
gg.handler.k.format=delimitedtext
"""


def fixed(line: str, unsafe: bool = False) -> str:
    """The last line, or lines, of a file whose last line is the given one, after its fixes."""
    content = fix_file((KAFKA + line + "\n").encode(), "f", unsafe=unsafe).content.decode()
    return content.removeprefix(KAFKA).removesuffix("\n")


def codes_of(line: str) -> list[str]:
    found = lint((KAFKA + line + "\n").encode(), "f")
    return [finding.code for finding in found if finding.code in ("GG113", "GG142", "GG144", "GG147")]


TOPIC, FORMAT = "gg.handler.k.topicMappingTemplate=", "gg.handler.k.format."


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (f"{TOPIC}\u201c${{tableName}}\u201d", f'{TOPIC}"${{tableName}}"'),
        (f"{TOPIC}a\u2014${{tableName}}", f"{TOPIC}a-${{tableName}}"),
        (f"{FORMAT}encoding\uff1dUTF-8", f"{FORMAT}encoding=UTF-8"),
        (f"{FORMAT}encoding\uff1aUTF-8", f"{FORMAT}encoding:UTF-8"),
        (f"{FORMAT}encoding\u00a0= UTF\u20118", f"{FORMAT}encoding = UTF-8"),
        (f"\u3000{FORMAT}encoding\u3000UTF-8", f" {FORMAT}encoding UTF-8"),
        (f"\u200b{FORMAT}includeOpType=true\ufeff", f"{FORMAT}includeOpType=true"),
        (f"{FORMAT}pkUpdateHandling=delete\u2013insert", f"{FORMAT}pkUpdateHandling=delete-insert"),
        ("gg.handler.k.kafkaProducerCon\ufb01gFile=\u2026", "gg.handler.k.kafkaProducerConfigFile=\u2026"),
        ("gg.handler.k.type=\uff4b\uff41\uff46\uff4b\uff41", "gg.handler.k.type=kafka"),
        (f"{TOPIC}a\\\n  \u2013b", f"{TOPIC}a\\\n  -b"),
        ("jvm.bootoptions=\u2013Xmx1g", "jvm.bootoptions=-Xmx1g"),
        ("gg.handler.other.mode=\u2018op\u2019", "gg.handler.other.mode='op'"),
    ],
)
def test_a_look_alike_becomes_the_character_of_ascii(line: str, written: str) -> None:
    assert "GG147" in codes_of(line)
    assert "GG144" not in codes_of(line)
    assert fixed(line) == written
    assert "GG147" not in codes_of(written)


def test_quotes_stay_reported_when_they_are_those_of_ascii() -> None:
    assert codes_of(f'{TOPIC}"${{tableName}}"') == ["GG142"]


def test_look_alikes_of_windows() -> None:
    content = f"{KAFKA}{FORMAT}encoding=UTF\x968\n{TOPIC}\x93a\xa0b\x94\n".encode("iso-8859-1")
    mended = fix_file(content, "f").content.decode()
    assert mended == f'{KAFKA}{FORMAT}encoding=UTF-8\n{TOPIC}"a b"\n'


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (f"{FORMAT}nullValueRepresentation=\u7a7a", f"{FORMAT}nullValueRepresentation=\\u7a7a"),
        (f"{FORMAT}fieldDelimiter=\u00a6", f"{FORMAT}fieldDelimiter=\\u00a6"),
        ("gg.contentreplacestring=\u00e9", "gg.contentreplacestring=\\u00e9"),
        (f"{FORMAT}insertOpKey=a\\\n  \u00e9", f"{FORMAT}insertOpKey=a\\\n  \\u00e9"),
    ],
)
def test_what_is_meant_in_a_text_becomes_an_escape(line: str, written: str) -> None:
    assert "GG144" in codes_of(line)
    assert fixed(line) == written


@pytest.mark.parametrize(
    "line",
    [
        f"{FORMAT}nullValueRepresentation=\u201cNULL\u201d",
        f"{FORMAT}fieldDelimiter=\uff0c",
        "gg.contentreplaceregex=[\u2013\u2014]",
        "gg.handler.k.clientURI=\u201cx\u201d",
        "gg.handler.\u00f6.mode=op",
        f"{TOPIC}t\u0430ble",
    ],
)
def test_what_may_be_a_mistake_stays_as_it_is(line: str) -> None:
    assert codes_of(line) == ["GG144"]
    assert fixed(line) == line


@pytest.mark.parametrize(
    ("line", "codes", "written"),
    [
        (f"{TOPIC}a # \u8fd9\u91cc\uff0c\u201cx\u201d", ["GG113"], f"# \u8fd9\u91cc\uff0c\u201cx\u201d\n{TOPIC}a"),
        (f"{TOPIC}a\u3000# \u8fd9\u201d", ["GG147"], f"# \u8fd9\u201d\n{TOPIC}a"),
        (
            f"{FORMAT}insertOpKey=\u00e9 # \u8fd9",
            ["GG144", "GG113"],
            f"# \u8fd9\n{FORMAT}insertOpKey=\\u00e9",
        ),
    ],
)
def test_a_comment_behind_a_value_stays_readable(line: str, codes: list[str], written: str) -> None:
    assert codes_of(line) == codes
    comment = line[line.index("# ") :]
    assert fixed(line).endswith(comment)
    assert fixed(line, unsafe=True) == written


# What fixes leave as it is

LOOK_ALIKES = str.maketrans(
    {"\uff1d": "=", "\u00a0": " ", "\u3000": " ", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
    | {"\u200b": "", "\ufb01": "fi"}
)


def meant(content: bytes, without: Collection[int | None] = ()) -> list[tuple[str, str]]:
    """The properties of a file as its author means them, less those in some lines: characters of UTF-8, look-alikes as
    those of ASCII, and no comments behind values."""
    entries = parse_properties(decode(content).text.translate(LOOK_ALIKES), "f").entries
    kept = (e for e in entries if not any(e.line <= (line or 0) <= e.line + len(e.continued) for line in without))
    return [(entry.key.lower(), trim(before_comment(entry))) for entry in kept]


def check_fixes(content: bytes) -> tuple[bytes, bytes]:
    """Check that fixes leave none behind, safe ones and all; return both results."""
    safe, unsafe = (fix_file(content, "f", unsafe=unsafe) for unsafe in (False, True))
    for result in (safe, unsafe):
        assert [finding for finding in lint(result.content, "f") if finding.fix is not None] == []
    assert fix_file(safe.content, "f").content == safe.content
    assert fix_file(unsafe.content, "f", unsafe=True).content == unsafe.content
    return safe.content, unsafe.content


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in FILES])
def test_safe_fixes_of_the_corpus_keep_all_values(path: Path) -> None:
    content = path.read_bytes()
    safe, _ = check_fixes(content)
    # The fix of a backslash changes the value to what is meant.
    lines = {finding.span.line for finding in lint(content, "f") if finding.code in ("GG108", "GG150")}
    before, after = meant(content, lines), meant(safe, lines)
    assert [value for _, value in before] == [value for _, value in after]
    renamed = any(finding.code == "GG102" for finding in lint(content, "f"))
    assert renamed or before == after


_NAMES = (
    "type=kafka",
    "mode=op",
    "mode=\u201cop\u201d",
    "topicMappingTemplate=\u201c${tableName}\u201d",
    "topicMappingTemplate=a\u2013b",
    "keyStorePath=a",
    "keyStoreType=b",
    "format=delimitedtext",
    "Format=json",
    "format.encoding=UTF\u20138",
    "format.fieldDelimiter=\u00a6",
    "format.fieldDelimiter=;",
    "format.fieldDelimiter=\\u0001",
    "format.insertOpKey=\u00e9",
    "format.insertOpKey=\\u00e9",
    "format.insertOpKey=a\\\n   b\u00e9",
    "format.nullValueRepresentation=\u201c\u201d",
    "format.nullValueRepresentation=N\\\\A",
    "format.includeOpType = true",
    "format.includeOpType:false",
    "format.includeOpType\uff1dtrue",
    "format.includeOpType\u00a0=\u00a0true",
)
LINES = st.builds(
    lambda name, comment: f"gg.handler.k.{name}{comment}",
    st.sampled_from(_NAMES),
    st.sampled_from(["", "", "", " # here", " // \u8fd9\u91cc", "\t-- \u201cx\u201d"]),
)


@given(
    st.lists(LINES | st.sampled_from(["# \u201ca\u201d", "", "gg.log=\u00e9", "x=\u00a0y"]), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "iso-8859-1"]),
)
@example(["gg.handler.k.keyStorePath=a", "gg.handler.k.keyStoreType=b"], "\n", "utf-8")
@example(["gg.handler.k.format.includeOpType\uff1dtrue"], "\r\n", "utf-8-sig")
@examples(100)
def test_fixes_change_what_findings_name_and_nothing_else(lines: list[str], end: str, encoding: str) -> None:
    text = end.join(line.replace("\n", end) for line in ["gg.handlerlist=k", *lines])
    content = text.encode(encoding, "replace")
    safe, unsafe = check_fixes(content)
    assert meant(safe) == meant(content)
    assert dict(meant(unsafe)) == dict(meant(content))
