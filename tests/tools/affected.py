"""Runs the tests that a change may break: those that execute a changed line of ggfmt, and changed tests.

usage: python tests/tools/affected.py [--since COMMIT] [--seconds S] [--list] [OPTION OF PYTEST ...]

What differs from COMMIT (HEAD) has changed, files that git does not know included. The record of `mutation.py --record`
says which quick tests execute a line. Of those run as many as take S seconds of processor time (30), some of each file.
Changed test modules, and those that import a changed module of `tests/support`, run whole. So do the tests beside a
module that the record does not have; without a record that is every module.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from mutation import RECORD, Record
from places import ROOT

SECONDS = 30.0
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def changed(since: str) -> set[str]:
    """The paths of all files that differ from a commit."""
    untracked = git("ls-files", "--others", "--exclude-standard")
    return {*git("diff", "--name-only", "--relative", since).splitlines(), *untracked.splitlines()}


def old_lines(diff: str) -> set[int]:
    """The numbers, before a change, of the lines that it replaces, and of those around what it inserts."""
    found: set[int] = set()
    for first, count in _HUNK.findall(diff):
        start, length = int(first), int(count or 1)
        found |= set(range(start, start + length)) if length else {start, start + 1}
    return found


def test_modules() -> Iterator[str]:
    return (str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py")))


def whole_modules(paths: Iterable[str], recorded: Record | None) -> set[str]:
    """The test modules of which all tests run."""
    found: set[str] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        module = name.removesuffix(".py")
        if not name.endswith((".py", ".c", ".h")):
            continue
        if module.startswith("test_"):
            found.add(path)
        elif folder.startswith(("tests/support", "tests/tools")):
            imports = re.compile(rf"^ *(?:from|import) {module}\b", re.MULTILINE)
            found |= {test for test in test_modules() if imports.search((ROOT / test).read_text(encoding="utf-8"))}
        elif path.startswith("ggfmt/") and (recorded is None or path not in recorded.modules):
            beside = folder.replace("ggfmt", "tests", 1)
            found |= {test for test in test_modules() if test.rpartition("/")[0] == beside}
    return {path for path in found if (ROOT / path).exists()}


def executing(paths: Iterable[str], recorded: Record) -> set[str]:
    """The recorded tests that execute changed lines."""
    modules = [path for path in paths if path in recorded.modules]
    lines = {module: old_lines(git("diff", "-U0", recorded.commit, "--", module)) for module in modules}
    return set().union(*(recorded.executing_lines(module, own) for module, own in lines.items()))


def tests_of_change(since: str, seconds: float) -> list[str]:
    """The tests to run, and where they come from."""
    recorded = Record(RECORD) if (RECORD / "commit").exists() else None
    paths = changed(since)
    whole = whole_modules(paths, recorded)
    print(f"{len(paths)} files have changed")
    if recorded is None:
        print("there is no record of what tests execute: `python tests/tools/mutation.py --record` makes it")
        return sorted(whole)
    # Tests that have changed since they were recorded may have other names.
    modules = {test: test.partition("::")[0] for test in executing(paths, recorded)}
    whole |= whole_modules(changed(recorded.commit) & set(modules.values()), recorded)
    found = {test for test, module in modules.items() if (ROOT / module).exists() and module not in whole}
    chosen = recorded.spread(found, seconds)
    print(
        f"{len(whole)} modules of tests run whole, and {len(chosen)} of {len(found)} tests that execute changed lines"
    )
    return [*sorted(whole), *chosen]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="what to compare with (HEAD)")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="for tests by their lines (30)")
    parser.add_argument("--list", action="store_true", help="print the tests and run none")
    given, options = parser.parse_known_args()
    tests = tests_of_change(given.since, given.seconds)
    if given.list or not tests:
        print("\n".join(tests))
        return 0
    return subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
