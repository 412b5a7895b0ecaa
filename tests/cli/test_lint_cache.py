"""The cache of `validate-config`: the same findings as without it, and only changed files are checked again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from lint_command import here, write
from typer.testing import CliRunner

from ggfmt import version
from ggfmt.cli import app
from ggfmt.config.lint import cache
from ggfmt.config.lint.reading import CheckedFile, Rules, check_file

__all__ = ["here"]  # the fixture

KEYS = "gg.handlerlist=a\ngg.handler.a.type=hdfs\ngg.handler.a.format=json\n"
SCHEMAS = "gg.handler.a.format.generateSchema=true\ngg.handler.a.format.schemaDirectory=./schemas\n"


@pytest.fixture
def tree(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with 120 files, of which some have findings of several kinds, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    for number in range(120):
        lines = [
            f"# {number}",
            "gg.handler.a.mode=ops",
            "gg.handler.a.format.iso8601Forma=true",
            "gg.handler.a.mode=op",
        ]
        write(here / "conf" / f"{number:03}.properties", KEYS + "".join(f"{line}\n" for line in lines[: number % 5]))
    return here


def result(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, ["validate-config", "conf", *arguments])
    return outcome.exit_code, outcome.output


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are checked."""
    names: list[str] = []

    def counted(content: bytes, file: str, rules: Rules, settings: Sequence[str]) -> CheckedFile:
        names.append(file)
        return check_file(content, file, rules, settings)

    monkeypatch.setattr(cache, "check_file", counted)
    return names


@pytest.mark.parametrize("form", ["text", "json", "sarif", "rdjson"])
def test_the_findings_are_those_without_a_cache(tree: Path, checks: list[str], form: str) -> None:
    options = ("--output-format", form, "--strict")
    expected = result(*options, "--no-cache")
    assert not (tree / "cache").exists()
    assert result(*options) == expected
    assert len(checks) == 120
    assert result(*options) == expected
    assert len(checks) == 120
    assert (tree / "cache" / "ggfmt" / "lint.json").stat().st_mode & 0o077 == 0


def test_what_has_changed_is_checked_again(tree: Path, checks: list[str]) -> None:
    result()
    write(tree / "conf" / "005.properties", f"{KEYS}gg.handler.a.includeTokens=x\n")
    assert "includeTokens" in result()[1]
    assert checks[120:] == ["conf/005.properties"]
    before = len(checks)
    for options in (("--ignore", "GG103"), ("--for-run",), ("--set", "gg.handler.a.mode=op")):
        assert result(*options) == result(*options, "--no-cache")
        assert len(checks) == before + 120
        before = len(checks)


def test_another_version_has_another_cache(tree: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    monkeypatch.setattr(version, "VERSION", "0")
    result()
    assert len(checks) == 240


def test_what_depends_on_the_machine_is_not_kept(tree: Path) -> None:
    write(tree / "conf" / "000.properties", KEYS + SCHEMAS)
    assert "GG119" in result("--machine")[1]
    (tree / "schemas").mkdir()
    assert "GG119" not in result("--machine")[1]
    (tree / "schemas").rmdir()
    assert "GG119" in result("--machine")[1]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"x": 1}', None])
def test_a_damaged_cache_is_none(tree: Path, content: bytes | None) -> None:
    expected = result()
    path = tree / "cache" / "ggfmt" / "lint.json"
    if content is None:  # entries of another form
        content = path.read_bytes().replace(b'"GG', b'"XX').replace(b"[[", b"[")
    path.write_bytes(content)
    assert result() == expected
    assert result() == expected


def test_a_cache_that_cannot_be_written_is_none(tree: Path) -> None:
    expected = result("--no-cache")
    write(tree / "cache", "a file")
    assert result() == expected


def test_few_files_have_no_cache(tree: Path) -> None:
    CliRunner().invoke(app, ["validate-config", "conf/000.properties"])
    assert not (tree / "cache").exists()
