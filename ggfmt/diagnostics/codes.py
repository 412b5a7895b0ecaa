"""The codes of diagnostics, each declared once: severity, headline, explanation and an example.

GG1xx configuration, GG2xx table definitions and schemas, GG3xx reading, GG4xx formatting, GG5xx running.
"""

from __future__ import annotations

from dataclasses import replace

from ggfmt.diagnostics.code import Code, Severity, error, warning
from ggfmt.diagnostics.code_examples import EXAMPLES
from ggfmt.diagnostics.configuration_codes import CODES_OF_CONFIGURATION

__all__ = ["CODES", "Code", "Severity"]

# The codes of `ggfmt compare`.

CODES_OF_COMPARISON: dict[str, Code] = {
    "GG580": error(
        "an invalid comparison request",
        "`ggfmt compare` does not know the table, the key, the ignored column or the option for CSV files. Or columns "
        "without names are compared with a different number of columns. Correct the option that the message names.",
    ),
    "GG581": error(
        "a path without tables",
        "`ggfmt compare` reads a directory with one directory per table, a directory with the files of one table, or a "
        "file. The directory contains none of these, or it is the output of `ggfmt run`, which contains messages and "
        "not rows.",
    ),
    "GG582": error(
        "an unreadable file of rows",
        "The file is damaged, or its name has the suffix of another format. Or it does not fit the options for CSV "
        "files. Or its columns have other types than the other files of its table.",
    ),
    "GG583": error(
        "different rows",
        "The comparison found rows that are only on the first side (missing) or only on the second side (extra). Or "
        "it found rows with the same key and different values (different).",
    ),
    "GG584": error(
        "a table on one side only",
        "Only one of the two compared sides has the table.",
    ),
    "GG585": error(
        "columns on one side only",
        "Only one of the two compared tables has the column. Columns are matched by name; if no name is equal, "
        "upper and lower case are ignored.",
    ),
    "GG586": warning(
        "a duplicate key",
        "Several rows of one side have the same key, so ggfmt cannot pair them with rows of the other side. It "
        "compares these rows as a whole: each is equal to a row of the other side, or it is missing or extra.",
    ),
    "GG587": error(
        "no space for temporary files",
        "`ggfmt compare` writes tables that exceed its memory limit to temporary files. Free space, or set `TMPDIR` to "
        "a directory with free space.",
    ),
    "GG588": error(
        "a database that cannot be read",
        "The database does not respond, refuses the user, or reports an error while `ggfmt compare` reads a table. The "
        "message has host, port and database. Passwords come from `PGPASSWORD` or `~/.pgpass`, and for MariaDB and "
        "MySQL from `MYSQL_PWD` or `~/.my.cnf`. `GGFMT_DATABASE_PASSWORD` is for all but PostgreSQL.",
    ),
    "GG589": error(
        "a missing driver of a database",
        "To compare with a database, `ggfmt compare` needs a driver that is not installed. The message says how to "
        "install it.",
    ),
    "GG590": error(
        "a column that cannot be compared",
        "One side has values in the column that ggfmt cannot read, such as a date of MySQL without a day. All other "
        "columns were compared. If the column is a part of the key, whole rows were compared.",
    ),
}

