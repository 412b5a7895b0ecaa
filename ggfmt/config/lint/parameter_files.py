"""The checks of a Replicat's parameter file, and of the pair that it makes with its handler file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, zip_longest

from ggfmt.config.comments import Ignores
from ggfmt.config.lint.reading import Rules, has_properties, placed
from ggfmt.config.properties import Comment
from ggfmt.dataclasses import replace
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, GgfmtError, Rewrite, Span, suggestion
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import TableDef, join_name
from ggfmt.replicat.parse import find_definitions, parse_content, properties_file
from ggfmt.replicat.statements import (
    ColumnReference,
    Expression,
    GivenParameter,
    MapStatement,
    ObjectName,
    Operation,
    ReplicatFile,
    WrittenName,
    parts_of,
)
from ggfmt.replicat.tokens import decode

_OF_REPLICAT = lazy_regex(r"^[ \t]*(?:REPLICAT[ \t]+[^\s=]|TARGETDB[ \t]|SPECIALRUN\b)", re.IGNORECASE | re.MULTILINE)
_OF_OTHERS = lazy_regex(r"^[ \t]*(?:EXTRACT[ \t]+[^\s=]|SOURCEISTABLE\b|PORT[ \t]+\d)", re.IGNORECASE | re.MULTILINE)
_COMMENT = lazy_regex(r"[ \t]*(?=--)")

_MAX_GROUP = 8  # characters
_MAX_WIDE = 50  # MAPs with wildcards that others are compared with
_MAX_PAIRS = 100_000  # of MAPs and exclusions
_MAX_MATCHES = 1_000_000  # of tables with wildcards
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_FLAT = ("+", "*", "AND", "OR")  # several of one kind need no parentheses
_ERROR, _NOTE = Severity.ERROR, Severity.NOTE


def is_of_replicat(content: bytes) -> bool:
    """Return whether a parameter file is that of a Replicat, and not of an Extract, a Manager, or an included one."""
    return _OF_REPLICAT.search(decode(content).text) is not None and not is_of_others(content)


def is_of_others(content: bytes) -> bool:
    return _OF_OTHERS.search(decode(content).text) is not None


def check_parameter_file(content: bytes, file: str, rules: Rules) -> tuple[Diagnostic, ...]:
    """Return every finding of a parameter file, without those that its comments ignore."""
    replicat, findings = parse_content(content, file)
    broken = any(finding.code in ("GG151", "GG152") for finding in findings)
    found = [*findings, *_missing_definitions(replicat, findings), *_findings(replicat, broken)]
    ignores = Ignores((file, comment) for comment in _comments(decode(content).text, replicat, file))
    kept = [_of_file(finding, file) for finding in found if not ignores.silences(finding)]
    kept += ignores.findings(rules.is_enabled)
    enabled = [rules.judged(placed(finding, file)) for finding in kept if rules.is_enabled(finding.code)]
    return tuple(sorted(dict.fromkeys(enabled), key=lambda finding: _place(finding, file)))


def _of_file(finding: Diagnostic, file: str) -> Diagnostic:
    """Return the finding; without its fixes if it is in an included file."""
    return finding if finding.span.file == file else replace(finding, fix=None, rewrite=None)


def _place(finding: Diagnostic, file: str) -> tuple[str, int, int]:
    span = finding.span
    return "" if span.file == file else span.file or "", span.line or 0, span.column or 0


def _comments(text: str, replicat: ReplicatFile, file: str) -> list[Comment]:
    """Return the comments that have a line of their own, each with the lines of the statement below."""
    lines = re.split(r"\r\n|[\r\n]", text)
    spans = [known.span for known in replicat.maps] + [known.span for known in replicat.parameters]
    starts = sorted({span.line or 0 for span in spans if span.file == file})
    found, first = list[Comment](), 0  # the line of the statement below
    for number, line in reversed([*enumerate(lines, 1)]):
        if mark := _COMMENT.match(line):
            at = bisect_right(starts, first)
            end = starts[at] if at < len(starts) else len(lines) + 1
            found.append(Comment(number, mark.end() + 1, line[mark.end() :], range(first, end if first else 0)))
        elif line.strip(" \t"):
            first = number
    return found[::-1]


def _findings(replicat: ReplicatFile, broken: bool) -> Iterator[Diagnostic]:
    """Yield what only the whole file shows. `broken`: a MAP may be one that could not be read."""
    yield from _process(replicat)
    if not replicat.maps and not broken:
        message = "the file has no MAP: no table reaches the handlers"
        yield Diagnostic("GG153", message, Span(replicat.file), "add `MAP source, TARGET target;`")
    yield from _pair(replicat)
    yield from _hidden(replicat)
    yield from _overlapping(replicat.maps)
    few = len(replicat.maps) * len(replicat.excludes) <= _MAX_PAIRS
    for statement in replicat.maps:
        yield from _names(statement)
        yield from _excluded(statement, replicat.excludes if few else ())
        yield from _columns(statement)
    yield from _unknown_columns(replicat)


def _process(replicat: ReplicatFile) -> Iterator[Diagnostic]:
    given = {known.name: known.span for known in replicat.parameters}
    group = replicat.group or ""
    if len(group) > _MAX_GROUP:
        message = f"the name of the group has {len(group)} characters, and GoldenGate takes {_MAX_GROUP}"
        yield Diagnostic("GG154", message, given["REPLICAT"], "choose a shorter name, also for the file")
    if "REPLICAT" not in given and "SPECIALRUN" not in given:
        help = "add `REPLICAT group` as the first parameter"
        yield Diagnostic("GG154", "REPLICAT is missing", Span(replicat.file), help)
    if "DDL" in given and "GETTRUNCATES" in given:
        message = "GETTRUNCATES cannot be used with DDL"
        yield Diagnostic("GG154", message, given["GETTRUNCATES"], "remove one of them")


def _pair(replicat: ReplicatFile) -> Iterator[Diagnostic]:
    target = next((known for known in replicat.parameters[::-1] if known.name == "TARGETDB"), None)
    if target is None or "LIBFILE" not in target.text.upper():
        message = "no TARGETDB names the handlers"
        help = "for a Replicat of GoldenGate for Big Data, add `TARGETDB LIBFILE libggjava.so SET property=FILE`"
        yield Diagnostic("GG154", message, target.span if target else Span(replicat.file), help, level=_NOTE)
        return
    library = re.search(r"LIBFILE\s+(\S+)", target.text, re.IGNORECASE)
    paths = [given.text for given in (*replicat.source_definitions, *replicat.target_definitions)]
    paths.append(replicat.properties or "")
    if library and library[1].lower().endswith(".dll") and any(path.startswith("/") for path in paths):
        message = f"`{visible(library[1])}` is a library of Windows, and paths of the file are of another system"
        yield Diagnostic("GG154", message, target.span, "write `libggjava.so`")
    found = properties_file(replicat)
    if isinstance(found, Diagnostic):
        yield found
        return
    try:
        content = found.read_bytes()
    except OSError as error:
        message = f"the properties file `{visible(str(found))}` cannot be read: {error.strerror}"
        yield Diagnostic("GG154", message, target.span)
        return
    if not has_properties(content):
        message = f"the properties file `{visible(str(found))}` has no properties of GoldenGate"
        yield Diagnostic("GG154", message, target.span, "name the file that has `gg.handlerlist`")


def _missing_definitions(replicat: ReplicatFile, findings: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield a finding for each file of SOURCEDEFS and TARGETDEFS that does not exist. A variable or a macro without a
    value has a finding of its own, and its path is unknown."""
    unclear = {(finding.span.file, finding.span.line) for finding in findings}
    for given in (*replicat.source_definitions, *replicat.target_definitions):
        if "?" not in given.text and (given.span.file, given.span.line) not in unclear:
            found = find_definitions(given, replicat.file)
            if isinstance(found, Diagnostic):
                yield found


