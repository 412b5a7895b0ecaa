"""What of the input the output does not show: told by column in totals and manifest, and forbidden on request. And how
the input was written, told by options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import MOMENT, manifest, operation, output_files, run_ggfmt, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.engine.runner import InProcess

TEXT = (
    "gg.handler.d.format=delimitedtext",
    "gg.handler.d.format.fieldDelimiter=|",
    "gg.handler.d.format.encoding=US-ASCII",
)


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    rows = [operation(0), operation(1, NAME="a|b"), operation(2, NAME="NULL"), operation(3, NAME="c|d")]
    return write_lines(tmp_path / "in.json", rows)


def test_the_manifest_says_which_columns_lost_what_and_how_often(lossy: Path, tmp_path: Path) -> None:
    run_ggfmt([lossy], tmp_path / "out", *TEXT)
    assert manifest(tmp_path / "out")["totals"]["handlers"]["d"]["losses"] == [
        {
            "code": "GG406",
            "table": "GG.TCUSTORD",
            "column": "NAME",
            "values": 1,
            "what": "equal to the text that stands for a NULL, which will be read back as one",
        },
        {
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
        " back wrong; choose another format or other options, or leave out `--strict-fidelity`"
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
    assert manifest(tmp_path / "out")["totals"]["handlers"]["d"]["losses"] == []


# How the input was written

ROW = {"id": "1"}
DELETE = {"isDdl": False, "database": "shop", "table": "t", "type": "DELETE", "es": 1, "old": [ROW]}


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def in_canal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings: InProcess())
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
    assert call("preview", str(in_canal), *RUN, "--input-option", "deleteRows").exit_code == 2
