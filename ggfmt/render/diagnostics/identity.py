"""What a finding is about, whatever line it is in: for names that stay when lines move, and to fold what is alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible

_QUOTED = re.compile(r"`([^`]+)`")
_LINE = re.compile(r"\bline [0-9]+")
_BELOW_HANDLER = re.compile(r"gg\.handler\.[^.]+\.(?=.)")
_LEAST_FOLDED = 3
_MOST_LINES = 5


def names(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """A name for each finding of a file: its code and what it is about, with a number from the second such one on."""
    seen: Counter[str] = Counter()
    for finding in findings:
        name = " ".join(filter(None, (finding.code, visible(_subject(finding)))))
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def folded(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings, with one in place of three or more of a file that are alike but for the property.

    They are of one code and of one handler, and say the same; the one that is left tells of the lines of the others.
    """
    alike: dict[object, list[Diagnostic]] = {}
    for finding in findings:
        alike.setdefault(_kind(finding), []).append(finding)
    left = []
    for finding in findings:
        same = alike[_kind(finding)]
        if len(same) < _LEAST_FOLDED:
            left.append(finding)
        elif finding is same[0]:
            left.append(replace(finding, message=f"{finding.message}, and {_more(same[1:])}"))
    return left


def _subject(finding: Diagnostic) -> str:
    match = _QUOTED.search(finding.message)
    return match[1] if match else ""


def _kind(finding: Diagnostic) -> object:
    subject = _subject(finding)
    handler = _BELOW_HANDLER.match(subject)
    names = filter(None, (subject, subject[handler.end() :] if handler else None))
    message, help = _LINE.sub("", finding.message), finding.help or ""
    for name in names:
        message, help = message.replace(f"`{name}`", "``"), help.replace(f"{name}`", "`")
    return finding.span.file, finding.code, handler and handler[0], message, help


def _more(findings: Sequence[Diagnostic]) -> str:
    lines = [str(finding.span.line) for finding in findings if finding.span.line is not None]
    shown = lines[:_MOST_LINES]
    if not shown:
        return f"{len(findings)} more"
    rest = "..." if len(lines) > len(shown) else ""
    return f"{len(findings)} more in line{'s' * (len(lines) > 1)} {', '.join(shown)}{rest}"
