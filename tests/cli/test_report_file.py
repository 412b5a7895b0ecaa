"""`--report` and `--open` of `run`, `consolidate`, `apply` and `compare`."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path

import pytest
from lxml import html
from runs import operation, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app, output
from ggfmt.cli.output import open_page
from ggfmt.diagnostics.diagnostic import GgfmtError

NONE = ("--master", "none")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 2}", "IU"[n % 2], ID=str(n)) for n in range(6)])


def call(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(result.exception, GgfmtError):
        return result.exception.exit_code, " ".join(f"{found}" for found in result.exception.diagnostics)
    return result.exit_code, result.output


def text(file: str) -> str:
    return " ".join(html.fromstring(Path(file).read_bytes()).find("body/main").text_content().split())


def test_each_command_has_a_page_and_json(source: Path) -> None:
    for name in ("r.html", "r.JSON"):
        words = ("--mode", "overwrite", "--report", name, *NONE)
        assert call("run", source, "--to", "json", "-o", "out", *words)[0] == 0
        assert call("consolidate", source, "-o", "rows", "--key", "ID", *words[:3], f"c{name}", *NONE)[0] == 0
        assert call("compare", "rows", "rows", "--report", f"d{name}")[0] == 0
    assert "Committed: nothing set aside, no value lost" in text("r.html")
    assert "ggfmt verify" in text("r.html")
    rows = json.loads(Path("rows/_ggfmt/manifest.json").read_text())
    assert json.loads(Path("cr.JSON").read_text()) == rows
    shown = text("cr.html")
    assert "ggfmt consolidate of " in shown
    assert f"Rows{sum(table['rows'] for table in rows['tables'].values())}of 2 tables" in shown
    assert json.loads(Path("dr.JSON").read_text())["same"] is True
    assert text("dr.html").startswith("ggfmt compare the same ")
    assert json.loads(Path("r.JSON").read_text())["operations_read"] == 6


def test_a_difference_is_on_the_page_with_the_next_command(source: Path) -> None:
    Path("a.csv").write_text("ID,NAME\n1,x\n2,y\n")
    Path("b.csv").write_text("ID,NAME\n1,x\n2,z\n")
    assert call("compare", "a.csv", "b.csv", "--key", "ID", "--report", "d.html")[0] == 1
    shown = text("d.html")
    assert "1 of 1 table not the same" in shown and "GG583" in shown
    assert "ID='2'NAME='y'NAME='z'" in shown
    assert "ggfmt compare a.csv b.csv --table" in shown


def test_standard_output_and_rejects_have_a_page(source: Path) -> None:
    assert call("run", source, "--to", "json", "-o", "-", "--report", "s.html", *NONE)[0] == 0
    assert "Done: nothing set aside" in text("s.html") and "standard output" in text("s.html")
    write_lines(source, [b"no JSON", b"none"])
    words = ("--on-reject", "quarantine", "--input-format", "json", *NONE)
    assert call("run", source, "--to", "json", "-o", "out", "--report", "r.html", *words)[0] == 4
    assert call("consolidate", source, "-o", "rows", "--report", "c.html", *words)[0] == 4
    for page in ("r.html", "c.html"):
        assert "Committed: 2 rejects" in text(page) and "not JSON" in text(page) and "of 0 tables" in text(page)


def test_a_run_with_nothing_to_do_says_so(source: Path) -> None:
    for said in ("Committed: nothing set aside", "Nothing to do since this run: nothing set aside"):
        words = ("--key", "ID", "--checkpoint", "seen", "--report", "c.html", *NONE)
        assert call("consolidate", source, "-o", "rows", *words)[0] == 0
        assert said in text("c.html")


def test_rows_without_an_answer_are_troubles(source: Path) -> None:
    partial = operation(2, "GG.T", "U", ID="2")
    del partial["after"]["NAME"]  # both images are one object
    write_lines(source, [operation(1, "GG.T", ID="1"), partial])
    assert call("consolidate", source, "-o", "rows", "--key", "ID", *NONE, "--report", "c.html")[0] == 0
    assert "Committed: 1 unresolved" in text("c.html")
    assert "1 unresolved" in call("report", "rows")[1]
    assert call("report", "rows", "--html", "again.html") == (0, "")
    assert text("again.html") == text("c.html")


def test_a_run_that_ends_with_an_error_has_a_page_that_says_so(source: Path) -> None:
    source.write_bytes(b"{broken\n")
    Path("r.html").write_text("an earlier page")
    Path("r.json").write_text("earlier totals")
    words = ("--input-format", "json", "--to", "json", "-o", "out", *NONE)
    for name in ("r.html", "r.json"):
        assert call("run", source, *words, "--report", name)[0] == 3
    assert "Stopped by an error" in text("r.html") and "GG301" in text("r.html")
    assert Path("r.json").read_text() == "earlier totals"
    url = "postgresql://user:secret@127.0.0.1:1/db"
    assert call("apply", source, url, "--report", "a.html")[0] in (2, 3)
    assert "Stopped by an error" in text("a.html") and "secret" not in Path("a.html").read_text()
    assert call("compare", "gone", "gone", "--report", "d.html")[0] == 2
    assert "GG310" in text("d.html")


@pytest.mark.parametrize("file", ["gone/r.html", ".", "-", "s3://bucket/r.html"])
def test_a_report_that_cannot_be_written_ends_the_command_before_it_begins(source: Path, file: str) -> None:
    for words in (("run", source, "--to", "json", "-o", "out"), ("consolidate", source, "-o", "out")):
        code, said = call(*words, *NONE, "--report", file)
        assert code == 2 and "cannot be written" in " ".join(said.replace("│", " ").split()), said
    assert not Path("out").exists()


def test_a_report_within_the_output_is_refused(source: Path) -> None:
    Path("out").mkdir()
    for command in (("run", source, "--to", "json"), ("consolidate", source)):
        code, said = call(*command, "-o", "out", *NONE, "--report", "out/r.html")
        assert (code, "GG563" in said) == (2, True), said
    assert list(Path("out").iterdir()) == []


def test_statements_are_on_the_page_of_apply(source: Path) -> None:
    assert call("consolidate", source, "-o", "rows", "--key", "ID", "--changes", "--to", "parquet", *NONE)[0] == 0
    assert call("apply", "rows", "--print-sql", "snowflake", "--report", "a.html")[0] == 0
    assert "Printed" in text("a.html") and "merge into" in text("a.html").lower()


def test_a_page_is_opened_only_where_somebody_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.__iadd__([address]))
    monkeypatch.setenv("DISPLAY", ":0")
    open_page(tmp_path / "a b.html")  # standard output is not a terminal
    assert opened == []
    monkeypatch.setattr(output, "is_interactive", lambda stream: True)
    open_page(tmp_path / "a b#.html")
    assert opened == [(tmp_path / "a b#.html").as_uri()]
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    open_page(tmp_path / "a.html")
    assert len(opened) == 1


def test_open_needs_a_page(source: Path) -> None:
    for words in (("--open",), ("--open", "--report", "r.json")):
        assert "`--open` needs a page" in call("run", source, "--to", "json", "-o", "out", *words)[1]
    assert not Path("out").exists()
    assert "`--open` needs a page" in call("report", "out", "--open")[1]
