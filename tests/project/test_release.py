"""What `tests/tools/release.py` refuses to release, and what it compares."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import make_site
import pytest
import release
from places import ROOT

from ggfmt.version import VERSION

CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n- A change.\n\n## [1.1.0] - 2026-01-01\n\n- B.\n"
)
FIRST, SECOND = "3.10", "3.11"


def test_each_release_can_be_read() -> None:
    sections = release.sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert {"Unreleased", "0.3.0", "0.2.0"} <= sections.keys()
    assert {
        name: lines for name, text in sections.items() if (lines := len(text.splitlines())) > release.MAX_LINES
    } == {}


def test_a_whole_release_is_not_refused() -> None:
    longest = CHANGELOG.replace("- A change.", "\n".join(["- A change."] * (release.MAX_LINES - 2)))
    assert release.refusals("1.2.0", CHANGELOG, "", "v1.1.0\n") == []
    assert release.refusals("1.2.0", longest, "", "v1.2.0.1\n") == []


@pytest.mark.parametrize(
    ("version", "changelog", "changed", "tags", "missing", "expected"),
    [
        ("1.2.0", CHANGELOG, " M a.py\n?? b.py\n", "", [], "changes that are in no commit:\n M a.py\n?? b.py\n"),
        ("1.3.0.dev0", CHANGELOG, "", "", [], "CHANGELOG.md has no section `## [1.3.0.dev0] - DATE`"),
        ("1.2", CHANGELOG, "", "", [], "CHANGELOG.md has no section `## [1.2] - DATE`"),
        (
            "1.2.0",
            CHANGELOG.replace(" - 2026-01-31", ""),
            "",
            "",
            [],
            "CHANGELOG.md has no section `## [1.2.0] - DATE`",
        ),
        ("1.2.0", CHANGELOG.replace("- A", "- A\n" * 60), "", "", [], "1.2.0 in CHANGELOG.md has 63 lines; 60 are the"),
        ("1.2.0", CHANGELOG.replace("\n\n## [1.2", "\n\n- C.\n\n## [1.2"), "", "", [], "changes in the section `[Unr"),
        ("1.1.0", CHANGELOG, "", "v1.0.0\nv1.1.0\n", [], "the tag v1.1.0 exists"),
        ("1.2.0", CHANGELOG, "", "", ["twine"], "twine is missing: pip install -e '.[release]'"),
    ],
)
def test_what_is_no_release_is_refused(
    version: str, changelog: str, changed: str, tags: str, missing: list[str], expected: str
) -> None:
    (found,) = release.refusals(version, changelog, changed, tags, missing)
    assert expected in found


@pytest.mark.process
def test_the_command_asks_git_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a repository with one commit: it is released, and no longer with a tag, with changes, or where files are."""
    project, target = tmp_path / "project", tmp_path / "dist"
    project.mkdir()
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace("1.2.0", VERSION), encoding="utf-8")
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *command], check=True)
    released: list[Path] = []
    monkeypatch.setattr(release, "ROOT", project)
    monkeypatch.setattr(release, "TOOLS", ())
    monkeypatch.setattr(release, "call", lambda *words: call(*words, cwd=project))
    monkeypatch.setattr(release, "release", released.append)
    assert release.main([str(target)]) == 0
    assert released == [target]
    subprocess.run([*git, "tag", f"v{VERSION}"], check=True)
    (project / "new.py").touch()
    target.mkdir()
    (target / "old.whl").touch()
    assert release.main([str(target)]) == 1
    assert capsys.readouterr().err == (
        f"no release of {VERSION}: the tree has changes that are in no commit:\n?? new.py\n\n"
        f"the tag v{VERSION} exists: {VERSION} is released\n{target} has files\n"
    )
    assert released == [target]

    def fail(_: Path) -> None:
        raise make_site.SiteError("links that lead nowhere")

    monkeypatch.setattr(release, "release", fail)
    assert release.main([str(tmp_path / "none")]) == 1


