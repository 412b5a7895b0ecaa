"""Questions that administrators ask in public forums: the command that answers, and words of the answer."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ggfmt.cli import app

# Question, command, words of the answer; a word behind `!` is not in it.
QUESTIONS = [
    (
        "What happens to a file after it is closed?",
        "explain finalizeAction",
        "none delete move rename move-rename fileRenameMappingTemplate",
    ),
    (
        "After the upgrade to 21c, op_type and op_ts are gone from my messages.",
        "explain metaColumnsTemplate",
        "${optype ${objectname[table]} release 12.3.2",
    ),
    (
        "The Replicat abends at an update of the primary key.",
        "explain pkUpdateHandling",
        "abend update delete-insert before insert",
    ),
    ("Hive expects \\N for NULL.", "explain nullValueRepresentation", "NULL \\\\N delimitedtext"),
    (
        "Numbers lose digits in my consumer. How do I get them as texts?",
        "explain treatAllColumnsAsStrings",
        "true false json avro_row",
    ),
    (
        "Changes of one row arrive out of order. How do messages get the key of the row?",
        "explain keyMappingTemplate",
        "kafka kafkaconnect 12.3 ${primaryKeys} ${null}",
    ),
    (
        "Why is a whole transaction one message, and how do I get one per operation?",
        "explain mode",
        "op tx operation transaction kafka hdfs !arcion",
    ),
    (
        "Which properties does the Kafka handler have, and which must I set?",
        "options kafka",
        "topicMappingTemplate keyMappingTemplate kafkaProducerConfigFile schemaTopicName blockingSend required",
    ),
    (
        "Where do I name the brokers?",
        "explain kafkaProducerConfigFile",
        "kafka kafkaconnect kafka-producer-default.properties",
    ),
    ("Does a send wait for the broker?", "explain blockingSend", "kafka true false"),
    (
        "The File Writer asks for a state directory. What is it?",
        "explain stateFileDirectory",
        "filewriter required directory",
    ),
    (
        "Which properties does the File Writer have?",
        "options filewriter",
        "pathMappingTemplate fileNameMappingTemplate stateFileDirectory maxFileSize inactivityRollInterval required",
    ),
    (
        "Which codecs can Parquet have?",
        "explain gg.eventhandler.parquet.compressionCodec",
        "GZIP LZO SNAPPY UNCOMPRESSED default !ZLIB",
    ),
    (
        "What must I set to load files into S3?",
        "options s3",
        "region bucketMappingTemplate pathMappingTemplate accessKeyId secretKey proxyServer required",
    ),
]


@pytest.mark.parametrize(("question", "command", "words"), QUESTIONS, ids=[command for _, command, _ in QUESTIONS])
def test_a_question_is_answered(question: str, command: str, words: str) -> None:
    result = CliRunner().invoke(app, command.split(), env={"COLUMNS": "200"})
    answer = " ".join(result.output.split())
    assert result.exit_code == 0, answer
    wanted = [word for word in words.split() if not word.startswith("!")]
    unwanted = [word.removeprefix("!") for word in words.split() if word.startswith("!")]
    assert [word for word in wanted if word not in answer] == [], question
    assert [word for word in unwanted if word in answer.lower()] == [], question
