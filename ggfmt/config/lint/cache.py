"""The results of earlier checks, so that a large tree is checked fast if few of its files have changed.

`$XDG_CACHE_HOME/ggfmt/lint.json`, or `~/.cache/ggfmt/lint.json`, has the findings by a digest of the content, the name,
the rules and ggfmt itself. A cache that cannot be read or written is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ggfmt.config.lint.reading import CheckedFile, Rules, check_file, is_parameter_file
from ggfmt.config.lint.releases import ReleaseFinding
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Rewrite, Span

_MAX_FILES = 20_000
_OF_MACHINE = b"schemadirectory"  # whether the directory exists is asked again


class LintCache:
    """`check_file` with a memory. `version`: that of ggfmt."""

    def __init__(self, version: str) -> None:
        self._path = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "ggfmt", "lint.json")
        self._known: dict[str, Any] = {}
        self._used: dict[str, Any] = {}
        self._stamp = f"{version} {_latest_change()}"
        with suppress(OSError, ValueError):
            known = json.loads(self._path.read_bytes())
            self._known = known if isinstance(known, dict) else {}

    def check(self, content: bytes, file: str, rules: Rules, settings: Sequence[str]) -> CheckedFile:
        if is_parameter_file(file) or (rules.machine and _OF_MACHINE in content.lower()):
            return check_file(content, file, rules, settings)
        key = hashlib.blake2b(repr((self._stamp, content, file, rules, settings)).encode(), digest_size=20).hexdigest()
        with suppress(LookupError, TypeError, ValueError):
            found = _unpacked(self._known[key])
            self._used[key] = self._known[key]
            return found
        found = check_file(content, file, rules, settings)
        self._used[key] = _packed(found)
        return found

    def save(self) -> None:
        """Write the results of this check, and the latest others."""
        if not self._used.keys() - self._known.keys():
            return
        others = {key: value for key, value in self._known.items() if key not in self._used}
        kept = dict([*others.items(), *self._used.items()][-_MAX_FILES:])
        temporary = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self._path.parent)  # its owner alone may read it
            with open(descriptor, "w", encoding="ascii") as stream:
                json.dump(kept, stream)
            os.replace(temporary, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary or "")


def _latest_change() -> int:
    """Return when a file of ggfmt changed last: a checkout has the same version before and after."""
    folders = os.walk(Path(__file__).parents[2])
    paths = (os.path.join(folder, name) for folder, _, names in folders for name in names if not name.endswith(".pyc"))
    return max(os.stat(path).st_mtime_ns for path in paths)


def _packed(found: CheckedFile) -> list[Any]:
    release = found.release
    return [
        None if release is None else [release.release, release.reason, release.given],
        [
            [
                *(item.code, item.message, item.help, item.fix, item.level and item.level.value),
                [item.span.file, item.span.line, item.span.column, item.span.length, item.span.source],
                item.rewrite and [item.rewrite.line, item.rewrite.old, item.rewrite.new],
            ]
            for item in found.findings
        ],
    ]


def _unpacked(packed: list[Any]) -> CheckedFile:
    """Raises: LookupError, TypeError, ValueError for another form."""
    release, findings = packed
    return CheckedFile(
        tuple(
            Diagnostic(
                code,
                message,
                Span(*place),
                help,
                fix,
                None if rewrite is None else Rewrite(rewrite[0], tuple(rewrite[1]), tuple(rewrite[2])),
                None if level is None else Severity(level),
            )
            for code, message, help, fix, level, place, rewrite in findings
        ),
        None if release is None else ReleaseFinding(*release),
    )
