"""Options and arguments that were renamed: the old names work, with a warning, and nothing shows them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from places import ROOT

import ggfmt
from ggfmt.cli import app

SAMPLE = str(ROOT / "samples" / "tcustord.json")
TABLES = "GG.TCUSTORD=CUST_CODE,ORDER_ID;GG.TCUSTMER=CUST_CODE;GG.ARTIKEL=ID"
ROWS = ["consolidate", SAMPLE, "--master", "none", "-o"]
COMPARE = ["compare", "one.csv", "other.csv"]
RUN = ["run", SAMPLE, "--to", "json", "--current-timestamp", "2020-01-01", "--master", "none", "-o", "-"]
CALLS = {  # by command: calls with the new and the old names, and the warning
    "consolidate": (
        [*ROWS, "new", "--key", TABLES],
        [*ROWS, "old", "--primary-keys", TABLES],
        "`--primary-keys` is now called `--key`",
    ),
    "compare": (
        [*COMPARE, "--key", "ID", "--ignore-column", "V", "--ignore-column", "W"],
        [*COMPARE, "--key", "ID", "--ignore", "V", "--ignore", "W"],
        "`--ignore` is now called `--ignore-column`",
    ),
    "run": ([*RUN, "--strict"], [*RUN, "--strict-fidelity"], "`--strict-fidelity` is now called `--strict`"),
    "doctor": (
        ["doctor", "--output-format", "json"],
        ["doctor", "--json"],
        "`--json` is now called `--output-format json`",
    ),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.csv").write_text("ID,V,W\n1,2,3\n")
    (tmp_path / "other.csv").write_text("ID,V,W\n1,4,5\n")
    monkeypatch.chdir(tmp_path)


def ended(*call: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "ggfmt", *call], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", CALLS)
def test_an_old_option_does_what_the_new_one_does_with_one_warning(command: str, tmp_path: Path) -> None:
    new, old, warning = CALLS[command]
    (code, printed, log), (old_code, old_printed, old_log) = ended(*new), ended(*old)
    if command == "doctor":  # which knows how much memory is free
        printed, old_printed = (
            "/".join(item["name"] for item in json.loads(text)["findings"]) for text in (printed, old_printed)
        )
    assert (old_code, old_printed) == (code, printed)
    told = [line[len("hh:mm:ss ") :] for line in old_log.splitlines() if "is now called" in line]
    assert told == [f"WARN  {warning}; the old name still works"]
    assert "is now called" not in log
    if command == "consolidate":
        tables = [json.loads((tmp_path / out / "_ggfmt/manifest.json").read_text())["tables"] for out in ("new", "old")]
        assert tables[0] == tables[1]
        assert {name: entry["unresolved"] for name, entry in tables[0].items()} != {}


def test_both_names_are_a_usage_error() -> None:
    code, _, log = ended(*COMPARE, "--key", "ID", "--ignore", "V", "--ignore-column", "W")
    assert code == 2
    assert "`--ignore-column` is its new name" in log
    old: dict[str, Any] = {"ignore": "W"}
    with pytest.raises(TypeError, match="got both `ignore_columns` and `ignore`, its old name"):
        ggfmt.compare("one.csv", "other.csv", key="ID", ignore_columns="V", **old)


def test_neither_help_nor_documents_show_old_names() -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, typer.core.TyperGroup)
    hidden = {
        (name, option.opts[0])
        for name, command in program.commands.items()
        for option in command.params
        if getattr(option, "hidden", False)
    }
    assert {name for name, _ in hidden} == {*CALLS}
    for name, option in hidden:
        assert f"{option} " not in ended(name, "--help")[1], option
    files = {path.name: path.read_text("utf-8") for path in (ROOT / "ggfmt" / "docs").rglob("*.md")}
    changes = files.pop("changes.md")  # which has a table of old and new names
    assert [option for _, option in hidden if f"`{option}`" not in changes] == []
    pages = "".join(files.values())
    assert [word for word in ("--primary-keys", "--strict-fidelity", "doctor --json") if word in pages] == []


def test_old_arguments_of_functions_warn_at_the_line_of_the_program() -> None:
    paths: dict[str, Any] = {"paths": SAMPLE}
    keys: dict[str, Any] = {"primary_keys": TABLES}
    with pytest.warns(DeprecationWarning, match=r"`paths` of scan\(\) is now called `inputs`") as warned:
        found = ggfmt.scan(table="GG.TCUSTORD", **paths)
    assert [Path(each.filename).name for each in warned] == ["test_old_names.py"]
    assert found.read_all().num_rows == ggfmt.scan(SAMPLE, table="GG.TCUSTORD").read_all().num_rows
    with pytest.warns(DeprecationWarning, match=r"`primary_keys` of consolidate\(\) is now called `key`"):
        told = ggfmt.consolidate(SAMPLE, "old", master="none", **keys)
    assert told["tables"] == ggfmt.consolidate(SAMPLE, "new", master="none", key=TABLES)["tables"]


def test_key_columns_in_their_three_forms(tmp_path: Path) -> None:
    table = "GG.TCUSTORD"
    forms: list[Any] = ["CUST_CODE,ORDER_ID", ["CUST_CODE", "ORDER_ID"], {table: ["CUST_CODE", "ORDER_ID"]}]
    told = [
        ggfmt.consolidate(SAMPLE, tmp_path / str(n), key=form, table=table, master="none")["tables"]
        for n, form in enumerate(forms)
    ]
    assert told[0] == told[1] == told[2]
    assert told[0][table]["key"] == ["CUST_CODE", "ORDER_ID"]
