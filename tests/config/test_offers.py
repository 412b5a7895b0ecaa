"""What an editor offers in a handler file: keys and words of values that fit its handlers."""

from __future__ import annotations

import pytest

from ggfmt.config.lint.reading import lint
from ggfmt.config.offers import offers
from ggfmt.formats import FORMATS

FILE = """\
gg.handlerlist=k,f,n
gg.handler.k.type=kafka
gg.handler.k.format=json
gg.handler.c.type=kafkaconnect
gg.handler.f.type=filewriter
gg.handler.f.format=avro_row_ocf
gg.handler.f.eventHandler=p
gg.eventhandler.p.type=parquet
gg.eventhandler.s.type=s3
"""


def offered(before: str) -> dict[str, str]:
    """The keys that an editor offers, each with its description."""
    start, words = offers(FILE.encode(), before)
    assert not before[:start].strip()
    return dict(words)


@pytest.mark.parametrize(
    ("before", "there", "lacking"),
    [
        ("gg.handler.k.", ("topicMappingTemplate", "format", "type", "format.jsonDelimiter"), ("partitionByTable",)),
        ("gg.handler.k.format.", ("format.jsonDelimiter",), ("mode", "format.fieldDelimiter")),
        ("gg.handler.c.", ("messageFormatting",), ("format.fieldDelimiter",)),
        ("gg.handler.f.", ("finalizeAction", "format.generateSchema"), ("topicMappingTemplate", "format.prettyPrint")),
        ("  gg.handler.n.", ("mode", "topicMappingTemplate", "format.fieldDelimiter"), ("format.prettyPrint",)),
        ("GG.Handler.other.", ("mode", "type"), ()),
        ("gg.eventhandler.p.", ("compressionCodec", "type", "eventHandler"), ("region",)),
        ("gg.eventhandler.s.", ("region", "bucketMappingTemplate"), ("compressionCodec",)),
        ("ggfmt.", ("compatibility",), ("handlerlist",)),
        ("gg.", ("handlerlist", "schemareplaceregex", "handler.k.type", "target"), ("log.*",)),
    ],
)
def test_keys_fit_the_handler(before: str, there: tuple[str, ...], lacking: tuple[str, ...]) -> None:
    names = set(offered(before))
    prefix = before.strip().removesuffix("format.")
    assert {prefix + name for name in there} <= names
    assert not names & {prefix + name for name in lacking}
    assert all(name.lower().startswith(before.strip().lower()) for name in names)


def test_keys_have_descriptions() -> None:
    doc = offered("gg.handler.k.format.")["gg.handler.k.format.jsonDelimiter"]
    assert doc.endswith(".")
    assert offered("gg.handler.k.format.jsonD") == {"gg.handler.k.format.jsonDelimiter": doc}


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("gg.handler.k.format.prettyPrint=t", ["true", "false"]),
        ("gg.handler.k.mode = ", ["tx", "op"]),
        ("gg.handlerlist=k, ", ["k", "f", "n", "c"]),
        ("gg.handler.f.eventHandler:", ["p", "s"]),
        ("gg.handler.k.unknown=", []),
    ],
)
def test_words_fit_the_key(before: str, words: list[str]) -> None:
    start, found = offers(FILE.encode(), before)
    assert (list(found), before[start:]) == (words, before[len(before.rstrip("t")) :])


def test_words_of_formats_types_targets_and_charsets() -> None:
    assert set(offers(FILE.encode(), "gg.handler.k.format ")[1]) == {n for n, f in FORMATS.items() if f.writes}
    assert {"kafka", "hbase"} <= set(offers(FILE.encode(), "gg.handler.k.type=")[1])
    assert {"s3", "parquet"} <= set(offers(FILE.encode(), "gg.eventhandler.p.type=")[1])
    assert "snowflake" in offers(FILE.encode(), "gg.target=")[1]
    assert "UTF-16LE" in offers(FILE.encode(), "gg.handler.f.format.encoding=")[1]


@pytest.mark.parametrize(
    ("before", "start", "word"),
    [
        ("gg.handler.k.topicMappingTemplate=a${tab", 35, "${tableName}"),
        ("gg.handler.k.topicMappingTemplate=a${tableName}", 47, "${schemaName}"),
        ("gg.handler.f.pathMappingTemplate=", 33, "${currentTimestamp}"),
        ("gg.handler.k.format.metaColumnsTemplate=${optype}, ${po", 51, "${position}"),
    ],
)
def test_keywords_of_templates(before: str, start: int, word: str) -> None:
    at, words = offers(FILE.encode(), before)
    assert (at, word in words) == (start, True)


UNUSED = [
    "f:9:1: warning[GG101] `gg.eventhandler.s.type` is never applied: no handler names the event handler `s`; "
    "name it in `eventHandler` of a File Writer"
]


def test_what_is_offered_is_known() -> None:
    for before in ("gg.handler.k.", "gg.handler.f.", "gg.eventhandler.p."):
        keys = [key for key in offered(before) if not key.endswith((".type", ".format"))]
        found = lint((FILE + "".join(f"{key}=\n" for key in keys)).encode(), "f")
        assert [str(item) for item in found if item.code in ("GG101", "GG102", "GG125")] == UNUSED
