"""Diagnostics for people and programs: text in color or plain, one line each, JSON, and patches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from typing import Any, TextIO

from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.render.terminal import encodable, text_width, write_text
from ggfmt.render.wrapping import wrap_words

_WIDTH = 120
_MIN_WIDTH = 20
_TAB = "    "
_CUT = "..."
_INDENT = "    "  # of the further lines of a message

STYLES = {
    "place": "bold",
    Severity.ERROR.value: "bold red",
    Severity.WARNING.value: "bold yellow",
    Severity.NOTE.value: "bold cyan",
    "gutter": "blue",
    "help": "cyan",
}

Piece = tuple[str, str]  # text, and the name of its style


def plain(pieces: Iterable[Piece]) -> str:
    return "".join(text for text, _ in pieces)


def print_styled(
    pieces: Callable[[int | None], Iterable[Piece]], styles: Mapping[str, str], stream: TextIO, is_data: bool = False
) -> None:
    """Write pieces to a stream: with styles, and for its number of columns, only if it is a terminal."""
    if not stream.isatty():
        write_text(plain(pieces(None)), stream, is_data)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream)
    shown = ((encodable(piece, stream, is_data), styles.get(style, "")) for piece, style in pieces(console.width))
    console.print(Text.assemble(*shown), soft_wrap=True, end="")


def diagnostics_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the findings as plain text, each in lines of its own; every line ends with a line break."""
    return plain(piece for diagnostic in diagnostics for piece in diagnostic_pieces(diagnostic))


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> str:
    return json.dumps([as_dict(diagnostic) for diagnostic in diagnostics], indent=2) + "\n"


def page_lines(diagnostics: Iterable[Diagnostic]) -> str:
    return "".join(f"page: ggfmt docs {topic}\n" for topic in dict.fromkeys(it.page for it in diagnostics))


def print_diagnostics(diagnostics: Iterable[Diagnostic], stream: TextIO, with_pages: bool = True) -> None:
    """Write findings, and the pages that lead on from them; in color and cut to its width on a terminal."""
    diagnostics = list(diagnostics)

    def pieces(columns: int | None) -> Iterator[Piece]:
        for diagnostic in diagnostics:
            yield from diagnostic_pieces(diagnostic, columns)
        if with_pages:
            yield page_lines(diagnostics), "message"

    print_styled(pieces, STYLES, stream)


