"""The schema in the footer of a Parquet file: printed as parquet-mr 1.9 does, and without its types of decimals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ggfmt.formats.goldengate.container_files.thrift import Struct, read_struct, struct_bytes

_PHYSICAL = {0: "boolean", 1: "int32", 2: "int64", 3: "int96", 4: "float", 5: "double", 6: "binary"}
_REPETITION = ("required", "optional", "repeated")
_CONVERTED = {0: "UTF8", 1: "MAP", 2: "MAP_KEY_VALUE", 3: "LIST", 5: "DECIMAL", 10: "TIMESTAMP_MICROS"}
_FIELDS = {1: "type", 3: "repetition", 4: "name", 5: "children", 6: "converted", 7: "scale", 8: "precision"}


def footer_of(data: bytes) -> tuple[int, Struct]:
    """The place of the footer, and the footer."""
    assert data[:4] == data[-4:] == b"PAR1"
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return start, read_struct(data[start:])


def elements_of(footer: Struct) -> list[Struct]:
    elements: list[Struct] = footer[2].content.contents
    return elements


def print_schema(data: bytes) -> str:
    """The schema; a KeyError for a field of an element that version 1.9 does not have, such as a logical type."""
    elements = iter(elements_of(footer_of(data)[1]))
    root = _element(next(elements))
    assert root.keys() == {"name", "children"}
    lines = [f"message {root['name']} {{", *_children(elements, root["children"], "  "), "}"]
    return "".join(f"{line}\n" for line in lines)


def _element(fields: Struct) -> dict[str, Any]:
    element = {_FIELDS[number]: value.content for number, value in fields.items()}
    return {**element, "name": element["name"].decode()}


def _children(elements: Iterator[Struct], count: int, gap: str) -> Iterator[str]:
    for _ in range(count):
        element = _element(next(elements))
        converted = _CONVERTED[element["converted"]] if "converted" in element else ""
        if converted == "DECIMAL":
            converted = f"DECIMAL({element['precision']},{element['scale']})"
        kind = "group" if "children" in element else _PHYSICAL[element["type"]]
        head = f"{gap}{_REPETITION[element['repetition']]} {kind} {element['name']}{converted and f' ({converted})'}"
        if "children" in element:
            yield f"{head} {{"
            yield from _children(elements, element["children"], f"{gap}  ")
            yield f"{gap}}}"
        else:
            yield f"{head};"


def without_types(data: bytes) -> bytes:
    """The file with decimals as bytes, of which readers have no limits."""
    start, footer = footer_of(data)
    for element in elements_of(footer):
        if element.get(6) is not None and element[6].content == 5:
            for number in (6, 7, 8):
                del element[number]
    made = struct_bytes(footer)
    return data[:start] + made + len(made).to_bytes(4, "little") + b"PAR1"
