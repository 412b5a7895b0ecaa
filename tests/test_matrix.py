"""Any format becomes any other: one story through every pair of formats, less what each does not show; and metadata
changes in every format, wherever the input is cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from runs import content, metadata, operation, output_files, run_ggfmt, snapshot, write_lines

from ggfmt.config.handlers import read_configuration
from ggfmt.engine.files import list_inputs
from ggfmt.engine.inputs import detect_format
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import Context, WriterSettings
from ggfmt.model.table import Column, TableDef

WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]
READ = [name for name, format in FORMATS.items() if format.reads is not None]
ROWS = {"delimitedtext", "avro_row", "avro_row_ocf"}
NULL_FOR_MISSING = {"avro_row", "avro_row_ocf"}
# Of the formats of other systems: no form for a truncate; an unchanged column is not shown in the before image.
GOLDENGATE = {name for name in WRITTEN if name.startswith(("delimited", "json", "xml", "avro"))}
NO_TRUNCATE = {"arcion_csv", "arcion_json", "cdl_json", "maxwell_json", "qlik_avro", "qlik_json"}
OVERLAID = {"canal_json", "maxwell_json"}
MASKED = {"qlik_avro", "qlik_json"}
NO_MISSING = {"cdl_json"}
# Whether an update without a before image is told from one with an empty before image.
ALWAYS_BEFORE = {"json", "maxwell_json"}
NO_EMPTY_BEFORE = {"arcion_csv", "arcion_json", "xml"}
TABLE = TableDef("GG.ORDERS", (Column("ID", key=1), Column("NAME"), Column("NOTE")))

Operation = dict[str, Any]


def op(kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None, **tokens: str) -> Operation:
    return {"op_type": kind, "before": before, "after": after, "tokens": tokens}


STORY = [
    op("I", None, {"ID": "1", "NAME": "Ä表😀", "NOTE": None}, R="AAA", L="1"),
    op("U", {"ID": "1", "NAME": "Ä表😀", "NOTE": None}, {"ID": "1", "NAME": None, "NOTE": "]]>&<'\""}),
    op("U", {"ID": "1"}, {"ID": "1", "NOTE": "only what changed"}),
    op("U", None, {"ID": "1", "NAME": "without a before image"}),
    op("U", {"ID": "1", "NAME": "x"}, {"ID": "2", "NAME": "the key changes"}),
    op("D", {"ID": "2"}, None, R="BBB"),
    op("T", None, None),
    op("I", None, {"ID": "3", "NAME": "", "NOTE": "0123456789" * 5}),
]


def settings(name: str, folder: Path) -> list[str]:
    """A handler `h` that shows all that its format can show."""
    prefix = "gg.handler.h"
    more = {
        "delimitedtext": ["fieldDelimiter=|", "nullValueRepresentation=<null>", "missingValueRepresentation=<missing>"],
        "json": ["jsonDelimiter=CDATA[\\n]"],
        "arcion_csv": ["includeHeader=true"],
        "shareplex_json": ["updateData=all"],
    }.get(name, [])
    known = {spec.name for spec in FORMATS[name].options.specs()}
    common = {"schemaDirectory": str(folder), "pkUpdateHandling": "update", "encoding": "UTF-8"}
    more = [*more, *(f"{name}={value}" for name, value in common.items() if name in known)]
    return [
        f"{prefix}.format={name}",
        f"{prefix}.includeTokens=true",
        *(f"{prefix}.format.{item}" for item in more),
    ]


def convert(source: Path, old: str, new: str, out: Path, **others: Any) -> Path:
    (handler,) = read_configuration([], settings(old, out / "dirdef")).handlers
    told = WriterSettings(handler.options, Context(include_tokens=True))
    quarantine = new in NO_TRUNCATE  # sets the truncate aside
    run_ggfmt(
        [source], out, *settings(new, out / "dirdef"), input_format=old, source=told, quarantine=quarantine, **others
    )
    shutil.rmtree(out / "h" / "_rejects", ignore_errors=True)
    return out / "h"


def parsed(folder: Path) -> list[Operation]:
    """The operations in JSON output."""
    data = b"".join(path.read_bytes() for path in output_files(folder.parent, "h"))
    found = []
    for line in data.splitlines():
        message = json.loads(line)
        found.append(op(message["op_type"], message.get("before") or None, message.get("after"), **message["tokens"]))
    return found


def shown(story: list[Operation], name: str) -> list[Operation]:
    """What a format shows of a story."""
    result = []
    for item in story:
        kind, before, after = item["op_type"], item["before"], item["after"]
        if kind == "T" and name in NO_TRUNCATE:
            continue
        if name in ROWS and kind != "D":
            before = None
        if kind == "U" and before is None and name in ALWAYS_BEFORE:
            before = {}
        if not before and name in NO_EMPTY_BEFORE:
            before = None
        if name in NULL_FOR_MISSING or name in NO_MISSING:
            before, after = (
                None if image is None else {column: image.get(column) for column in TABLE.column_names}
                for image in (before, after)
            )
        if kind == "U" and name in OVERLAID and before is not None:
            before = {**{column: value for column, value in after.items() if column not in before}, **before}
        if kind == "U" and name in MASKED and before is not None:
            before = {
                column: before.get(column)
                for column in TABLE.column_names
                if column in after or before.get(column) is not None
            }
        result.append({**item, "before": before, "after": after})
    return result


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = []
    for number, item in enumerate(STORY):
        images = {name: item[name] for name in ("before", "after") if item[name] is not None}
        head = {"table": "GG.ORDERS", "op_type": item["op_type"], "op_ts": "2013-06-02 22:14:36.000000"}
        records.append({**head, "pos": f"{number:020d}", "tokens": item["tokens"], **images})
    return write_lines(tmp_path_factory.mktemp("story") / "in.json", records)


@pytest.fixture(scope="module")
def told(story: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The story in every format."""
    folder = tmp_path_factory.mktemp("told")
    return {name: convert(story, "json", name, folder / name, definitions=DEFINITIONS) for name in WRITTEN}