_DECLARED: dict[str, Code] = {
    **CODES_OF_CONFIGURATION,
    # Table definitions
    "GG201": error(
        "unreadable definitions",
        "The file does not exist, or it is not a DEFGEN file, a GoldenGate JSON schema or an Avro schema.",
    ),
    "GG202": error(
        "a malformed table definition",
        "The file is of a known kind, but ggfmt cannot read one of its entries.",
    ),
    "GG203": error(
        "conflicting table definitions",
        "Two definition files describe the same table differently. Remove one of them.",
    ),
    "GG204": error(
        "a column without a definition",
        "An operation has a column that the definition of its table lacks.",
    ),
    "GG205": error(
        "a table without a definition",
        "No definition describes the table of an operation.",
    ),
    "GG206": error(
        "a name that is not legal in Avro",
        "The name of the table or of a column is not legal in Avro, or two fields of the record would have the same "
        "name.",
    ),
    "GG208": error(
        "a table that Hive does not support",
        "Hive cannot read the messages of the handler.",
    ),
    "GG209": error(
        "a changed schema",
        "A schema in the directory differs from the schema that this run writes.",
    ),
    "GG210": error(
        "an unusable or duplicate name after replacement",
        "After the replacements of `gg.schemareplaceregex`, the name of a table or column is empty or illegal, or two "
        "names are equal.",
    ),
    "GG211": warning(
        "a key column that the table lacks",
        "The messages name a primary key column that the table does not have, also if case is ignored. ggfmt leaves "
        "the column out of the key.",
    ),
    "GG212": error(
        "a regular expression that takes too long",
        "A regular expression tries so many ways to match a text that it would not end. The limit is ten seconds of "
        "computing time for one column of a batch; it applies on Linux and macOS.",
    ),
    "GG214": error(
        "no directory of schemas",
        "Messages in Confluent's framing refer to their schema by a number, and no directory of schemas is given.",
    ),
    "GG215": error(
        "a schema without a number",
        "Confluent's framing identifies the schema of each message by a number, and the number for a table is unknown.",
    ),
    "GG216": error(
        "times without a mask",
        "`enableTimestampLogicalType` converts the texts of time columns to numbers. To parse the texts, it needs "
        "`gg.format.timestamp`: a Java date mask, of which ggfmt supports the numeric parts.",
    ),
    "GG217": error(
        "a container file that cannot be converted",
        "The event handlers `parquet` and `orc` convert Avro container files. ggfmt converts the files of its formats "
        "`avro_row_ocf` and `avro_op_ocf`, and does not compress by LZO. ORC files have no decimals of more than 38 "
        "digits, and no times before 1970 with a fraction of a second.",
    ),
    "GG218": warning(
        "values whose encoding is unknown",
        "Debezium encodes decimals, dates and times by their types, for example as Base64 or as a number of days. The "
        "messages have no schema, and no definition has the types. So ggfmt reads the texts and numbers as they are.",
    ),
    # Reading
    "GG301": error(
        "not JSON",
        "The bytes at this place are not a JSON object.",
    ),
    "GG302": error(
        "a truncated record",
        "The file ends in the middle of a record.",
    ),
    "GG303": error(
        "invalid UTF-8",
        "The record contains bytes that are not UTF-8.",
    ),
    "GG304": error(
        "an unknown operation type",
        "`op_type` is not insert, update, delete or truncate.",
    ),
    "GG305": error(
        "a required member is missing",
        "The record lacks a member that every operation needs.",
    ),
    "GG306": error(
        "an unusable table name",
        "The name does not have one to three parts divided by dots, or it is too long for a file name. A part that "
        "contains a dot is in double quotes.",
    ),
    "GG307": error(
        "images that contradict the operation type",
        "The operation has an image that its type excludes, or lacks a required one. For example, an insert has a "
        "before image, or a delete has an after image.",
    ),
    "GG308": error(
        "a member of the wrong type",
        "A member of the record does not have the type that the format requires.",
    ),
    "GG309": error(
        "an unrecognized input format",
        "The first record fits no input format, or more than one. Name the format with `--input-format`.",
    ),
    "GG310": error(
        "an unreadable input",
        "The input does not exist, contains no files, changed while ggfmt read it, has damaged compression, or you "
        "have no permission to read it. With `--checkpoint`: the content differs from what an earlier run read, or the "
        "file is a copy of a processed file.",
    ),
    "GG311": error(
        "a line with the wrong number of fields",
        "The line has another number of fields than the table definition and the options of the text's writer require.",
    ),
    "GG312": error(
        "an invalid operation in XML",
        "The bytes at this place are not well-formed XML, or not one `operation` element as GoldenGate writes it.",
    ),
    "GG313": error(
        "unreadable Avro",
        "The bytes are not a message of the schema in the definition or in the header of the file.",
    ),
    "GG314": error(
        "a value that does not fit its column",
        "The record, or a definition, declares the type of the column and so the encoding of its values. This value "
        "has another encoding.",
    ),
    "GG315": error(
        "a table that the input does not contain",
        "The input contains no operation of a table with this name: neither as the full name nor as its last part.",
    ),
    "GG316": error(
        "a record that is too long",
        "A record, or the header of an Avro container, exceeds `--max-record` bytes. ggfmt does not read it, to limit "
        "the memory of a task. If rejects are set aside, ggfmt keeps only the first bytes of the record. If the header "
        "is too long, it reads nothing from the container.",
    ),
    "GG317": warning(
        "a column twice in an image",
        "A JSON object has the same member twice, which JSON allows. As most readers do, ggfmt uses the last value; "
        "the other value is lost. ggfmt checks the images of systems other than GoldenGate, but not the members around "
        "them.",
    ),
    "GG318": error(
        "a missing Avro schema",
        "A message in Confluent's framing refers to a schema that the directory of schemas lacks, or that cannot be "
        "read. The start of the next message is unknown: the rest of the file is one reject.",
    ),
    "GG319": error(
        "a broken frame",
        "The bytes are not a message in Confluent's framing, or not a message of its schema. The start of the next "
        "message is unknown: the rest of the file is one reject.",
    ),
    "GG320": error(
        "a record that is not a Kafka message",
        "The first record of the file is a Kafka message that contains the change, as tools write them that dump "
        "topics. All records of such a file must be Kafka messages.",
    ),
    "GG321": error(
        "a Kafka message that is not text, or that was converted from Avro",
        "The message is binary, and the tool that dumped the topic did not write it completely. Or a tool converted it "
        'from Avro to Avro\'s own JSON, in which `{"int":1}` is the value of a column that can be NULL.',
    ),
    "GG322": error(
        "a column of objects that nothing describes",
        "All objects in a column have the same members, and no schema or definition describes the column. In "
        '`{"value":1,"set":true}`, for example, the value is 1, but only the source knows it. So ggfmt does not write '
        "such objects as JSON texts.",
    ),
    "GG327": warning(
        "a renamed table",
        "A statement in the data renames a table. `ggfmt consolidate` does not move rows: those from before the "
        "statement stay in the table of the old name. Tools that change a table by a copy rename two tables, and both "
        "have the right rows afterwards.",
    ),
    "GG328": warning(
        "a statement that may remove rows",
        "A statement in the data may remove rows of a table, and no record shows which. It drops a partition, for "
        "example, or ggfmt does not understand it. `ggfmt consolidate` keeps these rows.",
    ),
    "GG324": warning(
        "rows without a column",
        "Maxwell writes whole rows. Rows lack a column of their table, so ggfmt reads the column as missing, and a "
        "table keeps its old value. With `output_nulls=false`, Maxwell omits NULL: then set `absentMeans=null` with "
        "`--input-option`.",
    ),
    # Formatting
    "GG401": error(
        "a value that does not have its column's type",
        "The definition declares the column as a number or a boolean, and the value has another type. Or the value "
        "exceeds the range of the type that the format uses for the column.",
    ),
    "GG402": error(
        "a primary key update",
        "The operation changes a primary key column and `pkUpdateHandling` is `abend`, the default.",
    ),
    "GG403": warning(
        "a delimiter inside a value",
        "A value contains the field or line delimiter. Like GoldenGate, ggfmt writes the value without a change. A "
        "reader of the output will find more fields or lines than were written.",
    ),
    "GG404": warning(
        "characters that the encoding does not have",
        "The output encoding lacks a character. Like Java, ggfmt writes the replacement character of the encoding.",
    ),
    "GG405": error(
        "a character that XML does not allow",
        "XML 1.0 does not allow most control characters, U+FFFE and U+FFFF. A value, a token or a name contains one.",
    ),
    "GG406": warning(
        "values that the format does not distinguish",
        "The output represents two of these in the same way: a missing column, a NULL, and a text. Or it represents a "
        "before image without a change as no before image. A reader of the output cannot distinguish them.",
    ),
    "GG407": error(
        "a forbidden loss",
        "With `--strict`, a run stops as soon as a handler cannot represent a value exactly: see `GG403`, "
        "`GG404` and `GG406`.",
    ),
    "GG408": error(
        "an operation that the format does not support",
        "The format cannot represent operations of this type, or a part of the operation.",
    ),
    "GG409": error(
        "no value for a column that cannot be NULL",
        "In the schema of the messages the column cannot be NULL, but the operation has NULL or no value for it.",
    ),
    "GG410": error(
        "duplicate field names",
        "Two fields of a message have the same name: metadata fields, images or columns. Readers keep only one of "
        "them.",
    ),
    "GG411": error(
        "a template without a value",
        "`metaColumnsTemplate` refers to a variable, or to the Replicat group, for which ggfmt has no text. Set "
        "`ggfmt.variables` or `ggfmt.groupName`.",
    ),
    # Running
    "GG501": error(
        "existing output",
        "The output directory already contains files, and `--mode` allows neither to add files nor to replace them. Or "
        "`ggfmt init` found an existing file; to replace it, use `--force`.",
    ),
    "GG502": error(
        "no usable Java",
        "Spark needs Java 17 or newer, and ggfmt found none.",
    ),
    "GG503": error(
        "Spark did not start",
        "The Java virtual machine ended before Spark was ready.",
    ),
    "GG504": error(
        "an unreachable Spark master",
        "No Spark master listens at the address in `--master`, or the address is invalid.",
    ),
    "GG505": error(
        "a failed task",
        "A task failed. With Spark, it failed more often than Spark retries it.",
    ),
    "GG506": error(
        "an output that cannot be written",
        "ggfmt cannot create or write a file or directory of the output.",
    ),
    "GG507": error(
        "operations that do not add up",
        "The number of operations read differs from the number of messages written plus rejects. This is a defect of "
        "ggfmt. Nothing was committed.",
    ),
    "GG508": error(
        "an unknown documentation page",
        "`ggfmt docs` has no page or section with this name.",
    ),
    "GG509": error(
        "an interrupted commit that cannot be finished",
        "An earlier run was interrupted during its commit, and the files that it left are damaged, incomplete or from "
        "another version of ggfmt. Or ggfmt cannot read a document of the output.",
    ),
    "GG510": error(
        "an output that differs from its manifest",
        "`ggfmt verify` found that a file is missing or has other content, or that counts do not add up.",
    ),
    "GG511": error(
        "an output with extra files",
        "`ggfmt verify` found a file that no manifest lists, or files of a run that is still active or was "
        "interrupted.",
    ),
    "GG512": error(
        "records that cause an internal error",
        "A record caused an error that ggfmt did not expect. This is a defect of ggfmt. Nothing was committed.",
    ),
    "GG513": error(
        "a checkpoint that does not fit the run",
        "The checkpoint belongs to another output or to other handlers, or the options contradict each other. Or the "
        "checkpoint and the output are not of one time: one of them is an older backup.",
    ),
    "GG514": error(
        "one file for two tables",
        "The templates of a handler give the same name to files of two tables, or to parts of one table that "
        "`partitioner` separates. Nothing was committed.",
    ),
    "GG515": error(
        "no name for a file",
        "The templates of a handler contain something that ggfmt does not know, or that a table does not have. Nothing "
        "was committed.",
    ),
    "GG516": error(
        "an operation without a file",
        "The file name contains the value of a column, and the operation has no such value. To set a text for NULL and "
        "for a missing column, use brackets in `${columnValue[]}`; see `ggfmt docs output`.",
    ),
    "GG517": error(
        "a Spark option without Spark",
        "`--master none` runs without Spark and Java. Options for them do not apply.",
    ),
    "GG518": error(
        "standard input that cannot be used",
        "`-` reads standard input once and stores it in a temporary file. Only runs on this machine can read this "
        "file.",
    ),
    "GG519": error(
        "messages that cannot be a stream",
        "`-o -` writes the messages of one handler to standard output, with the content of one file. If files of the "
        "format have one table, so has the stream.",
    ),
    "GG520": error(
        "an option for a Spark that already runs",
        "The run uses a Spark that already runs: the session of its process, or a session that `spark-submit` started. "
        "Its master, properties and Java are fixed; see `ggfmt docs spark`.",
    ),
    "GG521": error(
        "an unusable Spark session",
        "The argument is not a Spark session, the session was stopped, or the Spark that the environment names belongs "
        "to another process.",
    ),
    "GG522": error(
        "workers with missing packages",
        "Spark already runs, and the Python of its workers has no Arrow or no msgspec, or imports another ggfmt than "
        "this one.",
    ),
    "GG523": error(
        "an unusable SPARK_HOME",
        "SPARK_HOME names a directory without Spark, or with a Spark version that differs from pyspark. Different "
        "versions cannot communicate.",
    ),
    "GG524": error(
        "an unusable Spark Connect server",
        "The address is invalid, no server listens there, or the packages for Spark Connect are not installed.",
    ),
    "GG525": error(
        "an invalid file of defaults",
        "A `ggfmt.toml`, in the current directory or in `~/.config/ggfmt`, has a key that ggfmt does not know, or is "
        "not TOML.",
    ),
    "GG530": error(
        "a value that does not fit its DataFrame column",
        "In a DataFrame of one table, columns have the types of the table definition, and ggfmt does not change "
        "values. A number with too many digits, or text in a number column, fails the query.",
    ),
    "GG531": error(
        "an invalid DataFrame request",
        "An option, a table or a column in the request for a DataFrame does not exist, or is not possible.",
    ),
    "GG532": error(
        "incomplete definitions",
        "With `definitions`, ggfmt reads a DataFrame without schema inference. The data then contained a table or a "
        "schema change that no definition covers, or records that cannot be read in parts.",
    ),
    "GG533": error(
        "a replaced file of a stream",
        "A stream stores how far it has read each file. It cannot continue with a file that became shorter, was "
        "replaced or was deleted. Rows that the stream already returned stay valid.",
    ),
    "GG540": error(
        "a DataFrame without operations",
        "The DataFrame to write has neither of the two shapes: a column is missing, has another type, or does not "
        "belong to operations. `ggfmt docs dataframes` describes both shapes.",
    ),
    "GG541": error(
        "an invalid write option",
        '`df.write.format("ggfmt")` does not know the option, or does not allow its value.',
    ),
    "GG542": error(
        "a table with unknown columns",
        "Rows of a DataFrame have different columns, and no definition contains the columns of their table. Nothing "
        "was committed.",
    ),
    "GG543": error(
        "rows out of order",
        "The rows of a DataFrame are not in the order of their `seq`, so their messages would be out of order. Nothing "
        "was committed.",
    ),
    "GG550": error(
        "an interrupt after the commit",
        "Ctrl-C, SIGTERM or SIGHUP arrived when the output was complete, or too late to know. A run that is "
        "interrupted earlier commits nothing, reports this, and exits with 130, 143 or 129.",
    ),
    "GG551": error(
        "an invalid consolidation request",
        "The request does not fit the table. For example, a point in time is neither a timestamp nor a position of the "
        "operations' kind, or the operations do not have the order. A key may have unknown columns, or row versions "
        "may be requested for rows without an identity.",
    ),
    "GG552": error(
        "a table without a key",
        "In a table without a primary key, all columns together identify a row. If operations do not contain all "
        "columns before and after the change, name the columns that identify a row with `--key`.",
    ),
    "GG553": error(
        "a table that another program has written to",
        "A Delta or Iceberg table changed after the last run of this output. Another program has changed its rows or "
        "columns, has created the table, or has restored rows of an earlier run.",
    ),
    "GG554": error(
        "a column or table that the format cannot hold",
        "The table of the lakehouse cannot have the column, its name, or its new type. Or the table has a feature "
        "that ggfmt does not write. ggfmt finds out before it writes anything. Choose the type with `--type`, rename "
        "the column in the definitions, or consolidate into another output.",
    ),
    "GG555": error(
        "a library that is not installed",
        "`--to delta` needs the package `deltalake`, and `--to iceberg` the package `pyiceberg`. Install the extra "
        "that the message names.",
    ),
    "GG560": error(
        "an unknown run",
        "`ggfmt report --run` names no run of the output directory, or more than one. `_ggfmt/runs` contains one file "
        "for each run that still has files there.",
    ),
    "GG561": error(
        "a manifest of a newer ggfmt",
        "This ggfmt does not know the layout of the manifest, so its report would be incomplete. Use a newer ggfmt.",
    ),
    "GG562": error(
        "a damaged manifest",
        "The manifest is JSON, but one of its members has an invalid value.",
    ),
    "GG563": error(
        "a page inside the output",
        "An output directory may contain only files that its manifests list. With a page in it, `ggfmt verify` would "
        "report an extra file and `--mode overwrite` would stop. Write the page to another directory.",
    ),
    "GG565": error(
        "an invalid argument",
        "ggfmt cannot read a time, a size or a property of the command line, or of a function of the Python API.",
    ),
    "GG566": error(
        "operations contradict their rows",
        "With `--strict`, operations must agree with the rows. A before image must have the values of the row. An "
        "insert must not find another row at its key. An update or delete must find its row. Otherwise, operations "
        "are missing, or files overlap. Nothing was committed. Without `--strict`, the summary and the manifest "
        "count these operations.",
    ),
    "GG570": error(
        "unresolved operations",
        "With `--strict`, every operation must lead to a row. This fails for an update of an unknown row, two rows "
        "with the same key, or an operation without its key. Nothing was committed. Without `--strict`, ggfmt writes "
        "these operations to `_unresolved`.",
    ),
    **CODES_OF_COMPARISON,
}

CODES: dict[str, Code] = {
    name: replace(code, before=EXAMPLES[name][0], after=EXAMPLES[name][1]) if name in EXAMPLES else code
    for name, code in _DECLARED.items()
}