def count_findings(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the numbers of findings about files, and then of the notes of what ggfmt does not do."""
    severities = ["" if is_not_done(finding) else finding.severity for finding in diagnostics]
    not_done = severities.count("")
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    text = ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts if count) or "no findings"
    return text + f"; {not_done} note{'s' * (not_done > 1)} of what ggfmt does not do" * bool(not_done)


def is_not_done(finding: Diagnostic) -> bool:
    return finding.severity is Severity.NOTE and CODES[finding.code].of_run


def diagnostic_pieces(diagnostic: Diagnostic, columns: int | None = None) -> Iterator[Piece]:
    span = diagnostic.span
    place = f"{visible(str(span))}: ".removeprefix(": ")
    severity = diagnostic.severity.value
    head = f"{severity}[{diagnostic.code}]"
    yield place, "place"
    yield head, severity
    yield f" {_broken(diagnostic.message, text_width(place + head) + 1, columns)}\n", "message"
    if span.source is not None:
        number = "" if span.line is None else str(span.line)
        yield f"  {number} | ", "gutter"
        width = _WIDTH
        if columns is not None:
            width = min(width, max(columns - len(f"  {number} | ") - 2 * len(_CUT), _MIN_WIDTH))
        if span.column is None:
            yield f"{_excerpt(span.source, 0, 1, width)[0]}\n", "source"
        else:
            source, blanks, carets = _excerpt(span.source, span.column - 1, span.length, width)
            yield f"{source}\n", "source"
            yield f"  {' ' * len(number)} | ", "gutter"
            yield f"{' ' * blanks}{'^' * carets}\n", severity
    if diagnostic.help:
        yield "  help: ", "help"
        yield f"{_broken(diagnostic.help, len('  help: '), columns)}\n", "message"


def _broken(text: str, start: int, columns: int | None) -> str:
    """Break a text that starts in a column of the terminal between words."""
    if columns is None:
        return visible(text)
    return f"\n{_INDENT}".join(wrap_words(visible(text), columns - start, columns - len(_INDENT)))


def _excerpt(source: str, start: int, length: int, width: int) -> tuple[str, int, int]:
    """Return the part of a source line to show, and the numbers of columns before its carets, and of carets."""
    cells = [_TAB if character == "\t" else visible(character) for character in source]
    start = min(start, len(cells))
    end = max(min(start + length, len(cells)), start)
    columns = [0, *accumulate(map(text_width, cells))]
    first, last = 0, len(cells)
    if columns[-1] > width:
        # If the left is cut, some text before the carets is shown; on the right, as much as fits.
        while columns[start] - columns[first] > width // 2 and columns[-1] - columns[first] > width:
            first += 1
        while columns[last] - columns[first] > width:
            last -= 1
    end = min(end, last)
    left = _CUT if first else ""
    shown = left + "".join(cells[first:last]) + (_CUT if last < len(cells) else "")
    return shown.rstrip(), len(left) + columns[start] - columns[first], max(columns[end] - columns[start], 1)


def as_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    span = diagnostic.span
    place = {item.name: getattr(span, item.name) for item in fields(Span) if getattr(span, item.name) is not None}
    if span.column is None:
        place.pop("length")
    described = {"code": diagnostic.code, "severity": diagnostic.severity.value, "message": diagnostic.message}
    if diagnostic.help:
        described["help"] = diagnostic.help
    if diagnostic.fix is not None:
        described["fix"] = diagnostic.fix
    whole: dict[str, Any] = escape_surrogates({**described, "page": diagnostic.page, **place})
    return whole


def escape_surrogates(value: Any) -> Any:
    """Return a JSON value with escapes for halves of surrogate pairs, which many JSON readers refuse."""
    if isinstance(value, dict):
        return {key: escape_surrogates(member) for key, member in value.items()}
    if isinstance(value, list):
        return [escape_surrogates(member) for member in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


# The subject of a finding, without its line: for names that stay when lines move, and to group similar findings.

_QUOTED = lazy_regex(r"`([^`]+)`")
_LINE = lazy_regex(r"\bline [0-9]+")
_BELOW_HANDLER = lazy_regex(r"gg\.handler\.[^.]+\.(?=.)")
_MIN_FOLDED = 3
_MAX_LINES = 5


def finding_names(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield a name for each finding: its code and subject, with a number from the second equal one on."""
    seen: Counter[str] = Counter()
    for finding in findings:
        name = " ".join(filter(None, (finding.code, visible(_subject(finding)))))
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def fold_similar(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings, with one in place of three or more that differ only in the property."""
    alike: dict[object, list[Diagnostic]] = {}
    for finding in findings:
        alike.setdefault(_kind(finding), []).append(finding)
    left = []
    for finding in findings:
        same = alike[_kind(finding)]
        if len(same) < _MIN_FOLDED:
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
    shown = lines[:_MAX_LINES]
    if not shown:
        return f"{len(findings)} more"
    rest = "..." if len(lines) > len(shown) else ""
    return f"{len(findings)} more in line{'s' * (len(lines) > 1)} {', '.join(shown)}{rest}"


# Diagnostics in one line each, `file:line:column: CODE message`, for editors and scripts.


def diagnostics_concise(diagnostics: Iterable[Diagnostic]) -> str:
    placed = ((f"{visible(str(finding.span))}: ".removeprefix(": "), finding) for finding in diagnostics)
    return "".join(f"{place}{finding.code} {visible(finding.message)}\n" for place, finding in placed)


# A patch: unchanged for a pipe or a file, in color on a terminal.

_PATCH_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan", "-": "red", "+": "green"}


def print_patch(patch: bytes, stream: TextIO) -> None:
    """Write a patch to a stream; on a terminal in color, and with escapes for characters that do not print."""
    if not stream.isatty():
        stream.flush()
        stream.buffer.write(patch)
        return
    lines = patch.decode("utf-8", "backslashreplace").split("\n")[:-1]
    starts = (next((start for start in _PATCH_STYLES if line.startswith(start)), "") for line in lines)
    shown = ("".join(part if part == "\t" else visible(part) for part in line) + "\n" for line in lines)
    print_styled(lambda _: zip(shown, starts, strict=True), _PATCH_STYLES, stream)
