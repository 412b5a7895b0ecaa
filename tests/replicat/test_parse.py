"""The parser of parameter files: what statements say, where they are, and that bad input ends in a finding."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.replicat.parse import find_file, parse_content, properties_file, read_parameters, stops_run
from ggfmt.replicat.statements import (
    Call,
    ColumnMatches,
    ColumnReference,
    Expression,
    Kinds,
    MapStatement,
    NumberLiteral,
    Operation,
    ReplicatFile,
    TextLiteral,
    Word,
    WrittenName,
)
from ggfmt.replicat.table import MessageEffect, Section, all_entries, entries
from ggfmt.replicat.tokens import MAX_BYTES, MAX_FINDINGS, MAX_TOKENS

FILE = """\
REPLICAT rkafka
TARGETDB LIBFILE libggjava.so SET property=dirprm/kafka.props -- the handlers
SOURCEDEFS dirdef/a.def OVERRIDE
GROUPTRANSOPS 1,000
MAXTRANSOPS 20000
MAPEXCLUDE SHOP.TMP*
SCHEMAEXCLUDE SYS
CATALOGEXCLUDE "Old"
GETTRUNCATES
COLMATCH NAMES A = B
COLMATCH PREFIX P_
MAP pdb.SHOP.T_?, TARGET RPT.*, KEYCOLS (ID, "Line"), &
  COLMAP (USEDEFAULTS, OP = @GETENV ("GGHEADER", 'OPTYPE'), N = BEFORE.X),
  FILTER (ON INSERT, ON UPDATES, (A + 1.5) > -B), WHERE (C = @PRESENT AND D = 'it''s');
