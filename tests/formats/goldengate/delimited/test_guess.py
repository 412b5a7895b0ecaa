"""The command that an error proposes for delimited text reads the text."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from runs import content, operation, run_ggfmt, write_lines

import ggfmt
from ggfmt.formats.goldengate.delimited.guess import guessed_command, guessed_options

DEFINITION = "create table S.T (ID number(9), NAME varchar2(9), AMOUNT number(9,2))"
SETTINGS = [
    ["fieldDelimiter=,"],
    ["fieldDelimiter=|", "includeColumnNames=true"],
    ["fieldDelimiter=;", "includePosition=false"],
    ["fieldDelimiter=CDATA[\\t]", "includeCurrentTimestamp=false"],
    ["fieldDelimiter=~", "includeOpTimestamp=false", "includeCurrentTimestamp=false", "includePosition=false"],
]


@pytest.mark.parametrize("settings", SETTINGS, ids=" ".join)
def test_the_proposed_command_reads_the_text(settings: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text(DEFINITION)
    records = [operation(n, "S.T", "IUD"[n % 3], ID=str(n), NAME="a b", AMOUNT="1.50") for n in range(5)]
    handler = ["gg.handlerlist=d", "gg.handler.d.type=hdfs", "gg.handler.d.format=delimitedtext"]
    handler += [f"gg.handler.d.format.{setting}" for setting in settings]
    run_ggfmt([write_lines(tmp_path / "in.json", records)], tmp_path / "text", *handler)
    text = tmp_path / "text.csv"
    text.write_bytes(content(tmp_path / "text", "d"))
    with pytest.raises(ggfmt.Abend, match=r"GG309.*looks like delimited text") as caught:
        ggfmt.convert(text, to="json", output=tmp_path / "out", master="none")
    command = str(caught.value.diagnostics[0].help).split("`")[-2]
    words = shlex.split(command.replace("$'", "'").replace("\\t", "\t"))
    given: dict[str, Any] = dict(word.split("=", 1) for option, word in pairwise(words) if option == "--input-option")
    found = ggfmt.scan(text, None, "delimitedtext", tmp_path / "t.sql", **given).read_all()
    assert found["op_type"].to_pylist() == list("IUDIU")
    assert dict(found["after"][0].as_py()) == {"ID": "0", "NAME": "a b", "AMOUNT": "1.50"}


@pytest.mark.parametrize(
    "text", ["ID,NAME\n1,x\n", "", "\n", "I,no time", '{"a": 1}', "I am, S.T, a text", "I;GG.T;1", "a,b,c,d,e,f,g,h\n"]
)
def test_nothing_is_proposed_for_other_texts(text: str) -> None:
    found = guessed_options(text.encode())
    assert found is None or text == "I;GG.T;1"


def test_names_of_files_are_quoted() -> None:
    assert str(guessed_command("my file.csv", b"I,S.T,2026-01-01 00:00:00,x\n")).startswith("ggfmt run 'my file.csv' ")
