"""The check of parameter files: right files are left alone, and mistakes are found where they are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from handler_files import sections
from runs import count_calls

from ggfmt.config.lint import parameter_files
from ggfmt.config.lint.files import find_sources
from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic

HERE = Path(__file__).parent
RIGHT = list(sections(HERE / "right_parameter_files.txt"))
OF_PARAMETER_FILES = ("GG151", "GG152", "GG153", "GG154", "GG155")
PROPERTIES = "gg.handlerlist=out\ngg.handler.out.type=kafka\ngg.handler.out.format=json\ngg.handler.out.mode=op\n"
HEAD = "REPLICAT r\nTARGETDB LIBFILE libggjava.so SET property=dirprm/out.props\n"  # two lines
DEFINITIONS = (
    "CREATE TABLE SHOP.ORDERS (ORDER_ID NUMBER(9) PRIMARY KEY, STATUS VARCHAR2(9));\n"
    "CREATE TABLE RPT.ORDERS (ORDER_ID NUMBER(9) PRIMARY KEY, STATE VARCHAR2(9));\n"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of GoldenGate, in whose `dirprm/` the files are."""
    for name, text in {
        "dirprm/out.props": PROPERTIES,
        "dirprm/r.properties": PROPERTIES,
        "dirprm/rkafka.props": PROPERTIES,
        "dirprm/empty.props": "bootstrap.servers=h:9092\n",
        "dirprm/lib.mac": "MACRO #lib_kinds BEGIN GETTRUNCATES END;\n",
        "dirprm/defs.mac": "MACRO #defs PARAMS (#a) BEGIN SOURCEDEFS #a.sql END;\n",
        "dirprm/lib.oby": "GETTRUNCATES\n",
        "dirprm/itself.mac": "INCLUDE dirprm/itself.mac\n",
        "dirprm/again.oby": "OBEY dirprm/lib.oby\n",
        "dirdef/tables.sql": DEFINITIONS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "dirprm")
    return tmp_path


def problems(text: str, for_run: bool = False) -> list[Diagnostic]:
    """The errors and warnings of a file, without those of a run unless `for_run`."""
    found = lint(text.encode(), "r.prm", Rules(for_run=for_run))
    return [item for item in found if item.severity is not Severity.NOTE]


@pytest.mark.parametrize("text", [pytest.param(text, id=title) for title, text in RIGHT])
def test_a_right_file_is_left_alone(text: str) -> None:
    assert [str(item) for item in problems(text)] == []
    assert [str(item) for item in problems(text, for_run=True)] == []


