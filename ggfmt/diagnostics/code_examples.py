"""An example of each code: what is wrong, and the same corrected.

Codes of a configuration have lines of a handler file; others have the line of the command, the record, or the lines of
the handler file that matter. `\\xfc` and the like stand for one byte.
"""

from __future__ import annotations

_Pair = tuple[str, str]

_RUN = "ggfmt run changes/ -c conf/json.properties -o out"
_SUBMIT = "spark-submit"
_FROM_SUBMIT = _RUN.replace("ggfmt", "ggfmt_main.py", 1)
_ROWS = "ggfmt run changes/ -c conf/avro_row.properties -o out"
_MAXWELL = "ggfmt run changes/ -c conf/maxwell_json.properties -o out"
_TRUNCATE = '{"table":"GG.TCUSTORD","op_type":"T"}'
_QUOTED = _TRUNCATE.replace('"', r"\"")
_MESSAGE = f'{{"topic":"orders","partition":0,"offset":7,"key":null,"payload":"{_QUOTED}"}}'
_AVRO = "ggfmt run messages.avro --input-format avro_row -c conf/json.properties -o out"
_EVENTS = "ggfmt run events.bin --input-format debezium_avro -c conf/json.properties -o out"
_REGISTRY = " --input-option schemaRegistryDirectory=avsc"
_SCHEMA = "ggfmt schema --definitions samples/TCUSTORD.def -c conf/json.properties -o schemas"
_ROWS_OF = "ggfmt consolidate changes/ -o out"

_WRITE = ".write.format('ggfmt').mode('append').option('config', 'json.properties')"
_KEY = "keyMappingTemplate=${primaryKeys}"
_PARQUET = (" gg.eventhandler.pq.type=parquet", " gg.eventhandler.pq.pathMappingTemplate=./pq")
_TEMPLATE = "format.metaColumnsTemplate=${optype},${position}"


def _file(*lines: str) -> str:
    """Return a handler file with one handler; lines follow `gg.handler.out.`, unless they start with a blank."""
    keys = (line[1:] if line.startswith(" ") else f"gg.handler.out.{line}" for line in lines)
    return "\n".join(("gg.handlerlist=out", *keys))


def _handler(format: str, before: str, after: str = "") -> _Pair:
    """Return one line of a handler of a format, and its replacement; an empty `after` removes it."""
    first = f"format={format}"
    return _file(first, before), _file(first, after) if after else _file(first)


def _run(before: str, after: str) -> _Pair:
    """Return two calls of `ggfmt run` with these ends."""
    return f"{_RUN}{before}", f"{_RUN}{after}"


def _insert(before: str, after: str) -> _Pair:
    """Return two inserts with these images."""
    head = '{"table":"GG.TCUSTORD","op_type":"I","after":{"CUST_CODE":"WILL",'
    return f"{head}{before}}}}}", f"{head}{after}}}}}"


def _value(format: str, value: str, before: str, after: str) -> _Pair:
    """Return one line of a handler of a format that meets a value, and its replacement."""
    first = f" # PRODUCT is {value}", f"format={format}"
    return _file(*first, before), _file(*first, after)


_TRANSFORM = (
    " ggfmt.compatibility=21",
    " gg.transform.notes.matcher=regex",
    " gg.transform.notes.matcher.columnRegex=.*_NOTE",
    " gg.transform.notes.converter=regex",
    r" gg.transform.notes.converter.replaceRegex=[\r\n]+",
)
_COMPARE = "ggfmt compare out dump --key ID"

