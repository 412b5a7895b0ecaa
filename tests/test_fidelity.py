"""What of the input the output does not show: told by column in totals and manifest, and forbidden on request."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import MOMENT, manifest, operation, output_files, run_ggfmt, write_lines

from ggfmt.errors import Abend

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
