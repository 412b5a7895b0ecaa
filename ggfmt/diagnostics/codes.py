"""The codes of diagnostics, each declared once: severity, headline, explanation and an example.

GG1xx configuration, GG2xx table definitions and schemas, GG3xx reading, GG4xx formatting, GG5xx running.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ggfmt.diagnostics.code_examples import EXAMPLES


class Severity(str, Enum):
    """An error stops a command, a warning stops `validate-config --strict`, a note stops nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Code:
    """One kind of diagnostic: its severity, its general title, and an explanation for `ggfmt explain`.

    `before` shows what is wrong, `after` the same corrected, in a few lines each.
    """

    severity: Severity
    title: str
    explanation: str
    before: str = ""
    after: str = ""


def error(title: str, explanation: str) -> Code:
    return Code(Severity.ERROR, title, explanation)


def warning(title: str, explanation: str) -> Code:
    return Code(Severity.WARNING, title, explanation)


def note(title: str, explanation: str) -> Code:
    return Code(Severity.NOTE, title, explanation)


__all__ = ["CODES", "Code", "Severity"]

# The codes of `ggfmt compare`.

CODES_OF_COMPARISON: dict[str, Code] = {
    "GG580": error(
        "a comparison that cannot be made",
        "`ggfmt compare` was asked for a table, a key, a column to ignore or an option of CSV files that there is not, "
        "or for columns without names beside others of another number.",
    ),
    "GG581": error(
        "a place without tables",
        "`ggfmt compare` reads directories that hold tables, directories of the files of one, and files. The directory "
        "has none of that, or is the output of `ggfmt run`, which holds messages.",
    ),
    "GG582": error(
        "a file of rows that cannot be read",
        "The file is damaged, is not of the kind that its name says, does not fit the options for CSV files, or has "
        "columns of other types than other files of its table.",
    ),
    "GG583": error(
        "rows that are not the same",
        "Of two sets of rows that are compared, some rows are in the first alone (missing), in the second alone "
        "(extra), or have other values under the same key (different).",
    ),
    "GG584": error("a table that one side does not have", "Of two places that are compared, one has the table alone."),
    "GG585": error(
        "columns that one side does not have",
        "Of two tables that are compared, one has a column alone. Columns belong together by their names; where a "
        "name is not there, by the name in any case.",
    ),
    "GG586": warning(
        "a key that is there more than once",
        "Rows of one side have the same key, so that it is not known which of them belongs to which of the other. They "
        "are compared as wholes: each is equal to a row of the other side, or is missing or extra.",
    ),
    "GG587": error(
        "no room for temporary files",
        "Tables that are larger than memory should hold are written to temporary files while they are compared.",
    ),
}

# The codes of configuration, GG1xx.

