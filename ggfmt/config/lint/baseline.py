"""A baseline: findings that are known, so that a check reports only new ones.

A JSON file has the codes and messages of each handler file, relative to the baseline, and how often each occurs. It has
no numbers of lines, so that other changes of a handler file do not matter.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.lazy import lazy_regex

Baseline = dict[str, dict[str, int]]
_LINE = lazy_regex(r"\bline [0-9]+")
_NEVER = ("GG100", "GG506")  # files that cannot be checked or written


def read_baseline(path: str) -> Baseline:
    """Return the known findings of each file. Raises: UsageError GG133."""
    help = f"make it with `--write-baseline {path}`"
    try:
        known = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UsageError("GG133", f"the baseline cannot be read: {error.strerror}", path, help) from None
    except ValueError:
        known = None
    files = known.values() if isinstance(known, dict) else [None]
    if not all(isinstance(counts, dict) and all(type(count) is int for count in counts.values()) for counts in files):
        raise UsageError("GG133", "the file is not a baseline", path, help)
    return known  # type: ignore[no-any-return]  # it was looked at


def write_baseline(path: str, found: Mapping[str, Sequence[Diagnostic]]) -> int:
    """Write the findings, and return their number. Raises: UsageError GG506."""
    counts = ((_name(file, path), Counter(map(_key, filter(_can_be_known, found[file])))) for file in found)
    known = {name: dict(sorted(number.items())) for name, number in sorted(counts, key=lambda item: item[0]) if number}
    try:
        Path(path).write_text(json.dumps(known, indent=2, ensure_ascii=True) + "\n", encoding="ascii")
    except OSError as error:
        raise UsageError("GG506", f"the baseline cannot be written: {error.strerror}", path) from None
    return sum(sum(number.values()) for number in known.values())


def new_findings(
    found: Mapping[str, Sequence[Diagnostic]], known: Baseline, path: str
) -> tuple[dict[str, Sequence[Diagnostic]], int]:
    """Return the findings that a baseline does not have, and how many of the checked files it has in vain."""
    new: dict[str, Sequence[Diagnostic]] = {}
    gone = 0
    for file, findings in found.items():
        left = Counter(known.get(_name(file, path), {}))
        new[file] = kept = []
        for finding in findings:
            if _can_be_known(finding) and left[_key(finding)] > 0:
                left[_key(finding)] -= 1
            else:
                kept.append(finding)
        gone += sum(left.values())
    return new, gone


def _can_be_known(finding: Diagnostic) -> bool:
    return finding.code not in _NEVER


def _key(finding: Diagnostic) -> str:
    return f"{finding.code} {_LINE.sub('line', finding.message)}"


def _name(file: str, path: str) -> str:
    return os.path.relpath(file, os.path.dirname(path) or os.curdir).replace(os.sep, "/")