def _hidden(replicat: ReplicatFile) -> Iterator[Diagnostic]:
    """Yield a finding for each MAP of a source and a target that another MAP has."""
    if replicat.allows_duplicates:
        return
    earlier: dict[tuple[tuple[str, ...], ...], MapStatement] = {}
    for statement in replicat.maps:
        first = earlier.setdefault(
            (tuple(map(_fold, statement.source.parts)), _made(statement.target, statement.source)), statement
        )
        if first is statement:
            continue
        message = f"the MAP in line {first.span.line} has this source and target, too: GoldenGate uses the first alone"
        help = "remove one of them, or add ALLOWDUPTARGETMAP, so that both send messages"
        level = None if first.does_as(statement) else _ERROR
        yield Diagnostic("GG153", message, statement.span, help, level=level)


def _overlapping(maps: Sequence[MapStatement]) -> Iterator[Diagnostic]:
    """Yield a note for each MAP after one with wildcards that has its tables and targets, with another effect."""
    wide: list[MapStatement] = []
    for statement in maps:
        source, target = statement.source, _made(statement.target, statement.source)
        for first in wide:
            same = first.does_as(statement)
            if (
                not same
                and source.parts != first.source.parts
                and _covers(first.source, source)
                and _made(first.target, source) == target
            ):
                message = (
                    f"the MAP in line {first.span.line} has these tables, too, and no manual says which one decides"
                )
                yield Diagnostic("GG153", message, statement.span, "put the closer MAP first", level=_NOTE)
                break
        if len(wide) < _MAX_WIDE and not source.is_exact:
            wide.append(statement)


