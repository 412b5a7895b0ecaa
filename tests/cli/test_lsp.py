"""The language server: what editors show of a handler file, and the server as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from missing_packages import hide_package
from pygls.workspace import TextDocument
from started_ggfmt import started_ggfmt

from ggfmt.cli.lsp import actions, completions, diagnostics, hover

FILE = """\
gg.handlerlist=k,h
gg.handler.k.type=hdfs
gg.handler.k.format=json
gg.handler.k.format.iso8601Forma=true
gg.handler.k.format.insertOpKey=\U0001f600
gg.handler.h.type=hbase
gg.handler.h.hBaseColumnFamilyName=cf
gg.handler.k.mode=op # one message
"""


def document(text: str = FILE, name: str = "/nowhere/a.properties") -> TextDocument:
    return TextDocument(f"file://{name}", text)


def at(line: int, column: int) -> Any:
    return types.Position(line - 1, column)


def line(number: int) -> Any:
    return types.Range(at(number, 0), at(number, 0))


def test_findings_and_what_ggfmt_does_not_do() -> None:
    found = {(item.range.start.line + 1, item.code): item for item in diagnostics(document())}
    renamed = found[4, "GG102"]
    assert (renamed.severity, renamed.range.end.character) == (types.DiagnosticSeverity.Warning, 32)
    assert renamed.message.endswith("\nhelp: write `gg.handler.k.format.iso8601Format`")
    assert found[8, "GG103"].severity == types.DiagnosticSeverity.Error
    assert found[6, "GG124"].severity == types.DiagnosticSeverity.Hint


def test_columns_are_in_units_of_the_editor() -> None:
    text = document("# one\u2028line\x0b\x0c of text\n" + FILE)
    (item,) = (item for item in diagnostics(text) if item.code == "GG144")
    assert item.range == types.Range(at(6, 32), at(6, 34))  # a surrogate pair


def test_files_of_other_programs_have_no_findings() -> None:
    assert diagnostics(document("bootstrap.servers=localhost:9092\nlinger=5\n")) == []


def test_a_parameter_file_has_findings_fixes_and_explanations() -> None:
    text = document("REPLICAT r\nGETTRUNCATE\nMAP A.B, TARGET A.B, COLMAP (X = @STRCAT (Y, Z));\n", "/nowhere/r.prm")
    found = {(item.range.start.line + 1, item.code) for item in diagnostics(text)}
    assert found == {(1, "GG154"), (2, "GG152")}
    (fix,) = actions(text, line(2))
    assert edit_of(fix, text).new_text == "GETTRUNCATES"
    for place, word in ((at(1, 2), "REPLICAT"), (at(3, 23), "COLMAP"), (at(3, 35), "@STRCAT")):
        shown = hover(text, place)
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        assert shown.contents.value.startswith(f"## {word}: ")
    assert hover(text, at(3, 5)) is None
    assert list(completions(text, at(2, 3))) == []
    assert diagnostics(document("EXTRACT e\nTABLE A.B;\n", "/nowhere/e.prm")) == []


def test_a_parameter_file_is_the_text_of_the_editor(tmp_path: Path) -> None:
    text = "CHARSET ISO-8859-1\nREPLICAT r\nMAP A.B, TARGET A.B, COLMAP (X = 'é€\U0001f600', Y = @NONE ());\n"
    for mark in ("", "\ufeff"):
        (item,) = (item for item in diagnostics(document(mark + text, "/nowhere/r.prm")) if item.code == "GG152")
        assert item.range == types.Range(at(3, 45), at(3, 50))
    (tmp_path / "lib.mac").write_bytes("-- ü\n\nMACRO #m BEGIN é END;\n".encode("latin-1"))
    found = diagnostics(document("REPLICAT r\nINCLUDE lib.mac\nMAP A.B, TARGET A.B;\n", str(tmp_path / "r.prm")))
    (item,) = (item for item in found if item.code == "GG151")
    assert "lib.mac:3:16: the text has bytes that are not UTF-8" in item.message
    assert item.range == types.Range(at(1, 0), at(1, 0))


def test_settings_apply(tmp_path: Path) -> None:
    name = str(tmp_path / "a.properties")
    (tmp_path / "ggfmt.toml").write_text('select = ["GG102"]\n', encoding="utf-8")
    assert [item.code for item in diagnostics(document(name=name))] == ["GG102"]
    (tmp_path / "ggfmt.toml").write_text("select = 1\n", encoding="utf-8")
    (item,) = diagnostics(document(name=name))
    assert (item.code, item.range, "ggfmt.toml:1:1" in item.message) == ("GG133", line(1), True)


def edit_of(action: Any, text: TextDocument) -> Any:
    (edit,) = action.edit.changes[text.uri]
    return edit


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fixes_mend_the_text(end: str) -> None:
    text = document(FILE.replace("\n", end))
    (fix,) = actions(text, line(4))
    edit = edit_of(fix, text)
    assert (edit.new_text, edit.range) == ("gg.handler.k.format.iso8601Format", types.Range(at(4, 0), at(4, 32)))
    assert fix.is_preferred
    (rewrite,) = actions(text, line(8))
    edit = edit_of(rewrite, text)
    assert edit.range == types.Range(at(8, 0), at(8, 34))
    assert edit.new_text == f"# one message{end}gg.handler.k.mode=op"
    assert list(actions(text, line(3))) == []


@pytest.mark.parametrize(
    ("place", "title"),
    [
        ((4, 20), "gg.handler.<name>.format.iso8601Format"),
        ((3, 22), "json"),
        ((6, 20), "hbase"),
        ((9, 20), "GG121: a row format that needs complete images"),
    ],
)
def test_hover_explains(place: tuple[int, int], title: str) -> None:
    shown: Any = hover(document(FILE + "# ggfmt: ignore GG121\n"), at(*place))
    assert shown.contents.value.startswith(f"## {title}\n")


@pytest.mark.parametrize("place", [(9, 0), (40, 2), (9, 4)])
def test_hover_over_nothing(place: tuple[int, int]) -> None:
    assert hover(document(FILE + "gg.zzz=1\n"), at(*place)) is None


def test_completion_replaces_what_is_typed() -> None:
    text = document("gg.handlerlist=k\ngg.handler.k.pathMappingTemplate=\U0001f600${ta}\ngg.handler.k.pa\n")
    (item,) = (item for item in completions(text, at(2, 39)) if item.label == "${tableName}")
    assert item.text_edit == types.TextEdit(types.Range(at(2, 35), at(2, 39)), "${tableName")
    (item,) = (item for item in completions(text, at(3, 15)) if item.label.endswith("partitionByTable"))
    assert item.text_edit == types.TextEdit(types.Range(at(3, 0), at(3, 15)), "gg.handler.k.partitionByTable")
    assert item.documentation


def test_completion_in_a_continued_value() -> None:
    text = document("gg.handlerlist=k\ngg.handler.k.format.metaColumnsTemplate=${optype},\\\n  ${po")
    (item,) = (item for item in completions(text, at(3, 6)) if item.label == "${position}")
    assert item.text_edit == types.TextEdit(types.Range(at(3, 2), at(3, 6)), "${position}")


class Client:
    """A client that speaks to a process over its standard streams."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "ggfmt", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=directory)
        self.number = 0

    def send(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send(method, params, id=self.number)
        while (answer := self.read()).get("id") != self.number or "method" in answer:
            pass
        return answer["result"]

    def published(self) -> list[tuple[int, str]]:
        while (message := self.read()).get("method") != "textDocument/publishDiagnostics":
            pass
        return [(item["range"]["start"]["line"] + 1, item["code"]) for item in message["params"]["diagnostics"]]


@pytest.mark.process
def test_an_editor_speaks_to_the_server(tmp_path: Path) -> None:
    client = Client(tmp_path)
    able = client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
    assert able["hoverProvider"] and able["completionProvider"]["triggerCharacters"] and able["codeActionProvider"]
    client.send("initialized", {})
    uri = (tmp_path / "a.properties").as_uri()
    place = {"textDocument": {"uri": uri}}
    text = {"uri": uri, "languageId": "properties", "version": 1, "text": FILE}
    client.send("textDocument/didOpen", {"textDocument": text})
    assert {(4, "GG102"), (6, "GG124"), (8, "GG103")} <= set(client.published())
    wanted = {"start": {"line": 3, "character": 2}, "end": {"line": 3, "character": 2}}
    (action,) = client.ask("textDocument/codeAction", {**place, "range": wanted, "context": {"diagnostics": []}})
    (edit,) = action["edit"]["changes"][uri]
    mended = FILE.replace("gg.handler.k.format.iso8601Forma", edit["newText"])
    shown = client.ask("textDocument/hover", {**place, "position": wanted["start"]})
    assert "iso8601Format" in shown["contents"]["value"]
    offered = client.ask("textDocument/completion", {**place, "position": {"line": 3, "character": 22}})
    assert "gg.handler.k.format.iso8601Format" in {item["label"] for item in offered}
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": mended}]}
    client.send("textDocument/didChange", change)
    assert (4, "GG102") not in client.published()
    client.send("textDocument/didClose", place)
    assert client.published() == []
    assert client.ask("shutdown", None) is None
    client.send("exit", None)
    assert client.process.wait(20) == 0


def test_without_pygls_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ggfmt.cli import main

    monkeypatch.delitem(sys.modules, "ggfmt.cli.lsp", raising=False)
    hide_package(monkeypatch, "pygls")
    assert main(["lsp"]) == 2
    assert capsys.readouterr().err == "`ggfmt lsp` needs the package `pygls`: run `pip install 'ggfmt[lsp]'`\n"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A program `ggfmt` that begins at once."""
    with started_ggfmt(tmp_path_factory.mktemp("program")) as directory:
        yield directory / "ggfmt"


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (framed(b"{not json"), "cannot be read"),
        (framed(b"5"), "cannot be read"),
        (framed(b"\xff\xfe\x00"), "cannot be read"),
        (framed(b"[" * 5000), "cannot be read"),
        (framed(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": 7}'), "cannot be read"),
        (b"Content-Length: 90\r\n\r\n{}", "cannot be read"),
        (b"Content-Length: 99999999999999999999\r\n\r\n{}", "would be longer"),
        (b"Content-Length: " + b"9" * 5000, "longer than"),
        (bytes(range(128, 256)) * 100, "longer than"),
        (b"Content-Le", ""),
        (b"", ""),
    ],
)
def test_a_malformed_message_has_no_traceback(sent: bytes, words: str, started: Path) -> None:
    done = subprocess.run([started, "lsp"], input=sent, capture_output=True, timeout=60)
    shown = (done.stderr + done.stdout).decode("utf-8", "replace")
    assert "Traceback" not in shown
    assert words in shown
    assert done.returncode == (2 if "longer" in words else 0)
