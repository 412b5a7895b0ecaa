"""`ggfmt validate-config`: which files it checks, what it prints, how it ends, and what its fixes do to a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_command import RELEASES, as_nobody, checked, here, write
from places import ROOT
from strategies import examples

from ggfmt.config.handlers import read_configuration
from ggfmt.config.lint.fix import apply_fixes, apply_rewrites, fix_file, patch
from ggfmt.config.lint.reading import has_properties, lint
from ggfmt.config.properties import parse_content, read_properties
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Rewrite, Span
from ggfmt.render.diagnostics import fold_similar

__all__ = ["here"]  # the fixture

FORMATS = ("text", "concise", "json", "github", "gitlab", "rdjson", "sarif", "junit")
HEAVY = {"pyspark", "py4j", "pyarrow", "lxml", "fastavro", "msgspec", "numpy", "rich"}

GOOD = (
    "gg.handlerlist=a\ngg.handler.a.type=hdfs\ngg.handler.a.format=json\ngg.handler.a.format.jsonDelimiter=CDATA[\\n]\n"
)
RENAMED = GOOD + "gg.handler.a.format.iso8601Forma=true\n"
WRONG = GOOD + "gg.handler.a.mode=ops\n"
NOTED = "gg.handlerlist=a\ngg.handler.a.format=avro_row\ngg.handler.a.format.pkUpdateHandling=delete-insert\n"
PRODUCER = "bootstrap.servers=localhost:9092\nlinger.ms=5\n"

WARNING_TEXT = """\
a.properties:5:1: warning[GG102] `gg.handler.a.format.iso8601Forma` is read as `iso8601Format`
  5 | gg.handler.a.format.iso8601Forma=true
    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: write `gg.handler.a.format.iso8601Format`
"""
ERROR_TEXT = """\
b.properties:5:19: error[GG103] `gg.handler.a.mode` cannot be `ops`
  5 | gg.handler.a.mode=ops
    |                   ^^^
  help: legal values are `tx`, `op`; did you mean `op`?
