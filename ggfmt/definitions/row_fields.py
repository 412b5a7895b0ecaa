"""Which fields of a row schema are columns, and which are metadata of the messages.

Both are fields beside each other. What decides, in this order: the property that ggfmt writes into its schemas; the
settings of whoever wrote the messages (`--input-config`); the names of the fixed metadata, as the manual of 12.2 prints
them (6.3.3 and 6.4.3). Nothing is guessed beyond that: fields that may be metadata of a template are an error.

GoldenGate's columns may be null and its metadata never are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import takewhile
from typing import Any

from ggfmt.definitions.source import DefinitionFile
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.metacolumns import OP_TYPE, MetaColumn, Template
from ggfmt.formats.goldengate.schema_metadata import (
    ALWAYS_FIXED,
    FIXED_NAMES,
    METADATA_PROPERTY,
    declared_metadata,
)
from ggfmt.java.text import InvalidValueError

_OP_TYPE_NAME = next(name for name, keyword in FIXED_NAMES.items() if keyword == OP_TYPE)
_SHOWN_NAMES = 6
_HELP = (
    "give the handler file of whoever wrote the messages by `--input-config`; if all of them are columns, add "
    f'`"{METADATA_PROPERTY}": ""` to the schema'
)


class FieldForm(Enum):
    """What a field can be, by its type."""

    NULLABLE = auto()  # a column
    TEXT = auto()  # a text that is never null: metadata of GoldenGate, or a column of others
    CONTAINER = auto()  # a list or a map: metadata alone
    OTHER = auto()  # a column, in no schema of GoldenGate


@dataclass(frozen=True)
class WrittenMetadata:
    """What settings of a writer say: the names of metadata fields; `fixed` where they are those of a release.
    `prefixes` are what columns of flattened messages start with, in both images."""

    names: Sequence[str]
    fixed: bool = False
    prefixes: tuple[str, str] | None = None

    @classmethod
    def of(cls, source: WriterSettings) -> WrittenMetadata | None:
        """None where settings say nothing of metadata."""
        text = source.given.get("metaColumnsTemplate")
        if text is not None:
            try:
                return cls([column.name for column in Template().parse(text)])
            except InvalidValueError:
                return None  # an error of its own, where the input is planned
        options: Any = source.options
        if not hasattr(options, "meta_columns_template"):
            return None
        prefixes = None
        if isinstance(options, JsonOptions) and options.flatten:
            delimiter = options.flatten_delimiter
            prefixes = (options.before_object_name + delimiter, options.after_object_name + delimiter)
        template: Sequence[MetaColumn] | None = options.meta_columns_template
        if template is not None:
            return cls([column.name for column in template], prefixes=prefixes)
        return cls(ALWAYS_FIXED, True, prefixes) if options.metadata(source.context) else None


def column_fields(
    source: DefinitionFile,
    table: str,
    schema: Mapping[str, object],
    forms: Mapping[str, FieldForm],
    written: WrittenMetadata | None,
) -> list[str]:
    """The names of the fields that are columns. What cannot be decided is a doubt of `source`, and what the schema says
    wrongly is a problem."""
    try:
        declared = declared_metadata(schema)
    except InvalidValueError as error:
        source.problem(f"the property `{METADATA_PROPERTY}` {error}", error.help, table=table)
        return []
    if declared is not None:
        return _without(forms, _checked(source, table, declared, forms))
    if written is not None and all(_may_be_metadata(forms.get(name)) for name in written.names):
        return _without(forms, _fixed(forms) if written.fixed else written.names)
    rest = _without(forms, _fixed(forms))
    leading = list(takewhile(lambda name: _may_be_metadata(forms[name]), rest))
    columns = rest[len(leading) :]
    if leading and columns and all(forms[name] is FieldForm.NULLABLE for name in columns):
        shown = ", ".join(f"`{name}`" for name in leading[:_SHOWN_NAMES])
        more = f" and {len(leading) - _SHOWN_NAMES} more" if len(leading) > _SHOWN_NAMES else ""
        noun = "field" if len(leading) == 1 else "fields"
        message = f"the schema does not say whether the {noun} {shown}{more} are columns or metadata of the messages"
        source.doubt(message if len(leading) > 1 else message.replace(" are columns ", " is a column "), _HELP, table)
        return columns
    return rest


def _checked(
    source: DefinitionFile, table: str, declared: Sequence[MetaColumn], forms: Mapping[str, FieldForm]
) -> list[str]:
    """The names of declared metadata, less those that are fields of columns, which a row message of JSON may have."""
    names = [column.name for column in declared]
    for name in names:
        if name not in forms:
            message = f"the property `{METADATA_PROPERTY}` names a field that the schema does not have"
            source.problem(message, table=table, field=name)
    return [name for name in names if forms.get(name) is not FieldForm.NULLABLE]


def _without(forms: Mapping[str, FieldForm], names: Sequence[str]) -> list[str]:
    left_out = set(names)
    return [name for name in forms if name not in left_out]


def _fixed(forms: Mapping[str, FieldForm]) -> list[str]:
    """The fixed metadata among the fields: there are none where the type of the operation is not among them."""
    names = [name for name in FIXED_NAMES if _may_be_metadata(forms.get(name))]
    return names if _OP_TYPE_NAME in names else []


def _may_be_metadata(form: FieldForm | None) -> bool:
    return form in (FieldForm.TEXT, FieldForm.CONTAINER)
