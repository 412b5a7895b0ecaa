"""The codes of diagnostics, each declared once: severity, headline, explanation and an example.

GG1xx configuration, GG2xx table definitions and schemas, GG3xx reading, GG4xx formatting, GG5xx running.
"""

from __future__ import annotations

from dataclasses import replace

from ggfmt.diagnostics.code import Code, Severity, error, warning
from ggfmt.diagnostics.code_examples import EXAMPLES
from ggfmt.diagnostics.codes_of_comparison import CODES_OF_COMPARISON
from ggfmt.diagnostics.codes_of_configuration import CODES_OF_CONFIGURATION

__all__ = ["CODES", "Code", "Severity"]

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
    "GG208": error("a table that Hive cannot be told of", "Hive has no way to read what the handler writes."),
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
        "Nothing tells where the next message is: the rest of the file is one reject.",
    ),
    "GG319": error(
        "a broken frame",
        "The bytes are no message in Confluent's framing, or none of the schema that it names. Nothing tells where the "
        "next message is: the rest of the file is one reject.",
    ),
    "GG320": error(
        "a record that is no message of Kafka",
        "The first record of the file is a message as a tool wrote it that dumps topics, with the change in it. All "
        "records of such a file have to be messages.",
    ),
    "GG321": error(
        "a message of Kafka that is no text",
        "The message is binary, or was made of Avro, and what the tool wrote that dumped the topic does not tell all "
        "of it any more.",
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
        "values that the format cannot tell apart",
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
        "Ctrl-C, SIGTERM or SIGHUP came once the output was complete, or too late to tell. A run that is interrupted "
        "before that commits nothing, says so, and ends with 130, 143 or 129.",
    ),
    "GG551": error(
        "a question that has no answer",
        "What is asked of the rows of a table makes no sense for it: a moment that is neither a time nor a position "
        "like those of its operations, an order that they do not have, a key of columns that it lacks, versions of "
        "rows that nothing tells apart.",
    ),
    "GG552": error(
        "a table without a key",
        "Operations of a table without a primary key say which row they are of by all of its columns. Where they do "
        "not show these, before and after, it takes names of columns that tell rows apart.",
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
        "An output directory holds what its manifests list, and nothing else. `ggfmt verify` would tell of a page in "
        "it, and `--mode overwrite` would refuse to go on.",
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