def _made(target: ObjectName, source: ObjectName) -> tuple[str, ...]:
    """Return the target of a source: `*` is the source's part."""
    pairs = zip_longest(target.parts[::-1], source.parts[::-1][: len(target.parts)], fillvalue=WrittenName("*"))
    return tuple(_fold(part).replace("*", _fold(of_source)) for part, of_source in pairs)


def _covers(pattern: ObjectName, name: ObjectName) -> bool:
    """Return whether a name has all tables of another one; each may lack a container."""
    pairs = zip_longest(pattern.parts[::-1], name.parts[::-1], fillvalue=WrittenName("*"))
    return all(
        own.pattern.fullmatch(_fold(part)) is not None and not ("?" in own.text and "*" in part.text)
        for own, part in pairs
    )


def _names(statement: MapStatement) -> Iterator[Diagnostic]:
    source, target = statement.source, statement.target
    kinds = statement.kinds
    if not (kinds.inserts or kinds.updates or kinds.deletes or kinds.truncates):
        help = "add GETINSERTS, GETUPDATES or GETDELETES before it"
        yield Diagnostic("GG153", "the MAP takes no operations", statement.span, help)
    if len(target.parts) == 3 > len(source.parts) and "*" in target.parts[0].text:
        message = "the container of the target is a wildcard, and the source has no container"
        yield Diagnostic("GG154", message, target.span, "name the container (OGG-02645)", level=_ERROR)
    for given, wanted in zip(source.parts[::-1], target.parts[::-1], strict=False):
        text = wanted.text
        if "?" in text and not wanted.quoted:
            yield Diagnostic(
                "GG153", f"`?` in `{visible(text)}` is not a wildcard of a target", target.span, "write `*`"
            )
        if text != "*" and text.upper() == given.text.upper() and "*" in text:
            made = text.replace("*", given.text.replace("*", "X"), 1)
            message = f"`*` in `{visible(text)}` is the whole name of the source: the target becomes `{visible(made)}`"
            yield Diagnostic("GG153", message, target.span, "write `*`", rewrite=_rewrite(target, wanted))


def _rewrite(target: ObjectName, part: WrittenName) -> Rewrite | None:
    """Return a line in which a part of a target is `*`; None if the target is not as written."""
    span, old = target.span, ".".join(known.text for known in target.parts)
    line, start = span.source or "", (span.column or 1) - 1
    if span.line is None or line[start : start + span.length] != old:
        return None
    new = ".".join("*" if known is part else known.text for known in target.parts)
    return Rewrite(span.line, (line,), (f"{line[:start]}{new}{line[start + span.length :]}",))


def _excluded(statement: MapStatement, excludes: Iterable[ObjectName]) -> Iterator[Diagnostic]:
    for exclude in excludes:
        if _covers(exclude, statement.source):
            message = f"the exclusion in line {exclude.span.line} leaves nothing of the MAP"
            yield Diagnostic("GG153", message, statement.span, "remove one of them")
            return


