"""The language server of `ggfmt lsp`: findings, fixes, explanations and completion of handler files in an editor;
findings, fixes and explanations of parameter files.

Lines and columns are those of Java: an editor gets them in its own units. Nothing else imports pygls.
"""

from __future__ import annotations

import codecs
import io
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ggfmt import docs
from ggfmt.config.lint.reading import check_file, is_checked, is_parameter_file
from ggfmt.config.lint.settings import ReportedFindings, Settings
from ggfmt.config.offers import offers
from ggfmt.config.properties import parse_content
from ggfmt.config.symbols import PropertySymbol, find_replicat_word, find_symbol
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.lazy import lazy_regex
from ggfmt.version import VERSION

_END = lazy_regex(r"\r\n|\r|\n")
_CONTINUED = lazy_regex(r"(?<!\\)(?:\\\\)*\\\Z")
_WORD = lazy_regex(r"[\w.$-]+")
_NAME = lazy_regex(r"@?\w+")  # of a parameter or a function
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_START = types.Position(0, 0)
_MAX_HEADER, _MAX_MESSAGE = 1 << 12, 1 << 28  # bytes; an editor sends a handler file as one message
_LENGTH = lazy_regex(rb"Content-Length: *([0-9]*)", re.IGNORECASE)


class BoundedInput(io.BytesIO):
    """The messages of an editor. After a `problem`, such as a length that no message has, the input is at its end."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self.problem = ""
        self._stream = stream

    def readline(self, size: int | None = -1) -> bytes:
        line = b"" if self.problem else self._stream.readline(_MAX_HEADER)
        found = _LENGTH.match(line)
        if len(line) == _MAX_HEADER:
            self.problem = f"a header of a message is longer than {_MAX_HEADER} bytes"
        elif found is not None and (len(found[1]) > 18 or int(found[1] or b"0") > _MAX_MESSAGE):
            self.problem = f"a message would be longer than {_MAX_MESSAGE} bytes"
        return b"" if self.problem else line

    def read(self, size: int | None = -1) -> bytes:
        return self._stream.read(-1 if size is None else size)


def report_errors(report: Callable[[str], None]) -> None:
    """Report errors of the server in a line each, in place of the tracebacks that pygls logs."""

    class LogHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            report(str(error or record.getMessage()).partition("\n")[0])

    logger = logging.getLogger("pygls")
    logger.handlers, logger.propagate = [LogHandler(logging.ERROR)], False


def make_server() -> LanguageServer:
    # Editors and Java agree on the ends of lines, pygls does not: each change has the whole text.
    server = LanguageServer("ggfmt", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def check(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        document = server.workspace.get_text_document(params.text_document.uri)
        publish(document.uri, diagnostics(document))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def close(params: types.DidCloseTextDocumentParams) -> None:
        publish(params.text_document.uri, [])

    def publish(uri: str, found: list[types.Diagnostic]) -> None:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def act(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        return list(actions(document, params.range))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def explain(params: types.HoverParams) -> types.Hover | None:
        return hover(server.workspace.get_text_document(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[*".=$,"]))
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        return list(completions(server.workspace.get_text_document(params.text_document.uri), params.position))

    return server


def findings(document: TextDocument) -> Sequence[Diagnostic]:
    """Return what `ggfmt validate-config` finds in the text of an editor; nothing in files of other programs."""
    content = document.source.encode("utf-8", "surrogatepass")
    if is_parameter_file(_path(document)):
        content = codecs.BOM_UTF8 + content.removeprefix(codecs.BOM_UTF8)  # CHARSET is that of the file
    if not is_checked(content, _path(document)):
        return ()
    try:
        rules = Settings(ReportedFindings()).rules(_path(document))
    except UsageError as error:
        return [replace(it, message=f"{it.span}: {it.message}").at(line=1, column=None) for it in error.diagnostics]
    return check_file(content, _path(document), rules).findings


def diagnostics(document: TextDocument) -> list[types.Diagnostic]:
    found = []
    for finding in findings(document):
        page = docs.address(finding.code)
        place = "" if finding.span.file == _path(document) else f"{finding.span}: "  # an included file
        is_hint = CODES[finding.code].of_run
        found.append(
            types.Diagnostic(
                _place(document, finding),
                f"{place}{finding.message}" + (f"\nhelp: {finding.help}" if finding.help else ""),
                types.DiagnosticSeverity.Hint if is_hint else _SEVERITIES[finding.severity],
                finding.code,
                types.CodeDescription(page) if page else None,
                "ggfmt",
            )
        )
    return found


def actions(document: TextDocument, wanted: types.Range) -> Iterator[types.CodeAction]:
    """Yield the fixes and rewrites of findings in the wanted lines, if the text is as the finding has it."""
    lines = _END.split(document.source)
    line_end = next((match[0] for match in _END.finditer(document.source)), "\n")
    for finding in findings(document):
        place = _place(document, finding)
        if place.end.line < wanted.start.line or place.start.line > wanted.end.line:
            continue
        span, rewrite, edit = finding.span, finding.rewrite, None
        if finding.fix is not None and span.column is not None and span.line is not None:
            part = slice(span.column - 1, span.column - 1 + span.length)
            if (span.source or "")[part] == lines[span.line - 1][part]:
                edit = types.TextEdit(place, finding.fix)
        elif rewrite is not None:
            last = rewrite.line - 1 + len(rewrite.old)
            if tuple(lines[rewrite.line - 1 : last]) == rewrite.old:
                end = types.Position(last, 0)
                if rewrite.new:
                    end = types.Position(last - 1, _units(document, rewrite.old[-1]))
                whole = types.Range(types.Position(rewrite.line - 1, 0), end)
                edit = types.TextEdit(whole, line_end.join(rewrite.new))
        if edit is not None:
            yield types.CodeAction(
                finding.help or f"fix {finding.code}",
                types.CodeActionKind.QuickFix,
                is_preferred=finding.fix is not None,
                edit=types.WorkspaceEdit({document.uri: [edit]}),
            )


def hover(document: TextDocument, position: types.Position) -> types.Hover | None:
    """Return the explanation of a code, of a word in a value, or of the key of the line."""
    from ggfmt.render.reference import explain, explanation_markdown

    line, column = _line(document, position)
    if is_parameter_file(_path(document)):
        word = next((match[0] for match in _NAME.finditer(line) if match.start() <= column <= match.end()), "")
        found = find_replicat_word(word)
        return None if found is None else _hover(explanation_markdown(explain(found, word)))
    word = next((match[0] for match in _WORD.finditer(line) if match.start() <= column <= match.end()), "")
    number = position.line + 1
    entries = parse_content(document.source.encode("utf-8", "surrogatepass"), "").entries
    entry = next((it for it in entries if it.line <= number <= it.line + len(it.continued)), None)
    symbol = find_symbol(word) if word and (entry is None or word != entry.key) else None
    if entry is None and word not in CODES:
        return None
    if symbol is None or isinstance(symbol, PropertySymbol):
        assert entry is not None
        word, symbol = entry.key, find_symbol(entry.key)
    if symbol is None:
        return None
    return _hover(explanation_markdown(explain(symbol, word)))


def _hover(text: str) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))


def completions(document: TextDocument, position: types.Position) -> Iterator[types.CompletionItem]:
    if is_parameter_file(_path(document)):
        return
    line, column = _line(document, position)
    row, head, lines = position.line, "", _END.split(document.source)
    while row and _CONTINUED.search(lines[row - 1]):
        row -= 1
        head = lines[row][:-1] + head
    start, words = offers(document.source.encode("utf-8", "surrogatepass"), head + line[:column])
    start = max(start - len(head), 0)
    place = types.Range(types.Position(position.line, _units(document, line[:start])), position)
    for word, doc in words.items():
        text = word[:-1] if word.endswith("}") and line[column : column + 1] == "}" else word
        yield types.CompletionItem(word, documentation=doc or None, text_edit=types.TextEdit(place, text))


def _line(document: TextDocument, position: types.Position) -> tuple[str, int]:
    """Return the line of a position, and the column in characters."""
    lines = _END.split(document.source)
    at = document.position_codec.position_from_client_units(lines, position)
    return (lines[at.line] if at.line < len(lines) else ""), at.character


def _place(document: TextDocument, finding: Diagnostic) -> types.Range:
    span, lines = finding.span, _END.split(document.source)
    if span.line is None or span.line > len(lines) or span.file != _path(document):
        return types.Range(_START, _START)
    line = lines[span.line - 1]
    start, end = (0, len(line)) if span.column is None else (span.column - 1, span.column - 1 + span.length)
    return types.Range(*(types.Position(span.line - 1, _units(document, line[:at])) for at in (start, end)))


def _path(document: TextDocument) -> str:
    return document.path or document.uri


def _units(document: TextDocument, text: str) -> int:
    units: int = document.position_codec.client_num_units(text)
    return units