# Each mistake: the lines below HEAD, or a whole file, with the findings: line, column, code and words of the message.
MISTAKES = [
    # What cannot be read.
    ("MAP A.B, TARGET A.B\nMAP A.C, TARGET A.C;", ["3:19 GG151 does not end"]),
    ("MAP A.B, TARGET A.B", ["3:19 GG151 does not end"]),
    ("MAP A.B, TARGET A.C, COLMAP (X = Y", ["3:34 GG151 does not end", "3:22 GG151 is not closed"]),
    ("MAP A.B, COLMAP (USEDEFAULTS);", ["3:10 GG151 no TARGET"]),
    ("MAP A.B TARGET A.B;", ["3:9 GG151 no comma is before TARGET"]),
    ("MAP PDB1.EMPLOYEES..*, TARGET *.*;", ["3:5 GG151 empty part"]),
    ("MAP A.B.C.D, TARGET A.B;", ["3:5 GG151 more than three parts"]),
    ("MAP A.B, TARGET A.B, COLMAP (X = (A + B);", ["3:22 GG151 is not closed"]),
    ("MAP A.B, TARGET A.B, COLMAP (X = 'it);", ["3:34 GG151 text does not end"]),
    ("MAP A.B, TARGET A.B, COLMAP (X Y);", ["3:32 GG151 no `=`"]),
    ("MAP A.B, TARGET A.B, COLMAP (X = @DATENOW);", ["3:34 GG151 `@DATENOW` has no `(`"]),
    ("MAP A.B, TARGET A.B, FILTER (ON TRUNCATE, X = 1);", ["3:30 GG151 no kind"]),
    ("MAP A.B, TARGET A.B, WHERE (X ! 1);", ["3:31 GG151 not expected"]),
    ("GROUPTRANSOPS many\nMAP A.B, TARGET A.B;", ["3:1 GG151 not a number"]),
    ("SOURCEDEFS\nMAP A.B, TARGET A.B;", ["3:1 GG151 no value"]),
    ("COLMATCH A = B\nMAP A.B, TARGET A.B;", ["3:1 GG151 no kind"]),
    ("INCLUDE dirprm/none.mac\nMAP A.B, TARGET A.B;", ["3:1 GG151 does not exist"]),
    ("INCLUDE dirprm/itself.mac\nMAP A.B, TARGET A.B;", ["1:1 GG151 includes itself"]),
    ("INCLUDE dirprm/r.prm\nMAP A.B, TARGET A.B;", ["3:1 GG151 does not exist"]),
    ("OBEY dirprm/again.oby\nMAP A.B, TARGET A.B;", ["1:1 GG154 cannot obey"]),
    ("## All tables\nMAP A.B, TARGET A.B;", ["3:1 GG151 does not begin a comment"]),
    ("# All tables\nMAP A.B, TARGET A.B;", ["3:1 GG151 does not begin a comment"]),
    ("#All tables\nMAP A.B, TARGET A.B;", ["3:1 GG151 not a macro"]),
    ("MACRO #m BEGIN GETTRUNCATES END;\n#m\nMAP A.B, TARGET A.B;", ["4:1 GG151 without parentheses"]),
    ("MACRO #m BEGIN #m () END;\n#m ()\nMAP A.B, TARGET A.B;", ["4:1 GG151 calls itself"]),
    ("MACRO #m PARAMS (#a) BEGIN #a END;\n#m ()\nMAP A.B, TARGET A.B;", ["4:1 GG151 0 values, and 1"]),
    ("MACRO #m GETTRUNCATES END;\nMAP A.B, TARGET A.B;", ["3:7 GG151 no BEGIN"]),
    ("#none (A)\nMAP A.B, TARGET A.B;", ["3:1 GG151 not a macro"]),
    ("MAP A.B, TARGET A.B, #key (ID);", ["3:22 GG151 not a macro"]),
    (
        "MAP A.B, TARGET A.B, COLMAP (USEDEFAULTS,\nCOMMENT = NOTE);",
        ["4:1 GG151 not a column", "3:41 GG151 not end", "3:22 GG151 closed"],
    ),
    # Words that a Replicat does not have.
    ("IGNOREDELETE\nMAP A.B, TARGET A.B;", ["3:1 GG152 not a parameter"]),
    ("GETTRUNCATE\nMAP A.B, TARGET A.B;", ["3:1 GG152 not a parameter"]),
    ("TABLE A.B;\nMAP A.B, TARGET A.B;", ["3:1 GG152 of an Extract"]),
    ("RMTTRAIL ./dirdat/rt\nMAP A.B, TARGET A.B;", ["3:1 GG152 of an Extract"]),
    ("EXCLUDEWILDCARDOBJECTSONLY\nMAP A.B, TARGET A.B;", ["3:1 GG152 of the file GLOBALS"]),
    ("MAP A.B, TARGET A.B, COLUMNMAP (X = Y);", ["3:22 GG152 not an option"]),
    ("MAP A.B, TARGET A.B, TOKENS (X = Y);", ["3:22 GG152 of an Extract"]),
    ("MAP A.B, TARGET A.B, COLMAP (X = @STRCATT (A, B));", ["3:34 GG152 not a function"]),
    # MAPs without the effect that is meant.
    ("MAP ODS.T_*, TARGET ODS.T_*;", ["3:21 GG153 the target becomes `T_T_X`"]),
    ("MAP A.B, TARGET X.Y?;", ["3:17 GG153 not a wildcard of a target"]),
    ("MAP A.B, TARGET X.B;\nMAP A.B, TARGET X.B, COLMAP (USEDEFAULTS, E = '*');", ["4:1 GG153 error line 3"]),
    ("MAP A.B, TARGET X.B;\nMAP a.b, TARGET x.b;", ["4:1 GG153 warning line 3"]),
    ("MAP A.B, TARGET X.*;\nMAP A.B, TARGET X.B;", ["4:1 GG153 warning line 3"]),
    ("MAPEXCLUDE A.*\nMAP A.B, TARGET X.B;", ["4:1 GG153 leaves nothing"]),
    ("MAP P.A.T_*, TARGET X.*;\nMAPEXCLUDE A.T*", ["3:1 GG153 leaves nothing"]),
    ("SCHEMAEXCLUDE A\nMAP A.*, TARGET X.*;", ["4:1 GG153 leaves nothing"]),
    ("IGNOREINSERTS\nIGNOREUPDATES\nIGNOREDELETES\nMAP A.B, TARGET X.B;", ["6:1 GG153 takes no operations"]),
    ("MAP A.B, TARGET A.B, COLMAP (X = Y, x = Z);", ["3:37 GG153 twice"]),
    (
        "SOURCEDEFS dirdef/tables.sql\nTARGETDEFS dirdef/tables.sql\n"
        "MAP SHOP.ORDERS, TARGET RPT.ORDERS, COLMAP (USEDEFAULTS, STATUS = STATE);",
        ["5:58 GG153 no column `STATUS`", "5:67 GG153 no column `STATE`"],
    ),
    ("REPORTCOUNT EVERY 1 MINUTES", ["1:1 GG153 no MAP"]),
    # What GoldenGate does not take, and pairs of files.
    ("MAP A.B, TARGET A.B; the orders", ["3:22 GG154 follows the `;`"]),
    ("DDL INCLUDE ALL\nGETTRUNCATES\nMAP A.B, TARGET A.B;", ["4:1 GG154 with DDL"]),
    (
        "SOURCEDEFS ./dirdef/none.sql OVERRIDE\nTARGETDEFS none.def\nMAP A.B, TARGET A.B;",
        ["3:12 GG154 warning SOURCEDEFS `./dirdef/none.sql` does not", "4:12 GG154 warning TARGETDEFS `none.def` does"],
    ),
    ("INCLUDE dirprm/defs.mac\n#defs (no)\nMAP A.B, TARGET A.B;", ["4:8 GG154 warning SOURCEDEFS `no.sql` does not"]),
    ("SOURCEDEFS #none ()/a.sql\nMAP A.B, TARGET A.B;", ["3:12 GG151 not a macro"]),
    ("MAP *.*, TARGET *.*.*;", ["3:17 GG154 the source has no container"]),
    ("-- ggfmt: ignore GG153\nMAP A.B, TARGET A.B;", ["3:18 GG122 no finding"]),
]
WHOLE = [
    (HEAD.replace("REPLICAT r", "REPLICAT kafkareplicat") + "MAP A.B, TARGET A.B;", ["1:1 GG154 13 characters"]),
    (HEAD.replace("out.props", "none.props") + "MAP A.B, TARGET A.B;", ["2:1 GG154 does not exist"]),
    (HEAD.replace("out.props", "empty.props") + "MAP A.B, TARGET A.B;", ["2:1 GG154 no properties of GoldenGate"]),
    ("REPLICAT x\nTARGETDB LIBFILE libggjava.so\nMAP A.B, TARGET A.B;", ["2:1 GG154 `dirprm/x.properties`"]),
    ("TARGETDB LIBFILE libggjava.so SET property=out.props\nMAP A.B, TARGET A.B;", ["1:1 GG154 REPLICAT is missing"]),
    (
        "REPLICAT r\nTARGETDB LIBFILE ggjava.dll SET property=/u01/out.props\nMAP A.B, TARGET A.B;",
        ["2:1 GG154 library of Windows"],
    ),
    ("gg.handlerlist=out\ngg.handler.out.format=json\n", ["1:1 GG151 no parameters of GoldenGate"]),
    ("REPLICAT r\0", ["1:1 GG151 not text"]),
]


