"""Before and after images through formats that show only a part of them; and where a damaged record of JSON ends."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dialects import NOW, lines, read
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import content, manifest, operation, run_ggfmt, write_lines
from strategies import Changes, make_batch

from ggfmt.columnar.metadata import Clock
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.model.table import Column, Kind, SqlType, TableDef

COLUMNS = ("ID", "NAME", "NOTE")
TABLE = TableDef("GG.T", (Column("ID", key=1), Column("NAME"), Column("NOTE")))
DEFINITIONS = {"GG.T": TABLE}
ALL = {"ID": "1", "NAME": "a", "NOTE": "b"}


def change(kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    images = {name: image for name, image in (("before", before), ("after", after)) if image is not None}
    return {"table": "GG.T", "op_type": kind, "op_ts": "2013-06-02 22:14:36.000000", "pos": "1", **images}


STORY = [
    change("I", None, {"ID": "1"}),
    change("U", {"ID": "1", "NAME": "a"}, ALL),  # NOTE is after the change alone
    change("U", {"ID": "1"}, {"ID": "1", "NAME": "a"}),  # and NAME, and NOTE nowhere
    change("U", {**ALL, "NAME": None}, ALL),
    change("U", {**ALL, "NAME": None}, {**ALL, "NAME": None}),
    change("U", ALL, {"ID": "2", "NOTE": "b"}),
    change("D", {"ID": "1"}, None),
    change("T", None, None),
]


def written(tmp_path: Path, name: str, story: list[dict[str, Any]], *options: str) -> tuple[bytes, dict[str, int]]:
    """What a handler writes of a story, and its losses by column."""
    source = write_lines(tmp_path / "in.json", story)
    settings = (f"gg.handler.h.format={name}", *(f"gg.handler.h.{option}" for option in options))
    run_ggfmt([source], tmp_path / "out", *settings, definitions=DEFINITIONS)
    losses = manifest(tmp_path / "out")["totals"]["handlers"]["h"]["losses"]
    return content(tmp_path / "out", "h"), {loss["column"]: loss["values"] for loss in losses}


def test_old_of_canal_has_what_an_update_changed_and_what_it_cannot_tell_is_counted(tmp_path: Path) -> None:
    data, losses = written(tmp_path, "canal_json", STORY)
    messages = [json.loads(line) for line in data.splitlines()]
    assert [(message["type"], message["data"], message["old"]) for message in messages] == [
        ("INSERT", [{"ID": "1"}], None),
        ("UPDATE", [ALL], [{}]),
        ("UPDATE", [{"ID": "1", "NAME": "a"}], [{}]),
        ("UPDATE", [ALL], [{"NAME": None}]),
        ("UPDATE", [{**ALL, "NAME": None}], [{}]),
        ("UPDATE", [{"ID": "2", "NOTE": "b"}], [{"ID": "1", "NAME": "a"}]),
        ("DELETE", [{"ID": "1"}], None),
        ("TRUNCATE", None, None),
    ]
    # The first are positions, which are also read as the token `gtid`.
    assert losses == {"": 8, "NOTE": 1, "NAME": 1}


def test_an_update_without_a_before_image_has_no_old(tmp_path: Path) -> None:
    story = [change("U", None, ALL), change("U", {"ID": "1", "NAME": "x", "NOTE": "b"}, ALL), change("D", ALL, None)]
    source = write_lines(tmp_path / "in.json", story)
    run_ggfmt([source], tmp_path / "xml", "gg.handler.h.format=xml", definitions=DEFINITIONS)
    settings = ("gg.handler.h.format=canal_json",)
    run_ggfmt([tmp_path / "xml" / "h"], tmp_path / "out", *settings, definitions=DEFINITIONS, input_format="xml")
    messages = [json.loads(line) for line in content(tmp_path / "out", "h").splitlines()]
    assert [message["old"] for message in messages] == [None, [{"NAME": "x"}], None]
    assert [message["data"] for message in messages] == [[ALL]] * 3


def test_the_number_of_a_message_of_canal_is_a_number(tmp_path: Path) -> None:
    tokens: list[dict[str, str]] = [{}, {"id": "77"}, {"id": "x1"}, {"id": "-1"}]
    story = [{**change("I", None, ALL), "tokens": own} for own in tokens]
    data, _ = written(tmp_path, "canal_json", story, "includeTokens=true")
    assert [json.loads(line).get("id", "none") for line in data.splitlines()] == ["none", 77, "none", "none"]


def test_deletes_in_old_and_groups_of_rows(tmp_path: Path) -> None:
    story = [change("I", None, {"ID": str(number)}) for number in range(5)]
    story += [change("D", {"ID": "1"}, None), change("D", {"ID": "2"}, None), change("U", {"ID": "3"}, {"ID": "4"})]
    data, _ = written(tmp_path, "canal_json", story, "format.deleteRows=old", "format.batchSize=2")
    messages = [json.loads(line) for line in data.splitlines()]
    assert [(message["data"], message["old"]) for message in messages] == [
        ([{"ID": "0"}, {"ID": "1"}], None),
        ([{"ID": "2"}, {"ID": "3"}], None),
        ([{"ID": "4"}], None),
        (None, [{"ID": "1"}, {"ID": "2"}]),
        ([{"ID": "4"}], [{"ID": "3"}]),
    ]


def canal(kind: str, data: list[dict[str, Any]], old: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    types = {"ID": "bigint", "NAME": "text", "NOTE": "text"}
    return {
        "data": data, "database": "GG", "es": 1600161894000, "id": 1, "isDdl": False, "mysqlType": types,
        "old": old, "pkNames": ["ID"], "sql": "", "table": "T", "ts": 1, "type": kind,
    }  # fmt: skip


def test_what_old_does_not_show_was_as_it_is_after_the_update() -> None:
    """All in one batch: rows of other types and updates without `old` stay as they are."""
    found = read(
        "canal_json",
        lines(
            canal("INSERT", [{"ID": "1"}]),
            canal("UPDATE", [ALL], [{"NAME": "x"}]),
            canal("UPDATE", [{"ID": "1", "NAME": "a"}], [{"NOTE": None}]),
            canal("UPDATE", [{"ID": "1", "NAME": None}], [{"ID": "2"}]),
            canal("UPDATE", [ALL]),
            canal("DELETE", [{"ID": "1"}]),
        ),
    )
    assert [(item.before, item.after) for item in found.plain] == [
        (None, {"ID": "1"}),
        ({**ALL, "NAME": "x"}, ALL),
        ({"ID": "1", "NAME": "a", "NOTE": None}, {"ID": "1", "NAME": "a"}),
        ({"ID": "2", "NAME": None}, {"ID": "1", "NAME": None}),
        (None, ALL),
        ({"ID": "1"}, None),
    ]


@pytest.mark.parametrize(("handling", "ops"), [("delete-insert", "DIUUUUI"), ("abend", "UUUUI")])
def test_an_update_of_the_key_is_told_by_the_keys_that_both_images_show(
    handling: str, ops: str, tmp_path: Path
) -> None:
    records = [
        canal("UPDATE", [ALL], [{"ID": "0"}]),
        canal("UPDATE", [ALL], [{"NAME": "x"}]),
        canal("UPDATE", [ALL], [{"ID": "1"}]),
        canal("UPDATE", [{"NAME": "a"}], [{"ID": "0"}]),  # the key of the new row is not shown
        canal("UPDATE", [ALL]),
        canal("INSERT", [ALL]),
    ]
    source = tmp_path / "in.json"
    source.write_bytes(lines(*records))
    options = ("=delimitedtext", f".pkUpdateHandling={handling}", ".fieldDelimiter=|")
    settings = [f"gg.handler.h.format{option}" for option in options]
    result = run_ggfmt([source], tmp_path / "out", *settings, input_format="canal_json", quarantine=True)
    assert "".join(line[0] for line in content(tmp_path / "out", "h").decode().splitlines()) == ops
    assert dict(result.totals.handlers["h"].rejected) == ({"GG402": 1} if handling == "abend" else {})


@pytest.mark.parametrize(
    ("flag", "shown"), [("0", "false"), ("1", "true"), ("false", "false"), ("true", "true"), (None, None)]
)
def test_booleans_of_canal(flag: str | None, shown: str | None) -> None:
    record = canal("INSERT", [{"FLAG": flag}])
    found = read("canal_json", lines({**record, "mysqlType": {"FLAG": "boolean"}, "pkNames": None}))
    assert [item.after for item in found.plain] == [{"FLAG": shown}]


def test_what_is_no_boolean_of_canal_is_a_reject_of_its_row_alone() -> None:
    rows: list[dict[str, Any]] = [
        {"FLAG": "1"},
        {"FLAG": "2"},
        {"FLAG": None},
        {"FLAG": "TRUE"},
        {"FLAG": ""},
        {"FLAG": "0"},
    ]
    records = [{**canal("INSERT", [row]), "mysqlType": {"FLAG": "boolean"}, "pkNames": None} for row in rows]
    found = read("canal_json", lines(*records))
    assert [item.after for item in found.plain] == [{"FLAG": "true"}, {"FLAG": None}, {"FLAG": "false"}]
    assert [json.loads(reject.record)["data"][0]["FLAG"] for reject in found.rejects] == ["2", "TRUE", ""]
    assert {reject.diagnostic.code for reject in found.rejects} == {"GG314"}
    assert {reject.diagnostic.span.field for reject in found.rejects} == {"FLAG"}


# Losses


@pytest.mark.parametrize(
    ("name", "options", "losses"),
    [
        ("delimitedtext", {"fieldDelimiter": "|"}, {("NAME", "GG403"): 1, ("NAME", "GG406"): 1}),
        ("avro_row", {}, {("NAME", "GG406"): 1, ("NOTE", "GG406"): 4}),
        ("avro_row_ocf", {}, {("NAME", "GG406"): 1, ("NOTE", "GG406"): 4}),
        ("canal_json", {}, {("NAME", "GG406"): 1}),
        ("kafkaconnect_json", {"messageFormatting": "row"}, {("NAME", "GG406"): 1, ("NOTE", "GG406"): 4}),
        ("kafkaconnect_json", {"messageFormatting": "op"}, {("NAME", "GG406"): 2, ("NOTE", "GG406"): 5}),
    ],
)
def test_losses_add_up_over_the_batches_of_a_table(
    name: str, options: dict[str, str], losses: dict[tuple[str, str], int]
) -> None:
    plain = PlainTable("GG.T", tuple(PlainColumn(column, "string", int(column == "ID")) for column in COLUMNS))
    images: tuple[dict[str, str | None], ...] = ({"ID": "1", "NAME": "NULL"}, {"ID": "1", "NAME": "a|b"}, {"ID": "1"})
    operations = [PlainOperation("I", None, "1", None, image, {}) for image in images]
    operations.append(PlainOperation("U", None, "2", {"ID": "1"}, {"ID": "1", "NAME": None}, {}))
    batch = make_batch(Changes(plain, operations, garbage=False))
    format = FORMATS[name]
    formatter = format.write_support.formatter(batch.table, format.options.parse(options), Context(), Clock(NOW))
    for times in (1, 2, 3):
        formatter.format(formatter.arrange(batch)[0])
        counted = Counter[tuple[str, str]]()
        for note, count in formatter.notes.items():
            counted[note.field, note.code] += count
        assert counted == {place: count * times for place, count in losses.items()}


def test_columns_without_a_value_lose_none(tmp_path: Path) -> None:
    story = [change("I", None, {"ID": "1", "NAME": None, "NOTE": None})] * 2
    data, losses = written(tmp_path, "delimitedtext", story, "format.fieldDelimiter=|", "format.encoding=UTF-8")
    assert data.count(b"|NULL") == 4
    assert losses == {}


# Avro


def test_columns_missing_from_the_image_that_an_avro_row_shows_are_counted(tmp_path: Path) -> None:
    _, losses = written(tmp_path, "avro_row", STORY, "format.pkUpdateHandling=update", "format.generateSchema=false")
    # Of a delete the before image is shown, and of all others the after image; a truncate has none.
    assert losses == {"": 5, "NAME": 3, "NOTE": 3}  # the first are before images of updates
    story = [change("D", {"NAME": "a"}, None), change("I", None, {"NOTE": "b"}), change("T", None, None)]
    (tmp_path / "more").mkdir()
    _, losses = written(tmp_path / "more", "avro_row", story, "format.generateSchema=false")
    assert losses == {"ID": 2, "NAME": 1, "NOTE": 1}


@pytest.mark.parametrize(("name", "prefix"), [("avro_row", ""), ("avro_op", "before and after: ")])
def test_fields_of_avro(name: str, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = TableDef("GG.TCUSTORD", (Column("ID"), Column("NAME"), Column("AMOUNT", SqlType(Kind.DOUBLE))))
    source = write_lines(tmp_path / "in.json", [operation(0)])
    settings = (f"gg.handler.a.format={name}", "gg.handler.a.format.generateSchema=false")
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings, definitions={"GG.TCUSTORD": table})
    (told,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Fields of")]
    names = [line.split(": ", 1)[1] for line in told.split("\n")[1:]]
    assert names[:6] == ["table", "op_type", "op_ts", "current_ts", "pos", "primary_keys"]
    assert names[7:] == [f"{prefix}ID (string)", f"{prefix}NAME (string)", f"{prefix}AMOUNT (double)"]


# JSON


def test_a_record_of_lines_ends_at_its_line_and_another_with_its_brace(tmp_path: Path) -> None:
    """A line end inside of a text is never JSON: it ends a record of lines, and elsewhere it is a part of one."""
    good = json.dumps(operation(0)).encode()
    broken = json.dumps(operation(1, NAME="first|second")).encode().replace(b"|", b"\n")
    first, second = broken.split(b"\n")
    pretty = json.dumps(operation(0), indent=1).encode()
    damaged = b'{\n"table": oops\n}'
    for name, data, rejects in (
        ("pretty", damaged + b"\n" + pretty + b"\n" + pretty + b"\n", [damaged]),
        ("lines", good + b"\n" + broken + b"\n" + good + b"\n", [first, second]),
        ("array", b"[" + good + b",\n" + broken + b",\n" + good + b"]", [broken]),
    ):
        source = tmp_path / f"{name}.json"
        source.write_bytes(data)
        out = tmp_path / name
        result = run_ggfmt([source], out, "gg.handler.h.format=json", quarantine=True)
        assert result.totals.read == 2
        (records,) = (out / "h" / "_rejects").glob("*.records")
        (reasons,) = (out / "h" / "_rejects").glob("*.reasons.jsonl")
        places = [json.loads(line) for line in reasons.read_text().splitlines()]
        kept = records.read_bytes()
        assert [
            kept[place["record_offset"] : place["record_offset"] + place["record_length"]] for place in places
        ] == rejects
