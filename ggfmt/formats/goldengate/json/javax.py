"""JSON documents laid out as by javax.json 1.0, which made Oracle's: four blanks, no blank after the colon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ggfmt.columnar.escapes import escape_json_text

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | bool | None


def pretty(value: Json, depth: int = 0) -> str:
    """The document as text; an empty object is a brace, a line end and a brace."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return escape_json_text(value)
    inner, outer = "\n" + "    " * (depth + 1), "\n" + "    " * depth
    if isinstance(value, Mapping):
        members = ",".join(f"{inner}{escape_json_text(key)}:{pretty(item, depth + 1)}" for key, item in value.items())
        return f"{{{members}{outer}}}"
    return f"[{','.join(inner + pretty(item, depth + 1) for item in value)}{outer}]"
