"""What is installed: the linter's hook has all that a check needs and nothing more, and the metadata is whole."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zipfile
from importlib.metadata import requires
from itertools import islice
from pathlib import Path

import release
from packaging.requirements import Requirement
from packaging.version import Version
from places import ROOT
from wheels import build_wheel, copy_project

from ggfmt import docs
from ggfmt.spark.workers import NEEDED
from ggfmt.version import VERSION

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
# What a check imports, of all that ggfmt depends on.
OF_A_CHECK = {"javaproperties", "rich", "typer"}
ON_OLDER_PYTHONS = {"typing-extensions"}


def name_of(requirement: Requirement) -> str:
    return re.sub(r"[-_.]+", "-", requirement.name).lower()


def needed(name: str, found: set[str]) -> set[str]:
    """A package and all that it requires."""
    if name not in found:
        found.add(name)
        for requirement in map(Requirement, requires(name) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed(name_of(requirement), found)
    return found


def test_the_hook_installs_what_a_check_needs() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    first, *listed = re.findall(r"^    - (\S+)$", text, re.MULTILINE)
    assert first == "--no-deps"
    names = {name_of(Requirement(line)) for line in listed}
    closure: set[str] = set()
    for name in OF_A_CHECK:
        needed(name, closure)
    assert closure <= names
    assert names - closure <= ON_OLDER_PYTHONS
    assert f'    "{next(item for item in listed if item.startswith("typer"))}",' in PYPROJECT


def test_a_check_imports_nothing_else() -> None:
    """Of what ggfmt depends on besides."""
    own = {name_of(item) for item in map(Requirement, requires("ggfmt") or []) if item.marker is None}
    code = "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in sorted(own - OF_A_CHECK))
    code += (
        f"import ggfmt; sys.exit(ggfmt.main(['validate-config', {str(ROOT / 'samples' / 'mistakes.properties')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "GG103" in done.stdout


def test_workers_need_the_arrow_that_is_installed_here() -> None:
    assert f'"{NEEDED[0]}"' in PYPROJECT


def fits_changelog(version: str, text: str) -> bool:
    """Whether a version is that of the changes on top: those of a release, or those that are not released."""
    unreleased, last = islice(release.sections(text).items(), 2)
    if "\n" not in unreleased[1]:
        return version == last[0]
    return version.endswith(".dev0") and Version(version) > Version(last[0])


def test_the_version_is_that_of_the_changes_on_top() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert fits_changelog(VERSION, text)
    assert str(Version(VERSION)) == VERSION
    with_changes = "# Changelog\n\n## [Unreleased]\n\n- A change.\n\n## [0.2.0] - 2026-11-22\n\n- Another.\n"
    without = with_changes.replace("- A change.\n\n", "")
    tried = ["0.2.0.dev0", "0.2.0", "0.3.0.dev0", "0.3.0"]
    assert [version for version in tried if fits_changelog(version, with_changes)] == ["0.3.0.dev0"]
    assert [version for version in tried if fits_changelog(version, without)] == ["0.2.0"]


# The package page


def package_page(address: str | None) -> str:
    made: str = runpy.run_path(str(ROOT / "setup.py"))["package_page"](README, address)
    return made


def test_links_of_the_package_page_lead_to_pages() -> None:
    address = "https://example.org/ggfmt"
    targets = re.findall(r"\]\(([^)]+)\)", package_page(f"{address}/"))
    ours = [target.removeprefix(f"{address}/") for target in targets if target.startswith(f"{address}/")]
    assert len(ours) == len(re.findall(r"\]\(ggfmt/docs/[\w/-]+\.md", README)) > 20
    assert "![" not in package_page(address), "a picture of the repository is on no package page"
    assert [target for target in ours if not (ROOT / "ggfmt" / "docs" / target.partition("#")[0]).is_file()] == []
    assert [target for target in targets if not target.startswith("https://")] == []


def test_without_an_address_the_package_page_names_commands() -> None:
    page = package_page(None)
    assert [target for target in re.findall(r"\]\(([^)]+)\)", page) if not target.startswith("https://")] == []
    named = set(re.findall(r"\(`ggfmt docs ([\w-]+)`\)", page))
    assert named <= docs.pages().keys()
    assert len(named) > 20
    assert "First run (`ggfmt docs first-run`)" in page


def test_a_build_makes_the_package_page_and_removes_kernels_of_one_python(tmp_path: Path) -> None:
    """From what `.dockerignore` leaves in the image."""
    left = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    project = tmp_path / "project"
    copy_project(tmp_path / "whole")
    project.mkdir()
    for name in left:
        (tmp_path / "whole" / name).rename(project / name)
    old = project / "ggfmt" / "kernels" / "_native.cpython-311-x86_64-linux-gnu.so"
    old.touch()
    settings = (project / "pyproject.toml").read_text(encoding="utf-8")
    urls = '[project.urls]\nDocumentation = "https://example.org/ggfmt"\n\n[project.scripts]\n'
    (project / "pyproject.toml").write_text(settings.replace("[project.scripts]\n", urls), encoding="utf-8")
    with zipfile.ZipFile(build_wheel(project, tmp_path, CC="false")) as archive:
        metadata = archive.read(f"ggfmt-{VERSION}.dist-info/METADATA").decode()
    assert metadata.partition("\n\n")[2] == package_page("https://example.org/ggfmt")
    assert "\nDescription-Content-Type: text/markdown" in metadata
    assert not old.exists()