"""
PAGE = "page: ggfmt docs check-handler-files\n"


def process(cwd: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "ggfmt", "validate-config", *arguments]
    return subprocess.run(command, capture_output=True, check=False, cwd=cwd, input=given)


# What is printed, and the exit code


def test_findings_are_the_result_and_the_count_is_beside_it(here: Path) -> None:
    write(here / "a.properties", RENAMED)
    write(here / "b.properties", WRONG)
    write(here / "c.properties", NOTED)
    code, out, err = checked("a.properties", "b.properties", "c.properties")
    assert (code, err) == (1, "3 files: 1 error, 1 warning, 1 note\n")
    assert out.decode().startswith(WARNING_TEXT + ERROR_TEXT)
    assert out.decode().count("note[GG121]") == 1


UNDONE = "gg.handlerlist=a\ngg.handler.a.type=hbase\ngg.handler.a.hBaseColumnFamilyName=cf\n"
UNFIT = GOOD + "gg.handler.a.pathMappingTemplate=../x\n"
FOR_RUN = "`--for-run` checks whether a run stops at what ggfmt does not do\n"


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("text", [UNDONE, UNFIT])
def test_what_ggfmt_does_not_do_fails_for_a_run_alone(here: Path, text: str, output_format: str) -> None:
    write(here / "a.properties", text)
    notes = text.count("hbase") + 1
    told = f"1 file: no findings; {notes} note{'s' * (notes > 1)} of what ggfmt does not do\n{FOR_RUN}"
    code, out, err = checked("a.properties", strict=True, output_format=output_format)
    assert (code, err) == (0, told)
    assert output_format in ("junit", "concise", "sarif") or not re.search(rb"error\b|warning|major|minor|WARNING", out)
    code, out, err = checked("a.properties", for_run=True, strict=True, output_format=output_format)
    assert (code, err.partition(";")[0].strip()) == (1, "1 file: 1 error")
    assert "--for-run" not in err


def test_a_file_without_findings_prints_nothing(here: Path) -> None:
    write(here / "a.properties", GOOD)
    assert checked("a.properties") == (0, b"", "1 file: no findings\n")
    assert all(checked("a.properties", output_format=name)[0] == 0 for name in FORMATS)


@pytest.mark.parametrize(
    ("text", "plain", "strict"),
    [(GOOD, 0, 0), (NOTED, 0, 0), (RENAMED, 0, 1), (WRONG, 1, 1), ("gg.log=x", 1, 1)],
)
def test_the_exit_code(here: Path, text: str, plain: int, strict: int) -> None:
    write(here / "a.properties", text)
    for name in FORMATS:
        assert checked("a.properties", output_format=name)[0] == plain
        assert checked("a.properties", output_format=name, strict=True)[0] == strict


def test_standard_input_is_a_file_too(here: Path) -> None:
    write(here / "a.properties", RENAMED)
    code, out, err = checked("-", "a.properties", "-", given=WRONG.encode())
    assert (code, err) == (1, "2 files: 1 error, 1 warning\n")
    assert out.decode() == ERROR_TEXT.replace("b.properties", "<stdin>") + WARNING_TEXT + PAGE


def test_the_formats_of_one_finding(here: Path) -> None:
    write(here / "b.properties", WRONG)
    told = {name: checked("b.properties", output_format=name)[1].decode() for name in FORMATS}
    assert told["text"] == ERROR_TEXT + PAGE
    assert [(one["code"], one["line"], one["column"]) for one in json.loads(told["json"])] == [("GG103", 5, 19)]
    assert told["github"] == (
        "::error file=b.properties,line=5,endLine=5,col=19,endColumn=21,title=GG103::"
        "`gg.handler.a.mode` cannot be `ops`%0Ahelp: legal values are `tx`, `op`; did you mean `op`?\n"
    )
    assert [result["ruleId"] for result in json.loads(told["sarif"])["runs"][0]["results"]] == ["GG103"]
    suites = ElementTree.fromstring(told["junit"])
    assert [failure.text for failure in suites.iter("failure")] == [ERROR_TEXT]
    assert told["concise"] == "b.properties:5:19: GG103 `gg.handler.a.mode` cannot be `ops`\n"
    assert [one["location"] for one in json.loads(told["gitlab"])] == [{"path": "b.properties", "lines": {"begin": 5}}]
    (only,) = json.loads(told["rdjson"])["diagnostics"]
    assert only["location"]["range"] == {"start": {"line": 5, "column": 19}, "end": {"line": 5, "column": 22}}


def test_a_comment_silences_a_finding(here: Path) -> None:
    write(here / "a.properties", WRONG.replace("gg.handler.a.mode", "# ggfmt: ignore GG103\ngg.handler.a.mode"))
    assert checked("a.properties") == (0, b"", "1 file: no findings\n")


@pytest.mark.parametrize("output_format", FORMATS)
def test_no_secret_is_shown(here: Path, output_format: str) -> None:
    secret = "hunter2" * 3
    text = (
        f"gg.handler.a.format.password={secret}\ngg.handler.a.mode=x password={secret}\ngg.hander.a.apikey {secret}\n"
    )
    write(here / "a.properties", GOOD + text)
    _, out, err = checked("a.properties", output_format=output_format)
    assert b"GG1" in out
    assert secret not in out.decode() + err
    _, out, err = checked("a.properties", output_format=output_format, diff=True)
    assert secret not in err


def test_a_reader_that_leaves_is_no_defect(here: Path) -> None:
    write(here / "a.properties", WRONG)
    command = [sys.executable, "-m", "ggfmt", "validate-config", "a.properties"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.close()
    assert started.stderr is not None
    assert started.stderr.read() == b""
    started.stderr.close()
    assert started.wait() == 141


# Which files


def test_missing_files_do_not_end_the_report_of_others(here: Path) -> None:
    write(here / "a.properties", WRONG)
    (here / "empty").mkdir()
    write(here / "producers" / "p.properties", PRODUCER)
    done = process(here, "a.properties", "b.properties", "*.props", "empty", "producers", "empty", "c/*.properties")
    passed_over = "producers/p.properties: no GoldenGate properties, passed over\n"
    assert (done.returncode, RELEASES.sub("", done.stderr.decode())) == (2, f"1 file: 6 errors\n{passed_over}")
    told = "  help: a handler file ends in `.properties` or `.props` and has `gg.` keys\n"
    assert done.stdout.decode() == (
        "b.properties: error[GG100] the file cannot be read: No such file or directory\n"
        "  help: did you mean `a.properties`?\n"
        "*.props: error[GG100] the pattern fits no file\n"
        f"empty: error[GG100] the directory has no handler file\n{told}"
        f"producers: error[GG100] the directory has no handler file\n{told}"
        "c/*.properties: error[GG100] the pattern fits no file\n"
        f"{ERROR_TEXT.replace('b.', 'a.')}{PAGE}"
    )


@pytest.mark.parametrize("others", [(), ("a.properties",), ("a.properties", "good.properties")])
@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_reports_what_cannot_be_read(here: Path, output_format: str, others: tuple[str, ...]) -> None:
    write(here / "a.properties", WRONG)
    write(here / "good.properties", GOOD)
    code, out, _ = checked("b.properties", *others, output_format=output_format)
    assert code == 2
    expected = ["GG100", *["GG103"] * ("a.properties" in others)]
    assert [found for found in shown_codes(out, output_format) if found != "GG119"] == expected
    (here / "a.properties").unlink()
    code, out, _ = checked("good.properties", output_format=output_format)
    assert (code, shown_codes(out, output_format)) == (0, [])


def shown_codes(out: bytes, output_format: str) -> list[str]:
    """Return the codes of the findings of an output, which must be whole."""
    if output_format == "junit":
        return [found.get("type", "") for found in ElementTree.fromstring(out).iter("failure")]
    if output_format in ("json", "gitlab"):
        return [found.get("code") or found["check_name"] for found in json.loads(out)]
    if output_format == "rdjson":
        return [found["code"]["value"] for found in json.loads(out)["diagnostics"]]
    if output_format == "sarif":
        (run,) = json.loads(out)["runs"]
        return [found["ruleId"] for found in run["results"]]
    return re.findall(r"\b(GG[0-9]{3})\b", out.decode())


def test_invalid_settings_do_not_end_the_report_of_other_files(here: Path) -> None:
    write(here / "a.properties", WRONG)
    for name in ("x.properties", "y.properties"):
        write(here / "conf" / name, WRONG)
    write(here / "conf" / "ggfmt.toml", "select = 1\n")
    code, out, err = checked("a.properties", "conf", output_format="concise")
    assert (code, err) == (2, "3 files: 2 errors\n")
    assert re.sub(rb"^/.*/conf", b"conf", out, flags=re.MULTILINE).decode() == (
        "a.properties:5:19: GG103 `gg.handler.a.mode` cannot be `ops`\n"
        "conf/ggfmt.toml:1:1: GG133 `select` is not a list of codes\n"
    )


def test_a_directory_is_its_handler_files_by_name(here: Path) -> None:
    for name in ("b.properties", "a/z.props", "a/b/c.properties", "a.properties", "B.props"):
        write(here / "conf" / name, WRONG)
    for name in ("p.properties", "a/log4j.properties", "empty.props"):
        write(here / "conf" / name, PRODUCER)
    for name in (".hidden.properties", ".git/x.properties", "notes.txt", "x.properties.bak"):
        write(here / "conf" / name, WRONG)
    os.mkfifo(here / "conf" / "pipe.properties")
    code, out, err = checked("conf")
    assert re.findall(r"^(.+?):5:19: ", out.decode(), re.MULTILINE) == [
        "conf/B.props",
        "conf/a/b/c.properties",
        "conf/a/z.props",
        "conf/a.properties",
        "conf/b.properties",
    ]
    assert (code, err) == (1, "5 files: 5 errors\n3 files: no GoldenGate properties, passed over\n")


def test_a_file_without_properties_of_goldengate_is_passed_over_in_a_directory(here: Path) -> None:
    write(here / "conf" / "a.properties", GOOD)
    write(here / "conf" / "p.properties", PRODUCER)
    write(here / "conf" / "q.properties", PRODUCER)
    told = "1 file: no findings\n2 files: no GoldenGate properties, passed over\n"
    assert checked("conf") == checked("conf/*.properties") == (0, b"", told)


PARAMETERS = """-- orders to Kafka
REPLICAT rkafka
TARGETDB LIBFILE libggjava.so SET property=dirprm/kafka.props
MAP GG.*, TARGET GG.*;
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "# Orders\n\nThe file gg.properties:\n\n- is here\n  GG.ORDERS: 2 inserts\n",
            "has no properties of GoldenGate",
        ),
        (PRODUCER, "it seems to be a file of a Kafka producer"),
        ("log4j.rootLogger=INFO", "it seems to be a file of log4j"),
        (PARAMETERS, "this is a Replicat parameter file; it names `dirprm/kafka.props`"),
        ("extract EJ\n", "this is a parameter file of Extract"),
        ("", "has no properties of GoldenGate"),
    ],
)
def test_a_file_that_is_named_and_is_no_handler_file_fails(here: Path, text: str, told: str) -> None:
    write(here / "rkafka.txt", text)
    code, out, err = checked("rkafka.txt")
    assert (code, err) == (2, "0 files: 1 error\n")
    assert out.startswith(b"rkafka.txt: error[GG100]")
    assert told in out.decode()
    code, out, _ = checked("-", given=text.encode())
    assert (code, shown_codes(out, "text")) == (2, ["GG100"])