IGNORETRUNCATES
INSERTDELETES
COLMATCH RESET
MAP A.B, TARGET C.D, INSERTALLRECORDS;
"""


def parsed(text: str) -> tuple[ReplicatFile, list[str]]:
    replicat, findings = parse_content(text.encode(), "r.prm")
    return replicat, [str(item) for item in findings]


def column(name: str, image: str = "AFTER") -> ColumnReference:
    return ColumnReference(WrittenName(name), Span(), image)


def number(text: str) -> NumberLiteral:
    return NumberLiteral(text, Span())


def value(text: str) -> Expression:
    replicat, findings = parsed(f"MAP A.B, TARGET A.B, COLMAP (X = {text});")
    assert findings == []
    (mapping,) = replicat.maps[0].columns or ()
    return mapping.value


def test_a_file_is_read_in_full() -> None:
    replicat, findings = parsed(FILE)
    assert findings == []
    first, second = replicat.maps
    assert (replicat.group, replicat.properties) == ("rkafka", "dirprm/kafka.props")
    assert (replicat.group_operations, replicat.max_operations) == (1000, 20000)
    assert [(given.name, given.text) for given in replicat.source_definitions] == [("SOURCEDEFS", "dirdef/a.def")]
    assert [exclude.parts for exclude in replicat.excludes] == [
        (WrittenName("SHOP"), WrittenName("TMP*")),
        (WrittenName("SYS"), WrittenName("*")),
        (WrittenName("Old", quoted=True), WrittenName("*"), WrittenName("*")),
    ]
    assert [part.text for part in (*first.source.parts, *first.target.parts)] == ["pdb", "SHOP", "T_?", "RPT", "*"]
    assert first.kinds == Kinds(truncates=True)
    assert first.matches == ColumnMatches((("A", "B"),), ("P_",))
    assert first.key == (WrittenName("ID"), WrittenName("Line", quoted=True))
    assert first.defaults
    assert [(mapping.target.text, mapping.value) for mapping in first.columns or ()] == [
        ("OP", Call("GETENV", (TextLiteral("GGHEADER", Span()), TextLiteral("OPTYPE", Span())), Span())),
        ("N", column("X", "BEFORE")),
    ]
    assert [(it.tested, it.is_where) for it in first.filters] == [("IU", False), ("IUD", True)]
    assert second == MapStatement(
        second.source, second.target, Span(), Kinds(insert_all=True, insert_deletes=True), ColumnMatches()
    )


def test_places_are_those_of_the_file() -> None:
    first = parsed(FILE)[0].maps[0]
    mapping = (first.columns or ())[1]
    assert [str(place) for place in (first.span, first.source.span, first.target.span, mapping.span)] == [
        "r.prm:12:1",
        "r.prm:12:5",
        "r.prm:12:26",
        "r.prm:13:61",
    ]
    assert (mapping.span.length, mapping.span.source) == (len("N = BEFORE.X"), FILE.splitlines()[12])


def test_a_line_with_a_password_is_not_shown() -> None:
    replicat, _ = parsed("REPLICAT r\nUSERID gg, PASSWORD tiger\nMAP A.B, TARGET A.B;")
    assert replicat.parameters[1].span.source is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", column("A")),
        ("BEFORE A", column("A", "BEFORE")),
        ("AFTER.A", column("A")),
        ("BEFORE", column("BEFORE")),
        ('"A b"', ColumnReference(WrittenName("A b", quoted=True), Span())),
        ("12", NumberLiteral("12", Span())),
        (".5", NumberLiteral(".5", Span())),
        ("1.50", NumberLiteral("1.50", Span())),
        ("''", TextLiteral("", Span())),
        ("@COLSTAT (null)", Call("COLSTAT", (Word("NULL", Span()),), Span())),
        (
            "@STRNUM (A, LEFT, 3)",
            Call("STRNUM", (column("A"), Word("LEFT", Span()), number("3")), Span()),
        ),
        ("@STRUP (LEFT)", Call("STRUP", (column("LEFT"),), Span())),
        ("@DATENOW ()", Call("DATENOW", (), Span())),
        ("-A", Operation("-", None, column("A"), Span())),
        ("(A - B)", Operation("-", column("A"), column("B"), Span(), enclosed=True)),
        ("((A))", column("A")),
        ("A-B", Operation("-", column("A"), column("B"), Span())),
        ("A or B", Operation("OR", column("A"), column("B"), Span())),
        ("A \\ B", Operation("\\", column("A"), column("B"), Span())),
        (
            "A = 1 AND B <> 2",
            Operation(
                "AND",
                Operation("=", column("A"), NumberLiteral("1", Span()), Span()),
                Operation("<>", column("B"), NumberLiteral("2", Span()), Span()),
                Span(),
            ),
        ),
    ],
)
def test_an_expression_is_a_tree(text: str, expected: Expression) -> None:
    assert value(text) == expected


def test_a_macro_stands_for_its_text() -> None:
    text = (
        "MACRO #name PARAMS (#p, #q) BEGIN @STRCAT (#p, '#q', #q) END;\n"
        "MACRO #twice PARAMS (#x) BEGIN #name (#x, #name (#x, A)) END;\n"
        "MACRO #kinds\nBEGIN\nIGNOREINSERTS\nIGNOREUPDATES\nEND;\n"
        "#Kinds ()\nMAP A.B, TARGET A.B, COLMAP (X = #TWICE (C));\n"
        "GETINSERTS\n#kinds ()\nGETINSERTS\nMAP A.B, TARGET C.D;\n"
    )
    replicat, findings = parsed(text)
    assert findings == []
    first, second = replicat.maps
    inner = Call("STRCAT", (column("C"), TextLiteral("#q", Span()), column("A")), Span())
    assert (first.columns or ())[0].value == Call("STRCAT", (column("C"), TextLiteral("#q", Span()), inner), Span())
    assert (first.kinds, second.kinds) == (Kinds(inserts=False, updates=False), Kinds(updates=False))
    assert str(first.span) == "r.prm:9:1"


def test_variables_come_from_the_file_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_MACHINE", "m.out")
    monkeypatch.setenv("OF_BOTH", "machine")
    text = "SETENV (OF_BOTH = 'file')\nMAP ?OF_BOTH.T?, TARGET ?OF_MACHINE;\nMAP ?NOT_SET.T, TARGET A.B;\n"
    replicat, findings = parsed(text)
    assert ["`?NOT_SET` is set neither" in finding for finding in findings] == [True]
    names = [".".join(part.text for part in it.parts) for known in replicat.maps for it in (known.source, known.target)]
    assert names == ["file.T?", "m.out", "?NOT_SET.T", "A.B"]


def test_a_default_container_is_that_of_names_without_one() -> None:
    text = "MAP A.B, TARGET A.B;\nSOURCECATALOG pdb\nMAPEXCLUDE A.C\nSCHEMAEXCLUDE S\nCATALOGEXCLUDE Q\n"
    replicat, findings = parsed(text + "MAP A.B, TARGET C.D;\nMAP X.A.B, TARGET E.F;\n")
    assert findings == []
    sources = [[part.text for part in known.source.parts] for known in replicat.maps]
    assert sources == [["A", "B"], ["pdb", "A", "B"], ["X", "A", "B"]]
    assert [".".join(part.text for part in known.parts) for known in replicat.excludes] == [
        "pdb.A.C",
        "pdb.S.*",
        "Q.*.*",
    ]


def test_included_and_obeyed_files_are_read_where_they_stand(tmp_path: Path) -> None:
    directory = tmp_path / "dirprm"
    directory.mkdir()
    (directory / "lib.mac").write_text("MACRO #m BEGIN IGNOREDELETES END;\n")
    (directory / "kinds.oby").write_text("-- kinds\nGETTRUNCATE\nIGNOREINSERTS\n")
    (directory / "r.prm").write_text(
        "REPLICAT r\nINCLUDE dirprm/lib.mac\nMAP A.B, TARGET A.B;\nOBEY kinds.oby\n#m ()\nMAP A.C, TARGET A.C;\n"
    )
    replicat, findings = read_parameters(directory / "r.prm")
    assert [known.kinds for known in replicat.maps] == [Kinds(), Kinds(inserts=False, deletes=False)]
    (finding,) = findings
    assert (Path(finding.span.file or "").name, finding.span.line, finding.code) == ("kinds.oby", 2, "GG152")


@pytest.mark.parametrize("end", ["", ";", " -- all of them"])
def test_a_line_after_an_include_may_call_its_macros(tmp_path: Path, end: str) -> None:
    (tmp_path / "lib.mac").write_text("MACRO #m BEGIN IGNOREDELETES END;\nMACRO #n BEGIN N = 1 END;\n")
    text = f"INCLUDE lib.mac{end}\n#m ()\nMAP A.B, TARGET A.B, COLMAP (\nINCLUDE = OBEY,\n#n (), X = Y);\n#m ()"
    replicat, findings = parse_content(text.encode(), str(tmp_path / "r.prm"))
    assert findings == []
    assert [known.kinds for known in replicat.maps] == [Kinds(deletes=False)]
    assert replicat.parameters[0].text == "lib.mac"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("dirprm/a.props", "dirprm/a.props"),  # below the home
        ("./a.props", "dirprm/a.props"),  # beside the file
        ("/u01/ogg/dirprm/a.props", "dirprm/a.props"),  # a path of another machine
        ("C:\\ogg\\a.props", "dirprm/a.props"),
        ("b.props", "b.props"),
        ("none.props", None),
        ("x\0y", None),
    ],
)
def test_paths_are_looked_for_in_the_home_and_beside_the_file(tmp_path: Path, written: str, found: str | None) -> None:
    (tmp_path / "dirprm").mkdir()
    for name in ("dirprm/a.props", "b.props"):
        (tmp_path / name).touch()
    path = find_file(written, str(tmp_path / "dirprm" / "r.prm"))
    assert (None if path is None else path.resolve()) == (None if found is None else (tmp_path / found).resolve())


def test_the_properties_file_is_that_of_the_group_by_default(tmp_path: Path) -> None:
    (tmp_path / "rkafka.properties").touch()
    path = tmp_path / "r.prm"
    path.write_text("REPLICAT RKAFKA\nTARGETDB LIBFILE libggjava.so\n")
    found = properties_file(read_parameters(path)[0])
    assert isinstance(found, Path)
    assert found.resolve() == (tmp_path / "rkafka.properties").resolve()
    path.write_text("REPLICAT x\nTARGETDB LIBFILE libggjava.so\n")
    missing = properties_file(read_parameters(path)[0])
    assert isinstance(missing, Diagnostic)
    assert "`dirprm/x.properties`, the default of the group, does not exist" in missing.message
    assert missing.span.line == 2


def test_a_file_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    replicat, (finding,) = read_parameters(tmp_path / "none.prm")
    assert (replicat.maps, finding.code, stops_run(finding)) == ((), "GG151", True)


@pytest.mark.parametrize("text", [FILE, "MACRO #m PARAMS (#a) BEGIN #m (#a) END;\n#m (#m (x))\n"])
def test_a_file_that_is_cut_or_spoiled_ends_in_findings(text: str) -> None:
    chance = random.Random(7)
    content = text.encode()
    for at in range(0, len(content), 7):
        parse_content(content[:at], "r.prm")
        spoiled = bytearray(content)
        for _ in range(4):
            spoiled[chance.randrange(len(spoiled))] = chance.choice(b"'\"();#,.@-&\n?")
        parse_content(bytes(spoiled), "r.prm")
        _, findings = parse_content(chance.randbytes(300), "r.prm")
        assert findings
        assert all(stops_run(finding) for finding in findings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MAP A.B, TARGET A.B, COLMAP (X = " + "(" * 5000 + ");", "60 parentheses"),
        ("MAP A.B, TARGET A.B, COLMAP (X = " + "A + " * 5000 + "A);", "150 operators"),
        ("MAP A.B, TARGET A.B, COLMAP (X = " + "- " * 5000 + "A);", "60 parentheses"),
        (f"MAP A.B, TARGET A.B, COLMAP (X = {'(' * 50}A{(' + A' * 50 + ')') * 50});", "150 operators"),
        ("x " * (MAX_TOKENS + 1), f"{MAX_TOKENS:,} words"),
        ("x" * (MAX_BYTES + 1), f"{MAX_BYTES:,} bytes"),
        ("MAP " + "A." * 5000 + "B, TARGET A.B;", "three parts"),
        (
            "MACRO #m0 BEGIN x END;\n"
            + "".join(f"MACRO #m{n} BEGIN #m{n - 1} () #m{n - 1} () END;\n" for n in range(1, 29))
            + "#m28 ()\n",
            f"{MAX_TOKENS:,} words",
        ),
        ("MACRO #a BEGIN #b () END;\nMACRO #b BEGIN #a () END;\n#a ()", "calls itself"),
        ("MACRO #a PARAMS (#x) BEGIN #x END;\n" + "#a (" * 5000, "is not closed"),
        ("MACRO #a PARAMS (#x) BEGIN #x END;\n" + "#a (" * 5000 + ")" * 5000, "too deeply"),
    ],
)
def test_work_is_bounded(text: str, words: str) -> None:
    replicat, findings = parsed(text)
    assert any(words in finding for finding in findings), findings[:3]
    assert not replicat.maps


def test_a_file_with_many_mistakes_is_read_to_a_bound() -> None:
    assert len(parsed("REPLICAT r\n" + "no\n" * 5000)[1]) == MAX_FINDINGS


def test_the_table_names_each_word_once_and_says_where_it_is_from() -> None:
    for section in Section:
        names = [name for entry in all_entries() if entry.section is section for name in entry.names]
        assert len(names) == len(set(names)) == len(entries(section))
    for entry in all_entries():
        assert entry.source[:2] in ("S ", "N ", "E ", "M"), entry
        assert entry.doc.endswith("."), entry
        assert not entry.default or entry.default in (*entry.names, entry.default), entry
    assert {entry.effect for entry in all_entries()} == set(MessageEffect)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("MAP A.B, TARGET A.B, COLMAP (X = 'é');".encode(), "é"),
        ("MAP A.B, TARGET A.B, COLMAP (X = 'é');".encode("utf-16"), "é"),
        ("\ufeffMAP A.B, TARGET A.B, COLMAP (X = 'é');\r\n".encode("utf-16-be"), "é"),
        ("\ufeffMAP A.B, TARGET A.B, COLMAP (X = 'é');\r\n".encode(), "é"),
        ("CHARSET windows-1252\nMAP A.B, TARGET A.B, COLMAP (X = '€');".encode("cp1252"), "€"),
        ("-- é\nCOMMENT é\nMAP A.B, TARGET A.B, -- é\n COLMAP (X = 'e');".encode("latin-1"), "e"),
    ],
)
def test_the_bytes_of_a_text(content: bytes, text: str) -> None:
    replicat, findings = parse_content(content, "r.prm")
    assert findings == []
    (pair,) = replicat.maps[0].columns or ()
    assert isinstance(pair.value, TextLiteral) and pair.value.text == text


@pytest.mark.parametrize("charset", ["UTF-8", "US-ASCII"])
def test_bytes_without_a_meaning_are_no_text(charset: str) -> None:
    head = "" if charset == "UTF-8" else f"CHARSET {charset}"
    content = f"{head}\nMAP A.B, TARGET A.B, COLMAP (X = 'é', Y = 'ü');".encode("latin-1")
    (finding,) = parse_content(content, "r.prm")[1]
    assert str(finding).startswith(f"r.prm:2:34: error[GG151] the text has bytes that are not {charset}")