@pytest.mark.parametrize(("text", "expected"), [*((HEAD + text, found) for text, found in MISTAKES), *WHOLE])
def test_a_mistake_is_found_where_it_is(text: str, expected: list[str]) -> None:
    found = problems(text)
    if expected[0].startswith("1:1 GG151 no"):
        found = [item for item in found if item.code == "GG151"]  # the rest of such a file is missing, too
    unmatched = [
        f"{item.span.line}:{item.span.column} {item.code} {item.severity.value} {item.message}" for item in found
    ]
    for words in expected:
        place, code, rest = words.split(" ", 2)
        parts = rest.split(" ", 1) if rest.startswith(("error ", "warning ")) else [rest]
        start = f"{place} {code} "
        line = next((line for line in unmatched if line.startswith(start) and all(it in line for it in parts)), None)
        assert line is not None, (words, unmatched)
        unmatched.remove(line)
    assert unmatched == []


def test_the_corpus_has_every_code() -> None:
    shown = {words.split(" ")[1] for _, found in (*MISTAKES, *WHOLE) for words in found}
    assert shown >= set(OF_PARAMETER_FILES) - {"GG155"}
    assert len(RIGHT) + len(MISTAKES) + len(WHOLE) > 90


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MAP A.B, TARGET A.B, SQLEXEC (SPNAME P, PARAMS (x = Y)), COLMAP (Z = P.z);", "SQLEXEC"),
        ("MAP A.B, TARGET A.B, SQLEXEC (ID q, QUERY 'select a\n from b where c = ?', PARAMS (x = Y));", "SQLEXEC"),
        ("MAP A.B, TARGET A.B, RESOLVECONFLICT (UPDATEROWEXISTS, (DEFAULT, OVERWRITE));", "RESOLVECONFLICT"),
        ("MAP A.B, TARGET A.B, EVENTACTIONS (STOP);", "EVENTACTIONS"),
        ("MAP A.B, TARGET A.B, FILTER (RAISEERROR 9999, X > 1);", "RAISEERROR"),
        ("MAP A.B, TARGET A.B, FILTER (@RANGE (1, 2));", "@RANGE"),
        ("MAP A.B, TARGET A.B, COLMAP (X = A + B * 2);", "*"),
        ("MAP ?NOT_SET.B, TARGET A.B;", "?NOT_SET"),
        ("SOURCEDEFS ?NOT_SET/none.def\nMAP A.B, TARGET A.B;", "?NOT_SET"),
        ("INCLUDE dirprm/defs.mac\n#defs (?NOT_SET)\nMAP A.B, TARGET A.B;", "?NOT_SET"),
        ("TABLE A.B, EVENTACTIONS (STOP);\nMAP A.B, TARGET A.B;", "TABLE"),
        ("EXCLUDETAG 02\nMAP A.B, TARGET A.B;", "EXCLUDETAG"),
        ("SPACESTONULL\nMAP A.B, TARGET A.B;", "SPACESTONULL"),
    ],
)
def test_what_changes_messages_is_refused_by_name_in_a_run(text: str, name: str) -> None:
    assert problems(HEAD + text) == []
    (finding,) = problems(HEAD + text, for_run=True)
    assert (finding.code, finding.severity, f"`{name}`" in finding.message.replace("RAISEERROR,", "`RAISEERROR`")) == (
        "GG155",
        Severity.ERROR,
        True,
    )