def test_the_release_of_each_file_is_said(here: Path) -> None:
    write(here / "a.properties", "gg.handlerlist=k\ngg.handler.k.type=elasticsearch\ngg.handlerlist=h\n")
    write(here / "b.properties", "gg.handlerlist=h\ngg.handler.h.type=filewriter\ngg.handler.h.format=json\n")
    write(here / "c.properties", "gg.handlerlist=h\ngg.handler.h.format=json\nggfmt.compatibility=21.1\n")
    write(here / "d.properties", "gg.handlerlist=h\ngg.handler.h.format=json\n")
    write(here / "e.properties", "gg.handlerlist=h\ngg.handler.h.format=canal_json\n")
    told = process(here, "*.properties").stderr.decode().splitlines()
    later = "release 12.3.2.1 or later, because line 2 has the type `filewriter`; ggfmt assumes 12.3.2.1"
    change = "set `ggfmt.compatibility` to change that"
    assert [line for line in told if RELEASES.match(f"{line}\n")] == [
        f"b.properties: {later}; {change}",
        "c.properties: release 21.1, set by `ggfmt.compatibility` in line 3",
        f"d.properties: no property shows a release: ggfmt assumes 12.2.0.1; {change}",
    ]


def test_a_directory_in_place_of_a_file(here: Path) -> None:
    write(here / "conf" / "orders.properties", GOOD)
    done = process(here, "orders.properties")
    assert done.returncode == 2
    found = read_properties("conf").diagnostics[0]
    assert found.help == "give a file of the directory: `conf/orders.properties`"
    (found,) = read_properties("conf/order.properties").diagnostics
    assert found.help == "did you mean `conf/orders.properties`?"


@pytest.mark.parametrize("key", ["gg.x", "  GG.HandlerList", "goldengate.x", "ggfmt.x", "a=1\rgg.x", "\tgg.\\u1"])
def test_one_key_makes_a_handler_file(here: Path, key: str) -> None:
    write(here / "a.properties", PRODUCER + key)
    assert checked("a.properties")[2].startswith("1 file: ")


def test_a_file_that_is_run_keeps_its_errors(here: Path) -> None:
    write(here / "a.properties", PRODUCER)
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(["a.properties"])
    assert [finding.code for finding in caught.value.diagnostics] == ["GG105"]


def test_a_directory_with_a_file_in_utf_16_tells_of_it(here: Path) -> None:
    write(here / "conf" / "a.properties", GOOD.encode("utf-16"))
    code, out, _ = checked("conf")
    assert code == 1
    assert out.decode() == f"conf/a.properties:1:1: error[GG100] the file is UTF-16\n  help: save it as UTF-8\n{PAGE}"


