"""Read the parameter file of a Replicat: what each MAP takes, and as what.

Paths are relative to GoldenGate's home. ggfmt looks for them below the parent of the file's directory, which is the
home of a file in `dirprm/`, then beside the file, and then for a file of this name beside the file.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ggfmt.dataclasses import fields, replace
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Rewrite, Span, did_you_mean, list_names, suggestion
from ggfmt.java.text import visible
from ggfmt.replicat.grammar import ExpressionParser
from ggfmt.replicat.statements import (
    ColumnMapping,
    ColumnMatches,
    Filter,
    GivenParameter,
    Kinds,
    MapStatement,
    ObjectName,
    ReplicatFile,
    WrittenName,
)
from ggfmt.replicat.table import OTHER_FILES, MessageEffect, Section, TableEntry, entries
from ggfmt.replicat.tokens import (
    MAX_BYTES,
    MAX_FINDINGS,
    Cursor,
    Lexeme,
    LexemeKind,
    ParameterError,
    Tokenizer,
    begins_parameter,
)

_ENDED = ("MAP", "TABLE", "SEQUENCE", "FILE")  # statements that end with `;`
_MAX_FILES = 100  # included ones
_SEARCHED = "ggfmt looks for it below the parent of the file's directory, and beside the file"

# What a parameter changes for the MAPs after it.
_KINDS = {
    f"{prefix}{each.name.replace('_', '')}".upper(): {each.name: value}
    for prefix, value in (("GET", True), ("IGNORE", False), ("", True), ("NO", False))
    for each in fields(Kinds)
}
_KINDS["INSERTALLRECORDS"] = {"insert_all": True}
_FIELDS = {"SOURCEDEFS": "source_definitions", "TARGETDEFS": "target_definitions"}
_LETTERS = {"INSERT": "I", "UPDATE": "U", "DELETE": "D"}


def read_parameters(path: str | os.PathLike[str]) -> tuple[ReplicatFile, list[Diagnostic]]:
    """Return what the file says, and what is wrong with it."""
    file = os.fspath(path)
    try:
        return parse_content(_content(file), file)
    except OSError as error:
        return ReplicatFile(file), [Diagnostic("GG151", f"the file cannot be read: {error.strerror}", file)]


def parse_content(content: bytes, file: str) -> tuple[ReplicatFile, list[Diagnostic]]:
    """Return what the content of a file says, and what is wrong with it. `file`: where paths are looked for."""
    parser = _ParameterParser(file)
    parser.read(content, file)
    replicat = parser.finish()
    return replicat, list(dict.fromkeys(parser.findings))


def stops_run(finding: Diagnostic) -> bool:
    """Return whether a run must not go on, because it could not do as GoldenGate does."""
    return finding.code in ("GG151", "GG152", "GG155") and finding.severity is not Severity.NOTE


def find_file(written: str, file: str) -> Path | None:
    """Return where a path of a parameter file leads; None if nothing is there."""
    directory, written = Path(file).absolute().parent, written.replace("\\", "/")
    places = (directory.parent / written, directory / written, directory / Path(written).name)
    try:
        return next((Path(os.path.relpath(place)) for place in places if place.is_file()), None)
    except (OSError, ValueError):  # no name of a file, such as one with a NUL
        return None


def find_definitions(given: GivenParameter, file: str) -> Path | Diagnostic:
    """Return the file of a SOURCEDEFS or TARGETDEFS, or why there is none. `file`: the parameter file."""
    message = f"the file of {given.name} `{visible(given.text)}` does not exist"
    return find_file(given.text, file) or Diagnostic("GG154", message, given.span, _SEARCHED)


def properties_file(replicat: ReplicatFile) -> Path | Diagnostic:
    """Return the handler file that a parameter file names, or that has the name of its group by default."""
    given = next((known for known in replicat.parameters[::-1] if known.name == "TARGETDB"), None)
    written = replicat.properties
    place: Span | str = replicat.file if given is None else given.span
    if written is None and replicat.group is None:
        message = "the file names no properties file, and has no group for a default"
        return Diagnostic("GG154", message, place, "add `TARGETDB LIBFILE libggjava.so SET property=FILE`")
    group = replicat.group or ""
    names = [f"dirprm/{name}.properties" for name in (group, group.lower(), group.upper())]
    names = names if written is None else [written]
    found = next(filter(None, (find_file(name, replicat.file) for name in names)), None)
    default = "" if written is not None else ", the default of the group,"
    message = f"the properties file `{visible(names[0])}`{default} does not exist"
    return found or Diagnostic("GG154", message, place, _SEARCHED)


class _ParameterParser(ExpressionParser):
    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Diagnostic] = []
        self._tokenizer = Tokenizer(self.findings)
        self.report = self._tokenizer.report
        self._reading: list[str] = []  # files that include each other
        self._files = 0
        self._unknown: list[Diagnostic] = []
        # What holds for the MAPs after it.
        self._kinds, self._matches = Kinds(), ColumnMatches()
        self._catalog: WrittenName | None = None
        # The fields of the file: single values, and all values.
        self._values: dict[str, Any] = {}
        self._lists: defaultdict[str, list[Any]] = defaultdict(list)

    def read(self, content: bytes, file: str) -> None:
        self._reading.append(os.path.realpath(file))
        cursor = self._tokenizer.tokens(content, file)
        while len(self.findings) + len(self._unknown) < MAX_FINDINGS and (token := cursor.take()) is not None:
            try:
                if token.kind is not LexemeKind.LINE_END:
                    self._statement(token, cursor)
            except ParameterError as error:
                self.findings.append(error.finding)
        self._reading.pop()

    def finish(self) -> ReplicatFile:
        if self._unknown and not self._lists:
            # It is another file: one finding says more than one for each line.
            place = replace(self._unknown[0].span, length=1)
            self.report("the file has no parameters of GoldenGate", place, "give the file that has REPLICAT and MAP")
        else:
            self.findings += self._unknown
        self._values |= {name: tuple(values) for name, values in self._lists.items()}
        return ReplicatFile(self.file, **self._values)

    # Statements

    def _statement(self, token: Lexeme, cursor: Cursor) -> None:
        name = token.upper
        known, ended = entries(Section.PARAMETER).get(name), name in _ENDED
        tokens = [token, *self._rest(cursor, ended and known is not None)]
        if known is None:
            self._report_unknown(token)
            return
        last, closed = tokens[-1], tokens[-1].upper == ";"
        if ended and not closed:
            fix = f"{last.line.text[last.start : last.end]};"
            self.report(f"`{name}` does not end", last.span, "end it with `;`", fix=fix)
        if name != "MAP":
            text = token.line.text[token.end : last.end] if last.line is token.line else ""
            self._lists["parameters"].append(GivenParameter(name, text.strip(" ;"), token.span_to(last)))
        if name == "TABLE" and any(part.upper == "EVENTACTIONS" for part in tokens):  # a Replicat may have it, too
            known = entries(Section.OPTION)["EVENTACTIONS"]
        self._report_effect(token, known)
        self._apply(token, Cursor(tokens[1:-1] if closed else tokens[1:], token))
        if closed:
            self._report_behind(cursor)

    def _rest(self, cursor: Cursor, ended: bool) -> Iterator[Lexeme]:
        """Yield the rest of a statement: up to the end of the line, or for a MAP up to `;`."""

        def goes_on(following: Lexeme, depth: int) -> bool:
            return not following.first or (ended and (depth > 0 or not begins_parameter(following)))

        for following, _ in cursor.take_while(goes_on):
            if following.kind is not LexemeKind.LINE_END:
                yield following
            if following.upper == ";":
                return

    def _report_unknown(self, token: Lexeme) -> None:
        word = token.text
        near = did_you_mean(word, entries(Section.PARAMETER)) if token.kind is LexemeKind.WORD else None
        text, help = token.line.text, f"did you mean `{near}`?" if near else None
        rewrite = Rewrite(token.line.number, (text,), (text[: token.start] + (near or "") + text[token.end :],))
        message = f"`{visible(word)[:80]}` is not a parameter of a Replicat"
        self._unknown.append(Diagnostic("GG152", message, token.span, help, rewrite=rewrite if near else None))

    def _report_behind(self, cursor: Cursor) -> None:
        """Report text behind `;`, and go on in the next line."""
        first = cursor.peek()
        if first is None or first.first or first.upper in entries(Section.PARAMETER):
            return
        cursor.skip_line()
        text = first.line.text
        rewrite = Rewrite(first.line.number, (text,), (f"{text[: first.start]}-- {text[first.start :]}",))
        span, help = first.span_to(cursor.last or first), "begin comments with `--`"
        self.report("text follows the `;` of a statement", span, help, rewrite=rewrite, code="GG154")

    def _report_effect(self, token: Lexeme, known: TableEntry) -> None:
        """Report what does not belong in the file, and what ggfmt does not apply."""
        name, effect = token.upper, known.effect
        what = "an option of MAP" if known.section is Section.OPTION else "a parameter"
        shown = f"@{token.text[1:].upper()}" if known.section is Section.FUNCTION else name
        if effect in OTHER_FILES:
            owner = {"Extract": "an Extract", "Manager": "the Manager"}.get(effect.value, "the file GLOBALS")
            message = f"`{shown}` is {what} of {owner}, not of a Replicat"
            self.report(message, token.span, "remove it, or move it", code="GG152")
        elif effect is MessageEffect.REFUSED:
            self.report(f"ggfmt does not apply `{shown}`, which changes messages", token.span, code="GG155")
        elif effect is MessageEffect.ASSUMED and name != (known.default or f"NO{known.names[0]}"):
            message = f"ggfmt assumes that `{shown}` changes no message"
            self.report(message, token.span, level=Severity.NOTE, code="GG155")

    def report_function(self, token: Lexeme, known: TableEntry | None) -> None:
        """Report a function that is unknown, or that ggfmt does not apply."""
        if known is not None:
            return self._report_effect(token, known)
        near = did_you_mean(token.text[1:], entries(Section.FUNCTION))
        help = f"did you mean `@{near}`?" if near else None
        return self.report(f"`{token.text.upper()}` is not a function of GoldenGate", token.span, help, code="GG152")

    # Parameters

    def _apply(self, token: Lexeme, cursor: Cursor) -> None:
        name = token.upper
        if name in _KINDS:
            self._kinds = replace(self._kinds, **_KINDS[name])
        elif name in _FIELDS:
            text, span = self._value(token, cursor)
            self._lists[_FIELDS[name]].append(GivenParameter(name, text, span))
        elif name == "MAP":
            self._map(token, cursor)
        elif name == "REPLICAT":
            self._values["group"] = self._value(token, cursor)[0]
        elif name == "TARGETDB":
            self._target_database(cursor)
        elif name in ("MAPEXCLUDE", "SCHEMAEXCLUDE", "CATALOGEXCLUDE"):
            self._exclude(token, cursor)
        elif name == "SOURCECATALOG":
            self._catalog = self.column(cursor)
        elif name in ("ALLOWDUPTARGETMAP", "NOALLOWDUPTARGETMAP"):
            self._values["allows_duplicates"] = name == "ALLOWDUPTARGETMAP"
        elif name in ("GROUPTRANSOPS", "MAXTRANSOPS"):
            text = self._value(token, cursor)[0].replace(",", "")
            if not text.isdecimal() or len(text) > 18:
                raise ParameterError(f"`{name}` is not a number", token.span, "give a number of operations")
            self._values["group_operations" if name == "GROUPTRANSOPS" else "max_operations"] = max(1, int(text))
        elif name == "COLMATCH":
            self._column_matches(token, cursor)
        elif name in ("INCLUDE", "OBEY"):
            self._include(token, self._value(token, cursor)[0])

    def _value(self, token: Lexeme, cursor: Cursor) -> tuple[str, Span]:
        """Take the next text without blanks, such as a path, and return its place. `token`: what has it."""
        value: list[Lexeme] = []
        while (part := cursor.peek()) is not None and (not value or part.glued) and part.upper != ";":
            value.append(part)
            cursor.take()
        if not value:
            raise ParameterError(f"`{token.upper}` has no value", token.span, "give a value")
        return "".join(part.text for part in value).rstrip(","), value[0].span_to(value[-1])

    def _target_database(self, cursor: Cursor) -> None:
        while (part := cursor.take()) is not None:
            if part.upper in ("PROPERTY", "PROPERTIES") and cursor.take_one("="):
                if cursor.peek() is None or cursor.at(";"):
                    raise ParameterError(f"`{part.text}=` names no file", part.span, "name a file")
                self._values["properties"] = self._value(part, cursor)[0]

    def _exclude(self, token: Lexeme, cursor: Cursor) -> None:
        wild = {"CATALOGEXCLUDE": 2, "SCHEMAEXCLUDE": 1}.get(token.upper, 0)
        name = self._in_catalog(self.object_name(token, cursor), 2 - wild)
        name = replace(name, parts=name.parts + (WrittenName("*"),) * wild)
        if len(name.parts) > 3:
            raise ParameterError(f"`{token.upper}` has a name of too many parts", name.span)
        self._lists["excludes"].append(name)

    def _in_catalog(self, name: ObjectName, parts: int) -> ObjectName:
        """Return a name with the container of SOURCECATALOG, if it has so many parts."""
        known = self._catalog
        return name if known is None or len(name.parts) != parts else replace(name, parts=(known, *name.parts))

    def _column_matches(self, token: Lexeme, cursor: Cursor) -> None:
        kind, known = cursor.take(), self._matches
        word = kind.upper if kind else ""
        if word == "RESET":
            self._matches = ColumnMatches()
        elif word == "NAMES":
            target, equals, source = self.column(cursor), cursor.take_one("="), self.column(cursor)
            if not equals:
                raise ParameterError("COLMATCH NAMES has no `=`", token.span, "write `target = source`")
            self._matches = replace(known, names=(*known.names, (target.text, source.text)))
        elif word == "PREFIX":
            self._matches = replace(known, prefixes=(*known.prefixes, self.column(cursor).text))
        elif word == "SUFFIX":
            self._matches = replace(known, suffixes=(*known.suffixes, self.column(cursor).text))
        else:
            raise ParameterError("COLMATCH has no kind", token.span, "write NAMES, PREFIX, SUFFIX or RESET")

    def _include(self, token: Lexeme, written: str) -> None:
        path, name, shown = find_file(written, self.file), token.upper, visible(written)
        self._files += 1
        if path is None:
            raise ParameterError(f"`{shown}` of {name} does not exist", token.span, _SEARCHED)
        if os.path.realpath(path) in self._reading or self._files > _MAX_FILES:
            problem = "includes itself" if os.path.realpath(path) in self._reading else "is one include too many"
            raise ParameterError(f"`{shown}` {problem}", token.span, "remove it")
        if name == "OBEY" and len(self._reading) > 1:
            self.report("an obeyed file cannot obey another one", token.span, "move it to the main file", "GG154")
        try:
            content = _content(path)
        except OSError as error:
            raise ParameterError(f"`{shown}` of {name} cannot be read: {error.strerror}", token.span) from None
        self.read(content, str(path))

    # MAP

    def _map(self, start: Lexeme, cursor: Cursor) -> None:
        source = self._in_catalog(self.object_name(start, cursor), 2)
        if not cursor.take_one(",") and cursor.at("TARGET"):
            help = "write `MAP source, TARGET target;`"
            self.report("no comma is before TARGET", cursor.span, help, level=Severity.WARNING)
        if not cursor.take_one("TARGET"):
            help = f"add `, TARGET {'.'.join(part.text for part in source.parts)}`"
            raise ParameterError("MAP has no TARGET", cursor.span, help)
        target = self.object_name(cursor.last or start, cursor)
        known = MapStatement(source, target, start.span_to(cursor.last or start), self._kinds, self._matches)
        while (token := cursor.take()) is not None:
            if token.upper == ",":
                continue
            option = entries(Section.OPTION).get(token.upper)
            if option is None:
                help = suggestion(token.text, entries(Section.OPTION)) or "write options after commas"
                message = f"`{visible(token.text)[:80]}` is not an option of MAP"
                raise ParameterError(message, token.span, help, "GG152")
            self._report_effect(token, option)
            name = token.upper
            if name == "COLMAP":
                known = self._column_map(token, cursor, known)
            elif name in ("FILTER", "WHERE"):
                known = replace(known, filters=(*known.filters, self._filter(token, cursor)))
            elif name == "KEYCOLS":
                known = replace(known, key=self._columns(token, cursor))
            elif name == "INSERTALLRECORDS":
                known = replace(known, kinds=replace(known.kinds, insert_all=True))
            else:
                self._skip(cursor)
        self._lists["maps"].append(known)

    def _skip(self, cursor: Cursor) -> None:
        """Skip what belongs to an option: a group in parentheses, or words up to a comma."""
        for token, depth in cursor.take_while(lambda following, depth: depth != 0 or following.upper != ","):
            if not depth and token.upper == ")":
                return

    def _column_map(self, token: Lexeme, cursor: Cursor, known: MapStatement) -> MapStatement:
        self.open_group(token, cursor)
        columns: list[ColumnMapping] = []
        defaults = False
        while not cursor.at(")") and cursor.peek() is not None:
            if cursor.take_one("USEDEFAULTS"):
                defaults = True
            else:
                target = self.column(cursor)
                first = cursor.last or token
                if not cursor.take_one("="):
                    raise ParameterError("COLMAP has no `=`", cursor.span, "write `target = expression`")
                value = self.expression(cursor)
                columns.append(ColumnMapping(target, value, first.span_to(cursor.last or first)))
            if not cursor.take_one(","):
                break
        self.close_group(token, cursor)
        return replace(known, columns=(*(known.columns or ()), *columns), defaults=defaults)

    def _filter(self, token: Lexeme, cursor: Cursor) -> Filter:
        self.open_group(token, cursor)
        given = {"ON": "", "IGNORE": ""}
        while cursor.at("ON", "IGNORE", "RAISEERROR"):
            word = cursor.take() or token
            value = cursor.take()
            letter = _LETTERS.get(value.upper.rstrip("S") if value else "")
            if word.upper == "RAISEERROR":
                self.report("ggfmt does not apply RAISEERROR, which changes messages", word.span, code="GG155")
            elif letter is None:
                problem = f"{word.upper} has no kind of operations"
                raise ParameterError(problem, word.span, f"write {list_names(_LETTERS)}")
            else:
                given[word.upper] += letter
            cursor.take_one(",")
        condition = self.expression(cursor)
        self.close_group(token, cursor)
        kinds = "".join(kind for kind in "IUD" if kind in (given["ON"] or "IUD") and kind not in given["IGNORE"])
        return Filter(condition, token.span, kinds, token.upper == "WHERE")

    def _columns(self, token: Lexeme, cursor: Cursor) -> tuple[WrittenName, ...]:
        self.open_group(token, cursor)
        names = [self.column(cursor)]
        while cursor.take_one(","):
            names.append(self.column(cursor))
        self.close_group(token, cursor)
        return tuple(names)


def _content(path: str | Path) -> bytes:
    """Return the content of a file, or the start of one that is too large."""
    with open(path, "rb") as stream:
        return stream.read(MAX_BYTES + 1)