def encoded(text: str, charset: str) -> bytes:
    """The bytes of a file, with a byte order mark for UTF-16 and UTF-8, else with CHARSET as its first line."""
    if charset.startswith("utf"):
        return f"\ufeff{text}".encode(charset)
    return f"CHARSET {charset}\n{text}".encode(charset)


@pytest.mark.parametrize("charset", ["utf-8", "utf-16-le", "utf-16-be", "windows-1252", "gb18030"])
def test_a_file_is_checked_and_fixed_in_its_charset(charset: str) -> None:
    maps = "MAP A.é, TARGET A.é;\nMAP A.é, TARGET A.é;\nMAP A.ü, TARGET A.ü, COLMAP (X = 'é')"
    text = f"{HEAD}-- ggfmt: ignore GG153\n{maps}"
    content = encoded(text, charset)
    Path("r.prm").write_bytes(content)
    found = find_sources(["r.prm"], io.BytesIO())
    assert ([source.name for source in found.found], found.findings) == (["r.prm", "out.props"], ())
    first = 1 if charset.startswith("utf") else 2
    places = [(item.span.line, item.span.column, item.code) for item in lint(content, "r.prm")]
    assert places == [(first + 2, 18, "GG122"), (first + 4, 1, "GG153"), (first + 5, 37, "GG151")]
    assert fix_file(content, "r.prm").content == encoded(f"{text};", charset)