def test_globs(here: Path) -> None:
    for name in ("a.properties", "c/d/b.properties", "c/[x].properties", "c/.h/b.properties"):
        write(here / name, WRONG)
    places = {
        "*.properties": ["a.properties"],
        "**/*.properties": ["a.properties", "c/[x].properties", "c/d/b.properties"],
        "c/[x].properties": ["c/[x].properties"],
        "?/*": ["c/[x].properties", "c/d/b.properties"],
        "c": ["c/[x].properties", "c/d/b.properties"],
    }
    for pattern, names in places.items():
        assert re.findall(r"^(.+?):5:19: ", checked(pattern)[1].decode(), re.MULTILINE) == names


def test_a_file_is_checked_once_by_its_first_name(here: Path) -> None:
    write(here / "conf" / "a.properties", WRONG)
    (here / "link.properties").symlink_to("conf/a.properties")
    code, out, err = checked("link.properties", "conf/a.properties", "./conf//a.properties", "conf", "conf/*", "conf/")
    assert (code, err) == (1, "1 file: 1 error\n")
    assert out.decode() == ERROR_TEXT.replace("b.properties", "link.properties") + PAGE


def test_a_link_to_nothing_is_told(here: Path) -> None:
    write(here / "conf" / "a.properties", GOOD)
    (here / "conf" / "b.properties").symlink_to("nowhere")
    code, out, _ = checked("conf")
    assert code == 2
    told = "conf/b.properties: error[GG100] the file cannot be read: No such file or directory"
    assert out.decode().startswith(told)


def test_what_may_not_be_read_is_told(here: Path) -> None:
    write(here / "conf" / "a.properties", GOOD).chmod(0)
    (here / "conf" / "sub").mkdir(mode=0)
    write(here / "conf" / "z.properties", GOOD).chmod(0o644)
    (here / "conf").chmod(0o755)
    with as_nobody(here):
        code, out, err = checked("conf", output_format="concise")
    assert (code, err) == (2, "1 file: 2 errors\n")
    assert sorted(out.decode().splitlines()) == [
        "conf/a.properties: GG100 the file cannot be read: Permission denied",
        "conf/sub: GG100 the directory cannot be read: Permission denied",
    ]
    (here / "conf" / "sub").chmod(0o700)


# --set


def test_settings_stand_behind_each_file(here: Path) -> None:
    write(here / "a.properties", WRONG)
    write(here / "b.properties", WRONG)
    assert checked("a.properties", settings=["gg.handler.a.mode=op"]) == (0, b"", "1 file: no findings\n")
    code, out, _ = checked("a.properties", "b.properties", settings=["gg.handler.a.mode=x", "gg.handler.a.foo=1"])
    assert code == 1
    assert re.findall(r"^\S+ \w+\[\w+\]", out.decode(), re.MULTILINE) == [
        "--set:1:19: error[GG103]",
        "--set:2:1: warning[GG101]",
    ]
    done = process(here, "a.properties", "--set", "gg.handler.a.mode=op", "--strict")
    assert (done.returncode, done.stdout) == (0, b"")


def test_what_is_wrong_with_settings_is_not_fixed_in_the_file(here: Path) -> None:
    file = write(here / "a.properties", RENAMED)
    settings = ["gg.handler.a.Formatter=json", "gg.handler.name.mode=op"]
    err = checked("a.properties", settings=settings, fix=True, unsafe_fixes=True)[2]
    assert file.read_text() == RENAMED.replace("format.iso8601Forma", "format.iso8601Format")
    assert err == "fixed 1 key in a.properties\n1 file: 2 warnings\n"


def test_settings_are_judged_where_a_line_of_their_number_is_filled_in(here: Path) -> None:
    write(here / "a.properties", "gg.handler.a.rootFilePath=${OUT}\n" + GOOD)
    _, out, _ = checked("a.properties", settings=["gg.handler.a.mode=x"], output_format="concise")
    assert out.decode().splitlines()[1] == "--set:1:19: GG103 `gg.handler.a.mode` cannot be `x`"


# Repeats


def test_three_findings_that_are_alike_are_one_in_text(here: Path) -> None:
    lines = "".join(f"gg.handler.a.foo{number}=1\n" for number in range(9))
    write(here / "a.properties", GOOD + lines + "gg.handler.a.mod=1\n-- x\n-- y\n")
    told = checked("a.properties")[1].decode()
    assert told.startswith(
        "a.properties:5:1: warning[GG101] `gg.handler.a.foo0` is not a property of a handler,"
        " and 8 more in lines 6, 7, 8, 9, 10...\n"
    )
    assert told.count("GG101") == 2
    assert told.count("GG113") == 2
    assert checked("a.properties")[2] == "1 file: 12 warnings\n"
    assert len(json.loads(checked("a.properties", output_format="json")[1])) == 12
    assert checked("a.properties", output_format="concise")[1].count(b"\n") == 12


def test_what_differs_by_more_than_the_property_is_not_folded(here: Path) -> None:
    lines = [f"gg.handler.{name}.format.fo=1" for name in "aab"] + [
        f"gg.handler.a.includeToken{s}=x" for s in ("", "s")
    ]
    write(here / "a.properties", "gg.handlerlist=a,b\n" + "\n".join(lines))
    told = checked("a.properties")[1].decode()
    assert " more " not in told
    assert told.count("[GG101]") == 4


