"""Defaults of a user or a directory: which one holds, and files that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ggfmt.commands import runners
from ggfmt.commands.runners import Default, RunnerChoice, WithoutSpark, choose_runner, default_master
from ggfmt.diagnostics.diagnostic import UsageError


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GGFMT_MASTER", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)


def _of_user(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config" / "ggfmt" / "ggfmt.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_the_variable_the_directory_and_the_user_come_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_master() is None
    _of_user(tmp_path, 'master = "none[3]"\n')
    assert default_master() == Default("none[3]", str(tmp_path / "config" / "ggfmt" / "ggfmt.toml"))
    Path("ggfmt.toml").write_text("# nothing\n")
    assert default_master() == Default("none[3]", str(tmp_path / "config" / "ggfmt" / "ggfmt.toml"))
    Path("ggfmt.toml").write_text('master = "none[2]"\n')
    assert default_master() == Default("none[2]", "ggfmt.toml")
    Path("ggfmt.toml").write_text('ignore = ["GG121"]\nmaster = "none[2]"\n')  # with a setting of the linter
    assert default_master() == Default("none[2]", "ggfmt.toml")
    monkeypatch.setenv("GGFMT_MASTER", "local[1]")
    assert default_master() == Default("local[1]", "GGFMT_MASTER")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mastr = 'none'\n", "did you mean `master`"),
        ("master = 3\n", "`master` is not a text"),
        ("master = \n", "ggfmt.toml:1:[0-9]+: .*not TOML"),
        ("[run]\nmode = 'append'\n", "`run` is unknown"),
    ],
)
def test_a_wrong_file_is_refused(text: str, words: str) -> None:
    Path("ggfmt.toml").write_text(text)
    with pytest.raises(UsageError, match=words) as refused:
        default_master()
    assert refused.value.diagnostics[0].code == "GG525"
    assert str(refused.value).startswith("ggfmt.toml:")


def _processes(choice: RunnerChoice) -> int | None:
    return choice.start.processes if isinstance(choice.start, WithoutSpark) else None


def test_what_the_command_line_has_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ggfmt.toml").write_text('master = "none[3]"\n')
    assert _processes(choose_runner(None, (), None)) == 3
    assert _processes(choose_runner("none[2]", (), None)) == 2
    on_spark: list[dict[str, Any]] = [
        {"master": "local[1]", "conf": (), "java_home": None},
        {"master": None, "conf": ("spark.ui.enabled=false",), "java_home": None},
        {"master": None, "conf": (), "java_home": "/usr"},
        {"master": None, "conf": (), "java_home": None, "remote": "sc://localhost"},
    ]
    for arguments in on_spark:
        assert not isinstance(choose_runner(**arguments).start, WithoutSpark)


def test_a_spark_of_this_process_wins_over_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    Path("ggfmt.toml").write_text('master = "none"\n')
    existing = SimpleNamespace(cluster=None, name="the Spark")
    monkeypatch.setattr("ggfmt.spark.runners.resolve_spark", lambda *_: existing)
    assert not isinstance(choose_runner(None, (), None).start, WithoutSpark)


def test_a_default_names_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGFMT_MASTER", "spark://host:7077")
    monkeypatch.setenv("SPARK_REMOTE", "sc://other")
    choice = choose_runner(None, (), None)
    assert choice.cluster == "spark://host:7077"
    assert runners.is_none("none[4]")
    assert not runners.is_none("nonesuch")


def test_a_user_without_a_home_directory_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with any user id."""

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", none)
    assert default_master() is None
    Path("ggfmt.toml").write_text('master = "none"\n')
    assert default_master() == Default("none", "ggfmt.toml")


@pytest.mark.parametrize("master", ["NONE", " none ", "None[2]"])
def test_case_and_blanks_of_none_do_not_matter(master: str) -> None:
    assert isinstance(choose_runner(master, (), None).start, WithoutSpark)


@pytest.mark.parametrize("master", ["none[00]", "none[\u0663]"])
def test_a_number_of_processes_is_at_least_one(master: str) -> None:
    with pytest.raises(UsageError, match="GG504"):
        choose_runner(master, (), None)
