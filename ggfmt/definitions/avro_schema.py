"""Table definitions from the Avro schemas that GoldenGate's Avro formatters write (`.avsc`).

Followed: the manual of 12.2, 6.4.3, for the row schema, whose columns are the fields beside the metadata, and 6.5.3 for
the operation schema, whose columns are the fields of the record in `before` and `after`. `<COL>_isMissing` beside
`<COL>` is a flag and not a column. The generic wrapper's schema (6.4.7.3) describes no table.

A schema does not list the primary key: every column has key 0. The table's full name is the record's namespace and
name. Logical types: the Avro specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ggfmt.definitions.row_fields import FieldForm, WrittenMetadata, column_fields
from ggfmt.definitions.source import DefinitionFile
from ggfmt.formats.goldengate.avro.schema import is_flag
from ggfmt.formats.goldengate.types import AVRO_KINDS
from ggfmt.model.table import Column, Kind, SqlType, TableDef

LOGICAL_KINDS = {
    ("long", "timestamp-millis"): Kind.TIMESTAMP,
    ("long", "timestamp-micros"): Kind.TIMESTAMP,
    ("long", "local-timestamp-millis"): Kind.TIMESTAMP,
    ("long", "local-timestamp-micros"): Kind.TIMESTAMP,
    ("int", "date"): Kind.DATE,
    ("int", "time-millis"): Kind.TIME,
    ("long", "time-micros"): Kind.TIME,
}
WRAPPER_FIELDS = (["table_name", "schema_hash", "payload"], ["table_name", "schema_fingerprint", "payload"])


def is_avro_schema(document: object) -> bool:
    """Whether a parsed JSON document is the Avro schema of a record."""
    return isinstance(document, dict) and document.get("type") == "record" and isinstance(document.get("fields"), list)


def parse_avro_schema(
    source: DefinitionFile, document: Mapping[str, object], written: WrittenMetadata | None
) -> list[TableDef]:
    """The one table of an Avro schema, none for the generic wrapper; problems and doubts go to `source`, all GG202."""
    name, namespace = document.get("name"), document.get("namespace")
    if not isinstance(name, str):
        source.problem("the record has no `name`, which names the table")
        return []
    table_name = f"{namespace}.{name}" if isinstance(namespace, str) and namespace and "." not in name else name
    before = len(source.problems)
    fields = _named_fields(source, document, table_name)
    if table_name == "oracle.goldengate.generic_wrapper" or list(fields) in WRAPPER_FIELDS:
        return []
    image = _image(fields)
    if image is None:
        forms = {name: _form(spec) for name, spec in fields.items() if not is_flag(name, fields)}
        columns_and_flags = (
            set(column_fields(source, table_name, document, forms, written)) | fields.keys() - forms.keys()
        )
        fields = {name: spec for name, spec in fields.items() if name in columns_and_flags}
    else:
        fields = _named_fields(source, image, table_name)
    columns = list(_columns(source, fields, table_name))
    if len(source.problems) > before:
        return []
    table = source.table(table_name, columns)
    return [table] if table else []


def _named_fields(source: DefinitionFile, record: Mapping[str, object], table: str) -> dict[str, object]:
    """The fields of a record as name and type, with a problem for each that is not such a pair or comes again."""
    fields: dict[str, object] = {}
    given = record.get("fields")
    for place, item in enumerate(given if isinstance(given, list) else (), 1):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or "type" not in item:
            source.problem(f"field {place} of the record is not an object with `name` and `type`", table=table)
        elif name in fields:
            source.problem("the record has the field twice", table=table, field=name)
        else:
            fields[name] = item["type"]
    return fields


def _image(fields: Mapping[str, object]) -> Mapping[str, object] | None:
    """The record of the images in an operation schema: defined in `before`, and named again in `after`."""
    if "before" not in fields or "after" not in fields:
        return None
    for name in ("before", "after"):
        spec = _resolve(fields[name])[0]
        if isinstance(spec, dict) and spec.get("type") == "record":
            return spec
    return None


def _form(spec: object) -> FieldForm:
    value, nullable = _resolve(spec)
    if nullable:
        return FieldForm.NULLABLE
    if isinstance(value, dict):
        value = value.get("type") if not value.get("logicalType") else None
    if value == "string":
        return FieldForm.TEXT
    return FieldForm.CONTAINER if value in ("array", "map") else FieldForm.OTHER


def _columns(source: DefinitionFile, fields: Mapping[str, object], table: str) -> Iterable[Column]:
    for name, spec in fields.items():
        if is_flag(name, fields):
            continue
        value, nullable = _resolve(spec)
        sql_type = _sql_type(value)
        if sql_type is None:
            source.problem(
                "the type of a column is not understood",
                f"give one of {', '.join(f'`{kind}`' for kind in AVRO_KINDS)}, alone or in a union with `null`",
                table=table,
                field=name,
            )
        else:
            yield Column(name, sql_type, nullable)


def _resolve(spec: object) -> tuple[object, bool]:
    """The innermost type of a field and whether it may be null; a union of several types is left as it is."""
    nullable = False
    while True:
        if isinstance(spec, list):
            values = [item for item in spec if item != "null"]
            nullable = nullable or len(values) < len(spec)
            if len(values) != 1:
                return spec, nullable
            spec = values[0]
        elif isinstance(spec, dict) and isinstance(spec.get("type"), (dict, list)):
            spec = spec["type"]
        else:
            return spec, nullable


def _sql_type(spec: object) -> SqlType | None:
    attributes: Mapping[str, object] = spec if isinstance(spec, dict) else {"type": spec}
    base, logical = attributes.get("type"), attributes.get("logicalType")
    if not isinstance(base, str):
        return None
    if base in ("bytes", "fixed") and logical == "decimal":
        precision, scale = attributes.get("precision"), attributes.get("scale", 0)
        if type(precision) is int and type(scale) is int and 0 <= scale <= precision:
            return SqlType(Kind.DECIMAL, precision=precision, scale=scale)
        return None
    if isinstance(logical, str) and (base, logical) in LOGICAL_KINDS:
        return SqlType(LOGICAL_KINDS[base, logical])
    if base == "fixed":
        size = attributes.get("size")
        return SqlType(Kind.BINARY, length=size) if type(size) is int else None
    return SqlType(AVRO_KINDS[base]) if base in AVRO_KINDS else None
