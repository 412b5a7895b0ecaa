"""What Maxwell, Canal and Debezium's MySQL connector write of a binary log (`binlog`)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import msgspec
from binlog import Image, RowEvent, Transaction

LOG = "log.000001"
_BYTES = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
_BINARY = ("binary", "varbinary", "blob")
_encode = msgspec.json.Encoder(decimal_format="number").encode


@dataclass(frozen=True)
class LoggedColumn:
    """A column as the database describes it. `type`: its text, such as `decimal(10,2) unsigned`."""

    name: str
    kind: str
    type: str
    is_key: bool
    charset: str | None
    is_json: bool
    digits: int | None
    precision: int | None
    scale: int | None

    @property
    def members(self) -> list[str]:
        """The members of an enum or a set; none has a comma or a quote."""
        return [text.strip("'") for text in self.type[self.type.index("(") + 1 : -1].split(",")]

    @property
    def is_unsigned(self) -> bool:
        return "unsigned" in self.type


Columns = Sequence[LoggedColumn]
Describe = Callable[[str], Columns]


def _plain(column: LoggedColumn, value: Any) -> Any:
    """A value of the log by the type of its column: numbers, texts and bytes."""
    if value is None:
        return None
    if column.kind in _BYTES and not column.is_unsigned:
        size = _BYTES[column.kind]
        return int.from_bytes(value.to_bytes(size, "little"), "little", signed=True)
    if column.kind == "year":
        return value + 1900 if value else 0
    if column.kind == "timestamp":
        seconds, _, fraction = value.partition(".")
        if not int(seconds):
            return f"0000-00-00 00:00:00{fraction and f'.{fraction}'}"
        text = datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        return f"{text}{fraction and f'.{fraction}'}"
    if column.kind == "float":
        shortest = (f"{value:.{digits}g}" for digits in range(6, 10))
        return next(float(text) for text in shortest if struct.unpack("f", struct.pack("f", float(text)))[0] == value)
    if isinstance(value, bytes) and column.kind not in _BINARY:
        return value.decode("cp1252" if column.charset == "latin1" else "utf-8")
    return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in before.items() if name in after and after[name] != value}


class Maxwell:
    """`described`: statements have the columns of their tables. `positions`: rows have a position."""

    def __init__(self, described: bool, positions: bool) -> None:
        self.described, self._positions = described, positions

    def records(self, transaction: Transaction, describe: Describe) -> Iterator[dict[str, Any]]:
        rows = [(event, *images) for event in transaction.events for images in event.rows]
        for number, (event, before, after) in enumerate(rows):
            columns = describe(event.table)
            old, new = (self._row(columns, image) for image in (before, after))
            record: dict[str, Any] = {"database": event.schema, "table": event.table}
            record |= {"type": {"I": "insert", "U": "update", "D": "delete"}[event.op], "ts": event.second}
            record |= {"xid": transaction.xid}
            record |= {"commit": True} if number == len(rows) - 1 else {"xoffset": number}
            if self._positions:
                record["position"] = f"{LOG}:{event.position}"
            if event.op == "U":
                keys = {column.name for column in columns if column.is_key}
                record["data"] = {name: value for name, value in old.items() if name in keys} | new
                record["old"] = _changed(old, record["data"])
                if not record["old"]:
                    del record["old"]
            else:
                record["data"] = new if event.op == "I" else old
            yield record
        if transaction.statement and self.described and "alter table" in transaction.statement[1]:
            yield self.definition(transaction, describe)

    def definition(self, transaction: Transaction, describe: Describe, kind: str = "table-alter") -> dict[str, Any]:
        assert transaction.statement is not None
        schema, sql = transaction.statement
        table = sql.split()[2].strip("`")
        columns = [self._column(column) for column in describe(table)]
        keys = [column.name for column in describe(table) if column.is_key]
        definition = {"database": schema, "table": table, "columns": columns, "primary-key": keys}
        record = {"type": kind, "database": schema, "table": table, "def": {**definition, "charset": "utf8mb4"}}
        return record | {"ts": transaction.second * 1000, "sql": sql}

    def _column(self, column: LoggedColumn) -> dict[str, Any]:
        found: dict[str, Any] = {"name": column.name, "type": "json" if column.is_json else column.kind}
        if column.kind in _BYTES:
            found["signed"] = not column.is_unsigned
        if column.charset or column.kind in _BINARY:
            found["charset"] = column.charset or "binary"
        if column.kind in ("enum", "set"):
            found["enum-values"] = column.members
        if column.digits:
            found["column-length"] = column.digits
        return found

    def _row(self, columns: Columns, image: Image | None) -> dict[str, Any]:
        return {columns[i].name: self._value(columns[i], value) for i, value in (image or {}).items()}

    def _value(self, column: LoggedColumn, value: Any) -> Any:
        value = _plain(column, value)
        if value is None:
            return None
        if isinstance(value, bytes):
            return _base64(value)
        if column.is_json:
            return msgspec.Raw(value.encode())
        if column.kind == "enum":
            return column.members[value - 1]
        if column.kind == "set":
            return [member for i, member in enumerate(column.members) if value >> i & 1]
        return value


class Canal:
    """`gtids`: messages have the GTID of their transaction; otherwise the number of their batch orders them."""

    def __init__(self, gtids: bool) -> None:
        self._gtids = gtids
        self._batch = 0

    def begin_batch(self) -> None:
        self._batch += 1

    def records(self, transaction: Transaction, describe: Describe) -> Iterator[dict[str, Any]]:
        for event in transaction.events:
            columns = describe(event.table)
            images = [[self._row(columns, image) for image in pair] for pair in event.rows]
            keys = [column.name for column in columns if column.is_key]
            data, old = [], []
            for before, after in images:
                if event.op == "U":
                    row = {name: value for name, value in before.items() if name in keys} | after
                    data.append(row)
                    old.append(_changed(before, row))
                else:
                    data.append(after if event.op == "I" else before)
            record = self._message(transaction, event.schema, event.table, event.second)
            record |= {
                "data": data,
                "old": old or None,
                "type": {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}[event.op],
            }
            record |= {"mysqlType": {column.name: column.type for column in columns}, "pkNames": keys or None}
            yield record
        if transaction.statement:
            schema, sql = transaction.statement
            words = sql.split()
            table = words[2 if words[1] == "table" else 1].strip("`")
            record = self._message(transaction, schema, table, transaction.second)
            yield record | {"data": None, "isDdl": True, "type": words[0].upper(), "sql": sql}

    def _message(self, transaction: Transaction, schema: str, table: str, second: int) -> dict[str, Any]:
        return {
            "database": schema, "table": table, "es": second * 1000, "ts": second * 1000 + 7, "id": self._batch,
            "gtid": transaction.gtid if self._gtids else "", "isDdl": False, "sql": "", "old": None, "pkNames": None,
            "mysqlType": None, "sqlType": None,
        }  # fmt: skip

    def _row(self, columns: Columns, image: Image | None) -> dict[str, str | None]:
        return {columns[i].name: self._value(columns[i], value) for i, value in (image or {}).items()}

    def _value(self, column: LoggedColumn, value: Any) -> str | None:
        value = _plain(column, value)
        return value.decode("latin-1") if isinstance(value, bytes) else None if value is None else str(value)


_DEBEZIUM: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("tinyint", "smallint"), ("int16", None)),
    **dict.fromkeys(("mediumint", "int"), ("int32", None)),
    "bigint": ("int64", None),
    "float": ("float32", None),
    "double": ("float64", None),
    "date": ("int32", "io.debezium.time.Date"),
    "time": ("int64", "io.debezium.time.MicroTime"),
    "timestamp": ("string", "io.debezium.time.ZonedTimestamp"),
    "year": ("int32", "io.debezium.time.Year"),
    "enum": ("string", "io.debezium.data.Enum"),
    "set": ("string", "io.debezium.data.EnumSet"),
    **dict.fromkeys(_BINARY, ("bytes", None)),
}


class Debezium:
    """With schemas. `is_text`: decimals are texts, and unsigned 64-bit numbers wrap and have their type."""

    def __init__(self, is_text: bool) -> None:
        self._is_text = is_text

    def records(self, transaction: Transaction, describe: Describe) -> Iterator[dict[str, Any]]:
        for event in transaction.events:
            columns = describe(event.table)
            keys = [i for i, column in enumerate(columns) if column.is_key]
            for number, (old, new) in enumerate(event.rows):
                if event.op == "U" and old and new and any(old[i] != new[i] for i in keys):
                    yield self._event(transaction, event, columns, number, "d", old, None)
                    yield self._event(transaction, event, columns, number, "c", None, new)
                else:
                    op = {"I": "c", "U": "u", "D": "d"}[event.op]
                    yield self._event(transaction, event, columns, number, op, old, new)
        if transaction.statement and transaction.statement[1].startswith("truncate"):
            schema, sql = transaction.statement
            event = RowEvent("T", schema, sql.split()[-1], [], transaction.position, transaction.second)
            yield self._event(transaction, event, describe(event.table), 0, "t", None, None)

    def _event(
        self, transaction: Transaction, event: RowEvent, columns: Columns, row: int, op: str,
        old: Image | None, new: Image | None,
    ) -> dict[str, Any]:  # fmt: skip
        source = {
            "version": "3.6.0.Final", "connector": "mariadb", "name": "live", "ts_ms": event.second * 1000,
            "snapshot": "false", "db": event.schema, "table": event.table, "server_id": 1, "gtid": transaction.gtid,
            "file": LOG, "pos": event.position, "row": row, "thread": 5, "query": None,
        }  # fmt: skip
        payload = {"source": source, "op": op, "ts_ms": event.second * 1000 + 5, "transaction": None}
        if op != "t":
            payload |= {"before": self._row(columns, old), "after": self._row(columns, new)}
        fields = [self._field(column) for column in columns]
        schema = [{"type": "struct", "fields": fields, "optional": True, "field": name} for name in ("before", "after")]
        return {"schema": {"type": "struct", "fields": schema, "optional": False}, "payload": payload}

    def _field(self, column: LoggedColumn) -> dict[str, Any]:
        type, name = _DEBEZIUM.get(column.kind, ("string", None))
        parameters: dict[str, str] = {}
        if column.kind == "bigint" and column.is_unsigned and not self._is_text:
            type, name, parameters = "bytes", "org.apache.kafka.connect.data.Decimal", {"scale": "0"}
        elif column.kind == "decimal" and not self._is_text:
            type, name = "bytes", "org.apache.kafka.connect.data.Decimal"
            parameters = {"scale": str(column.scale), "connect.decimal.precision": str(column.precision)}
        elif column.kind == "datetime":
            name = f"io.debezium.time.{'Micro' if (column.digits or 0) > 3 else ''}Timestamp"
            type = "int64"
        elif column.kind == "bit":
            single = column.precision == 1
            type, name = ("boolean", None) if single else ("bytes", "io.debezium.data.Bits")
            parameters = {} if single else {"length": str(column.precision)}
        elif column.is_json:
            name = "io.debezium.data.Json"
        elif column.kind == "int" and column.is_unsigned:
            type = "int64"
        if self._is_text:
            parameters["__debezium.source.column.type"] = column.type.split("(")[0].upper()
            if column.is_unsigned:
                parameters["__debezium.source.column.type"] = f"{column.kind.upper()} UNSIGNED"
            if column.kind == "decimal":
                parameters["__debezium.source.column.length"] = str(column.precision)
                parameters["__debezium.source.column.scale"] = str(column.scale)
        found = {"field": column.name, "type": type, "optional": not column.is_key}
        return found | ({"name": name} if name else {}) | ({"parameters": parameters} if parameters else {})

    def _row(self, columns: Columns, image: Image | None) -> dict[str, Any] | None:
        if image is None:
            return None
        return {columns[i].name: self._value(columns[i], value) for i, value in image.items()}

    def _value(self, column: LoggedColumn, value: Any) -> Any:
        value = _plain(column, value)
        if value is None:
            return None
        if column.kind == "bigint" and column.is_unsigned and self._is_text:
            return value - (1 << 64) if value >> 63 else value
        if column.kind == "decimal" or (column.kind == "bigint" and column.is_unsigned):
            if self._is_text:
                return f"{value:f}"
            number = int(f"{value:f}".replace(".", "")) if column.kind == "decimal" else value
            return _base64(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))
        if column.kind == "bit":
            if column.precision == 1:
                return bool(value)
            return _base64(value.to_bytes(((column.precision or 1) + 7) // 8, "little"))
        if column.kind == "date":
            return (datetime.fromisoformat(value) - datetime(1970, 1, 1)).days
        if column.kind == "datetime":
            unit = 1 if (column.digits or 0) > 3 else 1000
            return int((datetime.fromisoformat(value) - datetime(1970, 1, 1)).total_seconds() * 1_000_000) // unit
        if column.kind == "timestamp":
            day, clock = value.split()
            return f"{day}T{clock.rstrip('0').rstrip('.') if '.' in clock else clock}Z"
        if column.kind == "time":
            hours, minutes, seconds = value.lstrip("-").split(":")
            micros = (int(hours) * 60 + int(minutes)) * 60_000_000 + round(float(seconds) * 1_000_000)
            return -micros if value.startswith("-") else micros
        if column.kind == "enum":
            return column.members[value - 1]
        if column.kind == "set":
            return ",".join(member for i, member in enumerate(column.members) if value >> i & 1)
        return _base64(value) if isinstance(value, bytes) else value


def lines(records: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(_encode(record) + b"\n" for record in records)
