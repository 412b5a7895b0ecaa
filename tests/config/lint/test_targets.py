"""Files with `gg.target`: words for targets and stages, and misspelled names below the handlers that a target makes."""

from __future__ import annotations

import re

import pytest

from ggfmt.config.lint.reading import lint
from ggfmt.config.property_names import OTHER_NAMES
from ggfmt.config.property_table import PROCESS, TARGETS
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic

RIGHT = """\
gg.target=snowflake
gg.stage=s3
gg.eventhandler.snowflake.connectionURL=jdbc:snowflake://x
gg.eventhandler.s3.region=eu-central-1
gg.eventhandler.s3.bucketMappingTemplate=ogg
gg.eventhandler.s3.accessKeyId=x
gg.eventhandler.s3.eventHandler=snowflake
gg.eventhandler.own.whatever=x
gg.handler.filewriter.fileRollInterval=7m
gg.handler.filewriter.format.includeOpType=true
gg.handler.snowflake.createTable=true
gg.snowflake.mergeMode=true
"""


def found(line: str) -> list[Diagnostic]:
    """The findings of the right file with one more line."""
    return [finding for finding in lint(f"{RIGHT}{line}\n".encode(), "f") if finding.code != "GG146"]


def test_a_right_file_has_no_finding() -> None:
    assert [finding for finding in found("") if "mergeMode" not in finding.message] == []


@pytest.mark.parametrize(
    ("line", "code", "meant"),
    [
        ("gg.target=«bigquery»", "GG123", "write `bq`"),
        ("gg.target=«Delta-Lake»", "GG123", "write `databricks`"),
        ("gg.target=«adls»", "GG123", "write `abs`"),
        ("gg.target=«oadw»", "GG123", "write `adw`"),
        ("gg.target=«snowflak»", "GG123", "did you mean `snowflake`?"),
        ("gg.stage=«s33»", "GG123", "did you mean `s3`?"),
        ("gg.stage=«gcp»", "GG123", "write `gcs`"),
        ("gg.stage=«nowhere»", "GG123", "`internal`"),
        ("«gg.eventhandler.snowflak.connectionURL»=x", "GG101", "`gg.eventhandler.snowflake.connectionURL`"),
        ("«gg.eventhandler.snowflake.userNam»=x", "GG101", "`gg.eventhandler.snowflake.userName`"),
        ("«gg.eventhandler.s3.secretKy»=x", "GG101", "`gg.eventhandler.s3.secretKey`"),
        ("«gg.handler.filewritr.maxFileSize»=1g", "GG101", "`gg.handler.filewriter.maxFileSize`"),
        ("«gg.handler.filewriter.maxFileSiz»=1g", "GG101", "`gg.handler.filewriter.maxFileSize`"),
        ("gg.handler.filewriter.fileRollInterval=«7 minutes»", "GG103", "`ms`"),
        ("gg.eventhandler.s3.eventHandler=«snowflak»", "GG104", "`snowflake`"),
        ("gg.handler.filewriter.eventHandler=«s33»", "GG104", "`s3`"),
        ("gg.eventhandler.s3.bucketMappingTemplate=«Ogg»", "GG141", "small letters"),
    ],
)
def test_a_mistake_is_found_where_it_is(line: str, code: str, meant: str) -> None:
    places = [
        (finding.code, finding.span.column, finding.span.length)
        for finding in found(line.replace("«", "").replace("»", ""))
        if meant in (finding.help or "") and finding.span.line == RIGHT.count("\n") + 1
    ]
    assert places == [(code, line.index("«") + 1, line.index("»") - line.index("«") - 1)]


@pytest.mark.parametrize("name", ["conectionURL", "connectionString", "foo"])
def test_a_name_is_a_note_if_nobody_knows_it_or_the_name_that_is_meant_is_there(name: str) -> None:
    key = f"gg.eventhandler.snowflake.{name}"
    (note,) = (finding for finding in found(f"{key}=x") if finding.span.line == RIGHT.count("\n") + 1)
    assert (note.code, note.severity, note.help) == ("GG125", Severity.NOTE, None)
    assert key in note.message


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ("gg.target=snowflake\ngg.stage=s3", ["snowflake.connectionURL", "s3.region", "s3.bucketMappingTemplate"]),
        ("gg.target=snowflake\ngg.eventhandler.snowflake.jdbcUrl=jdbc:x", []),
        ("gg.target=fabric_lakehouse\ngg.stage=s3", []),
        ("gg.target=abs", ["abs.bucketMappingTemplate"]),
        ("gg.target=nowhere", []),
    ],
)
def test_usual_properties_of_a_target_and_its_stage_are_notes(lines: str, missing: list[str]) -> None:
    notes = [finding for finding in lint(lines.encode(), "f") if finding.code == "GG109"]
    assert {finding.severity for finding in notes} <= {Severity.NOTE}
    assert [
        key
        for finding in notes
        for key in re.findall(r"add (.*)", finding.help or "")
        for key in re.findall(r"eventhandler\.([\w.]+)=", key)
    ] == missing


def test_the_words_of_others_are_none_of_goldengate() -> None:
    words = [word for others in OTHER_NAMES.values() for word in others.split()]
    assert len(words) == len(set(words))
    assert not {*words} & {*TARGETS, *PROCESS.words("gg.stage")}
