"""Which findings `validate-config` reports: by its options, `ggfmt.toml` and `pyproject.toml`, file and machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_command import as_nobody, checked, here, write
from strategies import examples

from ggfmt.config.lint.reading import FileIgnores, Rules
from ggfmt.config.lint.settings import Settings, command_line
from ggfmt.config.refusals import REFUSAL_CODES
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import UsageError

__all__ = ["here"]  # the fixture

# GG101, GG102, GG103, GG119 and GG130
FILE = (
    "gg.handlerlist=a\ngg.handler.a.format=json\ngg.handler.a.foo=1\ngg.handler.a.format.iso8601Forma=true\n"
    "gg.handler.a.mode=ops\ngg.handler.a.format.schemaDirectory=nix\nlinger.ms=5\n"
)
ALL = ["GG101", "GG102", "GG103", "GG119", "GG130"]


@pytest.fixture(autouse=True)
def no_build_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def codes(*files: str | Path, **options: Any) -> list[str]:
    """The codes that are reported for files, in order."""
    out = checked(*files, output_format="concise", **options)[1].decode()
    return [line.split(": ", 1)[1][:5] for line in out.splitlines()]


def problems(*files: str, **options: Any) -> list[str]:
    """What is wrong with the settings, less the directory before their file."""
    try:
        code, out, _ = checked(*files, output_format="json", **options)
    except UsageError as error:  # on the command line
        assert {finding.code for finding in error.diagnostics} == {"GG133"}
        return list(map(str, error.diagnostics))
    found = json.loads(out)
    assert (code, {finding["code"] for finding in found}) == (2, {"GG133"})
    return [_line(finding) for finding in found]


def _line(finding: dict[str, Any]) -> str:
    place = ":".join(str(finding[name]) for name in ("file", "line", "column") if name in finding)
    text = f"{place}: error[GG133] {finding['message']}".replace(f"{os.getcwd()}/", "")
    return "; ".join(filter(None, (text, finding.get("help"))))


# By code


@pytest.mark.parametrize(
    ("select", "ignore", "extend_ignore", "left"),
    [
        (None, None, None, ALL),
        (["ALL"], None, None, ALL),
        (["GG1"], None, None, ALL),
        (["GG10"], None, None, ["GG101", "GG102", "GG103"]),
        (["GG101,GG119"], None, None, ["GG101", "GG119"]),
        (["GG101", " GG13 ,"], None, None, ["GG101", "GG130"]),
        (None, ["GG10"], None, ["GG119", "GG130"]),
        (None, ["GG10"], ["GG130"], ["GG119"]),
        (["GG101"], ["GG10"], None, ["GG101"]),
        (["GG10"], ["GG101"], None, ["GG102", "GG103"]),
        (["GG101"], ["GG101"], None, []),
        (["GG1"], ["ALL"], None, ALL),
        (None, ["ALL"], None, []),
    ],
)
def test_by_code(
    here: Path, select: list[str] | None, ignore: list[str] | None, extend_ignore: list[str] | None, left: list[str]
) -> None:
    write(here / "a.properties", FILE)
    assert codes("a.properties", select=select, ignore=ignore, extend_ignore=extend_ignore) == left


def test_the_exit_code_is_that_of_what_is_told(here: Path) -> None:
    write(here / "a.properties", FILE)
    assert checked("a.properties")[0] == 1
    assert checked("a.properties", ignore=["GG103"])[0] == 0
    assert checked("a.properties", ignore=["GG103"], strict=True)[0] == 1
    assert checked("a.properties", select=["GG130"], strict=True)[0] == 0


def test_only_what_is_told_is_fixed(here: Path) -> None:
    file = write(here / "a.properties", FILE)
    checked("a.properties", ignore=["GG102"], fix=True)
    assert file.read_text() == FILE
    checked("a.properties", select=["GG102"], fix=True)
    assert file.read_text() == FILE.replace("8601Forma=", "8601Format=")


def test_a_file_that_cannot_be_read_is_told_whatever_is_selected(here: Path) -> None:
    write(here / "a.properties", FILE.encode("utf-16"))
    assert codes("a.properties", select=["GG101"], ignore=["GG100"]) == ["GG100"]


def test_a_comment_is_in_vain_only_for_what_is_told(here: Path) -> None:
    write(here / "a.properties", "gg.handlerlist=a\n# ggfmt: ignore GG101\ngg.handler.a.format=json\n")
    assert codes("a.properties") == ["GG122"]
    assert codes("a.properties", ignore=["GG101"]) == []
    assert codes("a.properties", ignore=["GG122"]) == []


def test_unknown_codes_on_the_command_line(here: Path) -> None:
    write(here / "a.properties", FILE)
    assert problems("a.properties", select=["gg119"], ignore=["gg101"], extend_ignore=["y,x", "GG"]) == [
        "error[GG133] `--select` names `gg119`, which is not a code; did you mean `GG119`?",
        "error[GG133] `--ignore` names `gg101`, which is not a code; did you mean `GG101`?",
        "error[GG133] `--extend-ignore` names `y`, which is not a code;"
        " codes of handler files are `GG100` and so on, `GG1`, `GG11`, `ALL`",
        "error[GG133] `--extend-ignore` names `x`, which is not a code;"
        " codes of handler files are `GG100` and so on, `GG1`, `GG11`, `ALL`",
    ]


def test_an_empty_selection_is_none(here: Path) -> None:
    write(here / "a.properties", FILE)
    told = "error[GG133] `--select` names no code; write `ALL` for all"
    assert problems("a.properties", select=[""]) == problems("a.properties", select=[" ,"]) == [told]
    assert codes("a.properties", ignore=[""], extend_ignore=[","]) == ALL
    write(here / "ggfmt.toml", "select = []")
    assert codes("a.properties") == []


def test_settings_that_may_not_be_read(here: Path) -> None:
    write(here / "a.properties", FILE)
    write(here / "ggfmt.toml", "").chmod(0)
    with as_nobody(here):
        told = problems("a.properties")
    assert told == ["ggfmt.toml: error[GG133] the file cannot be read: Permission denied"]


SELECTORS = st.lists(st.sampled_from(["ALL", "GG", "GG1", "GG10", "GG11", "GG13", "GG101", "GG103", "GG119", "GG130"]))


@given(SELECTORS, SELECTORS, SELECTORS, st.sampled_from(sorted(CODES)))
@examples(100)
def test_the_closer_of_two_decides(select: list[str], ignore: list[str], never: list[str], code: str) -> None:
    told = Rules(tuple(select), tuple(ignore), tuple(never)).is_enabled(code)
    if code == "GG100" or not code.startswith(("GG1", *REFUSAL_CODES)):
        assert told
        return
    order = ["ALL", *(code[:length] for length in range(2, 6))]
    best = {kind: [one in chosen for one in order] for kind, chosen in (("select", select), ("ignore", ignore))}
    last = {kind: len(order) - 1 - here[::-1].index(True) if True in here else -1 for kind, here in best.items()}
    assert told == (last["select"] > last["ignore"] and not any(one in never for one in order))


# By machine


def test_what_depends_on_the_machine(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "a.properties", FILE)
    rest = [code for code in ALL if code != "GG119"]
    assert codes("a.properties", machine=False) == rest
    for value in ("true", "1", "yes"):
        monkeypatch.setenv("CI", value)
        assert codes("a.properties") == rest
        assert codes("a.properties", machine=True) == ALL
    for value in ("", "false", "0"):
        monkeypatch.setenv("CI", value)
        assert codes("a.properties") == ALL
    monkeypatch.setenv("CI", "true")
    key = "gg.handler.a.format.schemaDirectory"
    write(here / "b.properties", FILE.replace(key, f"# ggfmt: ignore GG119\n{key}"))
    (here / "nix").mkdir()
    assert codes("b.properties") == rest
    write(here / "ggfmt.toml", "machine = true")
    assert codes("a.properties") == rest
    assert codes("b.properties") == ["GG101", "GG102", "GG103", "GG122", "GG130"]


# By settings in files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ggfmt.toml", 'select = ["GG101", "GG13"]'),
        ("pyproject.toml", '[tool.ggfmt]\nselect = ["GG101", "GG13"]'),
        ("pyproject.toml", '[ tool . "ggfmt" ]\nselect = ["GG101", "GG13"]'),
        ("ggfmt.toml", 'ignore = ["GG10", "GG119"]\nselect = ["ALL", "GG101"]'),
        ("ggfmt.toml", 'ignore = ["GG102"]\nextend-ignore = ["GG103", "GG119"]'),
        ("ggfmt.toml", 'per-file-ignores = { "a.properties" = ["GG102", "GG103", "GG11"] }'),
        ("pyproject.toml", '[tool.ggfmt.per-file-ignores]\n"conf/**" = ["GG102", "GG103", "GG11"]'),
        ("ggfmt.toml", 'per-file-ignores = { "!*.props" = ["GG102", "GG103", "GG11"] }'),
        ("ggfmt.toml", '\ufeffselect = ["GG101", "GG130"]\r\n'),
    ],
)
def test_settings_of_a_directory_above(here: Path, name: str, text: str) -> None:
    write(here / name, text)
    write(here / "conf" / "deep" / "a.properties", FILE)
    assert codes("conf") == ["GG101", "GG130"]
    assert codes(here / "conf" / "deep" / "a.properties") == ["GG101", "GG130"]
    assert codes("conf", isolated=True) == ALL


def test_the_nearest_settings_are_the_only_ones(here: Path) -> None:
    write(here / "ggfmt.toml", 'ignore = ["GG101"]')
    write(here / "conf" / "ggfmt.toml", 'ignore = ["GG102"]')
    write(here / "conf" / "pyproject.toml", '[tool.ggfmt]\nignore = ["GG103"]')
    write(here / "conf" / "x" / "pyproject.toml", b"[tool.ruff]\nggfmt = broken \xe9")
    write(here / "conf" / "x" / "ggfmt.toml" / "keep", "")
    for place in ("a.properties", "conf/b.properties", "conf/x/c.properties"):
        write(here / place, FILE)
    assert codes("a.properties") == [code for code in ALL if code != "GG101"]
    for place in ("conf/b.properties", "conf/x/c.properties"):
        assert codes(place) == [code for code in ALL if code != "GG102"]


def test_the_command_line_stands_in_place_of_settings(here: Path) -> None:
    write(here / "ggfmt.toml", 'select = ["GG10"]\nignore = ["GG101"]\nextend-ignore = ["GG102"]')
    write(here / "a.properties", FILE)
    assert codes("a.properties") == ["GG103"]
    assert codes("a.properties", select=["ALL"]) == ["GG103", "GG119", "GG130"]
    assert codes("a.properties", ignore=["GG103"]) == ["GG101"]
    assert codes("a.properties", extend_ignore=["GG103"]) == []


def test_standard_input_has_the_settings_of_its_name(here: Path) -> None:
    write(here / "ggfmt.toml", 'select = ["GG101"]')
    write(here / "conf" / "ggfmt.toml", 'select = ["GG103"]')
    assert codes("-", given=FILE.encode()) == ["GG101"]
    out = checked("-", given=FILE.encode(), stdin_filename="conf/a.properties", output_format="concise")[1].decode()
    assert out == "conf/a.properties:5:19: GG103 `gg.handler.a.mode` cannot be `ops`\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            'select = ["gg101"]',
            "ggfmt.toml:1:12: error[GG133] `select` names `gg101`, which is not a code; did you mean `GG101`?",
        ),
        ("selct = []", "ggfmt.toml:1:1: error[GG133] `selct` is not a setting of the linter; did you mean `select`?"),
        (
            "\nline-length = 3",
            "ggfmt.toml:2:1: error[GG133] `line-length` is not a setting of the linter;"
            " settings are `select`, `ignore`, `extend-ignore`, `per-file-ignores`, `machine`, `exclude`, `extend`",
        ),
        (
            'ignore = "GG101"',
            'ggfmt.toml:1:1: error[GG133] `ignore` is not a list of codes; write `ignore = ["GG101"]`',
        ),
        ("machine = 1", "ggfmt.toml:1:1: error[GG133] `machine` is neither `true` nor `false`"),
        (
            'per-file-ignores = ["x"]',
            "ggfmt.toml:1:1: error[GG133] `per-file-ignores` is not a table of globs;"
            ' write `per-file-ignores = { "old/*.properties" = ["GG101"] }`',
        ),
        (
            '[per-file-ignores]\nx = ["y"]',
            "ggfmt.toml:2:7: error[GG133] `x` names `y`, which is not a code;"
            " codes of handler files are `GG100` and so on, `GG1`, `GG11`, `ALL`",
        ),
        ("select = [\n]]", "ggfmt.toml:2:2"),
        ('select = ["GG101"]\nselect = []', "ggfmt.toml"),
        (b"select = [] # \xe9", "ggfmt.toml: error[GG133] the file is not UTF-8"),
    ],
)
def test_settings_that_cannot_be_used(here: Path, text: str | bytes, problem: str) -> None:
    write(here / "ggfmt.toml", text)
    write(here / "a.properties", FILE)
    (told,) = problems("a.properties")
    if "error" in problem:
        assert told == problem
    else:
        assert told.startswith(problem)
        assert "the file is not TOML" in told
    assert codes("a.properties", isolated=True) == ALL


def test_all_that_is_wrong_with_settings_is_told_at_once(here: Path) -> None:
    write(here / "pyproject.toml", '[tool.ggfmt]\nselect = ["x"]\nfix = true\nmachine = "no"')
    write(here / "a.properties", FILE)
    assert [told.split(": ")[0] for told in problems("a.properties")] == [
        "pyproject.toml:2:12",
        "pyproject.toml:3:1",
        "pyproject.toml:4:1",
    ]
    write(here / "pyproject.toml", "tool.ggfmt = 1\n[tool.ggfmt.x]")
    assert "the file is not TOML" in problems("a.properties")[0]


def test_a_python_that_cannot_read_toml_says_so_where_there_are_settings(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    monkeypatch.setitem(sys.modules, "tomli", None)
    write(here / "a.properties", FILE)
    write(here / "pyproject.toml", "[tool.ruff]\n")
    assert codes("a.properties") == ALL
    write(here / "pyproject.toml", "[tool.ggfmt]\n")
    assert problems("a.properties") == [
        "pyproject.toml: error[GG133] settings in TOML need Python 3.11 or newer, or the package `tomli`;"
        " install `tomli`, use Python 3.11 or newer, or give the settings as options"
    ]


def test_settings_of_runs_are_for_runs(here: Path) -> None:
    """They are no settings of the linter, so that those of a `pyproject.toml` beside them count."""
    write(here / "a.properties", FILE)
    write(here / "pyproject.toml", '[tool.ggfmt]\nselect = ["GG103"]')
    only = codes("a.properties")
    assert only != ALL
    write(here / "ggfmt.toml", 'master = "none"')
    assert codes("a.properties") == only
    write(here / "ggfmt.toml", 'master = "none"\nselect = ["ALL"]')
    assert codes("a.properties") == ALL
    write(here / "pyproject.toml", '[tool.ggfmt]\nmaster = "none"')
    (here / "ggfmt.toml").unlink()
    assert "`master` is not a setting of the linter" in problems("a.properties")[0]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a.properties", "/r/a.properties", True),
        ("a.properties", "/r/x/a.properties", True),
        ("x/*.properties", "/r/x/a.properties", True),
        ("x/*.properties", "/r/y/x/a.properties", False),
        ("x/*", "/r/x/y/a.properties", True),
        ("[ab].props", "/r/b.props", True),
        ("!x/*", "/r/x/a.props", False),
        ("!x/*", "/r/a.props", True),
        ("/other/*", "/other/a.props", True),
    ],
)
def test_patterns_of_files(pattern: str, path: str, fits: bool) -> None:
    assert FileIgnores("/r", pattern, ()).hold_for(path) == fits


def test_a_directory_is_looked_at_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "ggfmt.toml", 'ignore = ["GG101"]')
    settings = Settings(command_line(None, None, None, None))
    assert not settings.rules("a/b/c.properties").is_enabled("GG101")
    (here / "ggfmt.toml").unlink()
    assert not settings.rules("a/d.properties").is_enabled("GG101")
    assert not settings.rules("a/b/c.properties").is_enabled("GG101")