DEFINITIONS = {TABLE.full_name: TABLE}


@pytest.mark.parametrize("first", WRITTEN)
@pytest.mark.parametrize("second", WRITTEN)
def test_any_format_becomes_any_other_less_what_they_do_not_show(
    first: str, second: str, told: dict[str, Path], tmp_path: Path
) -> None:
    assert first in READ
    two = convert(told[first], first, second, tmp_path / "two", definitions=DEFINITIONS)
    three = parsed(convert(two, second, "json", tmp_path / "three", definitions=DEFINITIONS))
    expected = [{**item, "before": item["before"] or None} for item in shown(shown(STORY, first), second)]
    if not {first, second} <= GOLDENGATE:  # other systems add tokens of their own, and have no place for others
        three, expected = ([{**item, "tokens": {}} for item in found] for found in (three, expected))
    assert three == expected


@pytest.mark.parametrize("name", [name for name in WRITTEN if FORMATS[name].marks])
def test_a_file_of_a_format_is_taken_for_it_and_for_no_other(name: str, told: dict[str, Path]) -> None:
    found, reason = detect_format(list_inputs([str(told[name])]))
    assert found == name
    assert ", " in reason


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_says_what_it_does_not_show(name: str) -> None:
    losses = " ".join(FORMATS[name].losses)
    if name in GOLDENGATE:
        assert (name in ROWS) == ("before image of an update is not shown" in losses)
        assert (name in NULL_FOR_MISSING) == ("missing column is not told from NULL" in losses)
    for formats, words in (
        (NO_TRUNCATE, "truncate"),
        (OVERLAID, "unchanged"),
        (MASKED, "before image"),
        (NO_MISSING, "missing column is not told from NULL"),
    ):
        assert name not in formats or words.lower() in losses.lower()


def changing() -> list[dict[str, Any]]:
    """A column is added, one retyped, one dropped, one renamed; another table goes on as it was."""
    kinds = {"ID": "string", "NAME": "string", "AMOUNT": "number"}
    return [
        operation(0),
        operation(1, "GG.OTHER"),
        metadata(**kinds, ADDED="string"),
        operation(2, ADDED="x"),
        operation(3, "GG.OTHER"),
        metadata(ID="string", NAME="string", AMOUNT="string", ADDED="string"),
        operation(4, AMOUNT="a text now", ADDED="y"),
        metadata(ID="string", TITLE="string"),
        {**operation(5), "after": {"ID": "5", "TITLE": "renamed"}},
        operation(6, "GG.OTHER"),
    ]


@pytest.mark.parametrize("name", WRITTEN)
def test_metadata_changes_take_effect_at_their_place_in_every_format(name: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", changing())
    whole = convert(source, "json", name, tmp_path / "whole")
    names = [path.name.removesuffix(".txt").rsplit("_", 1)[1] for path in output_files(whole.parent, "h")]
    assert names == ["00000", "00000", "00001", "00002", "00003"]  # GG.OTHER, and a file for each definition
    length = source.stat().st_size
    edges = [source.read_bytes().index(line) for line in source.read_bytes().splitlines()]
    sizes = sorted({*range(40, length, 97), *(edge + near for edge in edges[1:] for near in (-1, 0, 1))})
    for size in sizes[:: max(1, len(sizes) // 12)]:
        cut = convert(source, "json", name, tmp_path / f"cut{size}", split_size=size)
        if FORMATS[name].by_table:  # blocks lie where tasks ended; what they hold is the same
            again, first = (
                convert(each, name, "json", tmp_path / f"{size}-{each.parent.name}") for each in (cut, whole)
            )
            assert content(again.parent, "h") == content(first.parent, "h")
        else:
            assert snapshot(cut) == snapshot(whole)
    schemas = sorted(path.name for path in (tmp_path / "whole" / "dirdef").glob("*"))
    assert bool(schemas) == (FORMATS[name].schema_kind is not None and FORMATS[name].schema_in_run)
