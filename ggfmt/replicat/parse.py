"""Read the parameter file of a Replicat: what each MAP takes, and as what.

Paths are relative to GoldenGate's home. ggfmt looks for them below the parent of the file's directory, which is the
home of a file in `dirprm/`, then beside the file, and then for a file of this name beside the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Rewrite, Span, did_you_mean, list_names
from ggfmt.java.text import visible
from ggfmt.replicat.grammar import ExpressionParser, ParameterError
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
from ggfmt.replicat.tokens import MAX_BYTES, MAX_FINDINGS, Cursor, Lexeme, LexemeKind, Tokenizer, begins_parameter

_ENDED = ("MAP", "TABLE", "SEQUENCE", "FILE")  # statements that end with `;`
_MAX_FILES = 100  # included ones
_SEARCHED = "ggfmt looks for it below the parent of the file's directory, and beside the file"

# What a parameter changes for the MAPs after it.
_KINDS: dict[str, dict[str, bool]] = {
    f"{word}{kind.upper()}": {kind: word == "GET"}
    for word in ("GET", "IGNORE")
    for kind in ("inserts", "updates", "deletes", "truncates")
} | {
    f"{no}{name}": {attribute: not no}
    for no in ("", "NO")
    for name, attribute in (
        ("INSERTUPDATES", "insert_updates"),
        ("INSERTDELETES", "insert_deletes"),
        ("UPDATEDELETES", "update_deletes"),
        ("UPDATEINSERTS", "update_inserts"),
    )
}
_KINDS["INSERTALLRECORDS"] = {"insert_all": True}
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
    parser.finish()
    return parser.result, list(dict.fromkeys(parser.findings))


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
    names = [written] if written is not None else [f"dirprm/{name}.properties" for name in _cases(replicat.group or "")]
    found = next(filter(None, (find_file(name, replicat.file) for name in names)), None)
    if found is not None:
        return found
    default = "" if written is not None else ", the default of the group,"
    message = f"the properties file `{visible(names[0])}`{default} does not exist"
    return Diagnostic("GG154", message, place, _SEARCHED)


def _cases(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, name.lower(), name.upper())))


@dataclass
class _ParameterParser(ExpressionParser):
    file: str
    result: ReplicatFile = field(init=False)
    findings: list[Diagnostic] = field(default_factory=list)
    kinds: Kinds = Kinds()
    matches: ColumnMatches = ColumnMatches()
    maps: list[MapStatement] = field(default_factory=list)
    excludes: list[ObjectName] = field(default_factory=list)
    parameters: list[GivenParameter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.result = ReplicatFile(self.file)
        self._tokenizer = Tokenizer(self.findings)
        self._reading: list[str] = []  # files that include each other
        self._files = 0
        self._catalog: WrittenName | None = None
        self._unknown: list[Diagnostic] = []

    def report(self, code: str, message: str, span: Span, help: str | None = None, **more: Any) -> None:
        self.findings.append(Diagnostic(code, message, span, help, **more))

    def read(self, content: bytes, file: str) -> None:
        self._reading.append(os.path.realpath(file))
        cursor = self._tokenizer.tokens(content, file)
        while len(self.findings) + len(self._unknown) < MAX_FINDINGS and (token := cursor.take()) is not None:
            if token.kind is LexemeKind.LINE_END:
                continue
            try:
                self._statement(token, cursor)
            except ParameterError as error:
                self.findings.append(error.finding)
        self._reading.pop()

    def finish(self) -> None:
        if self._unknown and not self.parameters and not self.maps:
            # It is another file: one finding says more than one for each line.
            place = replace(self._unknown[0].span, length=1)
            help = "give the file that has REPLICAT and MAP"
            self.report("GG151", "the file has no parameters of GoldenGate", place, help)
        else:
            self.findings += self._unknown
        self.result = replace(
            self.result, maps=tuple(self.maps), excludes=tuple(self.excludes), parameters=tuple(self.parameters)
        )

    # Statements

    def _statement(self, token: Lexeme, cursor: Cursor) -> None:
        known = entries(Section.PARAMETER).get(token.upper)
        ended = token.upper in _ENDED
        tokens = [token, *self._rest(token, cursor, ended and known is not None)]
        closed = tokens[-1].is_symbol(";")
        if known is None:
            self._report_unknown(token)
            return
        if ended and not closed:
            self._report_unended(tokens)
        text = token.line.text[token.end : tokens[-1].end] if tokens[-1].line is token.line else ""
        name = token.upper
        if name != "MAP":
            self.parameters.append(GivenParameter(name, text.strip(" ;"), token.span_to(tokens[-1])))
        if name == "TABLE" and any(part.upper == "EVENTACTIONS" for part in tokens):  # a Replicat may have it, too
            known = entries(Section.OPTION)["EVENTACTIONS"]
        self._report_effect(token, known)
        arguments = tokens[1:-1] if closed else tokens[1:]
        if name == "MAP":
            self._map(token, Cursor(arguments))
        elif name in _KINDS:
            self.kinds = replace(self.kinds, **_KINDS[name])
        elif name in _READERS:
            _READERS[name](self, token, arguments)
        if closed:
            self._report_behind(tokens[-1], cursor)

    def _rest(self, token: Lexeme, cursor: Cursor, ended: bool) -> Iterator[Lexeme]:
        """Yield the rest of a statement: up to the end of the line, or for a MAP up to `;`."""
        depth = 0
        while (following := cursor.peek()) is not None:
            if following.first and (not ended or (depth <= 0 and begins_parameter(following))):
                return
            depth += following.is_symbol("(") - following.is_symbol(")")
            cursor.take()
            if following.kind is not LexemeKind.LINE_END:
                yield following
            if following.is_symbol(";"):
                return

    def _report_unknown(self, token: Lexeme) -> None:
        word = token.text
        near = did_you_mean(word, entries(Section.PARAMETER)) if token.kind is LexemeKind.WORD else None
        text, help = token.line.text, f"did you mean `{near}`?" if near else None
        rewrite = Rewrite(token.line.number, (text,), (text[: token.start] + (near or "") + text[token.end :],))
        message = f"`{visible(word)[:80]}` is not a parameter of a Replicat"
        self._unknown.append(Diagnostic("GG152", message, token.span, help, rewrite=rewrite if near else None))

    def _report_unended(self, tokens: Sequence[Lexeme]) -> None:
        last = tokens[-1]
        fix = f"{last.line.text[last.start : last.end]};"
        self.report("GG151", f"`{tokens[0].upper}` does not end", last.span, "end it with `;`", fix=fix)

    def _report_behind(self, end: Lexeme, cursor: Cursor) -> None:
        """Report text behind `;`, and go on in the next line."""
        first = cursor.peek()
        if first is None or first.first or first.upper in entries(Section.PARAMETER):
            return
        cursor.skip_line()
        text = first.line.text
        rewrite = Rewrite(first.line.number, (text,), (f"{text[: first.start]}-- {text[first.start :]}",))
        span, help = first.span_to(cursor.last or first), "begin comments with `--`"
        self.report("GG154", "text follows the `;` of a statement", span, help, rewrite=rewrite)

    def _report_effect(self, token: Lexeme, known: TableEntry) -> None:
        """Report what does not belong in the file, and what ggfmt does not apply."""
        name, effect = token.upper, known.effect
        what = "an option of MAP" if known.section is Section.OPTION else "a parameter"
        shown = f"@{token.text[1:].upper()}" if known.section is Section.FUNCTION else name
        if effect in OTHER_FILES:
            owner = {"Extract": "an Extract", "Manager": "the Manager"}.get(effect.value, "the file GLOBALS")
            message = f"`{shown}` is {what} of {owner}, not of a Replicat"
            self.report("GG152", message, token.span, "remove it, or move it")
        elif effect is MessageEffect.REFUSED:
            self.report("GG155", f"ggfmt does not apply `{shown}`, which changes messages", token.span)
        elif effect is MessageEffect.ASSUMED and name not in (known.default, *_as_usual(known)):
            message = f"ggfmt assumes that `{shown}` changes no message"
            self.report("GG155", message, token.span, level=Severity.NOTE)

    def report_function(self, token: Lexeme, known: TableEntry | None) -> None:
        """Report a function that is unknown, or that ggfmt does not apply."""
        if known is not None:
            return self._report_effect(token, known)
        near = did_you_mean(token.text[1:], entries(Section.FUNCTION))
        help = f"did you mean `@{near}`?" if near else None
        return self.report("GG152", f"`{token.text.upper()}` is not a function of GoldenGate", token.span, help)

    # Parameters

    def _set(self, changes: dict[str, Any]) -> None:
        self.result = replace(self.result, **changes)

    def group(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        self.result = replace(self.result, group=_joined(self._one(token, arguments)))

    def target_database(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        cursor = Cursor(arguments)
        while (part := cursor.take()) is not None:
            if part.upper in ("PROPERTY", "PROPERTIES") and cursor.take_symbol("="):
                value = _glued(cursor)
                if not value:
                    raise ParameterError("GG151", f"`{part.text}=` names no file", part.span, "name a file")
                self.result = replace(self.result, properties=_joined(value))

    def exclude(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        own = {"CATALOGEXCLUDE": 0, "SCHEMAEXCLUDE": 1}.get(token.upper, 2)  # parts without a container
        name, wildcard = self._in_catalog(self.object_name(token, Cursor(arguments)), own), (WrittenName("*"),)
        if token.upper == "SCHEMAEXCLUDE":
            name = replace(name, parts=name.parts + wildcard)
        elif token.upper == "CATALOGEXCLUDE":
            name = replace(name, parts=name.parts + wildcard * 2)
        if len(name.parts) > 3:
            raise ParameterError("GG151", f"`{token.upper}` has a name of too many parts", name.span)
        self.excludes.append(name)

    def catalog(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        self._catalog = self.column(Cursor(arguments))

    def _in_catalog(self, name: ObjectName, parts: int) -> ObjectName:
        """Return a name with the container of SOURCECATALOG, if it has so many parts."""
        known = self._catalog
        return name if known is None or len(name.parts) != parts else replace(name, parts=(known, *name.parts))

    def definitions(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        attribute = "source_definitions" if token.upper == "SOURCEDEFS" else "target_definitions"
        known: tuple[GivenParameter, ...] = getattr(self.result, attribute)
        path = self._one(token, arguments)
        given = GivenParameter(token.upper, _joined(path), path[0].span_to(path[-1]))
        self._set({attribute: (*known, given)})

    def duplicates(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        self.result = replace(self.result, allows_duplicates=token.upper == "ALLOWDUPTARGETMAP")

    def operations(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        text = _joined(self._one(token, arguments)).replace(",", "")
        if not text.isdecimal() or len(text) > 18:
            help = "give a number of operations"
            raise ParameterError("GG151", f"`{token.upper}` is not a number", token.span, help)
        attribute = "group_operations" if token.upper == "GROUPTRANSOPS" else "max_operations"
        self._set({attribute: max(1, int(text))})

    def column_matches(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        cursor = Cursor(arguments)
        kind = cursor.take()
        word, known = kind.upper if kind else "", self.matches
        if word == "RESET":
            self.matches = ColumnMatches()
        elif word == "NAMES":
            target, equals, source = self.column(cursor), cursor.take_symbol("="), self.column(cursor)
            if not equals:
                raise ParameterError("GG151", "COLMATCH NAMES has no `=`", token.span, "write `target = source`")
            self.matches = replace(known, names=(*known.names, (target.text, source.text)))
        elif word in ("PREFIX", "SUFFIX"):
            text = self.column(cursor).text
            prefixes = (*known.prefixes, text) if word == "PREFIX" else known.prefixes
            suffixes = (*known.suffixes, text) if word == "SUFFIX" else known.suffixes
            self.matches = replace(known, prefixes=prefixes, suffixes=suffixes)
        else:
            help = "write NAMES, PREFIX, SUFFIX or RESET"
            raise ParameterError("GG151", "COLMATCH has no kind", token.span, help)

    def include(self, token: Lexeme, arguments: Sequence[Lexeme]) -> None:
        written = _joined(self._one(token, arguments))
        path = find_file(written, self.file)
        name = token.upper
        self._files += 1
        if path is None:
            raise ParameterError("GG151", f"`{visible(written)}` of {name} does not exist", token.span, _SEARCHED)
        if os.path.realpath(path) in self._reading or self._files > _MAX_FILES:
            problem = "includes itself" if os.path.realpath(path) in self._reading else "is one include too many"
            raise ParameterError("GG151", f"`{visible(written)}` {problem}", token.span, "remove it")
        if name == "OBEY" and len(self._reading) > 1:
            self.report("GG154", "an obeyed file cannot obey another one", token.span, "move it to the main file")
        try:
            content = _content(path)
        except OSError as error:
            message = f"`{visible(written)}` of {name} cannot be read: {error.strerror}"
            raise ParameterError("GG151", message, token.span) from None
        self.read(content, str(path))

    def _one(self, token: Lexeme, arguments: Sequence[Lexeme]) -> list[Lexeme]:
        value = _glued(Cursor(arguments))
        if not value:
            raise ParameterError("GG151", f"`{token.upper}` has no value", token.span, "give a value")
        return value

    # MAP

    def _map(self, start: Lexeme, cursor: Cursor) -> None:
        source = self._in_catalog(self.object_name(start, cursor), 2)
        if not cursor.take_symbol(",") and cursor.at_word("TARGET"):
            help = "write `MAP source, TARGET target;`"
            self.report("GG151", "no comma is before TARGET", self._here(cursor, start), help, level=Severity.WARNING)
        if not cursor.take_word("TARGET"):
            help = f"add `, TARGET {'.'.join(part.text for part in source.parts)}`"
            raise ParameterError("GG151", "MAP has no TARGET", self._here(cursor, start), help)
        target = self.object_name(cursor.last or start, cursor)
        known = MapStatement(source, target, start.span_to(cursor.last or start), self.kinds, self.matches)
        while (token := cursor.take()) is not None:
            if token.is_symbol(","):
                continue
            option = entries(Section.OPTION).get(token.upper)
            if option is None:
                near = did_you_mean(token.text, entries(Section.OPTION))
                help = f"did you mean `{near}`?" if near else "write options after commas"
                message = f"`{visible(token.text)[:80]}` is not an option of MAP"
                raise ParameterError("GG152", message, token.span, help)
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
        self.maps.append(known)

    def _here(self, cursor: Cursor, start: Lexeme) -> Span:
        return (cursor.peek() or cursor.last or start).span

    def _skip(self, cursor: Cursor) -> None:
        """Skip what belongs to an option: a group in parentheses, or words up to a comma."""
        depth = 0
        while (token := cursor.peek()) is not None and (depth or not token.is_symbol(",")):
            depth += token.is_symbol("(") - token.is_symbol(")")
            cursor.take()
            if not depth and token.is_symbol(")"):
                return

    def _column_map(self, token: Lexeme, cursor: Cursor, known: MapStatement) -> MapStatement:
        self.open_group(token, cursor)
        columns: list[ColumnMapping] = []
        defaults = False
        while not cursor.at(")") and cursor.peek() is not None:
            if cursor.take_word("USEDEFAULTS"):
                defaults = True
            else:
                target = self.column(cursor)
                first = cursor.last or token
                if not cursor.take_symbol("="):
                    help = "write `target = expression`"
                    raise ParameterError("GG151", "COLMAP has no `=`", self._here(cursor, token), help)
                value = self.expression(cursor)
                columns.append(ColumnMapping(target, value, first.span_to(cursor.last or first)))
            if not cursor.take_symbol(","):
                break
        self.close_group(token, cursor)
        return replace(known, columns=(*(known.columns or ()), *columns), defaults=defaults)

    def _filter(self, token: Lexeme, cursor: Cursor) -> Filter:
        self.open_group(token, cursor)
        tested, ignored = "", ""
        while cursor.at_word("ON", "IGNORE", "RAISEERROR"):
            word = cursor.take() or token
            value = cursor.take()
            letter = _LETTERS.get(value.upper.rstrip("S") if value else "")
            if word.upper == "RAISEERROR":
                self.report("GG155", "ggfmt does not apply RAISEERROR, which changes messages", word.span)
            elif letter is None:
                help = f"write {list_names(_LETTERS)}"
                raise ParameterError("GG151", f"{word.upper} has no kind of operations", word.span, help)
            elif word.upper == "ON":
                tested += letter
            else:
                ignored += letter
            cursor.take_symbol(",")
        condition = self.expression(cursor)
        self.close_group(token, cursor)
        kinds = "".join(kind for kind in "IUD" if kind in (tested or "IUD") and kind not in ignored)
        return Filter(condition, token.span, kinds, token.upper == "WHERE")

    def _columns(self, token: Lexeme, cursor: Cursor) -> tuple[WrittenName, ...]:
        self.open_group(token, cursor)
        names = [self.column(cursor)]
        while cursor.take_symbol(","):
            names.append(self.column(cursor))
        self.close_group(token, cursor)
        return tuple(names)


_READERS: dict[str, Callable[[_ParameterParser, Lexeme, Sequence[Lexeme]], None]] = {
    "REPLICAT": _ParameterParser.group,
    "TARGETDB": _ParameterParser.target_database,
    "MAPEXCLUDE": _ParameterParser.exclude,
    "SCHEMAEXCLUDE": _ParameterParser.exclude,
    "CATALOGEXCLUDE": _ParameterParser.exclude,
    "SOURCECATALOG": _ParameterParser.catalog,
    "SOURCEDEFS": _ParameterParser.definitions,
    "TARGETDEFS": _ParameterParser.definitions,
    "ALLOWDUPTARGETMAP": _ParameterParser.duplicates,
    "NOALLOWDUPTARGETMAP": _ParameterParser.duplicates,
    "GROUPTRANSOPS": _ParameterParser.operations,
    "MAXTRANSOPS": _ParameterParser.operations,
    "COLMATCH": _ParameterParser.column_matches,
    "INCLUDE": _ParameterParser.include,
    "OBEY": _ParameterParser.include,
}


def _content(path: str | Path) -> bytes:
    """Return the content of a file, or the start of one that is too large."""
    with open(path, "rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _as_usual(known: TableEntry) -> tuple[str, ...]:
    """Return the names that say what holds without them."""
    return tuple(name for name in known.names if name == f"NO{known.names[0]}" and not known.default)


def _glued(cursor: Cursor) -> list[Lexeme]:
    """Take the next text without blanks, such as a path."""
    result: list[Lexeme] = []
    while (token := cursor.peek()) is not None and (not result or token.glued) and not token.is_symbol(";"):
        result.append(token)
        cursor.take()
    return result


def _joined(tokens: Sequence[Lexeme]) -> str:
    return "".join(token.text for token in tokens).rstrip(",")
