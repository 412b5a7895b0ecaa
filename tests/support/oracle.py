"""The formats once more: slow, obvious, one operation at a time, sharing no code with ggfmt.

An image is a dict from column name to text; a name that is not in it is missing, and None is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

PlainImage = Mapping[str, str | None]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class PlainColumn:
    name: str
    kind: str
    key: int = 0


@dataclass(frozen=True)
class PlainTable:
    name: str
    columns: tuple[PlainColumn, ...]

    @property
    def keys(self) -> list[str]:
        return [c.name for c in sorted(self.columns, key=lambda c: c.key) if c.key]


@dataclass(frozen=True)
class PlainOperation:
    op: str
    op_ts: str | None
    pos: str | None
    before: PlainImage | None
    after: PlainImage | None
    tokens: Mapping[str, str]


OP_OPTIONS = {"I": "insert_op_key", "U": "update_op_key", "D": "delete_op_key", "T": "truncate_op_key"}


class NotANumber(Exception):
    """A value of a numeric column is none."""


# Delimited text


def changes_key(table: PlainTable, operation: PlainOperation) -> bool:
    if operation.op != "U" or operation.before is None or operation.after is None:
        return False
    for key in table.keys:
        in_both = key in operation.before and key in operation.after
        if in_both and operation.before[key] != operation.after[key]:
            return True
    return False


def split_key_updates(table: PlainTable, operations: Sequence[PlainOperation]) -> list[PlainOperation]:
    """What `delete-insert` makes of the operations."""
    result = []
    for operation in operations:
        if changes_key(table, operation):
            result.append(replace(operation, op="D", after=None))
            result.append(replace(operation, op="I", before=None))
        else:
            result.append(operation)
    return result


def row_image(operation: PlainOperation) -> PlainImage:
    return (operation.before if operation.op == "D" else operation.after) or {}


def delimited(
    table: PlainTable, operation: PlainOperation, options: Options, include_tokens: bool, current_ts: str
) -> str:
    fields = []
    if options["include_op_type"]:
        fields.append(options[OP_OPTIONS[operation.op]])
    if options["include_table_name"]:
        fields.append(table.name)
    if options["include_op_timestamp"]:
        fields.append(operation.op_ts or "")
    if options["include_current_timestamp"]:
        fields.append(current_ts)
    if options["include_position"]:
        fields.append(operation.pos or "")
    if include_tokens:
        pairs = [name + options["key_value_delimiter"] + value for name, value in operation.tokens.items()]
        fields.append(options["key_value_pair_delimiter"].join(pairs))
    image = row_image(operation)
    for column in table.columns:
        if options["include_column_names"]:
            fields.append(column.name)
        value = image.get(column.name, options["missing_value_representation"])
        fields.append(options["null_value_representation"] if value is None else value)
    return str(options["field_delimiter"].join(fields) + options["line_delimiter"])


# JSON


def json_type(column: PlainColumn, options: Options) -> str:
    if options["treat_all_columns_as_strings"]:
        return "string"
    if column.kind in ("integer", "decimal", "float", "double"):
        return "number"
    return "boolean" if column.kind == "boolean" else "string"


def is_json_number(text: str) -> bool:
    if text != text.strip() or not text.isascii():
        return False
    try:
        value = json.loads(text, parse_constant=lambda name: name)
    except ValueError:
        return False
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def big_decimal(text: str) -> str:
    """The text read and printed by Java's BigDecimal; NotANumber where its constructor throws."""
    head, _, exponent_text = text.replace("E", "e").partition("e")
    sign = -1 if head.startswith("-") else 1
    digits = head[1:] if head.startswith(("-", "+")) else head
    whole, _, fraction = digits.partition(".")
    if not (whole + fraction).isdecimal() or not (whole + fraction).isascii() or digits.count(".") > 1:
        raise NotANumber(text)
    exponent = 0
    if "e" in text.lower():
        bare = exponent_text[1:] if exponent_text.startswith(("-", "+")) else exponent_text
        if not bare.isdecimal() or not bare.isascii():
            raise NotANumber(text)
        exponent = int(exponent_text)
    unscaled = sign * int(whole + fraction)
    scale = len(fraction) - exponent
    minus, coefficient = "-" if unscaled < 0 else "", str(abs(unscaled))
    adjusted = len(coefficient) - 1 - scale
    if scale == 0:
        return minus + coefficient
    if scale > 0 and adjusted >= -6:
        padded = coefficient.rjust(scale + 1, "0")
        return f"{minus}{padded[:-scale]}.{padded[-scale:]}"
    shown = coefficient if len(coefficient) == 1 else f"{coefficient[0]}.{coefficient[1:]}"
    return f"{minus}{shown}" + (f"E{adjusted:+d}" if adjusted else "")


