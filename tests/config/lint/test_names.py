"""Templates of topics, keys, paths, streams and buckets, and of metadata: keywords in other marks, and bad names."""

from __future__ import annotations

import pytest

from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import lint
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic

HANDLER = "gg.handler.k."
KAFKA = {
    "type": "kafka",
    "mode": "op",
    "topicMappingTemplate": "${tableName}",
    "keyMappingTemplate": "${primaryKeys}",
    "format": "json",
    "format.metaColumnsTemplate": "${optype}",
}
WRITER = {
    "type": "filewriter",
    "mode": "op",
    "pathMappingTemplate": "./out",
    "fileNameMappingTemplate": "${tableName}_${currentTimestamp}.json",
    "stateFileDirectory": "./dirsta",
    "format": "json",
    "format.metaColumnsTemplate": "${optype}",
}


def handler(base: dict[str, str], name: str, value: str) -> str:
    """A file with one handler, whose last line is the given property."""
    lines = [f"{HANDLER}{other}={text}" for other, text in base.items() if other != name]
    return "\n".join(["gg.handlerlist=k", *lines, f"{HANDLER}{name}={value}"]) + "\n"


def store(type: str, value: str, **more: str) -> str:
    """A file whose last line is the bucket of a store."""
    lines = handler(WRITER, "eventHandler", "e") + f"gg.eventhandler.e.type={type}\n"
    lines += "".join(f"gg.eventhandler.e.{name}={text}\n" for name, text in more.items())
    return f"{lines}gg.eventhandler.e.pathMappingTemplate=x\ngg.eventhandler.e.bucketMappingTemplate={value}\n"


def found(text: str) -> list[Diagnostic]:
    last = len(text.splitlines())
    findings = [finding for finding in lint(text.encode(), "f") if finding.severity is not Severity.NOTE]
    assert {finding.span.line for finding in findings} <= {last}
    return findings


def marked(finding: Diagnostic) -> str:
    span = finding.span
    assert span.source is not None and span.column is not None
    return span.source[span.column - 1 : span.column - 1 + span.length]


def fixed_value(text: str) -> str:
    return fix_file(text.encode(), "f").content.decode().splitlines()[-1].partition("=")[2]


MARKS = ["$%s", "$(%s)", "$[%s]", "%%{%s}", "{%s}", "#{%s}", "@{%s}", "<%s>", "%%%s%%", "{ %s }"]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    ("base", "property"),
    [(KAFKA, "topicMappingTemplate"), (KAFKA, "keyMappingTemplate"), (WRITER, "pathMappingTemplate")],
)
@pytest.mark.parametrize("word", ["tableName", "TABLE_NAME", "fullyqualifiedtablename"])
def test_a_keyword_in_other_marks_is_found_and_fixed(mark: str, base: dict[str, str], property: str, word: str) -> None:
    there = mark % word
    text = handler(base, property, f"a-{there}-b")
    (finding,) = found(text)
    assert (finding.code, marked(finding)) == ("GG142", there)
    assert fixed_value(text).lower() == f"a-${{{word.replace('_', '')}}}-b".lower()
    assert found(fix_file(text.encode(), "f").content.decode()) == []


@pytest.mark.parametrize("property", ["topicMappingTemplate", "format.metaColumnsTemplate"])
def test_a_right_keyword_beside_a_wrong_one_stays(property: str) -> None:
    word = "tableName" if property.startswith("topic") else "optype"
    text = handler(KAFKA, property, f"${{{word}}},{{{word}}}".replace(",", "-" if word == "tableName" else ","))
    for finding in found(text):
        assert finding.fix is None or marked(finding) == f"{{{word}}}"
    assert "$$" not in fixed_value(text)


def test_a_misspelt_keyword_in_other_marks_is_not_fixed() -> None:
    (finding,) = found(handler(KAFKA, "topicMappingTemplate", "{fullyQualfiedTableName}"))
    assert finding.fix is None and finding.help == "write `${fullyQualifiedTableName}`"


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("${toLowerCase[$tableName]}", "write `${tableName}`"),
        ("$toLowerCase[${tableName}]", "write `${toLowerCase[...]}`"),
    ],
)
def test_a_keyword_with_brackets_in_other_marks(value: str, help: str) -> None:
    (finding,) = found(handler(KAFKA, "topicMappingTemplate", value))
    assert (finding.code, finding.help) == ("GG142", help)


