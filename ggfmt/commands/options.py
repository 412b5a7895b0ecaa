"""The options that several commands have."""

from __future__ import annotations

from ggfmt.commands.declaration import Argument, Option

INPUTS = Argument(
    metavar="INPUT",
    help="Files, directories or globs; .gz, .bz2, .xz and .zst are read. `-`: standard input. A topic of Kafka: "
    "`kafka://BROKER/TOPIC`.",
)
CHANGES_AND_DATABASE = Argument(
    metavar="INPUT... DATABASE", help="Change files, as of `ggfmt consolidate`, and the URL of a PostgreSQL database."
)
CONFIG = Option(
    "-c", "--config", metavar="FILE", file=True, panel="Handlers", help="A GoldenGate handler file (Java properties)."
)
SETTINGS = Option(
    "--set",
    metavar="KEY=VALUE",
    panel="Handlers",
    complete="settings",
    help="Set a property, as a line of the handler file does.",
)
TO = Option(
    metavar="FORMAT",
    panel="Handlers",
    complete="written_formats",
    help="Use the handler that `ggfmt init FORMAT` creates, instead of `-c`.",
)
HANDLERS = Option(
    "--handler",
    metavar="NAME",
    panel="Handlers",
    complete="handlers",
    help="Use only this handler of `gg.handlerlist`.",
)
DEFINITIONS = Option(
    metavar="FILE|URL",
    panel="Input",
    help="Table definitions: DEFGEN, SQL, JSON schema, .avsc, CSV header, or `postgresql://...`.",
)
INPUT_FORMAT = Option(metavar="ID", panel="Input", complete="input_formats", help="`auto`, or the id of a format.")
INPUT_CONFIG = Option(
    metavar="FILE", file=True, panel="Input", help="The handler file that the input was written with."
)
INPUT_OPTIONS = Option(
    "--input-option",
    metavar="NAME=VALUE",
    panel="Input",
    help="A property of the format that the input was written with.",
)
SCHEMA_REGISTRY = Option(
    metavar="URL|DIR", panel="Input", help="The registry of Avro schemas with ids, or a directory of files `<id>.avsc`."
)
PRODUCER_CONFIG = Option(
    metavar="FILE", file=True, panel="Kafka", help="A file with properties of a Kafka client, such as its security."
)
STAGING = Option(
    metavar="DIR",
    panel="Kafka",
    help="A directory for messages on their way to or from Kafka. On a cluster, all workers must reach it. Default: a "
    "temporary directory.",
)
ALLOW_EMPTY = Option(panel="Input", help="Also run without an input file.")
CHECKPOINT = Option(
    metavar="DIR", panel="Input", help="Read only input that no earlier run with this DIR has read; add to the output."
)
SETTLE = Option(
    metavar="SECONDS",
    min=0,
    panel="Input",
    help="With `--checkpoint`: skip files that were just written to, and all files after them.",
)
CURRENT_TIMESTAMP = Option(
    metavar="TS", panel="Handlers", help="Use one `current_ts` for all messages, so that a run is repeatable."
)
MODE = Option(panel="Output", help="What to do with existing output.")
TABLES = Option("--table", metavar="PATTERN", panel="Input", help="Only tables with these names: `ORDERS`, `GG.*`.")
EXCLUDE = Option(metavar="PATTERN", panel="Input", help="Leave out tables with these names.")
COLUMNS = Option(
    metavar="TABLE=COLUMNS", multiple=False, panel="Input", help="Only these columns: `S.A=ID,NAME;S.B=ID`."
)
MASK = Option(
    metavar="TABLE.COLUMN=MASK", panel="Input", help="Hide the values of a column: `null`, `hash` or `fixed:TEXT`."
)
MASK_KEY = Option(
    metavar="FILE", file=True, panel="Input", help="The key of hashes; default: the variable GGFMT_MASK_KEY."
)
ON_REJECT = Option(panel="Output", help="Stop at a bad record, or set it aside and go on.")
KEY = Option(metavar="KEY", multiple=False, help="`ID` for all tables, or `S.A=ID;S.B=ID,LINE`.")
ORDER = Option(help="How to order operations.")
TYPES = Option("--type", metavar="TABLE.COLUMN=TYPE", help="The type of columns, such as `*.PRICE=string`.")
STARTS_EMPTY = Option(help="Assume that the tables had no rows before the first operation in the input.")
TABLE = Option(metavar="NAME", panel="Display", help="Only this table, in full or by the last part of its name.")
JOB = Option(
    metavar="NAME",
    panel="Kafka",
    help="The name under which the cluster remembers what was sent; default: from inputs and settings.",
)
CREATE_TOPICS = Option(
    metavar="PARTITIONS[:REPLICATION]", panel="Kafka", help="Make missing topics. Default: a missing topic is an error."
)
RATE = Option(metavar="N", panel="Kafka", help="Send at most so many messages in a second: `500`, or `500/s`.")
ATOMIC = Option(panel="Kafka", help="Send all messages in one transaction.")

REMOTE = Option(metavar="URL", panel="Spark", help="A Spark Connect server, `sc://HOST:PORT`, instead of a master.")
SPARK_CONF = Option(metavar="KEY=VALUE", panel="Spark", help="A Spark property.")
JAVA_HOME = Option(metavar="DIR", panel="Spark", help="The Java to run Spark on.")
SPLIT_SIZE = Option(metavar="BYTES", panel="Spark", help="The input size of one task, for example `64m`.")
MAX_RECORD = Option(metavar="BYTES", panel="Spark", help="The longest record; default: `64m`.")

PROGRESS = Option("--progress/--no-progress", panel="Logging", help="Show a progress bar. Default: only on a terminal.")
