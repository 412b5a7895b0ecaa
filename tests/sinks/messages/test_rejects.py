"""Bad records: a run stops with the place and the reason, or sets just these records aside and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, PIPES, content, manifest, operation, run_ggfmt, snapshot, write_lines

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.model.table import Column, Kind, SqlType, TableDef

GOOD = [operation(number) for number in range(4)]


def changed(**members: Any) -> bytes:
    """A good operation with members replaced; None removes one."""
    message = {**operation(7), **members}
    return json.dumps({key: value for key, value in message.items() if value is not None}).encode()


# The record, the code, and what the reason must contain.
BAD: dict[str, tuple[bytes, str, str]] = {
    "not JSON": (b"NOT JSON", "GG301", "the record is not JSON"),
    "half an object": (b'{"table":"GG.TCUSTORD","op_ty', "GG301", "the record is not JSON"),
    "an array": (b"[1,2]", "GG301", "an array"),
    "invalid UTF-8": (changed(after={"ID": "x"}).replace(b'"x"', b'"\xe4"'), "GG303", "0xe4"),
    "unknown type": (changed(op_type="X"), "GG304", "`op_type` cannot be `X`"),
    "no type": (changed(op_type=None), "GG305", "no `op_type`"),
    "no table": (changed(table=None), "GG305", "no `table`"),
    "table outside": (changed(table="../../x"), "GG306", "`../../x` has an empty part"),
    "table of blanks": (changed(table="GG. "), "GG306", "empty part"),
    "table too long": (changed(table="T" * 300), "GG306", "longer than"),
    "table with NUL": (changed(table="GG.A\0B"), "GG306", "control character"),
    "insert with before": (changed(before={"ID": "1"}), "GG307", "an insert has a before image"),
    "insert without after": (changed(after=None), "GG307", "an insert has no after image"),
    "delete with after": (changed(op_type="D", before={"ID": "1"}), "GG307", "a delete has an after image"),
    "update without after": (
        changed(op_type="U", after=None, before={"ID": "1"}),
        "GG307",
        "an update has no after image",
    ),
    "truncate with image": (changed(op_type="T"), "GG307", "a truncate has an after image"),
    "image of text": (changed(after="x"), "GG308", "`after` is a string and not an object"),
    "half a surrogate": (changed(after={"ID": "x"}).replace(b'"x"', rb'"\ud83d"'), "GG301", "surrogate"),
}


def mixed(tmp_path: Path, bad: bytes) -> tuple[Path, int]:
    """Two good records, the bad one, two good ones; and the byte offset of the bad one."""
    source = write_lines(tmp_path / "in.json", [*GOOD[:2], bad, *GOOD[2:]])
    return source, source.read_bytes().index(bad)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_stops_the_run_with_its_place(name: str, tmp_path: Path) -> None:
    record, code, reason = BAD[name]
    source, offset = mixed(tmp_path, record)
    for split_size in (None, 100):
        with pytest.raises(Abend) as caught:
            run_ggfmt([source], tmp_path / "out", split_size=split_size)
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.span.file, diagnostic.span.offset) == (code, str(source), offset)
        assert reason in diagnostic.message
        assert len(str(diagnostic)) < 500
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("split_size", [None, 100])
def test_a_bad_record_is_set_aside_as_it_was(name: str, split_size: int | None, tmp_path: Path) -> None:
    record, code, _ = BAD[name]
    source, offset = mixed(tmp_path, record)
    out = tmp_path / "out"
    result = run_ggfmt([source], out, quarantine=True, split_size=split_size)
    assert result.totals.rejects == 2  # one for each handler
    clean = write_lines(tmp_path / "clean.json", GOOD)
    run_ggfmt([clean], tmp_path / "clean")
    for handler in "jd":
        assert content(out, handler) == content(tmp_path / "clean", handler)
        rejects = out / handler / "_rejects" / "rejects_2015-09-18_13-39-35.447_00000"
        assert Path(f"{rejects}.records").read_bytes() == record + b"\n"
        (reason,) = map(json.loads, Path(f"{rejects}.reasons.jsonl").read_text().splitlines())
        assert (reason["code"], reason["file"], reason["offset"]) == (code, str(source), offset)
        assert (reason["record_offset"], reason["record_length"]) == (0, len(record))
        assert manifest(out)["totals"]["handlers"][handler]["rejects"] == {code: 1}
    assert {name.split("/")[0] for name in snapshot(out)} == {"_SUCCESS", "_ggfmt", "d", "j"}


def test_a_truncated_last_line_is_told_apart_from_garbage(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", GOOD)
    whole = source.read_bytes()
    source.write_bytes(whole[:-20])
    with pytest.raises(Abend, match="GG302"):
        run_ggfmt([source], tmp_path / "out")
    run_ggfmt([source], tmp_path / "out", quarantine=True)
    assert content(tmp_path / "out", "j").count(b"\n") == 3


def test_rejected_records_can_be_run_again_once_mended(tmp_path: Path) -> None:
    source, _ = mixed(tmp_path, changed(op_type="X"))
    run_ggfmt([source], tmp_path / "out", quarantine=True)
    (records,) = (tmp_path / "out" / "j" / "_rejects").glob("*.records")
    records.write_bytes(records.read_bytes().replace(b'"X"', b'"I"'))
    result = run_ggfmt([records], tmp_path / "again")
    assert (result.totals.read, result.totals.rejects) == (1, 0)


def test_a_record_that_only_one_format_cannot_write_is_its_reject_alone(tmp_path: Path) -> None:
    number = SqlType(Kind.DECIMAL)
    table = TableDef("GG.TCUSTORD", (Column("ID"), Column("NAME", number), Column("AMOUNT", number)))
    source = write_lines(
        tmp_path / "in.json", [operation(0, NAME=1), operation(1, NAME="no number"), operation(2, NAME="+7")]
    )
    definitions = {"GG.TCUSTORD": table}
    with pytest.raises(Abend, match=r"byte \d+, table GG.TCUSTORD, column NAME, position 00000000000000000001.*GG401"):
        run_ggfmt([source], tmp_path / "out", definitions=definitions)
    run_ggfmt([source], tmp_path / "out", definitions=definitions, quarantine=True)
    assert content(tmp_path / "out", "d").count(b"\n") == 3
    assert [json.loads(line)["after"]["NAME"] for line in content(tmp_path / "out", "j").splitlines()] == [1, 7]
    totals = manifest(tmp_path / "out")["totals"]["handlers"]
    assert (totals["j"]["rejects"], totals["d"]["rejects"]) == ({"GG401": 1}, {})


def key_update() -> tuple[dict[str, Any], dict[str, TableDef]]:
    update = {**operation(1, kind="U"), "before": {"ID": "old", "NAME": "n", "AMOUNT": 1}}
    columns = (Column("ID", key=1), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL)))
    return update, {"GG.TCUSTORD": TableDef("GG.TCUSTORD", columns)}


def test_a_key_update_stops_the_run_by_default(tmp_path: Path) -> None:
    update, definitions = key_update()
    source = write_lines(tmp_path / "in.json", [operation(0), update, operation(2)])
    for settings in (PIPES, (*PIPES, *JSON_LINES, "gg.handlerlist=j,d")):
        with pytest.raises(Abend, match="GG402") as caught:
            run_ggfmt([source], tmp_path / "out", *settings, definitions=definitions)
        span = caught.value.diagnostics[0].span
        assert (span.table, span.field, span.position) == ("GG.TCUSTORD", "ID", f"{1:020d}")
    run_ggfmt([source], tmp_path / "out", definitions=definitions, quarantine=True)
    assert content(tmp_path / "out", "d").count(b"\n") == 2
    assert content(tmp_path / "out", "j").count(b"\n") == 3


@pytest.mark.parametrize("other_handler", [(), (*JSON_LINES, "gg.handlerlist=d,j")])
def test_a_key_update_becomes_two_operations_on_demand(tmp_path: Path, other_handler: tuple[str, ...]) -> None:
    update, definitions = key_update()
    source = write_lines(tmp_path / "in.json", [operation(0), update, operation(2)])
    for handling, kinds in (("update", "IUI"), ("delete-insert", "IDII")):
        out = tmp_path / handling
        settings = (*PIPES, f"gg.handler.d.format.pkUpdateHandling={handling}", *other_handler)
        result = run_ggfmt([source], out, *settings, definitions=definitions)
        lines = [line.split("|") for line in content(out, "d").decode().splitlines()]
        assert "".join(line[0] for line in lines) == kinds
        assert result.totals.handlers["d"].extras == len(kinds) - 3
        if handling == "delete-insert":
            assert lines[1][5:] == ["old", "n", "1"]
            assert lines[2][5:] == ["1", "name 1", "1"]
            assert lines[1][2:5] == lines[2][2:5]


def test_values_with_delimiters_are_written_raw_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(
        tmp_path / "in.json", [operation(0, NAME="a|b"), operation(1, NAME="c\nd"), operation(2, NAME="|")]
    )
    with caplog.at_level("WARNING", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *PIPES)
    assert b"|a|b|" in content(tmp_path / "out", "d")
    assert [record.getMessage() for record in caplog.records] == [
        f"[GG403] handler d, table GG.TCUSTORD, column NAME: {what} delimiter inside, which will be read back wrong"
        for what in ("2 values with the field", "1 value with the line")
    ]


@pytest.mark.spark
def test_the_command_ends_with_the_exit_code_of_the_outcome(tmp_path: Path) -> None:
    source, _ = mixed(tmp_path, b"NOT JSON")
    broken = tmp_path / "broken.gz"
    broken.write_bytes(b"no gzip at all")
    command = [sys.executable, "-m", "ggfmt", "run", "--set", "gg.handler.j.format=json"]
    command += ["--set", f"gg.handler.j.format.schemaDirectory={tmp_path / 'dirdef'}", "--master", "none"]

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    out = ["-o", str(tmp_path / "out")]
    status, text = run(str(source), *out, "--on-reject", "quarantine")
    assert (status, "rejected: 1 [GG301]" in text) == (4, True)
    assert run(str(source), *out)[0] == 2  # the output exists
    assert run(str(source), *out, "--mode", "overwrite")[0] == 3
    assert run(str(tmp_path / "missing"), *out)[0] == 2
    assert run(str(broken), "-o", str(tmp_path / "o2"), "--input-format", "json")[0] == 3
    assert run(str(source), *out, "--set", "gg.handler.j.format.prettyPrint=maybe")[0] == 1
    assert run(str(source), *out, "--master", "spark://127.0.0.1:1", "--mode", "append")[0] == 3
    assert run(str(source), *out, "--split-size", "much")[0] == 2
    assert run(str(source), *out, "--report", str(tmp_path / "nowhere" / "report.json"))[0] == 2


def test_values_that_cannot_be_told_apart_are_counted_once_a_column(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    story = [operation(0, NAME="NULL"), operation(1, NAME=""), {**operation(2), "after": {"ID": "2", "AMOUNT": 1}}]
    source = write_lines(tmp_path / "in.json", story)
    avro = ("gg.handler.a.format=avro_row", "gg.handler.a.format.generateSchema=false", "gg.handlerlist=a,d")
    with caplog.at_level("WARNING", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *PIPES, *avro)
    assert [record.getMessage().removeprefix("[GG406] handler ") for record in caplog.records] == [
        "a, table GG.TCUSTORD, column NAME: 1 value missing from the image, which will be read back as NULL",
        "d, table GG.TCUSTORD, column NAME: 1 value equal to the text for a NULL, which will be read back as a NULL",
        "d, table GG.TCUSTORD, column NAME: 1 value equal to the text for a missing column, "
        "which will be read back as a missing column",
    ]