# --unsafe-fixes

DOUBTFUL = """\
# orders
gg.handlerlist=a
gg.handler.a.format=xml
gg.handler.a.mode=tx
  gg.handler.a.mode = op // every operation
-- its root
gg.handler.name.rootFilePath=/data # here
gg.handler.a.format=json
gg.handler.a.format=json
"""
MENDED = """\
# orders
gg.handlerlist=a
  # every operation
  gg.handler.a.mode = op
# its root
# here
gg.handler.a.rootFilePath=/data
gg.handler.a.format=json
"""


def test_a_finding_without_a_fix_is_not_fixed(here: Path) -> None:
    write(here / "a.properties", "gg.handlerlist=a\ngg.handler.a.format=json\ngg.handler.a.mode=x\n")
    for fix in (True, False):
        code, _, err = checked("a.properties", fix=fix, diff=not fix)
        assert code == 1
        assert err.endswith("nothing was fixed: no finding has a fix that ggfmt can apply\n1 file: 1 error\n")
    write(here / "a.properties", "gg.handlerlist=a\ngg.handler.a.format=json\n")
    assert checked("a.properties", fix=True)[2] == "1 file: no findings\n"


def test_unsafe_fixes_are_made_when_they_are_asked_for(here: Path) -> None:
    file = write(here / "a.properties", DOUBTFUL)
    err = checked("a.properties", fix=True)[2]
    assert err.startswith("6 fixes more with `--unsafe-fixes`\n1 file: ")
    assert file.read_text() == DOUBTFUL
    assert checked("a.properties", fix=True, unsafe_fixes=True, strict=True) == (
        0,
        b"",
        "fixed 7 lines in a.properties\n1 file: no findings\n",
    )
    assert file.read_text() == MENDED
    assert checked("a.properties", unsafe_fixes=True)[2] == "1 file: no findings\n"


def test_unsafe_fixes_as_a_patch(here: Path) -> None:
    file = write(here / "a.properties", DOUBTFUL.replace("\n", "\r\n")[:-2])
    out = checked("a.properties", diff=True, unsafe_fixes=True)[1]
    assert file.read_bytes() == DOUBTFUL.replace("\n", "\r\n").encode()[:-2]
    apply_patch(here, out)
    assert file.read_bytes() == MENDED.replace("\n", "\r\n").encode()[:-2]


@pytest.mark.parametrize(
    "text",
    [
        "gg.handler.a.password=x # y",
        "gg.handler.a.apiKey=x\ngg.handler.a.apiKey=y",
        "gg.classpath=/a\\\n  :/b # c",
        "gg.handler.a.rootFilePath=/a\\ # c",
        "gg.handler.n\\u0061me.mode=op",
    ],
)
def test_what_is_not_rewritten(text: str) -> None:
    content = f"{GOOD}{text}\n".encode()
    assert fix_file(content, "f", unsafe=True).content == content


def test_rewriting_changes_its_lines_and_nothing_else() -> None:
    def rewrite(line: int, old: str, *new: str) -> Diagnostic:
        return Diagnostic("GG107", "x", rewrite=Rewrite(line, tuple(old.split("\n")), new))

    content = b"\xef\xbb\xbfa\r\nb\nc\rd"
    assert apply_rewrites(content, [rewrite(2, "b")]) == (b"\xef\xbb\xbfa\r\nc\rd", 1)
    assert apply_rewrites(content, [rewrite(4, "d", "e", "f")]) == (b"\xef\xbb\xbfa\r\nb\nc\re\r\nf", 1)
    assert apply_rewrites(content, [rewrite(2, "b\nc", "x")]) == (b"\xef\xbb\xbfa\r\nx\rd", 1)
    assert apply_rewrites(content, [rewrite(2, "b\nc", "x"), rewrite(3, "c"), rewrite(9, "x")])[1] == 1
    assert apply_rewrites(content, [rewrite(2, "x"), rewrite(3, "c\nd\ne"), Diagnostic("GG107", "x")]) == (content, 0)
    assert apply_rewrites(b"\xe9", [rewrite(1, "\xe9", "\u5bc6", "\xe9")]) == (b"\\u5bc6\n\xe9", 1)


# --fix and --diff


def test_fix_writes_and_tells_what_remains(here: Path) -> None:
    file = write(
        here / "a.properties",
        RENAMED
        + "gg.handler.a.Mode.x=1\ngg.handler.a.mode=ops\ngg.handler.a.format.prettyPrintformat.prettyPrint=true",
    )
    code, out, err = checked("a.properties", fix=True)
    assert file.read_text() == (
        GOOD + "gg.handler.a.format.iso8601Format=true\ngg.handler.a.Mode.x=1\ngg.handler.a.mode=ops\n"
        "gg.handler.a.format.prettyPrint=true"
    )
    assert re.findall(r"\w+\[GG[0-9]+\]", out.decode()) == ["warning[GG101]", "error[GG103]"]
    assert (code, err) == (1, "fixed 2 keys in a.properties\n1 file: 1 error, 1 warning\n")
    file.write_text(RENAMED)
    assert checked("a.properties", fix=True, strict=True) == (
        0,
        b"",
        "fixed 1 key in a.properties\n1 file: no findings\n",
    )
    before = file.stat()
    assert checked("a.properties", fix=True) == (0, b"", "1 file: no findings\n")
    assert file.stat() == before