def _fold(name: WrittenName) -> str:
    return name.text if name.quoted else name.text.upper()


def _columns(statement: MapStatement) -> Iterator[Diagnostic]:
    earlier: set[str] = set()
    for column in statement.columns or ():
        if _fold(column.target) in earlier:
            message = f"COLMAP has the column `{visible(column.target.text)}` twice"
            yield Diagnostic("GG153", message, column.span, "remove one of them")
        earlier.add(_fold(column.target))
    expressions = [column.value for column in statement.columns or ()]
    for expression in (*expressions, *(it.condition for it in statement.filters)):
        place = next(_ambiguous(expression), None)
        if place is not None:
            message = f"no manual says what `{place.symbol}` binds before its neighbor"
            yield Diagnostic("GG155", message, place.span, "put parentheses around one of them")


def _ambiguous(expression: Expression) -> Iterator[Operation]:
    for outer in parts_of(expression):
        if not isinstance(outer, Operation):
            continue
        for part in (outer.left, outer.right):
            if not isinstance(part, Operation) or part.enclosed or part.left is None:
                continue
            compared = outer.symbol in ("AND", "OR") and part.symbol in _COMPARISONS
            if not compared and not (outer.symbol == part.symbol and outer.symbol in _FLAT):
                yield part


def _unknown_columns(replicat: ReplicatFile) -> Iterator[Diagnostic]:
    """Yield a finding for each column that the definitions of a table of its MAP lack."""
    given = (replicat.source_definitions, replicat.target_definitions)
    sources, targets = (_defined(each, replicat.file) for each in given)
    if not sources and not targets:
        return
    from ggfmt.replicat.expressions import column_named

    reported = set()
    for statement, source, target in _mapped(replicat, sources, targets):
        parts = parts_of((statement.columns, statement.filters))
        read = [(value.name, value.span) for value in parts if isinstance(value, ColumnReference)]
        written = [(column.target, column.span) for column in statement.columns or ()]
        written += [(name, statement.span) for name in statement.key]
        for table, used in ((source, read), (target, written)):
            for column, span in used if table is not None and table.columns else ():
                key = id(statement), span, column
                if table and key not in reported and "." not in column.text and column_named(table, column) is None:
                    reported.add(key)
                    message = f"the definition of `{visible(table.full_name)}` has no column `{visible(column.text)}`"
                    help = suggestion(column.text, table.column_names) or "correct the name, or give newer definitions"
                    yield Diagnostic("GG153", f"{message} (OGG-00919)", span, help, level=_ERROR)


def _mapped(
    replicat: ReplicatFile, sources: Mapping[str, TableDef], targets: Mapping[str, TableDef]
) -> Iterator[tuple[MapStatement, TableDef | None, TableDef | None]]:
    """Yield the MAPs with the definitions of their tables, for wildcards with those of each table that they take."""
    from ggfmt.replicat.mapping import Replicat, matches, target_name

    run, alike = Replicat(replicat, targets), dict[str, list[str]]()
    for name in sources:
        alike.setdefault(name.casefold(), []).append(name)
    for statement in replicat.maps:
        name = join_name(*(part.text for part in statement.source.parts))
        found = [each for each in alike.get(name.casefold(), ()) if matches(statement.source, each)]
        with suppress(ConfigurationError):
            for each in found or [name]:
                yield statement, sources.get(each), run.target_of(target_name(statement, each))
    wild = sum(not statement.source.is_exact for statement in replicat.maps)
    for name in islice(sources, _MAX_MATCHES // (wild + len(replicat.excludes)) if wild else 0):
        with suppress(ConfigurationError):
            for own in run.maps_of(name):
                yield own.statement, sources[name], run.target_of(own.target)


def _defined(given: Sequence[GivenParameter], file: str) -> dict[str, TableDef]:
    """Return tables by name. Files that cannot be read define none."""
    paths = [find_definitions(each, file) for each in given]
    found = [str(path) for path in paths if not isinstance(path, Diagnostic)]
    try:
        return load_definitions(found) if found else {}
    except GgfmtError:
        return {}
