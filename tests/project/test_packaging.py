"""What is installed: the linter's hook has all that a check needs and nothing more, and the metadata is whole."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires

from packaging.requirements import Requirement
from places import ROOT

from ggfmt.spark.workers import NEEDED
from ggfmt.version import VERSION

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


def test_the_version_has_a_section_among_the_changes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