CODES_OF_CONFIGURATION: dict[str, Code] = {
    "GG100": error(
        "a configuration file cannot be read", "The file does not exist, is a directory, or may not be read."
    ),
    "GG101": warning(
        "an unknown property",
        "The key is not a property of the handler or of its format, or its line is part of the value above it, so "
        "GoldenGate would ignore it in silence.",
    ),
    "GG102": warning(
        "a property under another name",
        "The key is a misprint of the manual or an alias. It is read as the property's real name.",
    ),
    "GG103": error("an illegal value", "The value is not one of the property's legal values."),
    "GG104": error("a listed handler without properties", "`gg.handlerlist` names a handler that no key configures."),
    "GG105": error(
        "no handler to run", "There is no `gg.handlerlist`, or it is empty, or `--handler` names none of its handlers."
    ),
    "GG106": error("an unknown format", "`gg.handler.<name>.format` is not the id of a format that ggfmt writes."),
    "GG107": warning(
        "a property given twice", "The key occurs more than once, with several values. As in Java, the last one counts."
    ),
    "GG108": error(
        "malformed properties syntax",
        "The line is not valid Java properties syntax, for example a bad `\\uXXXX` escape.",
    ),
    "GG109": error("a required property is missing", "The handler cannot be run without the property."),
    "GG110": warning(
        "a property of another format or type",
        "The property is one that GoldenGate knows, but not of the format or of the `type` that is chosen: it has no "
        "effect.",
    ),
    "GG111": warning(
        "a property of another release",
        "GoldenGate for Big Data has the property from a later release on than `ggfmt.compatibility` says, or not any "
        "more: the target release ignores it. ggfmt reports the first such property of a handler, with the releases "
        "that have all its properties.",
    ),
    "GG112": error(
        "a format that the handler does not take",
        "The handler's `type`, or another of its properties, rules the format out; GoldenGate does not start with it.",
    ),
    "GG113": warning(
        "a comment that is none",
        "A comment stands on a line of its own and starts with `#` or `!`. `--`, `//` and `;` start none, and behind a "
        "value, or below a line that ends with a backslash, there can be none: the text is part of the key or of the "
        "value.",
    ),
    "GG114": warning(
        "blanks that are trimmed away",
        "Blanks and control characters at both ends of a value are removed, so that `\\n` alone becomes nothing. "
        "`CDATA[...]` keeps them.",
    ),
    "GG115": warning(
        "an unclosed `CDATA[`",
        "A value is unwrapped only if it starts with `CDATA[`, in capitals, and ends with `]`; otherwise it is taken "
        "as it is.",
    ),
    "GG116": warning(
        "delimiters that a reader cannot distinguish",
        "Two delimiters of a message are equal, or one is part of another or of the text that stands for a NULL or a "
        "missing column, so that no reader can take the message apart.",
    ),
    "GG117": warning(
        "a delimiter of several characters",
        "Hive and most other readers of delimited text know delimiters of one character only. What looks like the code "
        "of a character, such as `0x01`, is several characters: only `\\u0001`, `\\t`, `\\n`, `\\r` and `\\f` are one.",
    ),
    "GG118": warning(
        "a text that the encoding lacks",
        "The `encoding` of the messages has no bytes for the text, which is written as question marks.",
    ),
    "GG119": note(
        "a schema directory that does not exist",
        "GoldenGate does not make the directory. ggfmt does, when it writes the first schema.",
    ),
    "GG120": warning(
        "a replacement that is not applied",
        "The pairs of `gg.schemareplaceregex` and `gg.contentreplaceregex` are numbered from 1 on without a gap, and a "
        "string needs its expression.",
    ),
    "GG121": note(
        "a row format that needs whole images",
        "With `pkUpdateHandling=delete-insert`, an update of the primary key becomes a delete of the before image and "
        "an insert of the after image. If the database logs only what has changed (no supplemental logging of all "
        "columns), the insert lacks all columns that did not change.",
    ),
    "GG122": warning(
        "an ignore comment without effect",
        "`# ggfmt: ignore CODE, ...`, in a comment directly above a key or above other comments of it, silences "
        "findings of these codes at that key. There are none, or there is no such code.",
    ),
    "GG123": warning(
        "an unknown type of handlers",
        "The `type` is not one of GoldenGate's that ggfmt knows, and not the name of a Java class, which has a dot. "
        "Properties of all types are accepted.",
    ),
    "GG124": note(
        "a handler that is left out",
        "Handlers of the type make their messages, or the rows of a database, without a formatter, or what they write "
        "without a `format` is not known: ggfmt has no messages for them. Other handlers of the file are run.",
    ),
    "GG125": note(
        "a property that is not known for the type",
        "Nothing that is known of handlers of this `type` names the property. GoldenGate may have it nevertheless: not "
        "every table of its manuals was at hand.",
    ),
    "GG126": warning(
        "a property that ggfmt does not do",
        "GoldenGate has the property, and its messages follow it. ggfmt does not do it, so that what it writes would "
        "differ: `ggfmt run`, `preview` and `schema` refuse it (`GG127`).",
    ),
    "GG127": error(
        "messages that would differ",
        "GoldenGate has the property, and its messages follow it. ggfmt does not do it, and writes no messages that "
        "would differ. With `ggfmt.uncovered=ignore`, it writes them as if the property were not there.",
    ),
    "GG128": note(
        "a property given twice with one value", "The key occurs more than once, always with the same value."
    ),
    "GG129": note(
        "a placeholder left in a value",
        "The value holds what a manual or a template writes in place of a value, such as `<name>` or `your-bucket`.",
    ),
    "GG130": note(
        "a line that is not GoldenGate's",
        "The line is prose without the `#` of a comment, or a property of another program. GoldenGate ignores it.",
    ),
    "GG131": note(
        "a template of a handler file",
        "The file has places that a program fills in before GoldenGate reads it (`{{ }}`, `{% %}`, `%{ }`, `${ }`). "
        "Lines with such a place are not judged; nor is any other line where they decide on which handlers and formats "
        "there are.",
    ),
    "GG132": warning(
        "a list of handlers that is overridden",
        "Two files that are given together have a `gg.handlerlist` each. The last one counts, so that handlers of the "
        "other do not run.",
    ),
    "GG133": error(
        "settings of the linter that cannot be used",
        "`ggfmt.toml`, the table `[tool.ggfmt]` of a `pyproject.toml`, or an option of `validate-config` names a code "
        "or a setting that there is not, or the file cannot be read.",
    ),
    "GG134": warning(
        "a transform that is not applied",
        "There are properties of a transform that `gg.transforms` does not name. GoldenGate leaves it out, and so does "
        "ggfmt.",
    ),
    "GG135": note(
        "names of files that are the same for all tables",
        "The templates give the files of all tables one name. A run with messages of two tables ends before anything "
        "is written (`GG514`).",
    ),
    "GG136": note(
        "files that ggfmt does not write",
        "GoldenGate writes control files beside those of messages, and ggfmt writes none. Or the names of files ask "
        "for something that GoldenGate may know, and ggfmt does not: a run refuses such names (`GG515`).",
    ),
    "GG137": note(
        "a path that is taken as relative",
        "The path is one of the machine that GoldenGate runs on. ggfmt writes nothing outside of its output directory, "
        "and takes the path as one below it.",
    ),
    "GG138": error(
        "a release whose metadata are not known",
        "GoldenGate for Big Data 19.1 brought `metaColumnsTemplate`. What it writes for a handler without one is not "
        "known, so that ggfmt does not write it.",
    ),
    "GG139": note(
        "messages without metadata",
        "From release 21 on messages have the metadata of `metaColumnsTemplate` alone. Without one, a reader of rows "
        "cannot distinguish a delete from an insert.",
    ),
}


