"""`ggfmt demo`: one change in several formats, for those who have nothing yet, or a file of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runs import operation, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app, main
from ggfmt.diagnostics.diagnostic import UsageError


def demo(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["demo", *map(str, arguments)])
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def test_the_sample_needs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = demo()
    assert shown.startswith("One change: update of SHOP.CUSTOMERS at position 00000000000000001800\n")
    assert re.findall(r"^Format (\w+)$", shown, re.MULTILINE) == ["json", "delimitedtext", "xml", "avro_op"]
    assert "U|SHOP.CUSTOMERS|2026-01-02 08:00:00.000000|" in shown
    (marked,) = re.findall(r"\{\+(\S.*?)\+\}", shown)
    assert marked.startswith('primary_keys":["ID"]')
    assert "\x1b" not in shown
    assert not list(tmp_path.iterdir())


def test_a_file_of_ones_own_with_its_handlers(tmp_path: Path) -> None:
    records = [operation(1), operation(2, "GG.OTHER"), operation(3, kind="U", NAME="a\x1bb")]
    source = write_lines(tmp_path / "my changes.json", records)
    handlers = tmp_path / "h.properties"
    handlers.write_text("gg.handlerlist=j\ngg.handler.j.type=hdfs\ngg.handler.j.format=json\n")
    shown = demo(source, "-c", handlers)
    assert shown.startswith("One change: update of GG.TCUSTORD at position 00000000000000000003\n")
    assert re.findall(r"^Handler .*$", shown, re.MULTILINE) == ["Handler j, format json"]
    assert "\x1b" not in shown
    assert f"ggfmt run '{source}' -c {handlers} -o out" in shown
    assert "ggfmt init" not in shown


def test_a_file_without_updates_shows_its_first_change(tmp_path: Path) -> None:
    shown = demo(write_lines(tmp_path / "in.json", [operation(1), operation(2)]))
    assert shown.startswith("One change: insert of GG.TCUSTORD at position 00000000000000000001\n")


@pytest.mark.parametrize(("content", "code"), [(b"", "GG501"), (b"hello\n", "GG309"), (None, "GG310")])
def test_a_file_without_changes_is_an_error(
    content: bytes | None, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.json"
    if content is not None:
        source.write_bytes(content)
    assert main(["demo", str(source)]) in (2, 3)
    assert f"error[{code}]" in capsys.readouterr().err
