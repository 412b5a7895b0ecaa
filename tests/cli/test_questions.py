"""Questions that administrators ask in public forums: the command that answers, and words of the answer."""

from __future__ import annotations

import shlex

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
    (
        "An update of the primary key: which value keeps the before image?",
        "explain delete-insert",
        "pkUpdateHandling delete before insert",
    ),
    ("What does `abend` do with an update of the primary key?", "explain abend", "pkUpdateHandling stop the run"),
    ("Can I compress with snappy, and where?", "explain snappy", "compressionCodec gg.eventhandler gg.handler"),
    (
        "Which release is 19.1 to ggfmt, and what changed in messages?",
        "explain 19.1",
        "metaColumnsTemplate command redshift adw ggfmt.compatibility=19.1",
    ),
    ("What came with 23ai?", "explain 23ai", "databricks iceberg ggfmt.compatibility=23"),
    ("What came with 21c?", "explain 21c", "synapse snowflake snowflake_streaming ggfmt.compatibility=21"),
    ("What did 12.3.2.1 bring?", "explain 12.3.2.1", "filewriter kafkarestproxy bigquery parquet orc"),
    ("How do I write a delimiter that is a blank or a control character?", "explain CDATA", "GG114 CDATA[...] trimmed"),
    (
        "Which formats can a handler have, and what is the default?",
        "explain format",
        "delimitedtext json avro_row xml default kafkarestproxy required",
    ),
    ("Does `format` do anything for HBase or BigQuery?", "explain format", "hbase bigquery cassandra effect"),
    ("What does the type `hbase` take?", "explain hbase", "`format` no effect formatter"),
    (
        "Which pages are about Kafka?",
        "docs --search kafka",
        "send-to-kafka read-a-topic kafka-settings replay-into-kafka",
    ),
    ("Where do I read about late or duplicate runs?", "docs --search checkpoint", "checkpoints run-every-day"),
    ("Where is it said how to hide personal data?", "docs --search hide", "hide-values"),
    ("Which page is about Delta?", "docs --search delta", "load-delta"),
    ("Which page is about Snowflake?", "docs --search snowflake", "load-snowflake"),
    ("Where do I read about Databricks and EMR?", "docs --search databricks", "run-on-a-platform"),
    ("How do I check files in GitLab?", "docs --search gitlab", "check-in-ci"),
    ("My editor: which page is it?", "docs --search neovim", "use-in-an-editor"),
    ("What does GG142 mean?", "explain GG142", "unwanted effect warning"),
    ("What is a topic of Kafka allowed to have in its name?", "explain GG141", "GoldenGate does not start"),
    ("A property has no effect, says ggfmt.", "explain GG110", "format type"),
    ("Why is my property only a note?", "explain GG125", "note known"),
    ("What does ggfmt leave out of my handlers?", "explain GG124", "run note"),
    ("What are settings of streams that a batch ignores?", "explain GG156", "fileRollInterval batch Java"),
    ("Start new files at midnight.", "explain atTime", "00:00 filewriter 12.3.2.1 batch"),
    ("How large can a file get?", "explain maxFileSize", "hdfs filewriter k m g"),
    ("When is a quiet file closed?", "explain inactivityRollInterval", "last write ms"),
    ("The names of open files end in .tmp. Who does that?", "explain fileWriteActiveSuffix", "suffix filewriter"),
    ("What happens to open files at a restart?", "explain rollOnShutdown", "true false filewriter"),
    (
        "Which event handlers are there?",
        "explain gg.eventhandler.x.type",
        "parquet orc s3 abs gcs oci snowflake databricks command",
    ),
    (
        "Which types of handlers are there?",
        "explain gg.handler.x.type",
        "kafka hdfs filewriter jdbc jms pubsub cassandra",
    ),
    (
        "How do I name the container of Azure?",
        "explain gg.eventhandler.abs.bucketMappingTemplate",
        "container required",
    ),
    ("Which region do I give for S3?", "explain gg.eventhandler.s3.region", "eu-central-1 required"),
    ("How do I log in to Google's store?", "explain credentialsFile", "GOOGLE_APPLICATION_CREDENTIALS"),
    ("How do I reach S3 through a proxy?", "explain proxyServer", "host gg.eventhandler"),
    (
        "How do I run a command for each file?",
        "options command",
        "command cmdWaitMilli multithreaded commandArgumentTemplate",
    ),
    ("Which properties does the JMS handler have?", "options jms", "connectionFactory destination queueOrTopic usual"),
    ("Where do JMS messages go?", "explain destination", "queue topic destinationTemplate"),
    ("Which driver does the JDBC handler load?", "explain DriverClass", "Java class jdbc"),
    ("What does the JDBC handler need?", "options jdbc", "connectionURL required DriverClass usual"),
    ("How does Cassandra get its nodes?", "explain contactPoints", "cassandra servers commas"),
    ("How consistent are writes to Cassandra?", "explain consistencyLevel", "QUORUM ALL LOCAL_ONE"),
    ("May Cassandra tables change with the source?", "explain ddlHandling", "CREATE ADD DROP"),
    ("Where is the URI of MongoDB?", "explain clientURI", "mongodb"),
    ("Which servers of Elasticsearch?", "explain ServerAddressList", "host:port elasticsearch"),
    ("Does Elasticsearch need a settings file?", "explain clientSettingsFile", "required hosts"),
    ("Which project of BigQuery is written to?", "explain projectId", "BigQuery required"),
    ("Can BigQuery keep all changes?", "explain auditLogMode", "row operation bigquery"),
    ("Which column family of HBase?", "explain hBaseColumnFamilyName", "column family"),
    ("What did `rootFilePath` become?", "explain rootFilePath", "pathMappingTemplate 12.3.1.1"),
    ("My `topicName` is refused after the upgrade.", "explain topicName", "topicMappingTemplate 12.2.0.1"),
    (
        "`includeTableName` of Kafka Connect is gone.",
        "explain gg.handler.x.includeTableName",
        "19.1 kafkaconnect replaced metaColumnsTemplate",
    ),
    ("What is the key of a Kafka message?", "explain primaryKeys", "primary key joined `_`"),
    (
        "One topic for each schema, in small letters?",
        "explain toLowerCase",
        "small letters 12.3.2.1 topicMappingTemplate",
    ),
    ("A different topic for some tables?", "explain staticMap", "table bracket"),
    ("The key from a column's value?", "explain columnValue", "column NULL missing"),
    ("No key at all?", "explain null", "no key"),
    ("How many operations are in a file's name?", "explain operationCount", "fileRenameMappingTemplate"),
    ("The position of the trail in a message?", "explain position", "20 digits metaColumnsTemplate"),
    ("The commit number in a message?", "explain csn", "metaColumnsTemplate commit"),
    ("The transaction in a message?", "explain xid", "transaction"),
    ("Which operation is it: I, U or D?", "explain optype", "insertOpKey ${optype[op_type]}"),
    ("Can deletes have another letter?", "explain deleteOpKey", "D delete default"),
    ("The names of the key columns in a message?", "explain primarykeycolumns", "19.1 names"),
    ("The full name of the table in a message?", "explain objectname", "table name"),
    ("Where do commit time stamps come from?", "explain timestamp", "metaColumnsTemplate op_ts"),
    ("A fixed text in each message?", "explain static", "argument 19.1"),
    ("Before images have another name in JSON.", "explain beforeObjectName", "before json"),
    ("NULL columns should not be in JSON.", "explain omitNullValues", "json"),
    ("Flat JSON, please.", "explain flatten", "json true false"),
    ("The schema of messages goes to which topic?", "explain schemaTopicName", "schema topic"),
    ("Where do schema files go?", "explain schemaDirectory", "directory"),
    ("Numbers as Avro decimals?", "explain enableDecimalLogicalType", "decimal true false"),
    ("How many digits after the point has a NUMBER?", "explain oracleNumberScale", "38 NUMBER"),
    ("Avro wrapped with a schema's fingerprint?", "explain wrapMessageInGenericAvroMessage", "true false avro"),
    ("Which delimiter is between fields?", "explain fieldDelimiter", "delimitedtext default"),
    ("Quotes around strings in text files?", "explain wrapStringsInQuotes", "quotes true false"),
    ("What marks a missing value?", "explain missingValueRepresentation", "missing delimitedtext"),
    ("Which charset is the text?", "explain gg.handler.x.format.encoding", "UTF-8"),
    (
        "How do I remove line feeds from the data?",
        "explain gg.contentreplaceregex",
        "Java regular expression text of columns",
    ),
    ("Names with `$` in them break my target.", "explain gg.schemareplaceregex", "names tables columns"),
    ("What are `gg.transforms`?", "explain gg.transforms", "transforms 21"),
    ("How often are statistics written?", "explain gg.report.time", "24h"),
    ("Which levels has the log?", "explain gg.log.level", "ERROR WARN INFO DEBUG TRACE"),
    ("Who merges the operations of a row before loading?", "explain gg.aggregate.operations", "Merge memory"),
    ("Only some tables?", "explain includeTables", "tables commas"),
    ("Which Replicat parameter replaces the name?", "explain MAP", "parameter Replicat"),
    ("What does GETTRUNCATES do?", "explain GETTRUNCATES", "truncate"),
    ("How do I begin with a handler for S3?", "init s3 --release 23ai", "type=s3 region= bucketMappingTemplate="),
    (
        "How do I begin with Elasticsearch?",
        "init elasticsearch --release 23ai",
        "type=elasticsearch clientSettingsFile=",
    ),
    ("How do I begin with a Replicat?", "init replicat", "REPLICAT MAP"),
    ("Which regions may Kinesis have?", "explain gg.handler.x.region", "eu-central-1 kinesis"),
    ("Which stream does an operation go to?", "explain streamMappingTemplate", "kinesis required"),
    ("How is the shard chosen in Kinesis?", "explain partitionMappingTemplate", "partition kinesis"),
    ("Is the JMS destination a queue or a topic?", "explain queueOrTopic", "queue topic default"),
    ("How long do JMS messages live?", "explain timeToLive", "milliseconds jms"),
    ("Do JMS messages survive a crash of the broker?", "explain persistent", "disk"),
    ("How do I set the priority of JMS messages?", "explain priority", "jms"),
    ("JMS without JNDI?", "explain useJndi", "naming"),
    ("Which properties has Redis?", "options redis", "hostPortList integrationType"),
    ("Which properties has NoSQL?", "options nosql", "nosqlStore nosqlURL"),
    ("What does the Flume handler need?", "options flume", "rpcClientPropertiesFile"),
    ("In which releases is there Flume?", "explain flume", "12.3.2.1"),
    ("Which properties has the event handler onelake?", "options onelake", "workspace lakehouse"),
    ("How do I stage Snowflake in GCS?", "explain gg.stage", "gcs snowflake"),
    ("What does the target synapse write?", "explain synapse", "Parquet abs"),
    ("What does the target redshift need?", "options redshift", "connectionURL"),
    ("How do I load to Iceberg?", "explain iceberg", "23.7"),
    ("What is gg.format?", "explain gg.format", "parquet gg.target"),
    ("The compartment of OCI?", "explain compartmentID", "compartment oci"),
    ("The account of Azure?", "explain accountName", "abs account"),
    ("Is a `.tmp` suffix kept in the store?", "explain gg.eventhandler.s3.fileNameMappingTemplate", "keep"),
    ("May I delete local files after upload?", "explain gg.eventhandler.s3.finalizeAction", "none delete"),
    ("Kerberos for HDFS?", "explain kerberosPrincipal", "Kerberos"),
    ("What is the default of authType?", "explain authType", "none kerberos"),
    ("Order of event handlers?", "explain gg.eventhandler.x.eventHandler", "next"),
    ("How do I wait for acks?", "docs --search acks", "kafka"),
    ("How do I keep order in Kafka?", "docs --search order", "kafka"),
    ("Where is the schema registry?", "docs --search registry", "registry"),
    ("Which page is about Kerberos?", "docs --search kerberos", "kerberos"),
    ("How do I log in to Kafka?", "docs --search sasl", "kafka"),
    ("What are exit codes?", "docs --search 'exit code'", "exit"),
    ("A pre-commit hook?", "docs --search pre-commit", "check-in-ci"),
    ("Can it check while I edit?", "docs --search watch", "checking"),
    ("Some files should not be checked.", "docs --search exclude", "checking"),
    ("Old findings should not fail the build.", "docs --search baseline", "checking"),
    ("VS Code: which page is it?", "docs --search 'vs code'", "use-in-an-editor"),
    ("What is `gg.handlerlist`?", "explain gg.handlerlist", "Name the handlers"),
    ("Which batch size has BigQuery?", "explain batchSize", "bigquery batches"),
    ("Which handlers write in bulk?", "explain BulkWrite", "mongodb elasticsearch"),
    ("Which codecs and strategies has ORC?", "options orc", "encodingStrategy ZLIB"),
    ("Can ggfmt write sequence files?", "explain sequencefile", "HDFS"),
    ("Can ggfmt write length-delimited values?", "explain binary", "length"),
    ("Which handler has the format `avro`?", "explain avro", "kafkarestproxy"),
    ("What does the event handler for Parquet read?", "explain parquet", "avro_row_ocf"),
    ("Which directory of the bucket do files get?", "explain gg.eventhandler.s3.pathMappingTemplate", "directory"),
    ("Do blanks at the end of a value matter?", "docs --search 'trailing blanks'", "GG"),
    ("May a value be in quotes?", "docs --search quotes", "GG142"),
    ("Which systems can be read?", "formats", "debezium_json maxwell_json canal_json"),
]