_DECLARED: dict[str, Code] = {
    **CODES_OF_CONFIGURATION,
    # Table definitions
    "GG201": error(
        "definitions that cannot be read",
        "The file does not exist or is no DEFGEN file, GoldenGate JSON schema or Avro schema.",
    ),
    "GG202": error(
        "a malformed table definition", "The file is of a known kind, but one of its entries cannot be understood."
    ),
    "GG203": error("two definitions of one table", "Two definition files describe the same table differently."),
    "GG204": error(
        "a column without a definition", "An operation has a column that the definition of its table does not have."
    ),
    "GG205": error("a table without a definition", "An operation is of a table that no definition describes."),
    "GG206": error(
        "a name that Avro cannot carry",
        "The name of the table or of a column is not legal in Avro, or two fields of the record would have it.",
    ),
    "GG208": error("a table that cannot be declared in Hive", "Hive has no way to read what the handler writes."),
    "GG209": error("a schema that has changed", "A schema in the directory is not the one that is written now."),
    "GG210": error(
        "a name that is replaced by none of its own",
        "By `gg.schemareplaceregex` the name of a table or column becomes empty or illegal, or two names become one.",
    ),
    "GG211": warning(
        "a key that no column has",
        "The messages name a column of the primary key that the table does not have, not even in another case: that "
        "column is not part of the key.",
    ),
    "GG212": error(
        "a pattern that takes too long",
        "A regular expression tries so many ways to match a text that it would not end. The limit is ten seconds of "
        "computing for a column of a batch; it holds on Linux and macOS.",
    ),
    "GG214": error(
        "no directory of schemas",
        "Messages in Confluent's framing name their schema by a number, and no directory of schemas is given.",
    ),
    "GG215": error(
        "a schema without a number",
        "Confluent's framing names the schema of each message by a number, and that of a table is not known.",
    ),
    "GG216": error(
        "times without a mask",
        "`enableTimestampLogicalType` makes numbers of times in columns, and needs `gg.format.timestamp` to read their "
        "texts by: a mask as Java has it, of which ggfmt knows the parts that are digits.",
    ),
    # Reading
    "GG301": error("not JSON", "The bytes at this place are not a JSON object."),
    "GG302": error("a truncated record", "The file ends in the middle of a record."),
    "GG303": error("invalid UTF-8", "The record holds bytes that are not UTF-8."),
    "GG304": error("an unknown operation type", "`op_type` is none of insert, update, delete and truncate."),
    "GG305": error("a required member is missing", "The record lacks a member that an operation cannot do without."),
    "GG306": error(
        "a table name that cannot be used",
        "The name is not one to three parts divided by dots, or is too long to name a file.",
    ),
    "GG307": error(
        "images that contradict the operation type",
        "An insert has a before image, a delete has an after image, or the like.",
    ),
    "GG308": error("a member of the wrong type", "A member of the record is not of the type that the format gives it."),
    "GG309": error(
        "an input format that is not recognised", "The first record fits none of the input formats, or more than one."
    ),
    "GG310": error(
        "an input that cannot be read",
        "The input does not exist, has no files, may not be read, changed while it was read, or its compression is "
        "damaged. With `--checkpoint`: it is longer, shorter or otherwise than when a run read it, or a copy of it.",
    ),
    "GG311": error(
        "a line with the wrong number of fields",
        "The definition of the table and the options that the text was written with give another number of fields.",
    ),
    "GG312": error(
        "not an operation in XML",
        "The bytes at this place are not well-formed XML, or not one `operation` element as GoldenGate writes it.",
    ),
    "GG313": error(
        "Avro that cannot be read",
        "The bytes are no message of the schema that the definition or the header of the file gives.",
    ),
    "GG314": error(
        "a value that is not as its column is described",
        "The type that the record, or a definition, gives to the column says how its values are written. This one is "
        "not written so.",
    ),
    "GG315": error(
        "a table that the input does not have",
        "The data hold no operation of a table of that name, neither in full nor by the last part of its name.",
    ),
    "GG316": error(
        "a record that is too long",
        "The record has more bytes than `--max-record` allows, or the header of an Avro container has. It is not read, "
        "so that a task needs no more memory than it has; where rejects are set aside, only its first bytes are. "
        "Nothing is read of a container whose header is too long.",
    ),
    "GG317": warning(
        "a column twice in an image",
        "A JSON object has a member twice, which JSON allows. As most readers do, ggfmt takes the last; the value of "
        "the other is lost. Images of other systems than GoldenGate are looked at, members around them are not.",
    ),
    "GG318": error(
        "a schema that is not there",
        "A message in Confluent's framing names a schema that the directory of schemas lacks, or that cannot be read. "
        "The start of the next message is unknown: the rest of the file is one reject.",
    ),
    "GG319": error(
        "a broken frame",
        "The bytes are no message in Confluent's framing, or none of the schema that it names. The start of "
        "the next message is unknown: the rest of the file is one reject.",
    ),
    "GG320": error(
        "a record that is no message of Kafka",
        "The first record of the file is a message as a tool wrote it that dumps topics, with the change in it. All "
        "records of such a file have to be messages.",
    ),
    "GG321": error(
        "a Kafka message that is not text",
        "The message is binary, or was converted from Avro, and the tool that dumped the topic did not write all "
        "of it.",
    ),
    # Formatting
    "GG401": error(
        "a value that is not of its column's type",
        "The value is not a number, or not a boolean, though the definition of the column says so, or it is out of the "
        "range of the type that the format gives to the column.",
    ),
    "GG402": error(
        "a primary key update",
        "The operation changes a primary key column and `pkUpdateHandling` is `abend`, the default.",
    ),
    "GG403": warning(
        "a delimiter inside a value",
        "A value holds the field or line delimiter. As GoldenGate does, it is written as it is, so that a reader of "
        "the output will see more fields or lines than were written.",
    ),
    "GG404": warning(
        "characters that the encoding does not have",
        "The output encoding lacks a character. As Java does, its replacement is written in its place.",
    ),
    "GG405": error(
        "a character that XML cannot carry",
        "XML 1.0 has no way to write most control characters, U+FFFE and U+FFFF. A value, a token or a name holds one.",
    ),
    "GG406": warning(
        "values that the format does not distinguish",
        "The output shows a missing column, a NULL or a text in the same way as another of these, or a before image "
        "without a change in the same way as none. A reader of the output cannot know which it was.",
    ),
    "GG407": error(
        "a loss that is forbidden",
        "Under `--strict-fidelity` a run ends as soon as a handler cannot show a value as it is: see `GG403`, `GG404` "
        "and `GG406`.",
    ),
    "GG408": error(
        "an operation that the format has no form for",
        "The format cannot show operations of this type, or one of its parts.",
    ),
    "GG409": error(
        "no value for a column that cannot be NULL",
        "By the schema of its messages the column cannot be NULL, and the operation has NULL for it, or nothing.",
    ),
    "GG410": error(
        "two fields of one name",
        "A column has the name of a metadata field, or of another field of the messages, which cannot have both.",
    ),
    "GG411": error(
        "a template without a value",
        "`metaColumnsTemplate` names a variable, or the Replicat group, and ggfmt has no text for it: "
        "`ggfmt.variables` and `ggfmt.groupName` give one.",
    ),
    # Running
    "GG501": error(
        "output that exists",
        "The output directory already holds files and `--mode` does not allow to add to or replace them; or "
        "`ggfmt init` was to write a file that exists, without `--force`.",
    ),
    "GG502": error("no usable Java", "Spark needs Java 17 or newer, and none was found."),
    "GG503": error("Spark did not start", "The Java virtual machine ended before Spark was ready."),
    "GG504": error("a master that does not answer", "No Spark master listens at the address given by `--master`."),
    "GG505": error("a task that failed", "A task failed; one of Spark, more often than Spark retries it."),
    "GG506": error("output that cannot be written", "A file or directory of the output cannot be made or written."),
    "GG507": error(
        "operations that do not add up",
        "The operations read are not the messages written plus the rejects. This is a defect of ggfmt; nothing was "
        "committed.",
    ),
    "GG508": error("a page that there is not", "`ggfmt docs` has no page, and no part of one, by this name."),
    "GG509": error(
        "a commit that cannot be ended",
        "An earlier run was cut off as it committed, and what it left behind is damaged, incomplete or of another "
        "version of ggfmt; or a document of the output cannot be understood.",
    ),
    "GG510": error(
        "an output that is not as its manifest says",
        "`ggfmt verify` found that a file is missing or has another content, or that counts do not add up.",
    ),
    "GG511": error(
        "an output with something else in it",
        "`ggfmt verify` found a file that no manifest lists, or what a run leaves behind that is at work or was cut "
        "off.",
    ),
    "GG512": error(
        "records that ggfmt fails at",
        "A record led to an error that ggfmt did not foresee. This is a defect of ggfmt; nothing was committed.",
    ),
    "GG513": error(
        "a checkpoint that does not fit the run",
        "The checkpoint is of another output or of other handlers, the output has lost what the checkpoint knows of, "
        "or the options contradict each other.",
    ),
    "GG514": error(
        "one file for two tables",
        "The templates of a handler give one name to the files of two tables, or to rows of a table that `partitioner` "
        "divides. Nothing was committed.",
    ),
    "GG515": error(
        "no name for a file",
        "The templates of a handler ask for something that ggfmt does not know, or that a table does not have. Nothing "
        "was committed.",
    ),
    "GG516": error(
        "an operation without a file",
        "A file has the value of a column in its name, and an operation has none. Brackets of `${columnValue[]}` give "
        "a text for NULL and for a missing column; see `ggfmt docs output`.",
    ),
    "GG517": error(
        "an option for Spark in a run without it",
        "`--master none` runs in one process, which has neither properties of Spark nor a Java.",
    ),
    "GG518": error(
        "standard input that cannot be taken",
        "`-` reads standard input once and keeps it in a temporary file, for a run on this machine.",
    ),
    "GG519": error(
        "messages that cannot be a stream",
        "`-o -` writes the messages of one handler to standard output, as one file would have them. A format whose "
        "files have one table has one table in a stream, too.",
    ),
    "GG520": error(
        "an option for a Spark that runs already",
        "A run takes the Spark that is there: the session of its process, or what `spark-submit` started. Its master, "
        "its properties and its Java are settled; see `ggfmt docs spark`.",
    ),
    "GG521": error(
        "a Spark that cannot be taken",
        "What was given is no Spark session, the session has been stopped, or the Spark that the environment names is "
        "another process's.",
    ),
    "GG522": error(
        "workers that lack something",
        "The Python of the workers of a Spark that runs already has no Arrow or no msgspec, or it imports another "
        "ggfmt than this one.",
    ),
    "GG523": error(
        "a SPARK_HOME that cannot be used",
        "SPARK_HOME names a directory without a Spark, or with one of another version than pyspark, which could not "
        "speak to it.",
    ),
    "GG524": error(
        "a Spark Connect server that cannot be used",
        "The address is none, nobody listens there, or the packages that speak to a server are not installed.",
    ),
    "GG530": error(
        "a value that a column of a frame cannot have",
        "A DataFrame of one table has columns of the types in its definition, and no value is changed on the way: a "
        "number with too many digits, or a word where a number should be, ends the reading. In a schema of your own, a "
        "column may be a `string`, which has any value as it is in the file.",
    ),
    "GG531": error(
        "a frame that cannot be",
        "An option, a table or a column that a DataFrame was asked for is not there, or cannot be what was asked.",
    ),
    "GG532": error(
        "definitions that are not all there",
        "A DataFrame with `definitions` is read without looking the data through first. Then the data had a table or a "
        "change of a table that no definition knows of, or records that cannot be read in parts.",
    ),
    "GG533": error(
        "a file of a stream that is not what it was",
        "A stream remembers how far it has read each file. One that got shorter, was replaced or is gone cannot be "
        "read on from there; what the stream has already given stays given.",
    ),
    "GG540": error(
        "a frame that is none of operations",
        "A DataFrame to be written has neither of the two shapes: a column lacks, is of another type, or is none of an "
        "operation. `ggfmt docs dataframes` has both.",
    ),
    "GG541": error(
        "an option of writing that makes no sense",
        'An option of `df.write.format("ggfmt")` is not known, or its value is none that it can have.',
    ),
    "GG542": error(
        "a table of unknown columns",
        "Rows of a DataFrame have different columns, and no definition says which ones their table has. Nothing was "
        "committed.",
    ),
    "GG543": error(
        "rows that are out of order",
        "The rows of a DataFrame come in another order than their `seq` has, so that messages would. Nothing was "
        "committed.",
    ),
    "GG550": error(
        "interrupted after the commit",
        "Ctrl-C, SIGTERM or SIGHUP came once the output was complete, or too late to say. A run that is interrupted "
        "before that commits nothing, reports this, and ends with 130, 143 or 129.",
    ),
    "GG551": error(
        "a question that has no answer",
        "What is asked of the rows of a table makes no sense for it: a moment that is neither a time nor a position "
        "like those of its operations, an order that they do not have, a key of columns that it lacks, versions of "
        "rows without an identity.",
    ),
    "GG552": error(
        "a table without a key",
        "Operations of a table without a primary key say which row they are of by all of its columns. Where they do "
        "not show these, before and after, set names of columns that identify the rows.",
    ),
    "GG560": error(
        "a run that there is not",
        "`ggfmt report --run` names no run of the output directory, or more than one. `_ggfmt/runs` has a file for "
        "each run that still has files there.",
    ),
    "GG561": error(
        "a manifest of a later ggfmt",
        "The manifest has a layout that this ggfmt does not know: what it made of it would lack something.",
    ),
    "GG562": error("a damaged manifest", "The manifest is JSON, and a member of it is not what it should be."),
    "GG563": error(
        "a page within the output",
        "An output directory holds what its manifests list, and nothing else. `ggfmt verify` would report a page in "
        "it, and `--mode overwrite` would stop.",
    ),
    "GG565": error(
        "an argument that cannot be",
        "A time, a size or a property of the command line, or of a function of the Python API, cannot be understood.",
    ),
    "GG570": error(
        "operations that cannot be decided",
        "By `--strict` every operation has to lead to a row: an update of a row that was never seen, two rows with one "
        "key, or an operation without its key does not. Nothing was committed. Without `--strict`, `_unresolved` has "
        "these operations.",
    ),
    **CODES_OF_COMPARISON,
}

CODES: dict[str, Code] = {
    name: replace(code, before=EXAMPLES[name][0], after=EXAMPLES[name][1]) if name in EXAMPLES else code
    for name, code in _DECLARED.items()
}
