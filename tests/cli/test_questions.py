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
    (
        "All tables arrive in one topic. How does each get its own?",
        "explain topicMappingTemplate",
        "kafka kafkaconnect kafkarestproxy 12.3 ${fullyQualifiedTableName} ${tableName}",
    ),
    (
        "How do I start a Kafka handler on 23ai?",
        "init kafka --release 23ai",
        "type=kafka topicMappingTemplate= keyMappingTemplate= kafkaProducerConfigFile= metaColumnsTemplate= "
        "jvm.bootoptions= !hdfs !hadoop !rootFilePath",
    ),
    (
        "How do I start a Kafka Connect handler? Which format do I give?",
        "init kafkaconnect --release 23ai",
        "type=kafkaconnect kafkaProducerConfigFile= topicMappingTemplate= keyMappingTemplate= messageFormatting "
        "!hdfs !hadoop",
    ),
    (
        "My files never close until the Replicat stops. What makes them roll?",
        "explain fileRollInterval",
        "ms off filewriter hdfs",
    ),
    (
        "How do I start a File Writer?",
        "init filewriter --release 23ai",
        "type=filewriter pathMappingTemplate= fileNameMappingTemplate= stateFileDirectory= ${currentTimestamp} "
        "!hdfs !hadoop",
    ),
    (
        "How do I write Parquet?",
        "init parquet --release 23ai",
        "type=filewriter format=avro_row_ocf eventHandler=parquet type=parquet "
        "gg.eventhandler.parquet.pathMappingTemplate= !hive",
    ),
    (
        "How does the header line get into my CSV files?",
        "explain enableFieldDescriptorHeaders",
        "true false first line delimitedtext",
    ),
    (
        "What is in `optype`, and can I name it otherwise?",
        "explain optype",
        "metaColumnsTemplate ${optype[op_type]} insertOpKey",
    ),
    ("How do I get all tokens into a message?", "explain alltokens", "metaColumnsTemplate tokens gg.includeggtokens"),
    (
        "What does `${currentTimestamp}` look like in the name of a file?",
        "explain currentTimestamp",
        "yyyy-MM-dd_HH-mm-ss.SSS fileNameMappingTemplate",
    ),
    ("Where does Snowflake or Databricks pick up its files?", "explain gg.stage", "snowflake databricks s3 abs gcs 21"),
    ("Which targets need no handler of their own?", "explain gg.target", "snowflake databricks bq synapse redshift 21"),
    ("The JVM runs out of memory. Where do I set its heap?", "explain jvm.bootoptions", "-Xmx JVM"),
    ("The Kafka client classes are not found.", "explain gg.classpath", "jar `*` directory"),
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
