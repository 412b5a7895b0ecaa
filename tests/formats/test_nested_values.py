"""JSON objects and arrays in columns, and JSON strings beside numbers: kept where the target can, else counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dialects import lines, read
from runs import content, manifest, run_ggfmt

from ggfmt.diagnostics.diagnostic import GgfmtError

MAXWELL = "gg.handler.m.format=maxwell_json"
DEBEZIUM = "gg.handler.d.format=debezium_json"
DOCUMENT = {"a": [1, {"b": 'x"y'}], "": None}


def row(**columns: Any) -> dict[str, Any]:
    return {"database": "s", "table": "t", "type": "insert", "ts": 1, "data": columns}


def event(before: Any, after: Any) -> dict[str, Any]:
    op = "c" if before is None else "d" if after is None else "u"
    return {"before": before, "after": after, "source": {"db": "s", "table": "t", "ts_ms": 1}, "op": op, "ts_ms": 1}


def written_by(tmp_path: Path, data: bytes, handler: str, *settings: str, **others: Any) -> list[dict[str, Any]]:
    source = tmp_path / "in.json"
    source.write_bytes(data)
    run_ggfmt([source], tmp_path / "out", handler, *settings, **others)
    return [json.loads(line) for line in content(tmp_path / "out", handler.split(".")[2]).splitlines()]


def losses(tmp_path: Path, name: str) -> dict[str, int]:
    found = manifest(tmp_path / "out")["totals"]["handlers"][name]["losses"]
    return {loss["column"]: loss["values"] for loss in found if loss["loss"] == "nested_as_text"}


def test_json_columns_of_maxwell_stay_json(tmp_path: Path) -> None:
    update = {**row(id=1, j=[1], s=["a"], m="5"), "type": "update", "old": {"j": DOCUMENT, "m": True}}
    delete = {**row(id=1, j={}, s=[], m=1.50), "type": "delete"}
    records = [row(id=1, j=DOCUMENT, s=["a", "b"], m=5), row(id=2, j='{"a":1}', s=None, m="[1]"), update, delete]
    found = written_by(tmp_path, lines(*records), MAXWELL)
    assert [message["data"] for message in found] == [record["data"] for record in records]
    assert found[2]["old"] == {"j": DOCUMENT, "m": True}
    assert losses(tmp_path, "m") == {}


def test_structs_and_numbers_of_debezium_without_a_schema_stay_what_they_were(tmp_path: Path) -> None:
    first = {"id": 101, "text": "101", "array": [1, [2]], "struct": {"a": {"b": None}}, "mixed": 1, "flag": True}
    second = {"id": 102, "text": "102", "array": [], "struct": {"c": 1}, "mixed": "1", "flag": False}
    records = [event(None, first), event(first, second), event(second, None)]
    found = written_by(tmp_path, lines(*records), DEBEZIUM)
    assert [(message["before"], message["after"]) for message in found] == [
        (record["before"], record["after"]) for record in records
    ]
    assert losses(tmp_path, "d") == {}


def test_what_is_laid_out_over_lines_is_written_on_one(tmp_path: Path) -> None:
    data = json.dumps([row(id=1, j=DOCUMENT), row(id=2, j="a\nb")], indent=2).encode()
    found = written_by(tmp_path, data, MAXWELL)
    assert [message["data"]["j"] for message in found] == [DOCUMENT, "a\nb"]


@pytest.mark.parametrize(
    "setting",
    [
        "gg.handler.o.format=canal_json",
        "gg.handler.o.format=delimitedtext",
        "gg.handler.o.format=json",
        "gg.handler.o.format=avro_op_ocf",
        "gg.handler.o.format=debezium_json\ngg.handler.o.format.schemasEnable=true",
    ],
)
def test_where_there_is_no_form_for_them_they_are_texts_and_counted(setting: str, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    delete = {**row(id=1, j=[], t="{not json}"), "type": "delete"}
    source.write_bytes(lines(row(id=1, j=DOCUMENT, t="[1]"), row(id=2, j=None, t="x"), delete))
    settings = setting.split("\n")
    run_ggfmt([source], tmp_path / "out", *settings)
    assert losses(tmp_path, "o") == {"j": 2}
    with pytest.raises(GgfmtError, match=r"GG407.*nested_as_text"):
        run_ggfmt([source], tmp_path / "strict", *settings, strict=True)


def test_values_that_were_replaced_are_texts(tmp_path: Path) -> None:
    replaced = ("gg.contentreplaceregex1=a", 'gg.contentreplacestring1="')
    (found,) = written_by(tmp_path, lines(row(id=1, j={"a": 1})), MAXWELL, *replaced)
    assert found["data"] == {"id": 1, "j": '{""": 1}'}


def test_nested_values_are_the_same_however_the_input_is_split() -> None:
    data = lines(*[row(id=number, j=DOCUMENT if number % 3 else "text") for number in range(40)])
    found = read("maxwell_json", data)
    assert read("maxwell_json", data, size=300) == found
    assert found.plain[1].after == {"id": "1", "j": json.dumps(DOCUMENT)}
