"""The fields of a container file, from the Avro schema in its header.

ggfmt converts its own schemas alone, those of `avro_row_ocf` and `avro_op_ocf`: texts, an array of texts and a map of
texts as metadata, then optional columns with or without flags, or two optional images of columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Span
from ggfmt.formats.avro.schemas import Schema, is_decimal, is_string_map, is_strings, is_timestamp

_HELP = "convert only files of ggfmt's formats `avro_row_ocf` and `avro_op_ocf`"


class FieldType(str, Enum):
    """The type of a field, without its union with null."""

    STRING = "string"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    BYTES = "bytes"
    DECIMAL = "decimal"
    TIMESTAMP = "timestamp-micros"
    STRINGS = "array"
    STRING_MAP = "map"
    RECORD = "record"


_PRIMITIVES = {"string", "long", "float", "double", "boolean", "bytes"}


@dataclass(frozen=True)
class Field:
    """A field of a record. `precision` and `scale`: of a DECIMAL; `fields`: of a RECORD, none of which is a RECORD."""

    name: str
    type: FieldType
    optional: bool = False
    precision: int = 0
    scale: int = 0
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Record:
    name: str
    fields: tuple[Field, ...]

    def flat(self) -> list[Field]:
        """Return the fields without records, those of records in their place."""
        return [leaf for field in self.fields for leaf in (field.fields or (field,))]


def conversion_error(message: str, table: str | None = None, column: str | None = None, help: str = _HELP) -> Abend:
    return Abend("GG217", message, Span(table=table, field=column), help=help)


def record_of(schema: Schema) -> Record:
    """Return the record of a schema. Raises: Abend with GG217 if the schema is not one that ggfmt writes."""
    if not isinstance(schema, dict) or schema.get("type") != "record" or not isinstance(schema.get("name"), str):
        raise conversion_error("the records of the container file are not operations")
    namespace = schema.get("namespace")
    name = f"{namespace}.{schema['name']}" if namespace else schema["name"]
    return Record(name, _FieldParser(name).fields(schema))


class _FieldParser:
    def __init__(self, table: str) -> None:
        self._table = table
        self._images: dict[str, tuple[Field, ...]] = {}

    def fields(self, schema: Mapping[str, Any], in_image: bool = False) -> tuple[Field, ...]:
        declared = schema.get("fields")
        if not isinstance(declared, list) or not declared:
            raise conversion_error("a record without fields has no columns to convert", self._table)
        fields = tuple(self._field(field, in_image) for field in declared)
        if len({field.name for field in fields}) < len(fields):
            raise conversion_error("a record has two fields with the same name", self._table)
        return fields

    def _field(self, declared: Any, in_image: bool) -> Field:
        if not isinstance(declared, dict) or not isinstance(declared.get("name"), str):
            raise conversion_error("a record has a field without a name", self._table)
        name, kind = declared["name"], declared.get("type")
        if isinstance(kind, list):
            if len(kind) == 2 and kind[0] == "null":
                field = self._scalar(name, kind[1]) or (None if in_image else self._image(name, kind[1]))
                if field is not None:
                    return replace(field, optional=True)
        else:
            field = self._scalar(name, kind)
            if field is not None:
                return field
            if not in_image and is_strings(kind):
                return Field(name, FieldType.STRINGS)
            if not in_image and is_string_map(kind):
                return Field(name, FieldType.STRING_MAP)
        raise conversion_error("ggfmt cannot write a field of this type", self._table, name)

    def _scalar(self, name: str, kind: Schema) -> Field | None:
        if isinstance(kind, str):
            return Field(name, FieldType(kind)) if kind in _PRIMITIVES else None
        if is_decimal(kind) and kind["precision"]:
            return Field(name, FieldType.DECIMAL, precision=kind["precision"], scale=kind["scale"])
        return Field(name, FieldType.TIMESTAMP) if is_timestamp(kind) else None

    def _image(self, name: str, kind: Schema) -> Field | None:
        """Return a record, or one that was defined before, by its name."""
        if isinstance(kind, dict) and kind.get("type") == "record":
            self._images[str(kind.get("name"))] = self.fields(kind, in_image=True)
            kind = str(kind.get("name"))
        fields = self._images.get(kind) if isinstance(kind, str) else None
        return None if fields is None else Field(name, FieldType.RECORD, fields=fields)
