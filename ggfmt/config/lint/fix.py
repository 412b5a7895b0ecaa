"""Fixes of a handler file: applied to its text, written back to the file, or shown as a patch."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ggfmt.config.lint.files import relative_name
from ggfmt.config.lint.java_text import MARK
from ggfmt.config.lint.reading import ALL_RULES, Rules, decode_file, is_parameter_file, lint
from ggfmt.config.properties import DecodedText, Entry, decode, parse_content
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.lazy import lazy_regex

_NATURAL_LINE = lazy_regex(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_PLAIN_NAME = lazy_regex(rb"[ !#-\[\]-~]+")
_MAX_ROUNDS = 10


@dataclass(frozen=True)
class FixedFile:
    content: bytes = field(repr=False)
    keys: int
    lines: int
    findings: tuple[Diagnostic, ...]


def fix_file(
    content: bytes, file: str, rules: Rules = ALL_RULES, settings: Sequence[str] = (), unsafe: bool = False
) -> FixedFile:
    """Apply the fixes of a file until none is left, also those of findings that only the fixed file shows.

    `unsafe`: when no fix is left, rewrite lines too. All other bytes stay as they are, a missing last line end too.
    """
    findings = lint(content, file, rules, settings)
    keys: set[int] = set()
    rewritten = 0
    # A bound, in case two fixes undo each other.
    for _ in range(_MAX_ROUNDS):
        of_file = [finding for finding in findings if finding.span.file == file]
        decoded = decode_file(content, file)
        if decoded.mark + decoded.text.encode(decoded.encoding) != content:
            break  # the charset has several bytes for a text
        fixed, touched = apply_fixes(content, of_file, decoded)
        keys |= touched
        if fixed == content and unsafe:
            fixed, lines = apply_rewrites(content, of_file, decoded)
            rewritten += lines
        if fixed == content:
            break
        content, findings = fixed, lint(fixed, file, rules, settings)
    return FixedFile(content, len(keys), rewritten, findings)


def apply_fixes(
    content: bytes, findings: Iterable[Diagnostic], decoded: DecodedText | None = None
) -> tuple[bytes, set[int]]:
    """Return the bytes with the fixes of the findings applied, and the numbers of the fixed lines.

    A byte order mark that hides a key is removed. A fix is skipped if it overlaps an earlier one in its line, or if the
    text at its place differs, for example a masked secret.
    """
    text, encoding, mark = decoded or decode(content)
    findings = list(findings)
    lines = _NATURAL_LINE.findall(text)
    marked = {finding.span.line or 1 for finding in findings if finding.code == MARK}
    mark = b"" if marked else mark
    places: dict[int, set[tuple[int, int, str]]] = {}
    for finding in findings:
        span = finding.span
        if finding.fix is None or span.line is None or span.column is None or span.line > len(lines):
            continue
        start, end = span.column - 1, span.column - 1 + span.length
        if (span.source or "")[start:end] == lines[span.line - 1][start:end]:
            places.setdefault(span.line, set()).add((start, end, _encodable(finding.fix, encoding)))
    for number, wanted in places.items():
        for start, end, fix in reversed(_without_overlaps(wanted)):
            line = lines[number - 1]
            lines[number - 1] = line[:start] + fix + line[end:]
    return mark + "".join(lines).encode(encoding), set(places) | marked


def apply_rewrites(
    content: bytes, findings: Iterable[Diagnostic], decoded: DecodedText | None = None
) -> tuple[bytes, int]:
    """Return the bytes with lines rewritten, and the number of rewrites.

    The first rewrite of a line counts. One is skipped if the file does not have the lines that it replaces.
    """
    text, encoding, mark = decoded or decode(content)
    lines = _NATURAL_LINE.findall(text)
    end = next((line[len(line.rstrip("\r\n")) :] for line in lines), "") or "\n"
    taken: dict[int, int] = {}
    for rewrite in filter(None, (finding.rewrite for finding in findings)):
        first = rewrite.line - 1
        numbers = range(first, first + len(rewrite.old))
        there = tuple(line.rstrip("\r\n") for line in lines[first : numbers.stop])
        if there != rewrite.old or any(number in taken for number in numbers):
            continue
        taken |= dict.fromkeys(numbers, first)
        last = lines[numbers.stop - 1]
        new = [_encodable(line, encoding) + end for line in rewrite.new]
        if new:
            new[-1] = new[-1][: -len(end)] + last[len(last.rstrip("\r\n")) :]
        lines[first : numbers.stop] = ["".join(new), *("" for _ in numbers[1:])]
    return mark + "".join(lines).encode(encoding), len(set(taken.values()))


_NOT_BY_COMMENT = ("GG100", "GG105", MARK)  # they are of the whole file


def ignore_findings(content: bytes, file: str, findings: Iterable[Diagnostic]) -> bytes:
    """Return the file with a comment above each property that ignores its errors and warnings."""
    decoded = decode_file(content, file)
    if is_parameter_file(file) or decoded.mark + decoded.text.encode(decoded.encoding) != content:
        return content
    starts: dict[int, Entry] = {}
    for entry in parse_content(content, file).entries:
        starts |= dict.fromkeys(range(entry.line, entry.line + 1 + len(entry.continued)), entry)
    codes: dict[int, list[str]] = {}
    for finding in findings:
        place = starts.get(finding.span.line or 0) if finding.span.file == file else None
        if place is not None and finding.severity is not Severity.NOTE and finding.code not in _NOT_BY_COMMENT:
            codes.setdefault(place.line, []).append(finding.code)
    lines = _NATURAL_LINE.findall(decoded.text)
    end = next((line[len(line.rstrip("\r\n")) :] for line in lines), "") or "\n"
    for line, names in codes.items():
        blanks = lines[line - 1][: starts[line].column - 1]
        lines[line - 1] = f"{blanks}# ggfmt: ignore {', '.join(dict.fromkeys(names))}{end}{lines[line - 1]}"
    return decoded.mark + "".join(lines).encode(decoded.encoding)


def write_file(path: str, content: bytes) -> Diagnostic | None:
    """Replace the content of a file atomically. A link stays a link, and the mode stays. Return GG506 if it fails."""
    import tempfile

    real = os.path.realpath(path)
    temporary = None
    try:
        if not os.access(real, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        status = os.stat(real)
        descriptor, temporary = tempfile.mkstemp(prefix=".ggfmt-", dir=os.path.dirname(real))
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        for owner in ((-1, status.st_gid), (status.st_uid, -1)):
            # Only root may give a file to another owner; the mode matters more than the owner.
            with suppress(OSError):
                os.chown(temporary, *owner)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.replace(temporary, real)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        return Diagnostic("GG506", f"the file cannot be written: {error.strerror}", path)
    return None


def patch(name: str, before: bytes, after: bytes) -> bytes:
    """Return the change of a file as a unified diff, for `patch -p1` in the working directory; empty without one."""
    from difflib import diff_bytes, unified_diff

    path = os.fsencode(relative_name(name) or os.path.abspath(name).lstrip(os.sep))
    files = _header_name(b"a/" + path), _header_name(b"b/" + path)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in diff_bytes(unified_diff, _lines(before), _lines(after), *files, b"", b"", 3, b"\n")
    )


def _without_overlaps(places: Iterable[tuple[int, int, str]]) -> Sequence[tuple[int, int, str]]:
    kept: list[tuple[int, int, str]] = []
    for place in sorted(places):
        if not kept or kept[-1][1] <= place[0]:
            kept.append(place)
    return kept


def _encodable(fix: str, encoding: str) -> str:
    """Return the fix with Java escapes for characters that the encoding of its file lacks."""
    try:
        fix.encode(encoding)
    except UnicodeEncodeError:
        units = fix.encode("utf-16-be", "surrogatepass")
        halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
        return "".join(half if ord(half) < 0x80 else f"\\u{ord(half):04x}" for half in halves)
    return fix


def _lines(content: bytes) -> list[bytes]:
    """Return the lines as `patch` sees them: each ends with a line feed, except perhaps the last one."""
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", content)


def _header_name(path: bytes) -> bytes:
    """Return a path for the header of a diff: quoted if it has special characters, ended by a tab if it has blanks."""
    if _PLAIN_NAME.fullmatch(path):
        return path + b"\t" if b" " in path else path
    escapes = {ord('"'): b'\\"', ord("\\"): b"\\\\"}
    quoted = (escapes.get(byte) or (b"%c" % byte if 0x20 <= byte < 0x7F else b"\\%03o" % byte) for byte in path)
    return b'"' + b"".join(quoted) + b'"'
