"""What of the input the output does not show: the losses that formats declare are the ones that happen, are listed by
column in totals and manifest, and are forbidden on request. And how the input was written, given by options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from dialects import read
from fidelity import FidelityLevel, level
from offenders import check_each
from round_trips import (
    STORY_FORMAT,
    WHOLE_STORY,
    WRITTEN,
    Operation,
    by_value,
    handler,
    levels,
    losses_of,
    of_story,
    share,
    survives,
    view,
    write_as,
    write_story,
    written_by,
)
from runs import MOMENT, manifest, operation, output_files, run_ggfmt, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.config.handler_options import HandlerOptions
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api import losses as losses_module
from ggfmt.formats.api.losses import LOSSES, Aspect, Loss
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.reading.runner import InProcess

TEXT = (
    "gg.handler.d.format=delimitedtext",
    "gg.handler.d.format.fieldDelimiter=|",
    "gg.handler.d.format.encoding=US-ASCII",
)


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    rows = [operation(0), operation(1, NAME="a|b"), operation(2, NAME="NULL"), operation(3, NAME="c|d")]
    return write_lines(tmp_path / "in.json", rows)


def totals(output: Path, handler: str = "h") -> dict[str, Any]:
    found: dict[str, Any] = manifest(output)["totals"]["handlers"][handler]
    return found


def test_the_manifest_says_which_columns_lost_what_and_how_often(lossy: Path, tmp_path: Path) -> None:
    run_ggfmt([lossy], tmp_path / "out", *TEXT)
    assert totals(tmp_path / "out", "d")["losses"] == [
        {
            "loss": "text_as_state",
            "code": "GG406",
            "table": "GG.TCUSTORD",
            "column": "NAME",
            "values": 1,
            "what": "equal to the text for a NULL, which will be read back as a NULL",
        },
        {
            "loss": "delimiter_inside",
            "code": "GG403",
            "table": "GG.TCUSTORD",
            "column": "NAME",
            "values": 2,
            "what": "with the field delimiter inside, which will be read back wrong",
        },
    ]


def test_strict_fidelity_makes_a_loss_an_abend(lossy: Path, tmp_path: Path) -> None:
    with pytest.raises(Abend) as error:
        run_ggfmt([lossy], tmp_path / "out", *TEXT, strict=True)
    assert str(error.value) == (
        "table GG.TCUSTORD, column NAME: error[GG407] 2 values with the field delimiter inside, which will be read"
        " back wrong (`delimiter_inside`); choose another format or other options, or leave out `--strict`"
    )
    assert output_files(tmp_path / "out", "d") == []


def test_strict_fidelity_forbids_characters_that_the_encoding_lacks(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, NAME="Ä")])
    with pytest.raises(Abend, match=r"GG407.*the encoding does not have 1 character"):
        run_ggfmt([source], tmp_path / "out", *TEXT, strict=True)


@pytest.mark.parametrize("strict", [True, False])
def test_a_run_without_losses_is_the_same_under_strict_fidelity(strict: bool, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(9)])
    run_ggfmt([source], tmp_path / "out", *TEXT, strict=strict, current_timestamp=MOMENT)
    (file,) = output_files(tmp_path / "out", "d")
    assert file.read_bytes().count(b"\n") == 9
    assert totals(tmp_path / "out", "d")["losses"] == []


# The losses that formats declare

# What a setting needs so that its output can be read.
_NEEDED = {
    "timePrecisionMode=adaptive_time_microseconds": ("schemasEnable=true",),
    "timePrecisionMode=connect": ("schemasEnable=true",),
    "decimalHandlingMode=precise": ("schemasEnable=true",),
}


# Templates with all but one of these.
_ITEMS = {
    "objectname": "${objectname[table]}",
    "optype": "${optype[op_type]}",
    "timestamp": "${timestamp[op_ts]}",
    "position": "${position[pos]}",
    "primarykeycolumns": "${primarykeycolumns[primary_keys]}",
    "alltokens": "${alltokens[tokens]}",
}


def configurations(name: str) -> list[tuple[str, ...]]:
    """The settings that the losses of a format depend on, one after the other as they are and as they are not."""
    found: dict[tuple[str, ...], None] = {(): None}
    specs = {spec.name: spec for spec in (*FORMATS[name].options.specs(), *HandlerOptions.specs())}
    for loss in FORMATS[name].losses:
        only = tuple(map(str, loss.only))
        found[only] = None
        if loss.lacking:
            shown = {keyword: item for keyword, item in _ITEMS.items() if keyword not in loss.lacking}
            found[(f"metaColumnsTemplate={','.join(shown.values())}",)] = None
        for setting in loss.unless:
            option, _, text = setting.partition("=")
            other = next(one for one in (specs[option].default_text, specs[option].example_text) if one != text)
            found |= {(*only, f"{option}={value}"): None for value in (text, other)}
    return [(*settings, *_NEEDED.get(" ".join(settings), ())) for settings in found]


CLAIMED_ELSEWHERE = {
    "catalog_not_shown", "character_replaced", "delimiter_inside", "key_in_table_order", "keys_not_shown",
    "nested_as_text", "nothing_for_zero", "sizes_not_shown", "tokens_added", "types_by_encoding", "types_by_value",
    "types_nearest", "types_not_shown",
}  # fmt: skip


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_story(tmp_path_factory.mktemp("story") / "in.json", WHOLE_STORY)


def shown_by(losses: Sequence[Loss], seen: Callable[[Operation], Operation] = lambda item: item) -> set[str]:
    """The losses without which more would come back of the story, or be seen of it."""

    def left(losses: Iterable[Loss]) -> list[Operation]:
        return [seen(item) for item in survives(WHOLE_STORY, losses)]

    every = left(losses)
    return {loss.id for loss in losses if left(other for other in losses if other is not loss) != every}


# Rejects, and updates that become two messages, are counted as such.
OTHERWISE_TOLD = {"inserts_only", "key_update_refused", "key_update_split", "time_filled", "truncate_refused"}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_declared_is_what_happens_and_what_is_told(name: str, story: Path, tmp_path: Path) -> None:
    def check(settings: tuple[str, ...]) -> None:
        place = Path(mkdtemp(dir=tmp_path))
        losses = losses_of(name, handler(name, place, *settings))
        folder, told = write_as(story, name, place / "out", *settings)
        found = of_story(view(folder, place / "view", name, told))
        assert found == of_story(survives(WHOLE_STORY, losses))
        written = survives(
            WHOLE_STORY, (loss for loss in losses if "reject" in loss.text or Aspect.KINDS in loss.aspects)
        )
        left = levels(written, found, level(losses, Aspect.BEFORE) is not FidelityLevel.LOST)
        assert {aspect: level(losses, aspect) for aspect in left} == left
        told_of = totals(place / "out")
        counted = {loss.id for loss in losses if loss.note} & shown_by(losses, by_value)
        assert shown_by(losses, by_value) - counted <= OTHERWISE_TOLD
        assert {item["loss"] for item in told_of["losses"]} == counted
        assert [item["loss"] for item in told_of["not_shown"]] == [loss.id for loss in losses if not loss.note]
        if counted:
            with pytest.raises(Abend, match="GG407") as error:
                write_as(story, name, place / "strict", *settings, strict=True)
            assert any(f"(`{loss}`)" in str(error.value) for loss in counted)
        else:
            write_as(story, name, place / "strict", *settings, strict=True)

    check_each(configurations(name), check)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_declared_loss_happens_under_some_settings(name: str, tmp_path: Path) -> None:
    shown: set[str] = set()
    for settings in configurations(name):
        shown |= shown_by(losses_of(name, handler(name, tmp_path, *settings)))
    declared = {loss.id for loss in FORMATS[name].losses} - CLAIMED_ELSEWHERE
    assert shown >= declared - {loss.id for loss in FORMATS[name].losses if (name, loss.id) in BY_OTHER_MEANS}
    assert shown <= {loss.id for loss in FORMATS[name].losses}


# What the story does not show of a loss: of a part of the operations, or hidden by another loss.
BY_OTHER_MEANS = {
    ("dts_avro", "truncate_refused"),
    ("dts_avro", "time_cut"),
    ("cdl_json", "zone_cut"),
    ("cdl_json", "tokens_reserved"),
}


def test_every_loss_is_one_that_some_format_has_and_named_as_it_is() -> None:
    assert {loss.id for format in FORMATS.values() for loss in format.losses} == set(LOSSES)
    assert {name.lower(): loss for name, loss in vars(losses_module).items() if isinstance(loss, Loss)} == LOSSES


# What the fidelity table says is what comes back


COLUMNS_OF_KINDS = (
    Column("LINE", SqlType(Kind.INTEGER), nullable=False, key=2),
    Column("ID", SqlType(Kind.INTEGER), nullable=False, key=1),
    *(Column(kind.name, SqlType(kind)) for kind in Kind),
    Column("AMOUNT", SqlType(Kind.DECIMAL, precision=12, scale=2)),
    Column("WORD", SqlType(Kind.STRING, length=30)),
)
VALUES_OF_KINDS = {
    "LINE": "1",
    "ID": "2",
    "STRING": "x",
    "BOOLEAN": "true",
    "INTEGER": "3",
    "DECIMAL": "1.5",
    "NUMBER": "2.5",
    "FLOAT": "0.5",
    "DOUBLE": "0.25",
    "DATE": "2013-06-02",
    "TIME": "22:14:36",
    "INTERVAL": "1 day",
    "TIMESTAMP": "2013-06-02 22:14:36.123",
    "BINARY": "AAEC",
    "AMOUNT": "17520.00",
    "WORD": "y",
}
BY_MASK = {"DATE": "2013-06-02 00:00:00.000000", "TIMESTAMP": "2013-06-02 22:14:36.123000"}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_table_says_what_a_reader_learns_of_a_table(name: str, tmp_path: Path) -> None:
    def check(settings: tuple[str, ...]) -> None:
        place = Path(mkdtemp(dir=tmp_path))
        named = ("tableName=GG.ORDERS",) if name == "arcion_csv" else ()  # the name of the file does not show it here
        lines = handler(name, place / "dirdef", *settings, *named)
        values = VALUES_OF_KINDS | (BY_MASK if "enableTimestampLogicalType=true" in settings else {})
        story = write_story(place / "in.json", [Operation("I", None, dict(values), pos="1")])
        table = TableDef("GG.ORDERS", COLUMNS_OF_KINDS)
        run_ggfmt([story], place / "out", *lines, input_format=STORY_FORMAT, definitions={"GG.ORDERS": table})
        (file,) = output_files(place / "out", "h")
        found = [table for table, _ in read(name, file.read_bytes(), written_by(lines)).operations]
        # How texts spell bytes is not a part of the type.
        every = (column for table in found for column in table.columns)
        known = {column.name: replace(column, type=replace(column.type, base64=False)) for column in every}
        keys = found[0].primary_keys if found else ()
        same = {column: column in known and known[column].type == type for column, type in TYPES_TO_LEARN.items()}
        left = {
            Aspect.KEYS: share([set(keys) == {"ID", "LINE"}, keys == ("ID", "LINE")]),
            Aspect.TYPES: share(same.values()),
        }
        losses = losses_of(name, lines)
        assert {aspect: level(losses, aspect) for aspect in left} == left
        declared = {loss.id for loss in losses if Aspect.TYPES in loss.aspects}
        if declared <= {"types_nearest", "sizes_not_shown"}:
            sized = {column for column in same if TYPES_TO_LEARN[column] != SqlType(TYPES_TO_LEARN[column].kind)}
            assert ("sizes_not_shown" in declared) == (not all(same[column] for column in sized))
            assert ("types_nearest" in declared) == (not all(same[column] for column in same.keys() - sized))

    check_each(configurations(name), check)


TYPES_TO_LEARN = {column.name: column.type for column in COLUMNS_OF_KINDS if column.name not in ("STRING", "INTERVAL")}


def transaction(table: str, number: int, kind: str, pos: str, **tokens: str) -> Operation:
    after: dict[str, str | None] | None = {"ID": str(number)} if kind == "I" else None
    return Operation(kind, None, after, pos=pos, tokens=tokens, table=table)


# Two transactions on two tables. The positions of the one are no numbers, and all its operations have one token.
TRANSACTIONS = [
    [transaction("GG.ORDERS", 1, "I", "12"), transaction("LONE", 2, "I", "13"), transaction("GG.ORDERS", 3, "I", "14")],
    [
        transaction("LONE", 4, "I", "0x1F:1", gtid="u:1"),
        transaction("GG.ORDERS", 5, "I", "0x1F:2", gtid="u:1"),
        transaction("LONE", 6, "I", "0x1F:3", gtid="u:1"),
    ],
]
TRUNCATES = [transaction("GG.ORDERS", 7, "T", "20"), transaction("LONE", 8, "T", "21")]


@pytest.mark.parametrize("name", WRITTEN)
def test_the_table_says_whether_transactions_are_in_order_and_truncates_are_there(name: str, tmp_path: Path) -> None:
    def check(settings: tuple[str, ...]) -> None:
        place = Path(mkdtemp(dir=tmp_path))
        story = write_story(place / "in.json", [*TRANSACTIONS[0], *TRANSACTIONS[1], *TRUNCATES])
        folder, told = write_as(story, name, place / "out", *settings)
        found = view(folder, place / "view", name, told)
        places = {item.after["ID"]: item.pos for item in found if item.op == "I" and item.after}
        ordered = []
        for story_of_one in TRANSACTIONS:
            positions = [places[(item.after or {})["ID"]] for item in story_of_one]
            ordered.append(
                None not in positions and len(set(positions)) == 3 and positions == sorted(map(str, positions))
            )
        truncated = {item.table for item in found if item.op == "T"}
        left = {Aspect.ORDER: share(ordered), Aspect.TRUNCATE: share(item.table in truncated for item in TRUNCATES)}
        losses = losses_of(name, handler(name, place, *settings))
        assert {aspect: level(losses, aspect) for aspect in left} == left

    check_each(configurations(name), check)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_catalog_of_a_table_is_lost_where_it_is_said_to_be(name: str, tmp_path: Path) -> None:
    item = Operation("I", None, {"ID": "1"}, pos="1", table="CAT.GG.ORDERS")
    folder, told = write_as(write_story(tmp_path / "in.json", [item]), name, tmp_path / "out")
    (found,) = view(folder, tmp_path / "view", name, told)
    lost = level(FORMATS[name].losses, Aspect.NAMES) is not FidelityLevel.KEPT
    assert found.table == ("GG.ORDERS" if lost else "CAT.GG.ORDERS")


FULL = {"ID": "1", "NAME": "a", "NOTE": "b", "AMOUNT": "1", "RATE": "0.5", "COUNT": "1"}


@pytest.mark.parametrize(
    ("name", "settings", "item", "loss", "back"),
    [
        ("delimitedtext", (), {"NAME": "a|b"}, "delimiter_inside", None),
        *(
            (name, ("encoding=US-ASCII",), {"NAME": "Ä"}, "character_replaced", {"ID": "1", "NAME": "?"})
            for name in ("delimitedtext", "json", "xml")
        ),
        (
            "dts_avro",
            (),
            {"AT": "2013-06-02 22:14:36.1234567"},
            "time_cut",
            {"ID": "1", "AT": "2013-06-02 22:14:36.123456"},
        ),
        (
            "cdl_json",
            (),
            {**FULL, "AT": "2013-06-02T22:14:36.123+02:00"},
            "zone_cut",
            {**FULL, "AT": "2013-06-02 20:14:36.123000"},
        ),
    ],
)
def test_values_that_the_story_has_not(
    name: str, settings: tuple[str, ...], item: dict[str, str], loss: str, back: dict[str, str] | None, tmp_path: Path
) -> None:
    tokens = {"source.sourceType": "MySQL"} if name == "dts_avro" else {}
    made = Operation("I", None, {"ID": "1", **item}, op_ts="2013-06-02 22:14:36.000000", pos="1", tokens=tokens)
    source = write_story(tmp_path / "in.json", [made])
    folder, told = write_as(source, name, tmp_path / "out", *settings)
    told_of = totals(tmp_path / "out")
    assert told_of["lost_characters"] or [found["loss"] for found in told_of["losses"]] == [loss]
    with pytest.raises(Abend, match=rf"GG407.*\(`{loss}`\)"):
        write_as(source, name, tmp_path / "strict", *settings, strict=True)
    if back is None:
        with pytest.raises(Abend, match="GG311"):
            view(folder, tmp_path / "view", name, told)
    else:
        assert [found.after for found in view(folder, tmp_path / "view", name, told)] == [back]


@pytest.mark.parametrize("name", ["avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf", "kafkaconnect_json"])
def test_digits_that_a_double_does_not_keep_are_forbidden(name: str, tmp_path: Path) -> None:
    for amount, lost in (("9007199254740993", True), ("9007199254740992", False), ("17520.00", False)):
        source = write_lines(tmp_path / "in.json", [operation(0, AMOUNT=amount)])
        settings = (f"gg.handler.h.format={name}", "ggfmt.compatibility=12.2")
        definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", (Column("ID"), Column("NAME"), _DOUBLE))}
        out = tmp_path / f"out-{amount}"
        if lost:
            with pytest.raises(Abend, match=r"GG407.*digits_of_double"):
                run_ggfmt([source], out, *settings, definitions=definitions, strict=True)
        else:
            run_ggfmt([source], out, *settings, definitions=definitions, strict=True)


_DOUBLE = Column("AMOUNT", SqlType(Kind.DOUBLE))


def test_a_time_of_zero_is_none_to_dts(tmp_path: Path) -> None:
    item = Operation("I", None, {"ID": "1"}, op_ts="1970-01-01 00:00:00.000000", pos="")
    folder, told = write_as(write_story(tmp_path / "in.json", [item]), "dts_avro", tmp_path / "out")
    (found,) = view(folder, tmp_path / "view", "dts_avro", told)
    assert (found.op_ts, found.pos) == (None, None)


# How the input was written

ROW = {"id": "1"}
DELETE = {"isDdl": False, "database": "shop", "table": "t", "type": "DELETE", "es": 1, "old": [ROW]}


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def in_canal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings, **checks: InProcess())
    return write_lines(tmp_path / "in.json", [DELETE])


RUN = ("--set", "gg.handler.h.format=delimitedtext", "--set", "gg.handler.h.format.encoding=UTF-8")


def test_an_option_says_how_the_input_was_written(in_canal: Path, tmp_path: Path) -> None:
    for command in ("run", "preview"):
        where = ("-o", str(tmp_path / "out")) if command == "run" else ()
        ended = call(command, str(in_canal), *RUN, *where, "--input-option", "deleteRows=old")
        assert ended.exit_code == 0, ended.output
    assert output_files(tmp_path / "out", "h")[0].read_bytes().startswith(b"D\x01shop.t\x01")


def test_an_option_overrides_the_configuration_of_the_input(in_canal: Path, tmp_path: Path) -> None:
    (tmp_path / "canal.properties").write_text(
        "gg.handlerlist=c\ngg.handler.c.format=canal_json\ngg.handler.c.format.deleteRows=data\n", encoding="utf-8"
    )
    told = ("--input-config", str(tmp_path / "canal.properties"), "--input-option", "deleteRows=old")
    assert call("preview", str(in_canal), *RUN, *told).exit_code == 0
    assert call("preview", str(in_canal), *RUN, *told[:2]).exit_code == 4


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (
            "deleteRow=old",
            "error[GG103] `--input-option` names `deleteRow`, which is not a property of `canal_json`; did you mean"
            " `deleteRows`?",
        ),
        (
            "deleteRows=new",
            "error[GG103] `--input-option deleteRows` cannot be `new`; legal values are `data`, `old`",
        ),
    ],
)
def test_a_wrong_option_is_told(option: str, told: str, in_canal: Path) -> None:
    ended = call("preview", str(in_canal), *RUN, "--input-option", option)
    assert isinstance(ended.exception, UsageError)
    assert str(ended.exception).startswith(told.partition("; did")[0])


def test_an_option_without_a_value_is_wrong_usage(in_canal: Path) -> None:
    ended = call("preview", str(in_canal), *RUN, "--input-option", "deleteRows")
    assert isinstance(ended.exception, UsageError)
    assert "GG565" in str(ended.exception)