def json_number(text: str) -> str:
    return text if is_json_number(text) else big_decimal(text)


def json_string(text: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    result = '"'
    for character in text:
        if character in short:
            result += short[character]
        elif ord(character) < 0x20:
            result += "\\u" + hex(ord(character))[2:].rjust(4, "0")
        else:
            result += character
    return result + '"'


def json_value(text: str | None, kind: str) -> str:
    if text is None:
        return "null"
    if kind == "number":
        return json_number(text)
    if kind == "boolean":
        return text
    return json_string(text)


# An object is a list of members and an array is a list of texts; any other value is its own JSON text.
Tree = str | list[str] | list[tuple[str, "Tree"]]


def layout(tree: Tree, pretty: bool, depth: int = 0) -> str:
    if isinstance(tree, str):
        return tree
    is_array = bool(tree) and isinstance(tree[0], str)
    parts = []
    for item in tree:
        inner = "\n" + "    " * (depth + 1) if pretty else ""
        if isinstance(item, str):
            parts.append(inner + item)
        else:
            parts.append(inner + json_string(item[0]) + ":" + layout(item[1], pretty, depth + 1))
    end = "\n" + "    " * depth if pretty else ""
    opening, closing = ("[", "]") if is_array else ("{", "}")
    return opening + ",".join(parts) + end + closing


def image_tree(table: PlainTable, image: PlainImage | None, options: Options) -> Tree:
    members: list[tuple[str, Tree]] = []
    for column in table.columns:
        if image is not None and column.name in image:
            members.append((column.name, json_value(image[column.name], json_type(column, options))))
    return members


def json_message(
    table: PlainTable, operation: PlainOperation, options: Options, include_tokens: bool, current_ts: str
) -> str:
    members: list[tuple[str, Tree]] = [
        ("table", json_string(table.name)),
        ("op_type", json_string(options[OP_OPTIONS[operation.op]])),
        ("op_ts", json_string(operation.op_ts or "")),
        ("current_ts", json_string(current_ts)),
        ("pos", json_string(operation.pos or "")),
    ]
    if options["include_primary_keys"]:
        empty = "[\n    ]" if options["pretty_print"] else "[]"
        members.append(("primary_keys", [json_string(key) for key in table.keys] or empty))
    if include_tokens:
        tokens: list[tuple[str, Tree]] = [(name, json_string(value)) for name, value in operation.tokens.items()]
        members.append(("tokens", tokens))
    if operation.before is not None or operation.op == "U":
        members.append(("before", image_tree(table, operation.before, options)))
    if operation.after is not None or operation.op == "U":
        members.append(("after", image_tree(table, operation.after, options)))
    return layout(members, options["pretty_print"]) + str(options["json_delimiter"])


# Bytes


def encoded(text: str, codec: str) -> tuple[bytes, int]:
    """The text in a charset as Java writes it, and how many characters became `?`."""
    result, lost = b"", 0
    for character in text:
        try:
            result += character.encode(codec)
        except UnicodeEncodeError:
            result += b"?"
            lost += 1
    return result, lost