@pytest.mark.parametrize(("question", "command", "words"), QUESTIONS, ids=[command for _, command, _ in QUESTIONS])
def test_a_question_is_answered(question: str, command: str, words: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command), env={"COLUMNS": "200"})
    answer = " ".join(result.output.split())
    assert result.exit_code == 0, answer
    wanted = [word for word in words.split() if not word.startswith("!")]
    unwanted = [word.removeprefix("!") for word in words.split() if word.startswith("!")]
    assert [word for word in wanted if word not in answer] == [], question
    assert [word for word in unwanted if word in answer.lower()] == [], question


def test_there_are_as_many_questions_as_promised() -> None:
    assert len({question for question, _, _ in QUESTIONS}) >= 160


@pytest.mark.parametrize(
    ("word", "help"),
    [
        ("heap", "see `jvm.bootoptions` and"),
        ("jar", "see `gg.classpath` and"),
        ("ocf", "see `avro_row_ocf`, `avro_op_ocf`,"),
        ("bootstrap.servers", "`ggfmt docs --search bootstrap.servers` finds pages"),
        ("hdfs2", "did you mean `hdfs`?"),
    ],
)
def test_a_word_that_is_no_name_leads_on(word: str, help: str) -> None:
    result = CliRunner().invoke(app, ["explain", word], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert help in result.output