def test_fix_keeps_mode_link_and_bytes(here: Path) -> None:
    content = b"\xef\xbb\xbf" + "# 密\r\n".encode() + RENAMED.replace("\n", "\r\n").encode() + b"x.y=\x1b  \r\r\n\n\t"
    target = write(here / "real" / "a.properties", content)
    target.chmod(0o640)
    (here / "a.properties").symlink_to("real/a.properties")
    checked("a.properties", fix=True)
    assert (here / "a.properties").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_bytes() == content.replace(b"format.iso8601Forma", b"format.iso8601Format")
    assert os.listdir(here / "real") == ["a.properties"]


def test_diff_writes_nothing_and_leaves_standard_output_to_the_patch(here: Path) -> None:
    file = write(here / "a.properties", RENAMED[:-1])
    code, out, err = checked("./a.properties", diff=True)
    assert code == 0
    assert out.decode() == (
        "--- a/a.properties\n+++ b/a.properties\n@@ -2,4 +2,4 @@\n gg.handler.a.type=hdfs\n gg.handler.a.format=json\n"
        " gg.handler.a.format.jsonDelimiter=CDATA[\\n]\n"
        "-gg.handler.a.format.iso8601Forma=true\n\\ No newline at end of file\n"
        "+gg.handler.a.format.iso8601Format=true\n\\ No newline at end of file\n"
    )
    assert err == WARNING_TEXT.replace("a.prop", "./a.prop", 1) + PAGE + "1 file: 1 warning\n"
    assert file.read_text() == RENAMED[:-1]
    assert checked("a.properties", diff=True, strict=True)[0] == 1
    code, both, err = checked("./a.properties", fix=True, diff=True, strict=True)
    assert (code, both, err) == (0, out, "fixed 1 key in ./a.properties\n1 file: no findings\n")
    assert file.read_text() == RENAMED[:-1].replace("format.iso8601Forma", "format.iso8601Format")


