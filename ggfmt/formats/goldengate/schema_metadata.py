"""Which fields of a schema are metadata, as the schemas that ggfmt writes say it.

A schema of fixed metadata is as the manual of 12.2 prints it, and their names are known; so is one of a
`metaColumnsTemplate` that gives the same fields. Of other templates, and of a release without fixed metadata, nobody
has printed a schema: there the schema has one more property, which Avro and JSON Schema allow, with the metadata fields
as a template. Neither Avro's Parsing Canonical Form nor a fingerprint has it. `schema_hash` is a number of the whole
text: where messages name their schema by it, the text stays without the property.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.metacolumns import (
    ALL_TOKENS,
    KEY_COLUMNS,
    NOW,
    NOW_ISO8601,
    OBJECT_NAME,
    OP_TYPE,
    POSITION,
    TIMESTAMP,
    MetaColumn,
    Template,
)
from ggfmt.java.text import InvalidValueError

METADATA_PROPERTY = "ggfmt.metaColumnsTemplate"
PREFIXES_PROPERTY = "ggfmt.flattened"  # what the names of columns start with in the two images of a JSON message


# What fixed metadata are called, and Oracle's template for them; the first five are always there.
FIXED_NAMES = {
    "table": OBJECT_NAME,
    "op_type": OP_TYPE,
    "op_ts": TIMESTAMP,
    "current_ts": NOW,
    "pos": POSITION,
    "primary_keys": KEY_COLUMNS,
    "tokens": ALL_TOKENS,
}
ALWAYS_FIXED = tuple(FIXED_NAMES)[:5]


def metadata_property(options: Any, context: Context) -> dict[str, str]:
    """The property of a schema that says which fields are metadata; empty where they are the fixed ones."""
    metadata: Sequence[MetaColumn] = options.metadata(context)
    return {} if _are_fixed(metadata) else {METADATA_PROPERTY: Template().render(tuple(metadata))}


def _are_fixed(metadata: Sequence[MetaColumn]) -> bool:
    names = tuple(column.name for column in metadata)
    if names[:5] != ALWAYS_FIXED or not FIXED_NAMES.keys() >= set(names):
        return False
    keywords = (NOW if column.keyword == NOW_ISO8601 else column.keyword for column in metadata)
    return all(FIXED_NAMES[name] == keyword for name, keyword in zip(names, keywords, strict=True))


def declared_metadata(schema: Mapping[str, Any]) -> tuple[MetaColumn, ...] | None:
    """The metadata fields that the property of a schema names, None if it has no such property; InvalidValueError for a
    property that is no template."""
    text = schema.get(METADATA_PROPERTY)
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidValueError("is not a text")
    return Template().parse(text) if text.strip() else ()


def declared_prefixes(schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """What the names of columns start with in each image; None for a schema that does not say so."""
    match schema.get(PREFIXES_PROPERTY):
        case [str(before), str(after)]:
            return before, after
    return None
