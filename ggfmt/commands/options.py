"""The options that several commands have."""

from __future__ import annotations

from ggfmt.commands.declaration import Argument, Option

INPUTS = Argument(
    metavar="INPUT",
    help="Files, directories or globs; .gz, .bz2, .xz and .zst are read. `-`: standard input.",
)
CONFIG = Option(
    "-c", "--config", metavar="FILE", file=True, panel="Handlers", help="A GoldenGate handler file (Java properties)."
)
SETTINGS = Option(
    "--set",
    metavar="KEY=VALUE",
    panel="Handlers",
    complete="settings",
    help="A property, as a line of the handler file would give it.",
)
TO = Option(
    metavar="FORMAT",
    panel="Handlers",
    complete="written_formats",
    help="A handler of this format, as `ggfmt init FORMAT` proposes it; instead of `-c`.",
)
HANDLERS = Option(
    "--handler", metavar="NAME", panel="Handlers", complete="handlers", help="Only this one of `gg.handlerlist`."
)
DEFINITIONS = Option(metavar="FILE", file=True, panel="Input", help="Table definitions: DEFGEN, JSON schema or .avsc.")
INPUT_FORMAT = Option(metavar="ID", panel="Input", complete="input_formats", help="`auto`, or the id of a format.")
INPUT_CONFIG = Option(
    metavar="FILE", file=True, panel="Input", help="The handler file that the input was written with."
)
INPUT_OPTIONS = Option(
    "--input-option",
    metavar="NAME=VALUE",
    panel="Input",
    help="A property of the input's format, as it was written.",
)
ALLOW_EMPTY = Option(panel="Input", help="Also run where there is no input file.")
CHECKPOINT = Option(
    metavar="DIR",
    panel="Input",
    help="Read what no earlier run with this DIR has read, and add it to the output.",
)
SETTLE = Option(
    metavar="SECONDS",
    min=0,
    panel="Input",
    help="With `--checkpoint`: leave files that were just written to, and those behind them, for later.",
)
CURRENT_TIMESTAMP = Option(
    metavar="TS", panel="Handlers", help="One `current_ts` for all, so that a run can be repeated."
)
MODE = Option(panel="Output", help="What to do with output that exists.")
TABLES = Option(
    "--table",
    metavar="PATTERN",
    panel="Input",
    help="Only tables of such names: `ORDERS`, `GG.*`; may be repeated.",
)
EXCLUDE = Option(metavar="PATTERN", panel="Input", help="Leave out tables of such names; may be repeated.")
ON_REJECT = Option(panel="Output", help="Stop at a bad record, or set it aside and go on.")
KEY = Option(metavar="KEY", multiple=False, help="`ID` for all tables, or `S.A=ID;S.B=ID,LINE`.")
TABLE = Option(metavar="NAME", panel="Display", help="Only this table, in full or by the last part of its name.")

REMOTE = Option(metavar="URL", panel="Spark", help="A Spark Connect server, `sc://HOST:PORT`, in place of a master.")
SPARK_CONF = Option(metavar="KEY=VALUE", panel="Spark", help="A Spark property.")
JAVA_HOME = Option(metavar="DIR", panel="Spark", help="The Java to run Spark on.")
SPLIT_SIZE = Option(metavar="BYTES", panel="Spark", help="Input a task reads, for example `64m`.")
MAX_RECORD = Option(metavar="BYTES", panel="Spark", help="The longest record; default: `64m`.")

PROGRESS = Option("--progress/--no-progress", panel="Logging", help="Show a progress bar. Default: only on a terminal.")
