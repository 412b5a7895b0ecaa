"""All formats by id. A new format is a package below this one, and a line in `ENTRIES`: see the page add-a-format."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

from ggfmt.formats.api.format import AVRO_MAGIC, Format
from ggfmt.lazy import LazyMapping


class FormatEntry(NamedTuple):
    """What is known of a format before it is loaded.

    system        package below this one, whose `FORMATS` has the declaration
    marks         the first bytes of an input contain one of these; empty: ggfmt cannot recognize the format
    writes        module of the package that writes the format; None if ggfmt cannot write it
    reads         module of the package that reads the format; None if ggfmt cannot read it
    handler_type  type of GoldenGate's handlers that write the format without a formatter and have its properties
    """

    system: str
    marks: tuple[bytes, ...] = ()
    writes: str | None = "write"
    reads: str | None = "read"
    handler_type: str = ""

    def declaration(self, name: str) -> Format:
        package = f"{__name__}.{self.system}"
        writes, reads = (module and f"{package}.{module}" for module in (self.writes, self.reads))
        declared: Format = next(format for format in import_module(package).FORMATS if format.name == name)
        return replace(declared, writes=writes, reads=reads, handler_type=self.handler_type)


_DEBEZIUM = ("op", "payload", "__op", "__deleted", "__table", "tableChanges", "data_collections", "specversion")

ENTRIES: dict[str, FormatEntry] = {
    "delimitedtext": FormatEntry("goldengate.delimited"),
    "delimitedtext_op": FormatEntry("goldengate.delimited"),
    "json": FormatEntry("goldengate.json", (b"{",)),
    "json_row": FormatEntry("goldengate.json", (b"{",)),
    "avro_row": FormatEntry("goldengate.avro"),
    "avro_op": FormatEntry("goldengate.avro"),
    "avro_row_ocf": FormatEntry("goldengate.avro", (AVRO_MAGIC,)),
    "avro_op_ocf": FormatEntry("goldengate.avro", (AVRO_MAGIC,)),
    "xml": FormatEntry("goldengate.xml", (b"<",)),
    "kafkaconnect_json": FormatEntry("goldengate.kafkaconnect", (b'"payload"',), handler_type="kafkaconnect"),
    "kafkaconnect_avro": FormatEntry(
        "goldengate.kafkaconnect", (AVRO_MAGIC,), "avro_write", "avro_read", handler_type="kafkaconnect"
    ),
    "goldengate_streams_json": FormatEntry("goldengate.streams", (b'"op_type"',)),
    "canal_json": FormatEntry("canal", (b'"isDdl"', b'"data"')),
    "arcion_json": FormatEntry("arcion", (b'"opType"',)),
    "arcion_csv": FormatEntry("arcion", (), "csv_write", "csv_read"),
    "cdl_json": FormatEntry("cdl", (b'"message_version"',)),
    "debezium_json": FormatEntry("debezium", tuple(f'"{member}"'.encode() for member in _DEBEZIUM)),
    "debezium_avro": FormatEntry("debezium", (AVRO_MAGIC,), "avro_write", "avro_read"),
    # its last marks are the ends of `pk_uk_info` in Base64 that do not depend on the bytes beside it
    "dts_avro": FormatEntry("dts", (b"\0", AVRO_MAGIC, b"cGtfdWtfaW5mb", b"BrX3VrX2luZm", b"wa191a19pbmZv")),
    "qlik_json": FormatEntry("qlik", (b'"atMSG"', b'"changeSequence"', b'"headers_operation"')),
    "qlik_avro": FormatEntry("qlik", (b"atMSG\x04",), "avro_write", "avro_read"),
    "maxwell_json": FormatEntry("maxwell", (b'"database"',)),
    "shareplex_json": FormatEntry("shareplex", (b'"meta"',)),
    "dms_json": FormatEntry("dms", (b'"record-type"',), writes=None),
    "sqlserver_cdc": FormatEntry("sqlserver", (b"__$operation",), writes=None),
    "test_decoding": FormatEntry(
        "testdecoding", (b": INSERT:", b": UPDATE:", b": DELETE:", b": TRUNCATE:"), writes=None
    ),
    "mysqlbinlog_text": FormatEntry("mysqlbinlog", (b"end_log_pos ",), writes=None),
    "wal2json": FormatEntry("wal2json", (b'"action"', b'"change"', b'"kind"'), writes=None),
    "mysql_binlog": FormatEntry("binlog", (b"\xfebin",), writes=None),
    "csv": FormatEntry("plain", writes=None),
    "jsonl": FormatEntry("plain", writes=None),
}

FORMATS = LazyMapping(ENTRIES, lambda name: ENTRIES[name].declaration(name))
WRITTEN = tuple(name for name, entry in ENTRIES.items() if entry.writes is not None)
READ = tuple(name for name, entry in ENTRIES.items() if entry.reads is not None)


def formats_of_handlers(type_name: str) -> list[str]:
    """Return the formats that handlers of a type write without a formatter."""
    return [name for name, entry in ENTRIES.items() if type_name and entry.handler_type == type_name]