def test_standard_input_is_shown_but_not_written(here: Path) -> None:
    code, out, err = checked("-", given=RENAMED.encode(), diff=True)
    assert code == 0
    assert out.startswith(b"--- a/<stdin>\n+++ b/<stdin>\n")
    assert err.startswith("<stdin>:5:1: warning[GG102]")
    done = process(here, "-", "--fix", given=RENAMED.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    assert "standard input cannot be written; use `--diff`" in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize("locked", ["directory", "file"])
def test_what_cannot_be_written_is_told(here: Path, locked: str) -> None:
    file = write(here / "conf" / "a.properties", RENAMED)
    other = write(here / "b.properties", RENAMED)
    file.chmod(0o666 if locked == "directory" else 0o444)
    file.parent.chmod(0o555 if locked == "directory" else 0o777)
    here.chmod(0o777)
    other.chmod(0o666)
    with as_nobody(here):
        code, out, err = checked("conf/a.properties", "b.properties", fix=True)
    assert code == 1
    assert out.decode() == (
        "conf/a.properties: error[GG506] the file cannot be written: Permission denied\n"
        + WARNING_TEXT.replace("a.prop", "conf/a.prop", 1)
        + "page: ggfmt docs output\n"
        + PAGE
    )
    assert err == "fixed 1 key in b.properties\n2 files: 1 error, 1 warning\n"
    assert file.read_text() == RENAMED
    assert os.listdir(file.parent) == ["a.properties"]


def fix_of(line: int, column: int, length: int, source: str, fix: str) -> Diagnostic:
    return Diagnostic("GG102", "x", Span("f", line, column, length, source), None, fix)


def test_several_fixes_of_one_line() -> None:
    fixes = [fix_of(2, 1, 1, "a=b c", "long"), fix_of(2, 5, 1, "a=b c", ""), fix_of(2, 3, 1, "a=b c", "y")]
    assert apply_fixes(b"#\ra=b c\r\n", fixes) == (b"#\rlong=y \r\n", {2})


def test_fixes_that_overlap_or_do_not_fit_are_left_out() -> None:
    fixes = [fix_of(1, 1, 3, "abc=1", "x"), fix_of(1, 3, 1, "abc=1", "y"), fix_of(1, 5, 1, "abc=1", "2")]
    assert apply_fixes(b"abc=1", fixes) == (b"x=2", {1})
    assert apply_fixes(b"abc=1", [fix_of(1, 5, 3, "abc=***", "2")]) == (b"abc=1", set())
    assert apply_fixes(b"abc=1", [fix_of(3, 1, 3, "abc=1", "2")]) == (b"abc=1", set())
    assert apply_fixes(b"abc=1", [Diagnostic("GG102", "x", "f", None, "y")]) == (b"abc=1", set())


def test_a_fix_is_written_in_the_encoding_of_its_file() -> None:
    assert apply_fixes(b"\xe9=a", [fix_of(1, 3, 1, "é=a", "ü密\U0001f600")]) == (
        b"\xe9=\\u00fc\\u5bc6\\ud83d\\ude00",
        {1},
    )
    assert apply_fixes(b"\xe9=a", [fix_of(1, 3, 1, "é=a", "ü")]) == (b"\xe9=\xfc", {1})
    assert apply_fixes("\U0001f600=a".encode(), [fix_of(1, 3, 1, "\U0001f600=a", "密")]) == (
        "\U0001f600=密".encode(),
        {1},
    )
    assert apply_fixes(b"\xef\xbb\xbfa=a", [fix_of(1, 3, 1, "a=a", "\ud800")]) == (b"\xef\xbb\xbfa=\\ud800", {1})


KEYS = st.sampled_from(
    [
        "gg.handlerlist",
        "gg.HandlerList",
        "gg.handler.a.format.iso8601Forma",
        "gg.handler.a.avroCodec",
        "gg.handler.a.MODE",
        "gg.handler.a.Formatter",
        "gg.handler.a.format",
        "gg.handler.a.format.prettyprint",
        "gg.handler.a.formatter.prettyPrintformat.prettyPrint",
        "gg.handler.b.format.treatAllColumnsAsString",
        "gg.handler.a.inclu\\\n  detokens",
        "gg.handler.a.include\\u0074okens",
        "gg.handler.b.format.password",
        "gg.handler.tokens.format.iso8601Forma",
        "ggfmt.Compatibility",
        "gg.ContentReplaceRegex",
        "# ggfmt: ignore GG102\ngg.handler.b.MODE",
        "密",
    ]
)
VALUES = st.sampled_from(["a", "a,b", "json", "delimitedtext", "true", "op", "x \\\n y", "hunter2", "é", "\x1b[2J"])
LINES = st.builds(
    "".join, st.tuples(st.sampled_from(["", " ", "\t"]), KEYS, st.sampled_from(["=", " : ", "\t"]), VALUES)
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Handler files with much to fix, in both encodings, with any line ends, and some with anything else."""
    lines = draw(st.lists(LINES | st.just("#") | st.text(st.characters(max_codepoint=0x2FF), max_size=10), max_size=8))
    text = "gg.handlerlist=a,b\n" + "".join(line + draw(ENDS) for line in lines) + draw(LINES | st.just(""))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "iso-8859-1"]))
    return text.encode(encoding, "surrogatepass" if encoding != "iso-8859-1" else "replace")


@given(contents())
@examples(200)
def test_fixing_twice_is_fixing_once(content: bytes) -> None:
    mended = fix_file(content, "f")
    assert mended.findings == lint(mended.content, "f")
    assert [found for found in mended.findings if found.fix is not None] == []
    again = fix_file(mended.content, "f")
    assert (again.content, again.keys) == (mended.content, 0)


@given(contents())
@examples(100)
def test_rewriting_ends_and_loses_no_property(content: bytes) -> None:
    mended = fix_file(content, "f", unsafe=True)
    again = fix_file(mended.content, "f", unsafe=True)
    assert (again.content, again.keys, again.lines) == (mended.content, 0, 0)
    before, after = ({entry.key for entry in parse_content(text, "f").entries} for text in (content, mended.content))
    renamed = {key for key in before if key.startswith(("gg.", "ggfmt.", "-", "/", ";"))}
    assert before - renamed <= after


@given(contents())
@examples(200)
def test_a_fix_changes_its_place_and_nothing_else(content: bytes) -> None:
    findings = [found for found in lint(content, "f") if found.fix is not None]
    fixed, touched = apply_fixes(content, findings)
    assert touched == {found.span.line for found in findings}
    before, after = (re.split(rb"(\r\n|\r|\n)", text) for text in (content, fixed))
    assert len(before) == len(after)
    wanted: dict[int, list[Diagnostic]] = {}
    for found in findings:
        assert found.span.line is not None
        wanted.setdefault(2 * (found.span.line - 1), []).append(found)
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        for found in wanted.get(index, ()):
            source, span = found.span.source or "", found.span
            assert span.column is not None and found.fix is not None
            meant = source[span.column - 1 :][: span.length].encode()
            assert old.count(meant) == 1
            old = old.replace(meant, found.fix.encode())
        assert new == old


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no `patch`")
@given(contents())
@examples(50)
def test_the_patch_is_the_fix(content: bytes) -> None:
    mended = fix_file(content, "f").content
    with tempfile.TemporaryDirectory() as directory:
        write(Path(directory) / "a.properties", content)
        apply_patch(Path(directory), patch("a.properties", content, mended))
        assert (Path(directory) / "a.properties").read_bytes() == mended


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no `patch`")
@pytest.mark.parametrize(
    "name", ["c/a b.props", 'q".props', "ü.props", "t\tt.props", "b\\s.props", "n\nn.props", "-x.props"]
)
def test_patch_finds_a_file_whatever_its_name_is(here: Path, name: str) -> None:
    file = write(here / name, RENAMED)
    for told in (name, str(file), f"./{name}"):
        file.write_text(RENAMED)
        apply_patch(here, patch(told, RENAMED.encode(), fix_file(RENAMED.encode(), name).content))
        assert file.read_text() == RENAMED.replace("format.iso8601Forma", "format.iso8601Format")


def test_a_patch_of_a_file_elsewhere_has_its_whole_path(here: Path) -> None:
    (here / "in").mkdir()
    os.chdir(here / "in")
    assert patch("../a", b"x\n", b"y\n").startswith(f"--- a{here}/a\n+++ b{here}/a\n".encode())
    assert patch("a", b"x\n", b"x\n") == b""


def apply_patch(directory: Path, change: bytes) -> None:
    done = subprocess.run(["patch", "-p1", "-s"], cwd=directory, input=change, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@given(contents() | st.binary(max_size=60), st.sampled_from(FORMATS), st.booleans())
@examples(150)
def test_any_bytes_give_an_answer_that_can_be_read(content: bytes, output_format: str, diff: bool) -> None:
    found = lint(content, "<stdin>")
    code, out, err = checked("-", given=content, output_format=output_format, diff=diff)
    if not has_properties(content):
        assert (code, b"GG100" in out or "GG100" in err) == (2, True)
        return
    err = err.replace(FOR_RUN, "")
    assert code == int(any(one.severity.value == "error" for one in found))
    *told, summary = err.split("\n")[:-1]
    assert summary.startswith("1 file: ")
    told = [line for line in told if "--unsafe-fixes" not in line]
    answer = "\n".join((*told, "")) if diff and told else "" if diff else out.decode()
    if output_format == "json":
        assert [one["code"] for one in json.loads(answer)] == [one.code for one in found]
    elif output_format == "sarif":
        assert [one["ruleId"] for one in json.loads(answer)["runs"][0]["results"]] == [one.code for one in found]
    elif output_format == "rdjson":
        assert [one["code"]["value"] for one in json.loads(answer)["diagnostics"]] == [one.code for one in found]
    elif output_format == "gitlab":
        assert [one["check_name"] for one in json.loads(answer)] == [one.code for one in found]
    elif output_format == "junit":
        assert ElementTree.fromstring(answer).tag == "testsuites"
    else:
        assert answer.replace("\n", "").isprintable()
        shown = fold_similar(found) if output_format == "text" else found
        assert len(re.findall(r"\bGG[0-9]{3}(?:\]|::| )", answer)) >= len(shown)


# What it takes, and what it looks like


def test_nothing_heavy_is_loaded(here: Path) -> None:
    write(here / "conf" / "a.properties", RENAMED)
    write(here / "conf" / "p.properties", PRODUCER)
    program = (
        "import sys\n"
        "import ggfmt.cli\n"
        f"for output_format in {tuple(FORMATS)}:\n"
        "    sys.argv = ['ggfmt', 'validate-config', 'conf', '--output-format', output_format, '--fix', '--diff']\n"
        "    assert not ggfmt.cli.main(), output_format\n"
        "print('loaded', *{name.partition('.')[0] for name in sys.modules})\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert "ggfmt" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no `tmux`")
def test_on_a_terminal(here: Path) -> None:
    write(here / "a.properties", WRONG + "gg.handler.a.foo=" + "密" * 100 + "\x1b[2J\n")
    shown = on_tmux(here, 60, "validate-config a.properties")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in shown]
    words = ERROR_TEXT.replace("b.prop", "a.prop").split()
    assert " ".join(plain).split()[: len(words)] == words  # lines break between words
    assert any("\x1b[31merror[GG103]" in line for line in shown)
    assert any("\x1b[1m\x1b[31m" in line and "^^^" in line for line in shown)
    cut = next(line for line in plain if line.startswith("  6 | "))
    assert cut.endswith("密...")
    assert 60 - 4 <= len(cut) + cut.count("密") <= 60
    assert plain[plain.index(cut) + 1] == "    | " + "^" * len("gg.handler.a.foo")
    assert plain[-1] == "1 file: 1 error, 2 warnings"
    assert "\x1b" not in "".join(on_tmux(here, 60, "validate-config a.properties | cat"))
    assert "\x1b[31m" not in "".join(on_tmux(here, 60, "validate-config a.properties", NO_COLOR="1"))


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no `tmux`")
def test_a_patch_on_a_terminal(here: Path) -> None:
    write(here / "a.properties", RENAMED)
    shown = on_tmux(here, 90, "validate-config a.properties --diff")
    assert "\x1b[31m-gg.handler.a.format.iso8601Forma=true" in "".join(shown)
    assert "\x1b[32m+gg.handler.a.format.iso8601Format=true" in "".join(shown)


def on_tmux(cwd: Path, columns: int, arguments: str, **variables: str) -> list[str]:
    """What a terminal of so many columns shows after a command, with its colors; lines that are empty are left out."""
    name = f"ggfmt-{uuid.uuid4().hex}"
    tmux = ["tmux", "-L", name, "-f", os.devnull]
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "TMUX")}
    command = f"{sys.executable} -m ggfmt {arguments}; echo; echo END; sleep 60"
    size = ("-x", str(columns), "-y", "40")
    try:
        subprocess.run(
            [*tmux, "new-session", "-d", *size, command], check=True, cwd=cwd, env={**environment, **variables}
        )
        for _ in range(300):
            shown = subprocess.run(
                [*tmux, "capture-pane", "-e", "-p", "-J"], capture_output=True, text=True, check=True
            )
            lines = [line.rstrip() for line in shown.stdout.splitlines() if line.strip()]
            if "END" in lines:
                return lines[: lines.index("END")]
            time.sleep(0.1)
        raise AssertionError("the command did not end")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def test_the_hook_of_pre_commit_calls_a_command_that_is_there() -> None:
    hook = dict(re.findall(r"^(?:- |  )(\w+): (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE))
    assert hook["id"] == "ggfmt-validate-config"
    assert process(ROOT, *hook["entry"].split()[2:], "conf/json.properties").returncode == 0
    assert hook["entry"].split()[:2] == ["ggfmt", "validate-config"]
    matched = [
        name for name in ("conf/a.properties", "b.props", "c.propsx", "properties") if re.search(hook["files"], name)
    ]
    assert matched == ["conf/a.properties", "b.props"]
