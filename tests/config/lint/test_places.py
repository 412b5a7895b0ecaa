"""Every finding of the linter has a place and a code that can be ignored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import LINT, SHARED_DATA

from ggfmt.config.lint.reading import Rules, lint, unknown
from ggfmt.render.ci_formats import diagnostics_sarif

CASES = SHARED_DATA / "cases" / "handlers"
FILES = [*sorted(LINT.glob("*.properties")), *sorted(CASES.glob("*.properties"))]

CONVERTED = """\
gg.handlerlist=fw
gg.handler.fw.type=filewriter
gg.handler.fw.format=avro_row_ocf
gg.handler.fw.format.metaColumnsTemplate=${optype},${position}
gg.handler.fw.pathMappingTemplate=./d
gg.handler.fw.fileNameMappingTemplate=${tableName}_${currentTimestamp}.avro
gg.handler.fw.stateFileDirectory=./s
gg.handler.fw.eventHandler=e
"""


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in FILES])
def test_every_finding_has_a_place_and_can_be_ignored(path: Path) -> None:
    content = path.read_bytes()
    found = lint(content, "f")
    for finding in found:
        assert finding.span.file == "f"
        assert finding.span.line and finding.span.column
        assert unknown(finding.code) is None
    # A file that cannot be read has no other findings.
    assert {finding.code for finding in lint(content, "f", Rules(ignore=("ALL",)))} <= {"GG100"}
    (run,) = json.loads(diagnostics_sarif(found))["runs"]
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("type=parquet\npathMappingTemplate=./p\nfileNameMappingTemplate=${groupName}.parquet", (11, 43)),
        ("type=s3\nregion=us-east-1\npathMappingTemplate=p\nbucketMappingTemplate=b-${groupName}", (12, 41)),
        (
            "type=oci-c\nserverUrl=u\ntenantID=t\nserviceName=s\nusername=x\npassword=y\npathMappingTemplate=p\n"
            "containerMappingTemplate=c-${groupName}",
            (16, 44),
        ),
        ("type=abs\npathMappingTemplate=./${uuid}\nbucketMappingTemplate=bucket", (10, 39)),
    ],
)
def test_the_template_of_an_event_handler_has_a_place(lines: str, place: tuple[int, int]) -> None:
    text = CONVERTED + "".join(f"gg.eventhandler.e.{line}\n" for line in lines.split("\n"))
    (finding,) = [finding for finding in lint(text.encode(), "f") if finding.code == "GG515"]
    assert (finding.span.line, finding.span.column) == place
    key = text.splitlines()[place[0] - 1].partition("=")[0]
    assert finding.message.startswith(f"`{key}`: ")
    assert [finding.code for finding in lint(text.encode(), "f", Rules(ignore=("GG515",)))] == []


def test_a_comment_ignores_what_a_run_refuses() -> None:
    text = "gg.handlerlist=a\ngg.handler.a.format=json\n# ggfmt: ignore GG411\n"
    text += "gg.handler.a.format.metaColumnsTemplate=${optype},${groupname}\n"
    assert lint(text.encode(), "f") == ()
    assert [finding.code for finding in lint(text.replace("GG411", "GG515").encode(), "f")] == ["GG122", "GG411"]
