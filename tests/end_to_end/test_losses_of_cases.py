"""What the shared cases lose in formats that cannot show it stops a run with `--strict`; what is kept passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import SHARED_DATA
from runs import output_files, run_ggfmt

from ggfmt.diagnostics.diagnostic import Abend

CASES = SHARED_DATA / "cases" / "records"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not there")


def _strictly(case: str, name: str, output: Path) -> None:
    lines = f"gg.handler.h.format={name}", "gg.handler.h.includeTokens=true"
    run_ggfmt([CASES / f"{case}.json"], output, *lines, strict=True)


@pytest.mark.parametrize("name", ["avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf", "kafkaconnect_json"])
def test_digits_that_a_double_does_not_keep(name: str, tmp_path: Path) -> None:
    with pytest.raises(Abend, match=r"GG407.*`digits_of_double`"):
        _strictly("digits-of-doubles", name, tmp_path / "out")


def test_digits_that_a_text_keeps(tmp_path: Path) -> None:
    _strictly("digits-of-doubles", "json", tmp_path / "out")
    (file,) = output_files(tmp_path / "out", "h")
    assert '"B":3916589616287113937,"C":9007199254740993,"D":0.1234567890123456789' in file.read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    ["canal_json", "maxwell_json", "cdl_json", "arcion_json", "arcion_csv", "qlik_json", "qlik_avro", "shareplex_json"],
)
def test_microseconds_that_a_format_does_not_show(name: str, tmp_path: Path) -> None:
    with pytest.raises(Abend, match=r"GG407.*`time_digits`"):
        _strictly("microseconds-and-token", name, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "text"), [("json", '"tokens":{"R":"A"}'), ("debezium_json", '00123456000,"position"'), ("xml", ".123456")]
)
def test_microseconds_and_tokens_that_a_format_shows(name: str, text: str, tmp_path: Path) -> None:
    _strictly("microseconds-and-token", name, tmp_path / "out")
    (file,) = output_files(tmp_path / "out", "h")
    assert text in file.read_text("utf-8")


def test_characters_beyond_the_bmp_are_two_escapes(tmp_path: Path) -> None:
    _strictly("beyond-bmp", "kafkaconnect_json", tmp_path / "out")
    (file,) = output_files(tmp_path / "out", "h")
    text = file.read_text("utf-8")
    assert '"K\\uD83D\\uDE00":"a"' in text
    assert 'Zoë \\"q\\" / \\u0001 \u2028 \\uD83D\\uDE00 \x7f \\u001F' in text
