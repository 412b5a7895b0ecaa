"""What `validate-config` leaves out, counts and writes: baselines, comments, statistics, report files, `exclude`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import piped
from lint_command import RELEASES, here, write
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import USAGE, UsageError

__all__ = ["here"]  # the fixture

GOOD = "gg.handlerlist=a\ngg.handler.a.type=hdfs\ngg.handler.a.format=json\n"
WRONG = f"{GOOD}gg.handler.a.mode=ops\n"
NOTED = f"{GOOD}gg.handler.a.format.iso8601Forma=true\n"


def checked(*arguments: str) -> tuple[int, bytes, str]:
    """Exit code, standard output, and standard error without the releases of files."""
    result = CliRunner().invoke(app, ["validate-config", *arguments])
    if isinstance(result.exception, UsageError):
        return USAGE, result.stdout_bytes, "\n".join(map(str, result.exception.diagnostics))
    return result.exit_code, result.stdout_bytes, RELEASES.sub("", result.stderr)


def test_a_baseline_leaves_out_what_it_has(here: Path) -> None:
    write(here / "conf" / "a.properties", WRONG)
    code, out, err = checked("conf", "--write-baseline", "known.json", "--strict")
    assert (code, out) == (0, b"")
    assert "1 finding written to known.json" in err
    assert json.loads((here / "known.json").read_bytes()) == {
        "conf/a.properties": {"GG103 `gg.handler.a.mode` cannot be `ops`": 1}
    }
    assert checked("conf", "--baseline", "known.json", "--strict")[:2] == (0, b"")
    # Other lines and other findings of the file
    write(here / "conf" / "a.properties", f"# moved\n\n{WRONG}gg.handler.a.includeTokens=x\n")
    code, out, _ = checked("conf", "--baseline", "known.json", "--output-format", "concise")
    assert code == 1
    assert [line.split(": ")[1][:5] for line in out.decode().splitlines()] == ["GG103"]
    assert b"includeTokens" in out
    # A second finding of the same kind is new.
    write(here / "conf" / "a.properties", f"{WRONG}gg.handler.a.mode=ops\n")
    assert checked("conf", "--baseline", "known.json")[0] == 0
    write(here / "conf" / "b.properties", WRONG)
    assert checked("conf", "--baseline", "known.json")[0] == 1
    # From another directory, and what is gone
    write(here / "conf" / "a.properties", GOOD)
    (here / "conf" / "b.properties").unlink()
    code, _, err = checked("conf", "--baseline", str(here / "known.json"))
    assert code == 0
    assert "the baseline has 1 finding more than there are" in err


def test_numbers_of_lines_do_not_matter_to_a_baseline(here: Path) -> None:
    twice = "gg.handler.a.includeTokens=true\ngg.handler.a.includeTokens=false\n"
    write(here / "a.properties", GOOD + twice)
    checked("a.properties", "--write-baseline", "known.json")
    write(here / "a.properties", f"# moved\n{GOOD}{twice}")
    assert checked("a.properties", "--baseline", "known.json", "--strict")[0] == 0


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"GG101": "x"}}', '{"a": {"GG101": true}}', "\xff"])
def test_a_file_that_is_no_baseline_ends_with_2(here: Path, text: str) -> None:
    write(here / "a.properties", WRONG)
    (here / "known.json").write_bytes(text.encode("latin-1"))
    code, out, err = checked("a.properties", "--baseline", "known.json")
    assert (code, out) == (2, b"")
    assert "GG133" in err
    assert "--write-baseline known.json" in err


def test_a_baseline_has_no_secrets_and_no_unreadable_file(here: Path) -> None:
    write(here / "a.properties", f"{GOOD}gg.handler.a.password=hunter2 \\u00zz\n")
    code, _, _ = checked("a.properties", "missing.properties", "--write-baseline", "known.json")
    assert code == 2
    text = (here / "known.json").read_text()
    assert "hunter2" not in text
    assert "missing" not in text
    assert checked("a.properties", "--baseline", "nowhere.json")[0] == 2
    assert checked("a.properties", "--write-baseline", "nowhere/known.json")[0] == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_ignore_what_a_file_has(here: Path, end: str) -> None:
    lines = [
        "gg.handlerlist=a",
        "gg.handler.a.type=hdfs",
        " gg.handler.a.format=js\\",
        "  on5",
        "gg.handler.a.mode=ops",
    ]
    path = here / "a.properties"
    path.write_bytes((end.join(lines) + end).encode())
    code, out, _ = checked("a.properties", "--add-ignore", "--strict")
    assert (code, out) == (0, b"")
    assert path.read_bytes().decode().split(end) == [
        *lines[:2],
        " # ggfmt: ignore GG106",
        *lines[2:4],
        "# ggfmt: ignore GG103",
        lines[4],
        "",
    ]
    before = path.read_bytes()
    assert checked("a.properties", "--add-ignore", "--strict")[0] == 0
    assert path.read_bytes() == before


def test_comments_leave_notes_and_what_they_cannot_ignore(here: Path) -> None:
    write(here / "a.properties", "gg.handler.a.format=json\ngg.handler.a.pathMappingTemplate=/x\n")
    code, out, _ = checked("a.properties", "--add-ignore")
    assert code == 1
    assert b"GG105" in out
    assert "ignore" not in (here / "a.properties").read_text()
    for option in ("--fix", "--diff"):
        assert checked("a.properties", "--add-ignore", option)[0] == 2


def test_comments_leave_a_byte_order_mark_and_other_encodings(here: Path) -> None:
    path = write(here / "a.properties", b"\xef\xbb\xbfgg.handlerlist=a\ngg.handler.a.format=jsn")
    code, out, _ = checked("a.properties", "--add-ignore", "--output-format", "concise")
    assert (code, out.count(b"GG143"), out.count(b"\n")) == (1, 1, 1)  # the mark is an error
    assert path.read_bytes() == b"\xef\xbb\xbfgg.handlerlist=a\n# ggfmt: ignore GG106\ngg.handler.a.format=jsn"
    write(path, b"# \xe4\n" + WRONG.encode())
    assert checked("a.properties", "--add-ignore")[0] == 0
    assert path.read_bytes().startswith(b"# \xe4\n")


def test_statistics_count_by_code(here: Path) -> None:
    for name in "abc":
        write(here / f"{name}.properties", WRONG if name == "a" else NOTED)
    code, out, _ = checked(".", "--statistics")
    assert code == 1
    assert out.decode().splitlines() == [
        f"     2  GG102  {CODES['GG102'].title}",
        f"     1  GG103  {CODES['GG103'].title}",
    ]
    code, out, _ = checked(".", "--statistics", "--output-format", "json")
    assert [(item["code"], item["count"]) for item in json.loads(out)] == [("GG102", 2), ("GG103", 1)]
    assert checked(".", "--statistics", "--output-format", "sarif")[0] == 2


def test_findings_go_to_a_file(here: Path) -> None:
    write(here / "a.properties", WRONG)
    for form in ("text", "concise", "json", "sarif", "junit", "gitlab"):
        printed = checked("a.properties", "--output-format", form)
        code, out, err = checked("a.properties", "--output-format", form, "--output-file", "report")
        assert (code, out, err) == (printed[0], b"", printed[2])
        assert (here / "report").read_bytes() == printed[1]
    code, _, err = checked("a.properties", "--output-file", "nowhere/report")
    assert code == 2
    assert "GG506" in err


def test_an_exit_code_of_zero_is_for_findings_alone(here: Path) -> None:
    write(here / "a.properties", WRONG)
    code, out, _ = checked("a.properties", "--exit-zero")
    assert code == 0
    assert b"GG103" in out
    assert checked("missing.properties", "--exit-zero")[0] == 2


def test_excluded_files_are_not_checked_unless_they_are_named(here: Path) -> None:
    for name in ("new/a", "old/b", "old/deep/c", "d.bak"):
        write(here / f"{name}.properties", WRONG)
    write(here / "ggfmt.toml", 'exclude = ["old", "*.bak.properties"]\n')
    code, out, err = checked(".", "--output-format", "concise")
    assert code == 1
    assert [line.partition(":")[0] for line in out.decode().splitlines()] == ["./new/a.properties"]
    assert err.startswith("1 file: ")
    assert checked("old/*.properties")[0] == 0
    assert checked("old/b.properties")[0] == 1
    assert checked("old/b.properties", "--force-exclude")[::2] == (0, "0 files: no findings\n")
    assert checked("old/b.properties", "new/a.properties", "--force-exclude")[0] == 1
    named = ("validate-config", "-", "--stdin-filename", "old/b.properties")
    assert [piped(WRONG.encode(), *named, *option).exit_code for option in ([], ["--force-exclude"])] == [1, 0]
    assert checked(".", "--isolated", "--output-format", "concise")[1].count(b"\n") == 4


def test_settings_extend_other_settings(here: Path) -> None:
    write(here / "a.properties", WRONG + "gg.handler.a.format.iso8601Forma=true\n")
    write(here / "base.toml", 'ignore = ["GG103"]\nexclude = ["old/*"]\n')
    write(here / "ggfmt.toml", 'extend = "base.toml"\n')
    assert b"GG103" not in checked("a.properties")[1]
    write(here / "ggfmt.toml", 'extend = "base.toml"\nignore = ["GG102"]\n')
    out = checked("a.properties")[1]
    assert b"GG103" in out
    assert b"GG102" not in out
    write(here / "pyproject.toml", '[tool.ggfmt]\nignore = ["GG10"]\n')
    write(here / "ggfmt.toml", 'extend = "pyproject.toml"\n')
    assert checked("a.properties")[1] == b""


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ('extend = "ggfmt.toml"', "goes back to a file that it extends"),
        ('extend = "other.toml"', "goes back to a file that it extends"),
        ('extend = "missing.toml"', "cannot be read"),
        ("extend = 1", "is not the path of a settings file"),
        ('extend = "bad.toml"', "is not a setting of the linter"),
        ("exclude = 1", "is not a list of globs"),
        ("exclude = [1]", "is not a list of globs"),
    ],
)
def test_settings_that_cannot_be_used(here: Path, settings: str, problem: str) -> None:
    write(here / "a.properties", WRONG)
    write(here / "ggfmt.toml", settings)
    write(here / "other.toml", 'extend = "ggfmt.toml"')
    write(here / "bad.toml", 'ignor = ["GG101"]')
    code, out, _ = checked("a.properties", "--output-format", "concise")
    assert code == 2
    assert problem in out.decode()