def test_a_charset_with_several_bytes_for_a_text_is_not_fixed() -> None:
    content = b"CHARSET UTF-7\n" + HEAD.encode() + b"MAP A.B, TARGET A.B, COLMAP (X = '+AEE-')"
    fixed = fix_file(content, "r.prm", unsafe=True)
    assert ([item.fix for item in fixed.findings], fixed.content) == ([");"], content)


@pytest.mark.parametrize("parameter", ["INCLUDE", "OBEY"])
@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("-- é\nGETTRUNCATES\n".encode("latin-1"), "", ""),
        ("CHARSET ISO-8859-1\n\nMAP A.é, TARGET A.é;\n".encode("latin-1"), "", ""),
        ("MAP A.é, TARGET A.é;\n".encode("utf-16"), "", ""),
        (" GETINSERTS\n\nMAP A.é, TARGET A.é;\n".encode("latin-1"), ":3:7", "bytes that are not UTF-8"),
        ("CHARSET US-ASCII\nMAP A.é, TARGET A.é;\n".encode(), ":2:7", "bytes that are not US-ASCII"),
        ("CHARSET UTF-16\nMAP A.é, TARGET A.é;\n".encode(), ":2:7", "bytes that are not UTF-16"),
        (b"CHARSET no\nGETTRUNCATES\n", ":1:1", "`NO` is not a charset"),
        (b"CHARSET rot13\nGETTRUNCATES\n", ":1:1", "`ROT13` is not a charset"),
        ("GETTRUNCATES\n".encode("utf-16-le"), ":1:1", "not text"),
        ("MAP A.é, TARGET A.é;\n".encode("utf-16")[:-1], ":1:1", "not text"),
        (b"-- a\n" * 300_000, ":1:1", "1,048,576 bytes"),
    ],
)
def test_an_included_file_has_its_own_charset(parameter: str, content: bytes, place: str, words: str) -> None:
    Path("own.oby").write_bytes(content)
    text = f"CHARSET windows-1252\n{HEAD}{parameter} own.oby\nMAP A.B, TARGET A.B, COLMAP (X = '€');\n"
    found = [item for item in lint(text.encode("cp1252"), "r.prm") if item.severity is not Severity.NOTE]
    assert [(f"{item.span}", item.code) for item in found] == ([(f"own.oby{place}", "GG151")] if place else [])
    assert all(words in item.message for item in found)