@pytest.mark.parametrize(
    ("property", "value", "right"),
    [
        ("topicMappingTemplate", "a.${table_name}", "${tableName}"),
        ("topicMappingTemplate", "${toUpperCase[${schema-name}]}", "${schemaName}"),
        ("topicMappingTemplate", "${objectname}", "${fullyQualifiedTableName}"),
        ("keyMappingTemplate", "${primary_keys}", "${primaryKeys}"),
        ("keyMappingTemplate", "${op_type}", "${opType}"),
    ],
)
def test_a_keyword_in_another_spelling_is_marked_in_full_and_fixed(property: str, value: str, right: str) -> None:
    text = handler(KAFKA, property, value)
    (finding,) = found(text)
    wrong = value[value.rindex("${") : value.index("}") + 1]
    assert (finding.code, marked(finding), finding.fix) == ("GG103", wrong, right)
    assert fixed_value(text) == value.replace(wrong, right)


@pytest.mark.parametrize("value", ["${something}", "${alltokens}", "${insertCount}", "${token}", "${tableName[x]}"])
def test_what_is_no_keyword_of_messages(value: str) -> None:
    (finding,) = found(handler(KAFKA, "topicMappingTemplate", f"a-{value}"))
    assert (finding.code, marked(finding), finding.fix) == ("GG103", value, None)


@pytest.mark.parametrize(
    ("value", "there"),
    [
        ("my topic", "my topic"),
        ("ogg/${tableName}", "ogg/"),
        ("${schemaName}:${tableName}", ":"),
        ("${staticMap[S.T=a b]}", "a b"),
        ("${toLowerCase[${tableName}é]}".replace("é", "#"), "#"),
        ("${currentTimestamp[yyyy/MM]}", "/"),
        ("{ogg}", "{ogg}"),
        ("..", ".."),
        ("a" * 250, "a" * 250),
    ],
)
def test_a_topic_that_kafka_refuses(value: str, there: str) -> None:
    (finding,) = found(handler(KAFKA, "topicMappingTemplate", value))
    assert (finding.code, finding.severity, marked(finding)) == ("GG141", Severity.ERROR, there)


@pytest.mark.parametrize(
    "value", ["a.b_c-D9", "${regex[${tableName}][\\\\$][_]}", "${schemaName}.${tableName}", "a" * 249]
)
def test_a_topic_that_kafka_takes(value: str) -> None:
    assert found(handler(KAFKA, "topicMappingTemplate", value)) == []


def test_a_key_is_any_text() -> None:
    assert found(handler(KAFKA, "keyMappingTemplate", "a b/${primaryKeys}$x")) == []


OCI = ("configFilePath", "profile", "namespace", "region", "compartmentID")


@pytest.mark.parametrize(
    ("type", "more", "wrong", "right"),
    [
        ("s3", {"region": "us-east-1"}, "my_bucket", "my-bucket.${toLowerCase[${schemaName}]}"),
        ("s3", {"region": "us-east-1"}, "ogg/orders", "ogg"),
        ("gcs", {}, "My-bucket", "my_bucket"),
        ("abs", {}, "my.container", "my-container"),
        ("oci", dict.fromkeys(OCI, "x"), "a b", "A_b"),
    ],
)  # fmt: skip
def test_buckets_and_containers(type: str, more: dict[str, str], wrong: str, right: str) -> None:
    (finding,) = found(store(type, wrong, **more))
    assert (finding.code, marked(finding)) == ("GG141", wrong)
    assert found(store(type, right, **more)) == []


@pytest.mark.parametrize(
    ("item", "help", "fixed"),
    [
        ("${tokens}", "`${alltokens[tokens]}`", None),
        ("${op_type}", "`${optype[op_type]}`", None),
        ("${op_ts}", "`${timestamp[op_ts]}`", None),
        ("${current_ts}", "`${currenttimestamp[current_ts]}`", None),
        ("${pos}", "`${position[pos]}`", None),
        ("${primary_keys}", "`${primarykeycolumns[primary_keys]}` or `${primarykeys[primary_keys]}`", None),
        ("${tableName}", "`${table}`", None),
        ("${table_name}", "`${table}`", None),
        ("${fullyQualifiedTableName}", "`${objectname}`", None),
        ("table", "`${table}`", None),
        ('"${position}"', "remove the quotes", "${position}"),
        ("$position", "`${position}`", "${position}"),
        ("{position}", "`${position}`", "${position}"),
        ("#{pos}", "`${position}`", None),
    ],
)
def test_near_misses_of_metadata(item: str, help: str, fixed: str | None) -> None:
    text = handler(KAFKA, "format.metaColumnsTemplate", f"${{optype}},{item}")
    (finding,) = found(text)
    assert (finding.code, marked(finding), finding.fix) == ("GG103", item, fixed)
    assert help in (finding.help or "")
