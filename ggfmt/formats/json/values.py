"""JSON values in all dialects: parse a record, describe errors in it, and convert values to texts."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic

# What msgspec does not allow in the name of a struct's member.
_ODD_NAME = re.compile(r'[\x00-\x1f"\\]')
decode = msgspec.json.Decoder(float_hook=float).decode  # a number may be beyond a float's range
raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
# The names of types in Avro's JSON encoding. A value of a union is an object with one member: its type. The types of
# records have full names.
AVRO_TYPES = ("int", "long", "float", "double", "string", "bytes", "boolean", "array", "map")
_KINDS = {b"{": "an object", b"[": "an array", b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
_JSON_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def parse(record: bytes, last: bool) -> dict[str, Any] | Diagnostic | None:
    """Return the members of a record, None for a tombstone; `last`: the file ends with the record."""
    try:
        value = decode(record)
    except UnicodeDecodeError:
        return invalid_utf8(record)
    except RecursionError:
        return Diagnostic("GG301", "the record is nested too deeply")
    except msgspec.DecodeError as error:
        return _malformed(record, last, str(error))
    if not record.isascii():
        try:
            record.decode()
        except UnicodeDecodeError:
            return invalid_utf8(record)
    if value is None:
        return None
    if not isinstance(value, dict):
        return Diagnostic("GG301", f"the record is {json_name(value)} and not a JSON object")
    return value


def json_members(data: bytes) -> dict[str, Any]:
    """Return the decoded members of a JSON object; none of anything else."""
    try:
        members = decode(data)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}


def plain_name(name: str) -> str:
    """Return the name of a member in decoder classes."""
    return "\x7f" + name.encode().hex() if _ODD_NAME.search(name) else name


def invalid_utf8(record: bytes) -> Diagnostic:
    try:
        record.decode()
    except UnicodeDecodeError as error:
        reason = f"the record is not UTF-8: byte {record[error.start]:#04x} at byte {error.start} of the record"
        return Diagnostic("GG303", reason, help="convert the file to UTF-8")
    raise ValueError("the record is UTF-8")


def _malformed(record: bytes, last: bool, reason: str) -> Diagnostic:
    try:
        json.loads(record.decode())  # of bytes, Python would guess the charset
    except RecursionError:
        return Diagnostic("GG301", "the record is nested too deeply")
    except UnicodeDecodeError:
        return invalid_utf8(record)
    except json.JSONDecodeError as error:
        if last and (error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")):
            return Diagnostic(
                "GG302", "the file ends in the middle of a record", help="read the file again when it is complete"
            )
        column = len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        return Diagnostic(
            "GG301",
            f"the record is not JSON: {error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} "
            f"at byte {column} of the record",
        )
    except ValueError:
        pass
    # What Python reads and msgspec does not: NaN and infinities, and one half of a surrogate pair.
    if "truncated" in reason or "surrogate" in reason:
        return Diagnostic("GG301", "the record is not JSON: an escape is one half of a surrogate pair")
    return Diagnostic("GG301", f"the record is not JSON: {reason.removeprefix('JSON is malformed: ')}")


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class NestedValueError(ValueError):
    """A member that must be a string, number or boolean is an object or array. The message has this, and names it."""


def json_text(value: msgspec.Raw) -> str:
    """Return a JSON value as a text: a string without its quotes, any other value with its own characters."""
    data = bytes(value)
    return str(msgspec.json.decode(data)) if data.startswith(b'"') else str(data, "utf-8")


def json_texts(members: msgspec.Raw | str) -> dict[str, str | None]:
    """Return the members of a JSON object as texts, None for null. Raises: ValueError if it is no object."""
    values = raw_members(members).items()
    return {name: None if bytes(value) == b"null" else json_text(value) for name, value in values}


def raw_text(value: msgspec.Raw, name: str) -> str | None:
    """Return the value of a member as a text, None for null. Raises: NestedValueError if it is an object or array."""
    data = bytes(value)
    if data[:1] in (b"{", b"["):
        raise NestedValueError(f"`{name}` is {json_kind(data)} and not a string")
    return None if data == b"null" else json_text(value)


def json_kind(value: bytes) -> str:
    return _KINDS.get(value[:1], "a number")


def json_name(value: object) -> str:
    return _JSON_NAMES.get(type(value), "a number")


def is_avro_union(value: object) -> bool:
    """Return whether a decoded JSON value is a value of a union in Avro's JSON encoding, but no record."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in AVRO_TYPES


def is_avro_record(value: object) -> bool:
    """Return whether a decoded JSON value is a record of a union in Avro's JSON encoding, with its full name."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((name, members),) = value.items()
    if not isinstance(members, dict):
        return False
    return "." in name or (name == "columns" and any(map(is_avro_union, members.values())))  # GG's, without a schema