MANY_TABLES = """
CREATE TABLE A.T1 (ID NUMBER(9) PRIMARY KEY, NAME VARCHAR2(9), "Mixed" NUMBER(9));
CREATE TABLE A.T2 (ID NUMBER(9) PRIMARY KEY, STATUS VARCHAR2(9));
CREATE TABLE A.T3 (ID NUMBER(9) PRIMARY KEY);
CREATE TABLE B.U (ID NUMBER(9) PRIMARY KEY, NAME VARCHAR2(9));
CREATE TABLE X.T1 (ID NUMBER(9) PRIMARY KEY, NAME VARCHAR2(9));
CREATE TABLE X.T2 (ID NUMBER(9) PRIMARY KEY, STATE VARCHAR2(9));
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A column of some tables: one finding, which names the first table without it.
        ("MAP A.*, TARGET Y.*, COLMAP (USEDEFAULTS, N = NAME);", ["5:47 A.T2 NAME"]),
        ("MAP A.*, TARGET Y.*, FILTER (NAME = ID), WHERE (STATUS = 'a');", ["5:30 A.T2 NAME", "5:49 A.T1 STATUS"]),
        ("MAP a.t?, TARGET y.*, COLMAP (n = id, m = no);", ["5:43 A.T1 no"]),
        ('MAP A.T1, TARGET Y.*, COLMAP (N = "Mixed", M = "mixed", O = mixed);', ["5:48 A.T1 mixed"]),
        ('MAP "a".T1, TARGET Y.*, COLMAP (N = NO);', []),
        # Columns and keys of targets, by the name that the target gets.
        ("MAP A.*, TARGET X.*, COLMAP (USEDEFAULTS, NAME = ID);", ["5:43 X.T2 NAME"]),
        ("MAP *.*, TARGET X.*, KEYCOLS (ID, STATE);", ["5:1 X.T1 STATE"]),
        ("MAP C.*, TARGET X.T1, COLMAP (STATE = ID);", ["5:31 X.T1 STATE"]),
        ("MAP C.T1, TARGET X.*, COLMAP (STATE = NO);", ["5:31 X.T1 STATE"]),
        ("MAP *.*, TARGET *.*, COLMAP (USEDEFAULTS, ID = NO);", ["5:48 A.T1 NO"]),
        # Tables that a MAP does not take.
        ("MAP C.*, TARGET X.*, COLMAP (NO = NO);", []),
        ("MAPEXCLUDE A.T2\nMAPEXCLUDE A.T3\nMAP A.*, TARGET Y.*, COLMAP (N = NAME);", []),
        ("MAP A.T?, TARGET Y.*;\nMAP A.*, TARGET Y.*, COLMAP (N = NAME);", []),
        ("MAP A.T2, TARGET Y.*;\nMAP A.T3, TARGET Y.*;\nMAP A.*, TARGET Y.*, COLMAP (N = NAME);", []),
        ("MAP A.T2, TARGET Z.*;\nMAP A.*, TARGET Y.*, COLMAP (N = NAME);", ["6:34 A.T2 NAME"]),
        ("MAP A.T1, TARGET Y?;\nMAP B.*, TARGET Y.*, COLMAP (N = NO);", ["6:34 B.U NO"]),
    ],
)
def test_columns_are_those_of_each_table_of_a_map(text: str, expected: list[str], home: Path) -> None:
    (home / "dirdef/many.sql").write_text(MANY_TABLES, encoding="utf-8")
    definitions = "SOURCEDEFS dirdef/many.sql\nTARGETDEFS dirdef/many.sql\n"
    found = [item for item in problems(f"{HEAD}{definitions}{text}") if "OGG-00919" in item.message]
    tables = [item.message.split("`")[1::2] for item in found]
    assert [
        f"{item.span.line}:{item.span.column} {table} {column}"
        for item, (table, column) in zip(found, tables, strict=True)
    ] == expected


def test_the_work_for_columns_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_files, "_MAX_MATCHES", 4000)

    def work(count: int) -> int:
        tables = "".join(f"CREATE TABLE A.T{number} (ID NUMBER(9));\n" for number in range(count))
        (home / "dirdef/many.sql").write_text(tables, encoding="utf-8")
        maps = "".join(f"MAP A{number}*.*, TARGET X.*, COLMAP (N = NO);\n" for number in range(count))
        text = f"{HEAD}SOURCEDEFS dirdef/many.sql\n{maps}"
        found: list[Diagnostic] = []
        calls = count_calls(lambda: found.extend(problems(text)))
        assert found == []
        return calls

    assert work(800) < 5 * work(200)


def test_the_work_for_comments_is_bounded() -> None:
    def work(count: int) -> int:
        text = HEAD + "-- none\n" * count + "MAP A.B, TARGET A.B;\n-- none\n" * count
        return count_calls(lambda: lint(text.encode(), "r.prm", Rules(select=("GG122",))))

    assert work(1200) < 5 * work(300)


def test_definitions_are_looked_for_where_a_run_looks(home: Path) -> None:
    text = f'{HEAD}SETENV (DEFS = "dirdef")\nSOURCEDEFS ?DEFS/tables.sql\nTARGETDEFS x\\own.sql\nMAP A.B, TARGET A.B;\n'
    assert [item.message for item in problems(text)] == ["the file of TARGETDEFS `x\\own.sql` does not exist"]
    for place in ("dirprm/own.sql", "dirprm/x/own.sql", "x/own.sql"):
        (home / place).parent.mkdir(exist_ok=True)
        (home / place).write_text(DEFINITIONS, encoding="utf-8")
        assert problems(text) == []
        (home / place).unlink()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("MAP A.*, TARGET X.*;\nMAP A.B, TARGET X.B, KEYCOLS (C);", [4]),
        ("MAP A.B, TARGET X.B, KEYCOLS (C);\nMAP A.*, TARGET X.*;", []),
        ("MAP A.*, TARGET X.*;\nMAP A.B, TARGET Y.B;\nMAP B.B, TARGET X.B;", []),
        ("MAP P.*.*, TARGET *.*;\nMAP P.A.T?, TARGET A.*, INSERTALLRECORDS;", [4]),
        ("MAP A.*, TARGET X.*;\nMAP A.B, TARGET X.B;", []),
    ],
)
def test_a_map_after_one_with_wildcards_is_noted(text: str, lines: list[int]) -> None:
    assert problems(HEAD + text) == []
    assert [item.span.line for item in lint((HEAD + text).encode(), "r.prm")] == lines


def test_what_is_assumed_to_change_no_message_is_a_note() -> None:
    text = f"{HEAD}GETUPDATEBEFORES\nTRIMSPACES\nREPLACEBADCHAR SKIP\nMAP A.B, TARGET A.B;".encode()
    found = lint(text, "r.prm", Rules(for_run=True))
    assert [(item.span.line, item.severity, item.code) for item in found] == [
        (3, Severity.NOTE, "GG155"),
        (5, Severity.NOTE, "GG155"),
    ]


@pytest.mark.parametrize(
    ("text", "safe", "unsafe"),
    [
        ("## all\nMAP A.B, TARGET A.B;\n", "-- all\nMAP A.B, TARGET A.B;\n", None),
        ("#all\nMAP A.B, TARGET A.B;\n", None, "-- all\nMAP A.B, TARGET A.B;\n"),
        ("MAP A.B, TARGET A.B\nMAP A.C, TARGET A.C;\n", "MAP A.B, TARGET A.B;\nMAP A.C, TARGET A.C;\n", None),
        ("GETTRUNCATE\nMAP A.B, TARGET A.B;\n", None, "GETTRUNCATES\nMAP A.B, TARGET A.B;\n"),
        ("MAP A.B, TARGET A.B; all\n", None, "MAP A.B, TARGET A.B; -- all\n"),
        ("MAP A.T_*, TARGET B.T_*;\n", None, "MAP A.T_*, TARGET B.*;\n"),
        (
            "MACRO #m BEGIN GETTRUNCATES END;\n#m\nMAP A.B, TARGET A.B;\n",
            "MACRO #m BEGIN GETTRUNCATES END;\n#m ()\nMAP A.B, TARGET A.B;\n",
            None,
        ),
    ],
)
def test_a_fix_mends_the_file(text: str, safe: str | None, unsafe: str | None) -> None:
    content = (HEAD + text).encode()
    assert fix_file(content, "r.prm").content.decode() == HEAD + (safe or text)
    fixed = fix_file(content, "r.prm", unsafe=True)
    assert fixed.content.decode() == HEAD + (unsafe or safe or text)
    assert fixed.findings == ()


@pytest.mark.example("GG151", "GG152", "GG153", "GG154", "GG155")
@pytest.mark.parametrize("code", OF_PARAMETER_FILES)
def test_the_example_of_a_code(code: str) -> None:
    before, after = CODES[code].before.encode(), CODES[code].after.encode()
    assert code in {item.code for item in lint(before, "r.prm", Rules(for_run=True))}
    found = lint(after, "r.prm", Rules(for_run=True))
    assert [item for item in found if item.code == code and "no TARGETDB" not in item.message] == []


def test_a_directory_has_pairs_of_files_and_leaves_those_of_others_alone(home: Path) -> None:
    for name, text in {"ext.prm": "EXTRACT ext\nTABLE A.B;\n", "mgr.prm": "PORT 7809\n", "rb.prm": RIGHT[0][1]}.items():
        (home / "dirprm" / name).write_text(text, encoding="utf-8")
    found = find_sources([str(home / "dirprm")], io.BytesIO())
    assert sorted(Path(source.name).name for source in found.found) == [
        "out.props",
        "r.properties",
        "rb.prm",
        "rkafka.props",
    ]
    alone = find_sources(["rb.prm"], io.BytesIO())
    assert [Path(source.name).name for source in alone.found] == ["rb.prm", "out.props"]
    assert found.findings == alone.findings == ()
    left_alone = find_sources(["ext.prm", "mgr.prm"], io.BytesIO())
    assert (left_alone.found, left_alone.passed_over, left_alone.findings) == ((), ("ext.prm", "mgr.prm"), ())
    Path("none.prm").write_text("hello\n", encoding="utf-8")
    (finding,) = find_sources(["none.prm"], io.BytesIO()).findings
    assert (finding.code, "not the parameter file of a Replicat" in finding.message) == ("GG100", True)
