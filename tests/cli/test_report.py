"""`ggfmt report`: which run it reads, what it prints, and what it says of a directory that it cannot read."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from reports import LOSING, NAMES, changed, hostile_output, output, page_of, story
from runs import JSON_LINES, manifest, operation, run_ggfmt, snapshot, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.commit.records import Manifest
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.java.text import visible
from ggfmt.render.report.manifests import run_report
from ggfmt.render.report.page import page, write_report
from ggfmt.render.runs import run_text
from ggfmt.sinks.messages.run_history import MAX_EXAMPLES, read_run
from ggfmt.sinks.messages.verification import verify


def diagnosed(out: Path, run: str | None = None) -> str:
    """The only diagnostic for a directory that cannot be read."""
    with pytest.raises(GgfmtError) as caught:
        read_run(str(out), run)
    (found,) = caught.value.diagnostics
    assert "\n" not in found.message
    return f"{caught.value.exit_code} {found.code} {Path(found.span.file or '').name}: {found.message} ({found.help})"


# Text


def test_the_text_tells_what_the_manifest_has(tmp_path: Path) -> None:
    out = output(tmp_path)
    totals = manifest(out)["totals"]
    text = run_text(read_run(str(out)))
    assert text.startswith(f"run {manifest(out)['run']} of 2015-09-18 13:39:35 UTC, by ggfmt ")
    assert (
        f"  {totals['operations_read']} operations of 3 tables from 1 file ({totals['input_bytes']:,} bytes, json)"
        in text
    )
    assert "times from 2026-01-31 18:30:00 to 2026-01-31 19:09:" in text
    assert "without a time: 2 operations" in text
    assert "GG.A: 20 inserts, 20 updates, 1 truncate\n" in text
    for name, handler in totals["handlers"].items():
        assert f"handler {name} (" in text
        assert f": {handler['messages']} messages, {handler['bytes']:,} bytes in {handler['files']} files\n" in text
    assert text.count("  rejected: 3 [GG301] not JSON\n") == 2
    assert re.search(r"  \S+in\.json, byte \d+: \[GG301\] the record is not JSON: .* \(handlers j, d\)\n", text)
    assert "3 schemas, " in text


def test_the_text_is_short_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    out = output(tmp_path, count=1)
    many = {f"GG.T{number:03d}": {"I": 1} for number in range(300)}
    losses = [{"table": name, "column": "C", "values": 1, "what": "lost"} for name in many]

    def grow(document: dict[str, Any]) -> None:
        document["totals"]["operations"] = many
        document["files"] = []
        document["totals"]["handlers"]["d"]["losses"] = losses

    changed(out, grow)
    text = run_text(read_run(str(out)))
    assert len(text.splitlines()) < 50
    assert "  and 295 more columns; `--html FILE` shows all\n" in text
    assert "  and 280 more tables; `--html FILE` shows all\n" in text


def test_names_in_the_text_are_escapes(tmp_path: Path) -> None:
    text = run_text(read_run(str(hostile_output(tmp_path))))
    assert all(line.isprintable() for line in text.split("\n"))
    assert visible(NAMES[3]) in text
    assert "secret" not in text


# Which run


def test_an_earlier_run_is_shown_by_its_id_or_the_start_of_it(tmp_path: Path) -> None:
    out, source = tmp_path / "out", write_lines(tmp_path / "in.json", [operation(1)])
    run_ggfmt([source], out, *JSON_LINES, current_timestamp=None)
    run_ggfmt([write_lines(tmp_path / "more.json", story(("GG.B",), 5))], out, *LOSING, mode="append", quarantine=True)
    first, last = sorted(path.stem for path in (out / "_ggfmt" / "runs").iterdir())
    if first.startswith("2015"):  # the second run was given an earlier time
        first, last = last, first
    assert read_run(str(out)).manifest.run == last
    assert read_run(str(out)).runs == 2
    assert read_run(str(out), first).manifest.run == read_run(str(out), first[:-3]).manifest.run == first
    assert read_run(str(out), last).manifest.run == last
    assert diagnosed(out, "nix").startswith(
        "2 GG560 out: run `nix` not found in this output (choose one of the latest runs: `20"
    )
    assert diagnosed(out, "20").startswith("2 GG560 out: 2 runs start with `20` (give the full name of one run; ")
    for name in ("", "../manifest", "*", f"{first}/", "\x00"):
        assert diagnosed(out, name).startswith("2 GG560 out: ")
    (out / "_ggfmt" / "manifest.json").unlink()
    assert read_run(str(out)).manifest.run in (first, last)


def test_what_later_runs_replaced_is_told(tmp_path: Path) -> None:
    out = output(tmp_path)
    first = read_run(str(out)).manifest.run
    run_ggfmt([tmp_path / "in.json"], out, *JSON_LINES, mode="overwrite", quarantine=True, current_timestamp=None)
    found = read_run(str(out), first)
    assert found.manifest.replaced == ["j"]
    assert "files replaced by later runs: handler j\n" in run_text(found)
    assert "Later runs replaced the files of " in page(run_report(found))


def test_a_run_of_an_earlier_ggfmt_is_shown(tmp_path: Path) -> None:
    out = output(tmp_path)

    def earlier(document: dict[str, Any]) -> None:
        for name in ("layout", "versions"):
            del document[name]
        del document["totals"]["operations_by_time"]
        for handler in document["totals"]["handlers"].values():
            del handler["left_out"]

    changed(out, earlier)
    for path in (out / "_ggfmt" / "runs").iterdir():
        path.unlink()
    found = read_run(str(out))
    assert found.runs == 1
    assert "This run recorded no times" in page(run_report(found))
    assert "times from" not in run_text(found)
    assert "left out" not in run_text(found)
    assert "Left out" not in page(run_report(found))
    assert verify(str(out)).findings == []


# Rejects


def test_the_first_rejects_of_each_reason_are_read(tmp_path: Path) -> None:
    found = read_run(str(output(tmp_path, count=160)))
    assert len(found.rejects) == 2 * MAX_EXAMPLES
    assert {(reject.handler, reject.code) for reject in found.rejects} == {("j", "GG301"), ("d", "GG301")}
    assert [reject.offset for reject in found.rejects] == sorted(reject.offset or 0 for reject in found.rejects[:3]) * 2


@pytest.mark.parametrize("damage", ["gone", "no lines", "link", "half a line", "linked directory"])
def test_reasons_that_are_not_there_are_passed_over(tmp_path: Path, damage: str) -> None:
    out = output(tmp_path)
    other = tmp_path / "other"
    other.write_text('{"code":"GG301","reason":"from elsewhere"}\n')
    for path in list(out.rglob("*.reasons.jsonl")):
        if damage == "linked directory":
            path.parent.rename(tmp_path / f"moved{path.parent.parent.name}")
            path.parent.symlink_to(tmp_path / f"moved{path.parent.parent.name}")
            continue
        path.unlink()
        if damage == "no lines":
            path.write_bytes(b"\xff\xfe\n{}\n[1]\nnull\n" + b'{"code":1,"reason":2}\n')
        elif damage == "link":
            path.symlink_to(other)
        elif damage == "half a line":
            path.write_bytes(b'{"code":"GG301","reason":"x"')
    found = read_run(str(out))
    assert found.rejects == ()
    assert "are missing, or in another directory" in page(run_report(found))


# What cannot be read


def test_what_is_no_output_is_a_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for directory in (tmp_path, tmp_path / "none", tmp_path / "file"):
        assert " GG310 " in diagnosed(directory) or " GG506 " in diagnosed(directory)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "GG509 manifest.json: `manifest.json` is empty"),
        (b'{"run": "x", "fil', "GG509 manifest.json: `manifest.json` is damaged"),
        (b"[" * 100_000, "GG509 manifest.json: `manifest.json` is damaged"),
        (b"[]", "GG509 manifest.json: `manifest.json` is damaged"),
        (b'{"files": 1}', "GG509 manifest.json: `manifest.json` is damaged: `files` does not list files"),
        (b"{}", "GG562 manifest.json: the manifest is damaged: Object missing required field `ggfmt`"),
    ],
)
def test_a_manifest_that_is_cut_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    out = output(tmp_path, count=1)
    (out / "_ggfmt" / "manifest.json").write_bytes(content)
    assert diagnosed(out).startswith(f"3 {said}")


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("totals", None, "Expected `object`, got `null` - at `$.totals`"),
        ("operations_read", "5", "Expected `int`, got `str` - at `$.totals.operations_read`"),
        ("operations_read", -1, "Expected `int` >= 0 - at `$.totals.operations_read`"),
        ("operations", {"T": {"I": 1.5}}, "Expected `int`, got `float` - at `$.totals.operations[...][...]`"),
        ("seconds", float("nan"), "Expected `float`"),
        ("seconds", float("inf"), "Expected `float` <= "),
        ("operations_by_time", {"step": "century", "times": {}}, "Invalid enum value 'century'"),
    ],
)
def test_a_manifest_with_a_member_that_is_none_is_named(tmp_path: Path, member: str, value: object, said: str) -> None:
    out = output(tmp_path, count=1)
    changed(out, lambda document: (document if member in document else document["totals"]).update({member: value}))
    assert diagnosed(out).startswith(f"3 GG562 manifest.json: the manifest is damaged: {said}")


@pytest.mark.parametrize("layout", [2, "2", None, 1.5])
def test_a_manifest_of_a_later_ggfmt_is_not_guessed_at(tmp_path: Path, layout: object) -> None:
    out = output(tmp_path, count=1)
    record = next((out / "_ggfmt" / "runs").iterdir())
    changed(out, lambda document: document.update(layout=layout, ggfmt="9.1"))
    assert diagnosed(out).startswith(
        f"3 GG561 manifest.json: the manifest is from a later version of ggfmt: 9.1, layout {layout}"
    )
    record.write_text((out / "_ggfmt" / "manifest.json").read_text())
    codes = {finding.code for finding in verify(str(out)).findings}
    assert "GG561" in codes


def test_every_manifest_of_a_run_is_understood_whole(tmp_path: Path) -> None:
    """No member is written that the typed manifest does not have, but for digests."""
    document = manifest(output(tmp_path))
    known = msgspec.to_builtins(msgspec.convert(document, Manifest))

    def compare(written: Any, read: Any, place: str) -> None:
        if isinstance(written, dict) and isinstance(read, dict):
            assert set(written) - {"sha256", "layout"} <= set(read), place
            for key in written.keys() & read.keys():
                compare(written[key], read[key], f"{place}.{key}")
        elif isinstance(written, list):
            assert len(written) == len(read), place
            for one, other in zip(written, read, strict=True):
                compare(one, other, place)
        else:
            assert written == read, place

    compare(document, known, "$")


def test_verify_sees_operations_by_time_that_do_not_add_up(tmp_path: Path) -> None:
    out = output(tmp_path)
    (record,) = (out / "_ggfmt" / "runs").iterdir()
    document = json.loads(record.read_text())
    assert verify(str(out)).findings == []
    document["totals"]["operations_by_time"]["untimed"]["I"] += 1
    record.write_text(json.dumps(document))
    assert [finding.message for finding in verify(str(out)).findings] == [
        "all times together have 122 operations, but 121 were read"
    ]


# The command


def called(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["report", *arguments])
    if isinstance(result.exception, GgfmtError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.stdout


def test_the_command_writes_the_page_and_changes_nothing_else(tmp_path: Path) -> None:
    out = output(tmp_path)
    before = snapshot(out)
    file = tmp_path / "page.html"
    file.write_text("an earlier page")
    assert called(str(out), "--html", str(file)) == (0, "")
    assert file.read_text(encoding="utf-8") == page_of(out)
    assert called(str(out), "--html", "-") == (0, page_of(out))
    assert called(str(out)) == (0, run_text(read_run(str(out))))
    assert snapshot(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out", "page.html"]


def test_a_page_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    out = output(tmp_path, count=1)
    (tmp_path / "link").symlink_to(out)
    for name in ("out/page.html", "link/page.html", "out/j/../page.html"):
        code, told = called(str(out), "--html", str(tmp_path / name))
        assert (code, told[:6]) == (2, "[GG563") or "GG563" in told
    for file in (tmp_path / "none" / "page.html", tmp_path):
        code, told = called(str(out), "--html", str(file))
        assert code == 2
        assert "GG506" in told
    assert verify(str(out)).findings == []


@pytest.mark.skipif(sys.platform == "win32", reason="a link needs a privilege there")
def test_a_page_behind_a_link_is_written_through_it(tmp_path: Path) -> None:
    (tmp_path / "page.html").symlink_to(tmp_path / "real.html")
    write_report("<p>", tmp_path / "page.html")
    assert os.path.islink(tmp_path / "page.html")
    assert (tmp_path / "real.html").read_text(encoding="utf-8") == "<p>"