call = release.call


@pytest.mark.process
def test_a_program_that_fails_ends_a_release_with_its_output() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    with pytest.raises(release.ReleaseError, match=r"ended with 3:\nout\nerr\n"):
        call(sys.executable, "-c", code)
    assert call(sys.executable, "-c", code, codes=(0, 3)) == "out\n"
    with pytest.raises(release.ReleaseError, match="no-such-program"):
        call("no-such-program")


@pytest.mark.parametrize(
    ("report", "unexpected"),
    [
        ({"non_abi3_symbols": [], "future_abi3_objects": {"PyBuffer_Release": "3.11"}}, None),
        (
            {"non_abi3_symbols": [], "future_abi3_objects": {"PyBuffer_Release": "3.11", "PyType_GetName": "3.11"}},
            "GetName",
        ),
        ({"non_abi3_symbols": ["_PyLong_Sign"], "future_abi3_objects": {}}, "_PyLong_Sign"),
    ],
)
def test_kernels_use_what_all_pythons_have(
    report: dict[str, object], unexpected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what python.h declares itself."""
    text = json.dumps({"specs": {"a.whl": {"wheel": [{"name": "_native.abi3.so", "result": report}]}}})
    monkeypatch.setattr(release, "tool", lambda *_, **__: text)
    if unexpected is None:
        release.check_kernels(Path("a.whl"))
        return
    with pytest.raises(release.ReleaseError, match=rf"it uses \w*{unexpected}$"):
        release.check_kernels(Path("a.whl"))


@pytest.mark.parametrize("differing", [None, (FIRST, "off"), (SECOND, "on"), (sys.executable, "off")])
def test_packages_make_the_same_everywhere(
    differing: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    tried = []

    def convert(python: Path, _: Path, kernels: str) -> dict[str, str]:
        tried.append((str(python), kernels))
        return {"a": "1", "b": "2" if (str(python), kernels) != differing else "3"}

    monkeypatch.setattr(release, "PYTHONS", [FIRST, SECOND, "3.99"])
    monkeypatch.setattr(release, "pythons", lambda: {FIRST: FIRST, SECOND: SECOND})
    monkeypatch.setattr(release, "install", lambda python, package, environment: Path(python))
    monkeypatch.setattr(release, "convert_samples", convert)
    if differing is not None:
        with pytest.raises(
            release.ReleaseError, match=rf"\({differing[0]}\), kernels {differing[1]}: other bytes in b$"
        ):
            release.try_packages(Path("a.whl"), Path("a.tar.gz"), tmp_path)
        return
    release.try_packages(Path("a.whl"), Path("a.tar.gz"), tmp_path)
    assert tried == [(python, kernels) for python in (FIRST, SECOND, sys.executable) for kernels in ("on", "off")]
    assert "not tried: Python 3.99" in capsys.readouterr().out


@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("cyclonedx_py") is None, reason="needs the extra `release`")
def test_the_sbom_has_what_ggfmt_needs(tmp_path: Path) -> None:
    release.write_sbom(Path(sys.prefix), tmp_path / "sbom.json")
    found = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    assert found["metadata"]["component"].items() >= {"name": "ggfmt", "version": VERSION}.items()
    (needed,) = (entry["dependsOn"] for entry in found["dependencies"] if entry["ref"] == "root-component")
    assert {"lxml", "msgspec", "pyarrow"} <= {name.partition("==")[0] for name in needed}


@pytest.mark.process
def test_the_samples_can_be_converted(tmp_path: Path) -> None:
    """With the commands of a release, in this environment."""
    made = {
        kernels: release.convert_samples(Path(sys.executable), tmp_path / "a", kernels) for kernels in ("on", "off")
    }
    assert made["on"] == made["off"]
    folders = {name.partition("/")[0] for name in made["on"]}
    assert folders == {"avro", "text", "json", "rows", "samples"}
    assert release.pythons()[f"3.{sys.version_info.minor}"] == sys.executable