EXAMPLES: dict[str, _Pair] = {
    # Configuration
    "GG100": (_RUN.replace("json.", "jsn."), _RUN),
    "GG101": _handler("json", "format.prettyPrnt=true", "format.prettyPrint=true"),
    "GG102": _handler("json", "format.iso8601Forma=false", "format.iso8601Format=false"),
    "GG103": _handler("avro_row", "format.pkUpdateHandling=del-insert", "format.pkUpdateHandling=delete-insert"),
    "GG104": ("gg.handlerlist=out,text\ngg.handler.out.format=json", _file("format=json")),
    "GG105": ("gg.handlerlist=\ngg.handler.out.format=json", _file("format=json")),
    "GG106": (_file("format=jsn"), _file("format=json")),
    "GG107": (
        _file("format=json", "format.prettyPrint=true", "format.prettyPrint=false"),
        _file("format=json", "format.prettyPrint=false"),
    ),
    "GG108": _handler("delimitedtext", r"format.fieldDelimiter=\u01", r"format.fieldDelimiter=CDATA[\u0001]"),
    "GG109": (_file("formt=json"), _file("format=json")),
    "GG110": _handler("json", "format.lineDelimiter=;", "format.jsonDelimiter=;"),
    "GG111": (
        _file("format=avro_row", "format.genericWrapperUseFingerprint=true", " ggfmt.compatibility=12.2"),
        _file("format=avro_row", "format.genericWrapperUseFingerprint=true", " ggfmt.compatibility=12.3"),
    ),
    "GG112": _handler("avro_row_ocf", "partitionByTable=false"),
    "GG113": (
        _file("format=delimitedtext", "format.fieldDelimiter=; # as before"),
        _file("format=delimitedtext", " # as before", "format.fieldDelimiter=;"),
    ),
    "GG114": _handler("delimitedtext", r"format.lineDelimiter=\n", r"format.lineDelimiter=CDATA[\n]"),
    "GG115": _handler("delimitedtext", r"format.lineDelimiter=CDATA[\n", r"format.lineDelimiter=CDATA[\n]"),
    "GG116": _handler("delimitedtext", "format.fieldDelimiter=N", "format.fieldDelimiter=|"),
    "GG117": _handler("delimitedtext", "format.fieldDelimiter=||", "format.fieldDelimiter=|"),
    "GG118": (
        _file("format=delimitedtext", r"format.fieldDelimiter=\u00a6", "format.encoding=US-ASCII"),
        _file("format=delimitedtext", r"format.fieldDelimiter=\u00a6", "format.encoding=UTF-8"),
    ),
    "GG119": _handler("json", "format.schemaDirectory=./not/made/yet", "format.schemaDirectory=."),
    "GG120": (
        _file("format=json", " gg.schemareplacestring=_"),
        _file("format=json", " gg.schemareplaceregex=[$]", " gg.schemareplacestring=_"),
    ),
    "GG121": _handler("delimitedtext", "format.pkUpdateHandling=delete-insert", "format.pkUpdateHandling=update"),
    "GG122": (_file(" # ggfmt: ignore GG117", "format=json"), _file("format=json")),
    "GG123": (_file("type=hdfss", "format=json"), _file("type=hdfs", "format=json")),
    "GG124": (_file("type=hbase"), _file("type=hdfs", "format=json")),
    "GG125": (
        _file("type=kinesis_streams", "regionn=eu-central-1"),
        _file("type=kinesis_streams", "region=eu-central-1"),
    ),
    "GG127": (
        _file("format=xml", _TEMPLATE, " ggfmt.compatibility=21"),
        _file("format=xml", _TEMPLATE, " ggfmt.compatibility=21", " ggfmt.uncovered=ignore"),
    ),
    "GG128": (_file("format=json", "mode=op", "mode=op"), _file("format=json", "mode=op")),
    "GG129": (_file("format=json", "rootFilePath=/data/<name>"), _file("format=json", "rootFilePath=/data/orders")),
    "GG130": (f"Orders, as JSON\n{_file('format=json')}", f"# Orders, as JSON\n{_file('format=json')}"),
    "GG131": (
        _file("format=json", "rootFilePath=${OUT}"),
        _file("format=json", "rootFilePath=/data/out"),
    ),
    "GG132": (
        _RUN.replace(" -o", " -c conf/xml.properties -o"),
        _RUN.replace(" -o", " -c conf/xml.properties --set gg.handlerlist=json,xml -o"),
    ),
    "GG133": ("ggfmt validate-config conf --select GG199", "ggfmt validate-config conf --select GG119"),
    "GG134": (
        _file("format=json", *_TRANSFORM, " gg.transforms=note"),
        _file("format=json", *_TRANSFORM, " gg.transforms=notes"),
    ),
    "GG135": (
        _file("format=json", "pathMappingTemplate=all", "fileNameMappingTemplate=data.json"),
        _file("format=json", "pathMappingTemplate=all", "fileNameMappingTemplate=${tableName}.json"),
    ),
    "GG136": _handler("json", "createControlFile=true", "createControlFile=false"),
    "GG137": _handler(
        "json", "pathMappingTemplate=/ogg/dirout/${tableName}", "pathMappingTemplate=dirout/${tableName}"
    ),
    "GG138": (
        _file("format=json", " ggfmt.compatibility=19.1"),
        _file("format=json", _TEMPLATE, " ggfmt.compatibility=19.1"),
    ),
    "GG139": (
        _file("format=json_row", " ggfmt.compatibility=21"),
        _file("format=json_row", _TEMPLATE, " ggfmt.compatibility=21"),
    ),
    "GG140": (
        _file("type=hdfs", "format=json", "rootFilePath=/ogg", _TEMPLATE),
        _file("type=hdfs", "format=json", "pathMappingTemplate=ogg", _TEMPLATE),
    ),
    "GG141": (
        _file("type=kafka", "mode=tx", "format=json", "topicMappingTemplate=${tableName}", _KEY),
        _file("type=kafka", "mode=op", "format=json", "topicMappingTemplate=${tableName}", _KEY),
    ),
    "GG142": (
        _file("format=json", "fileNameMappingTemplate=${tableName}_${operationCount}.json"),
        _file("format=json", "fileNameMappingTemplate=${tableName}.json"),
    ),
    "GG143": (
        r"\xef\xbb\xbfgg.handlerlist=out" "\ngg.handler.out.format=json",
        "gg.handlerlist=out\ngg.handler.out.format=json",
    ),
    "GG144": (
        _file("format=delimitedtext", "format.fieldDelimiter=\u00a6"),
        _file("format=delimitedtext", r"format.fieldDelimiter=\u00a6"),
    ),
    "GG147": (
        _file("format=delimitedtext", "format.pkUpdateHandling=delete\u2013insert"),
        _file("format=delimitedtext", "format.pkUpdateHandling=delete-insert"),
    ),
    "GG145": (
        _file("format=avro_row_ocf", "eventHandler=db", " gg.eventhandler.db.type=snowflake"),
        _file("format=avro_row_ocf"),
    ),
    "GG146": (
        "gg.target=snowflake",
        "gg.target=snowflake\nggfmt.target.format=avro_row_ocf\nggfmt.target.template=${optype},${position}",
    ),
    # Table definitions
    "GG201": (_SCHEMA.replace("samples/TCUSTORD.def", "conf/json.properties"), _SCHEMA),
    "GG202": (
        '{"type":"record","name":"TCUSTORD","namespace":"GG","fields":[{"name":"CUST_CODE"}]}',
        '{"type":"record","name":"TCUSTORD","namespace":"GG","fields":[{"name":"CUST_CODE","type":"string"}]}',
    ),
    "GG203": _run(" --definitions old/GG.T.avsc --definitions new/GG.T.avsc", " --definitions new/GG.T.avsc"),
    "GG204": _insert('"COLOUR":"red"', '"PRODUCT":"CAR"'),
    "GG205": ('{"table":"GG.TCUSTORDER","op_type":"T"}', '{"table":"GG.TCUSTORD","op_type":"T"}'),
    "GG206": (
        _file(" # the table is GG.TCUST$ORD", "format=avro_row"),
        _file(" # the table is GG.TCUST$ORD", "format=avro_row", " gg.schemareplaceregex=[$]"),
    ),
    "GG208": _handler("delimitedtext", "format.fieldDelimiter=||", "format.fieldDelimiter=|"),
    "GG209": (f"{_SCHEMA} --check", _SCHEMA),
    "GG210": (_file("format=json", " gg.schemareplaceregex=.+"), _file("format=json", " gg.schemareplaceregex=[$]")),
    "GG211": (
        '{"database":"shop","table":"t","type":"insert","primary_key_columns":["code"],"data":{"id":1}}',
        '{"database":"shop","table":"t","type":"insert","primary_key_columns":["ID"],"data":{"id":1}}',
    ),
    "GG212": (
        _file("format=json", " gg.contentreplaceregex=^(a+)+$"),
        _file("format=json", " gg.contentreplaceregex=^a+$"),
    ),
    "GG214": (_EVENTS, f"{_EVENTS}{_REGISTRY}"),
    "GG215": (
        _file("format=debezium_avro", "format.fileFraming=confluent"),
        _file("format=debezium_avro", "format.fileFraming=confluent", "format.schemaIds=GG.TCUSTORD=7"),
    ),
    "GG216": (
        _file("format=avro_row", _TEMPLATE, "format.enableTimestampLogicalType=true"),
        _file(
            "format=avro_row",
            _TEMPLATE,
            "format.enableTimestampLogicalType=true",
            " gg.format.timestamp=yyyy-MM-dd HH:mm:ss",
        ),
    ),
    "GG217": (
        _file("format=avro_row_ocf", "eventHandler=pq", *_PARQUET, " gg.eventhandler.pq.compressionCodec=LZO"),
        _file("format=avro_row_ocf", "eventHandler=pq", *_PARQUET, " gg.eventhandler.pq.compressionCodec=SNAPPY"),
    ),
    "GG218": (
        "ggfmt run orders.json -c json.properties -o out",
        "ggfmt run orders.json -c json.properties -o out --definitions S.ORDERS.avsc"
        " --input-option decimalFormat=base64",
    ),
    # Reading
    "GG301": _insert('"PRODUCT":CAR', '"PRODUCT":"CAR"'),
    "GG302": ('{"table":"GG.TCUSTORD","op_ty', '{"table":"GG.TCUSTORD","op_type":"T"}'),
    "GG303": _insert(r'"PRODUCT":"CAF\xe9"', r'"PRODUCT":"CAF\xc3\xa9"'),
    "GG304": ('{"table":"GG.TCUSTORD","op_type":"TRUNC"}', '{"table":"GG.TCUSTORD","op_type":"T"}'),
    "GG305": ('{"op_type":"T"}', '{"table":"GG.TCUSTORD","op_type":"T"}'),
    "GG306": ('{"table":"EU.DB.GG.TCUSTORD","op_type":"T"}', '{"table":"DB.GG.TCUSTORD","op_type":"T"}'),
    "GG307": (
        '{"table":"GG.TCUSTORD","op_type":"I","before":{"CUST_CODE":"DAVE"},"after":{"CUST_CODE":"WILL"}}',
        '{"table":"GG.TCUSTORD","op_type":"U","before":{"CUST_CODE":"DAVE"},"after":{"CUST_CODE":"WILL"}}',
    ),
    "GG308": (
        '{"table":"GG.TCUSTORD","op_type":"T","op_ts":20130602}',
        '{"table":"GG.TCUSTORD","op_type":"T","op_ts":"2013-06-02 22:14:36.000000"}',
    ),
    "GG309": (_RUN.replace("changes/", "notes.txt"), _RUN),
    "GG310": (_RUN.replace("changes/", "chagnes/"), _RUN),
    "GG311": ("I|GG.TCUSTORD|2013-06-02 22:14:36.000000|WILL", "I|GG.TCUSTORD|2013-06-02 22:14:36.000000|WILL|CAR|3"),
    "GG312": (
        "<operation table='GG.TCUSTORD' type=T></operation>",
        "<operation table='GG.TCUSTORD' type='T'></operation>",
    ),
    "GG313": (
        f"{_AVRO} --definitions old/GG.T.avsc",
        f"{_AVRO} --definitions new/GG.T.avsc",
    ),
    "GG314": (
        '{"table":"T","type":"INSERT","mysqlType":{"F":"boolean"},"data":[{"F":"yes"}]}',
        '{"table":"T","type":"INSERT","mysqlType":{"F":"boolean"},"data":[{"F":"1"}]}',
    ),
    "GG315": (
        "ggfmt preview changes/ -c conf/json.properties --table GG.TCUSTORDER",
        "ggfmt preview changes/ -c conf/json.properties --table GG.TCUSTORD",
    ),
    "GG316": (f"{_RUN} --max-record 100", f"{_RUN} --max-record 256m"),
    "GG317": (
        '{"database":"shop","table":"t","type":"insert","data":{"id":1,"id":2}}',
        '{"database":"shop","table":"t","type":"insert","data":{"id":1,"ID":2}}',
    ),
    "GG318": (f"{_EVENTS} --input-option schemaRegistryDirectory=old", f"{_EVENTS}{_REGISTRY}"),
    "GG319": (
        r'\0\0\0\0\7{"before":null}',
        r"\0\0\0\0\7\0",
    ),
    "GG320": (f"{_MESSAGE}\n{_TRUNCATE}", f"{_MESSAGE}\n{_MESSAGE}"),
    "GG321": (_MESSAGE.replace(_QUOTED, r"\u0000\u0000\u0000\u0000\u0007\u0002"), _MESSAGE),
    "GG322": (
        '{"op":"c","source":{"table":"t"},"after":{"id":1,"v":{"value":2,"set":true}}}',
        '{"op":"c","source":{"table":"t"},"after":{"id":1,"v":2}}',
    ),
    "GG324": (
        '{"database":"shop","table":"t","type":"insert","data":{"id":1,"n":2}}\n'
        '{"database":"shop","table":"t","type":"insert","data":{"id":2}}',
        '{"database":"shop","table":"t","type":"insert","data":{"id":1,"n":2}}\n'
        '{"database":"shop","table":"t","type":"insert","data":{"id":2,"n":null}}',
    ),
    "GG327": ("RENAME TABLE a TO b", "INSERT INTO b SELECT * FROM a; DELETE FROM a"),
    "GG328": ("ALTER TABLE a DROP PARTITION p", "DELETE FROM a WHERE day = '2026-01-31'"),
    # Formatting
    "GG401": _insert('"AMOUNT":"many"', '"AMOUNT":"3"'),
    "GG402": _handler("delimitedtext", "format.pkUpdateHandling=abend", "format.pkUpdateHandling=update"),
    "GG403": _value("delimitedtext", "CAR;VAN", "format.fieldDelimiter=;", r"format.fieldDelimiter=CDATA[\u0001]"),
    "GG404": _value("json", "CAFÉ", "format.encoding=US-ASCII", "format.encoding=UTF-8"),
    "GG405": (
        _file(r" # PRODUCT is CAR\u0001", "format=xml"),
        _file(r" # PRODUCT is CAR\u0001", "format=xml", r" gg.contentreplaceregex=[\\x00-\\x08]"),
    ),
    "GG406": _value(
        "delimitedtext", "NULL", "format.nullValueRepresentation=NULL", r"format.nullValueRepresentation=\\N"
    ),
    "GG407": (f"{_ROWS} --strict", _ROWS),
    "GG408": (_MAXWELL, _MAXWELL.replace("maxwell", "canal")),
    "GG409": (
        _file(" # a truncate, which has no values", "type=kafkaconnect", "enableNonnullable=true"),
        _file(
            " # a truncate, which has no values", "type=kafkaconnect", "messageFormatting=op", "enableNonnullable=true"
        ),
    ),
    "GG410": (
        _file(" # a table with a column pos", "type=kafkaconnect", "messageFormatting=row"),
        _file(" # a table with a column pos", "type=kafkaconnect", "messageFormatting=op"),
    ),
    "GG411": (
        _file("format=json", "format.metaColumnsTemplate=${optype},${groupname}"),
        _file("format=json", "format.metaColumnsTemplate=${optype},${groupname}", " ggfmt.groupName=rep1"),
    ),
    # Running
    "GG501": _run("", " --mode overwrite"),
    "GG502": _run(" --java-home /usr/lib/jvm/java-8", " --java-home /usr/lib/jvm/java-17"),
    "GG503": _run(" --spark-conf spark.driver.memory=1k", " --spark-conf spark.driver.memory=2g"),
    "GG504": _run(" --master spark://localhost:8080", " --master spark://localhost:7077"),
    "GG505": (
        f"PYSPARK_PYTHON=/no/such/python3 {_RUN} --master spark://localhost:7077",
        f"PYSPARK_PYTHON=/usr/bin/python3 {_RUN} --master spark://localhost:7077",
    ),
    "GG506": (_RUN.replace("-o out", "-o /proc/out"), _RUN),
    "GG507": (_RUN, _RUN.replace("ggfmt", "ggfmt --log-level debug", 1)),
    "GG508": ("ggfmt docs outputs", "ggfmt docs output"),
    "GG509": (_RUN, _RUN.replace("-o out", "-o another")),
    "GG510": ("ggfmt verify out", f"{_RUN} --mode overwrite && ggfmt verify out"),
    "GG511": ("ggfmt verify out", "rm out/notes.txt && ggfmt verify out"),
    "GG512": (_RUN, _RUN.replace("changes/", "changes/part1.json")),
    "GG513": (_RUN + " --checkpoint seen --mode overwrite", _RUN + " --checkpoint seen"),
    "GG514": (
        _file("format=json", "pathMappingTemplate=all", "fileNameMappingTemplate=${schemaName}.json"),
        _file("format=json", "pathMappingTemplate=all", "fileNameMappingTemplate=${fullyQualifiedTableName}.json"),
    ),
    "GG515": _handler(
        "json", "fileNameMappingTemplate=${tableName}_${uuid}.json", "fileNameMappingTemplate=${tableName}.json"
    ),
    "GG516": (
        _file("format=json", "partitioner.GG.T=C", "pathMappingTemplate=${tableName}/C=${columnValue[C]}"),
        _file("format=json", "partitioner.GG.T=C", "pathMappingTemplate=${tableName}/C=${columnValue[C][null][none]}"),
    ),
    "GG517": _run(" --master none --java-home /usr/lib/jvm/java-17", " --master none"),
    "GG518": (f"{_RUN} - --checkpoint seen".replace(" changes/", ""), f"{_RUN} -".replace(" changes/", "")),
    "GG519": (f"{_RUN}".replace("out", "-") + " --mode overwrite", f"{_RUN}".replace("out", "-")),
    "GG520": (f"{_SUBMIT} {_FROM_SUBMIT} --master local", f"{_SUBMIT} --master local {_FROM_SUBMIT}"),
    "GG521": (
        'spark.stop()\nggfmt.convert("changes/", config="conf/json.properties", output="out", spark=spark)',
        'ggfmt.convert("changes/", config="conf/json.properties", output="out", spark=spark)\nspark.stop()',
    ),
    "GG522": (f"{_SUBMIT} {_FROM_SUBMIT}", f"PYSPARK_PYTHON=$(command -v python) {_SUBMIT} {_FROM_SUBMIT}"),
    "GG523": (f"SPARK_HOME=/opt/spark-3.5 {_RUN}", f"SPARK_HOME= {_RUN}"),
    "GG524": _run(" --remote localhost:15002", " --remote sc://localhost:15002"),
    "GG525": ('mastr = "none"', 'master = "none"'),
    "GG530": (
        'ggfmt.read(spark, "changes/", table="GG.T", definitions="dirdef")',
        'ggfmt.read(spark, "changes/", table="GG.T", definitions="dirdef", schema="after struct<AMOUNT: string>")',
    ),
    "GG531": ('ggfmt.read(spark, "changes/", table="GG.ORDRES")', 'ggfmt.read(spark, "changes/", table="GG.ORDERS")'),
    "GG532": (
        'ggfmt.read(spark, "changes/", definitions="dirdef")',
        'ggfmt.read(spark, "changes/", definitions="dirdef", discover=True)',
    ),
    "GG533": (
        "mv changes/archive.json changes/part1.json",
        "mv changes/archive.json changes/part2.json",
    ),
    "GG540": (f"df.withColumn('day', current_date()){_WRITE}.save('out')", f"df{_WRITE}.save('out')"),
    "GG541": (f"df{_WRITE}.option('onRejects', 'quarantine')", f"df{_WRITE}.option('onReject', 'quarantine')"),
    "GG542": (f"df{_WRITE}", f"df{_WRITE}.option('definitions', 'TCUSTORD.def')"),
    "GG543": (f"df.repartition(8){_WRITE}", f"df.orderBy('seq'){_WRITE}"),
    "GG550": (_RUN, "ggfmt verify out"),
    "GG551": (
        'ggfmt.current(spark, "changes/", "GG.T", as_of="yesterday")',
        'ggfmt.current(spark, "changes/", "GG.T", as_of="2026-01-31")',
    ),
    "GG552": (
        'ggfmt.current(spark, "changes/", "GG.T")',
        'ggfmt.current(spark, "changes/", "GG.T", key="ID")',
    ),
    "GG553": (
        f"{_ROWS_OF} --to delta --checkpoint seen",
        f"{_ROWS_OF} --to delta --checkpoint seen --on-foreign-commit accept",
    ),
    "GG554": (f"{_ROWS_OF} --to delta", f"{_ROWS_OF} --to delta --type 'GG.T.ID=string'"),
    "GG555": (f"{_ROWS_OF} --to delta", f"pip install 'ggfmt[delta]' && {_ROWS_OF} --to delta"),
    "GG560": ("ggfmt report out --run 2026-13-31", "ggfmt report out"),
    "GG561": ("ggfmt report out", "pip install --upgrade ggfmt && ggfmt report out"),
    "GG562": ("ggfmt report out", f"{_RUN} --mode overwrite && ggfmt report out"),
    "GG563": ("ggfmt report out --html out/report.html", "ggfmt report out --html report.html"),
    "GG565": _run(" --split-size many", " --split-size 64m"),
    "GG566": (f"{_ROWS_OF} --strict", _ROWS_OF),
    "GG570": (f"{_ROWS_OF} --strict", _ROWS_OF),
    "GG580": (_COMPARE.replace("ID", "IDENTIFIER"), _COMPARE),
    "GG581": (_COMPARE.replace("dump", "conf"), _COMPARE),
    "GG582": (
        "ggfmt compare out/GG.T latin1.csv --key ID",
        "ggfmt compare out/GG.T latin1.csv --key ID --csv-option b.encoding=latin-1",
    ),
    "GG583": (_COMPARE, f"{_COMPARE} --ignore-column UPDATED_AT"),
    "GG584": (_COMPARE, f"{_COMPARE} --table GG.T"),
    "GG585": (_COMPARE, f"{_COMPARE} --ignore-column LOADED_AT"),
    "GG586": (_COMPARE.replace("ID", "NAME"), _COMPARE),
    "GG587": (_COMPARE, f"TMPDIR=/var/tmp {_COMPARE}"),
    "GG588": ("ggfmt compare out postgresql://127.0.0.1:1/shop", "ggfmt compare out postgresql://127.0.0.1/shop"),
    "GG589": (
        "ggfmt compare out postgresql://127.0.0.1/shop",
        "pip install 'ggfmt[postgresql]' && ggfmt compare out postgresql://127.0.0.1/shop",
    ),
    "GG590": (
        "ggfmt compare seen.parquet dump --key ID",
        "ggfmt compare seen.parquet dump --key ID --ignore-column UPDATED_AT",
    ),
}
