"""What a handler file says of topics, keys and headers, and what has no known meaning for messages in Kafka."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from reading import read
from runs import operation

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.config.handlers import HandlerConfig, RunOptions, read_configuration
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic
from ggfmt.formats.api.format import Context
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.templates import GroupName, parse_message_template
from ggfmt.sinks.kafka.templates import Addressing, AddressSettings
from ggfmt.sinks.messages.pipeline import HandlerSettings, Pipeline

TEMPLATES = ("mode=op", "topicMappingTemplate=${tableName}", "keyMappingTemplate=${primaryKeys}")
CONNECT = ("type=kafkaconnect", "kafkaProducerConfigFile=p.properties", *TEMPLATES[1:])


def configured(*lines: str) -> tuple[HandlerConfig, RunOptions]:
    """The handler `k` of properties below it, and of others with `gg` in front; a later line takes the place of one."""
    known = dict((line if line[:2] == "gg" else f"gg.handler.k.{line}").split("=", 1) for line in lines)
    known = {key: value for key, value in known.items() if value != "-"}
    given = ["gg.handlerlist=k", *(f"{key}={value}" for key, value in known.items()), "ggfmt.compatibility=21"]
    read = read_configuration([], given)
    assert not [finding for finding in read.diagnostics if finding.severity is Severity.ERROR], read.diagnostics
    return read.handlers[0], read.run


def settings(*lines: str) -> AddressSettings:
    return AddressSettings.of(*configured(*lines), Context(release="21"))


def kafka(*lines: str) -> AddressSettings:
    return settings("type=kafka", "format=json", *TEMPLATES, *lines)


def refused(*lines: str) -> Diagnostic:
    with pytest.raises(ConfigurationError) as raised:
        kafka(*lines)
    (found,) = raised.value.diagnostics
    assert found.code == "GG577"
    assert found.help
    return found


def test_the_properties_of_a_handler_for_kafka() -> None:
    lines = ("type=Kafka", "format=json", *TEMPLATES, "SchemaTopicName=schemas", "metaHeadersTemplate=${xid}")
    config, _ = configured(*lines)
    assert config.kafka is not None
    assert config.kafka.topic_mapping_template == "${tableName}"
    assert config.kafka.key_mapping_template == "${primaryKeys}"
    assert (config.kafka.schema_topic_name, config.kafka.meta_headers_template) == ("schemas", "${xid}")
    assert config.place("schemaTopicName").line == 7
    assert configured("type=hdfs", "format=json")[0].kafka is None
    connect = configured(*CONNECT)[0].kafka
    assert connect is not None and connect.kafka_producer_config_file == "p.properties"


def test_templates_become_settings() -> None:
    found = kafka("metaHeadersTemplate=${optype[op]},${groupname}", "format.insertOpKey=N", "ggfmt.groupName=REP")
    assert (found.topic, found.key) == tuple(map(parse_message_template, ("${tableName}", "${primaryKeys}")))
    assert [column.name for column in found.headers] == ["op", "groupname"]
    assert found.op_keys == ("N", "U", "D", "T")
    assert (found.group, found.context.variables) == ("REP", {"${groupname}": "REP"})
    assert not found.by_transaction
    assert not found.needs_tokens
    assert kafka("keyMappingTemplate=${null}").key == ()


@pytest.mark.parametrize(
    "line",
    ["keyMappingTemplate=${toLowerCase[${xid}]}", "topicMappingTemplate=${token[A]}", "metaHeadersTemplate=${csn}"],
)
def test_tokens_are_needed_where_a_keyword_has_them(line: str) -> None:
    assert kafka(line).needs_tokens


def test_a_message_of_a_transaction_has_no_key() -> None:
    found = kafka("mode=tx", "topicMappingTemplate=all-${groupName}", "keyMappingTemplate=k", "ggfmt.groupName=REP")
    assert found.by_transaction
    assert found.key == ()
    assert found.topic[1] == GroupName()


def test_a_transaction_is_the_unit_by_default_and_never_of_kafka_connect() -> None:
    assert kafka("mode=-", "topicMappingTemplate=t", "keyMappingTemplate=${null}").by_transaction
    found = settings(*CONNECT, "metaHeadersTemplate=${optype}")
    assert not found.by_transaction
    assert found.op_keys == ("I", "U", "D", "T")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("keyMappingTemplate=-", "`gg.handler.k.keyMappingTemplate` is missing"),
        ("topicMappingTemplate=-", "`gg.handler.k.topicMappingTemplate` is missing"),
        ("keyMappingTemplate=${custom[com.example.Key]}", "`${custom}`, which calls a Java class"),
        ("keyMappingTemplate=${opType}", "`${opType}`, which may be a letter or a word"),
        ("topicMappingTemplate=${groupName}", "`${groupName}`, which has no value"),
        ("keyMappingTemplate=${toUpperCase[${groupName}]}", "`${groupName}`, which has no value"),
        ("metaHeadersTemplate=${alltokens}", "`${alltokens}`, which has no known value in a header"),
        ("metaHeadersTemplate=${primarykeycolumns[k]}", "no known value in a header"),
        ("metaHeadersTemplate=${env.SITE}", "`${env.SITE}`, which has no value"),
        ("topicPartitioning=table", "of GoldenGate 12.2"),
    ],
)
def test_what_has_no_known_meaning_is_refused(line: str, reason: str) -> None:
    found = refused(line)
    assert reason in found.message
    assert found.span.line


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("topicMappingTemplate=${tableName}", "tableName"),
        ("topicMappingTemplate=x${position}", "position"),
        ("keyMappingTemplate=${primaryKeys}", "primaryKeys"),
        ("metaHeadersTemplate=${objectname}", "objectname"),
        ("metaHeadersTemplate=${currenttimestamp}", "currenttimestamp"),
    ],
)
def test_a_message_of_a_transaction_has_no_value_of_one_operation(line: str, keyword: str) -> None:
    lines = ("mode=-", "topicMappingTemplate=t", "keyMappingTemplate=${null}", line)
    assert f"`${{{keyword}}}`" in refused(*lines).message


@pytest.mark.example("GG577")
def test_the_example_of_a_key_without_a_value() -> None:
    before, after = (
        read_configuration([], text.splitlines()) for text in (CODES["GG577"].before, CODES["GG577"].after)
    )
    with pytest.raises(ConfigurationError, match="GG577"):
        AddressSettings.of(before.handlers[0], before.run, Context())
    assert AddressSettings.of(after.handlers[0], after.run, Context()).key == parse_message_template("${primaryKeys}")


def test_a_handler_of_another_type_has_no_topics() -> None:
    with pytest.raises(ConfigurationError, match="must be one of `kafka` and `kafkaconnect`"):
        settings("type=hdfs", "format=json")


def test_messages_of_a_file_have_the_keys_of_their_operations() -> None:
    """Also where an update of the key is written as two messages, and a truncate has no row."""
    moved = operation(1, kind="U") | {"after": {"ID": "9 ", "NAME": "é", "AMOUNT": 1}}
    records = [operation(1), moved, operation(2, kind="U"), operation(2, kind="D"), operation(0, kind="T")]
    columns = tuple(Column(name, SqlType(Kind.STRING), key=name == "ID") for name in ("ID", "NAME", "AMOUNT"))
    known = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", columns)}
    (batch,) = read("\n".join(map(json.dumps, records)).encode(), known).batches
    config, run = configured(
        "type=kafka", "format=json_row", *TEMPLATES, "format.pkUpdateHandling=delete-insert",
        "metaHeadersTemplate=${optype}", "format.metaColumnsTemplate=${optype[op]}",
    )  # fmt: skip
    settings = HandlerSettings.of(config, run)
    clock = Clock(datetime(2026, 1, 5))
    refused, formatted = Pipeline(settings, clock).format(batch)
    assert refused == [] and formatted is not None
    addressing = Addressing(batch.table, AddressSettings.of(config, run, settings.context), clock)
    found = addressing.of(formatted.arranged)
    assert found.topic == "TCUSTORD"
    assert found.keys is not None
    assert found.keys.to_pylist() == ["1", "1", "9 ", "2", "2", ""]
    ops = [json.loads(message)["op"] for message in non_null_values(formatted.messages)]
    assert ops == ["I", "D", "I", "U", "D", "T"]
    assert [(name, values.to_pylist()) for name, values in found.headers] == [("optype", [op.encode() for op in ops])]
