"""Messages in Confluent's wire format: a zero byte, the schema id in four bytes (big-endian), and the datum.

A file contains one message or several in a row. Only its schema shows where a message ends. If a schema is unknown, or
bytes do not match it, the position of the next message is unknown.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, without_credentials
from ggfmt.formats.avro.schemas import with_definitions
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.kafka.registry import (
    AVRO,
    ENVIRONMENT,
    JSON,
    SchemaRegistry,
    StoredSchema,
    UnresolvedReferenceError,
    is_url,
)
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import TableDef
from ggfmt.options.spec import Options, choice, option
from ggfmt.options.value_types import Pairs, Text

MARK = b"\0"
HEAD_BYTES = 5
CONTAINER, CONFLUENT = "container", "confluent"

Schema = Any  # a parsed JSON document
_NUMBERED = lazy_regex(r"0*([0-9]{1,10})\.(?:avsc|json)", re.ASCII)
_HELP = "ggfmt skips the rest of the file: only the schema shows where a message ends"


def head(number: int) -> bytes:
    return MARK + number.to_bytes(4, "big")


class SchemaIds(Pairs):
    """The numbers of schemas by table."""

    legal = "tables with the ids of their schemas, such as `S.ORDERS=7,S.LINES=8`"

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        pairs = super().parse(text)
        for _, number in pairs:
            if not re.fullmatch("[0-9]{1,10}", number, re.ASCII) or int(number) >= 1 << 31:
                raise InvalidValueError(f"cannot have the schema id `{number[:40]}`", f"give {self.legal}")
        return pairs


class RegistryPlace(Text):
    """The URL of a registry, or a directory."""

    legal = "the URL of a registry without a user, or a directory"

    def parse(self, text: str) -> str:
        value = super().parse(text)
        if is_url(value) and without_credentials(value) != value:
            help = f"set the environment variable `{ENVIRONMENT}BASIC_AUTH_USER_INFO` to `USER:PASSWORD`"
            raise InvalidValueError("cannot have a user or a password", help)
        return value


def schema_registry_option() -> str:
    return option(
        RegistryPlace(),
        "",
        "The schemas for Confluent's framing: the URL of a registry, or a local directory with files `<id>.avsc`.",
        aliases=("schemaRegistryDirectory",),
        example="./avsc",
        since="",
    )


@dataclass(frozen=True)
class FramedOptions(Options):
    """The options of formats that write Confluent's wire format or object container files."""

    file_framing: str = choice(
        "The framing of messages in output files. ggfmt detects the framing of input files.",
        (CONTAINER, "Avro object container files, like the sinks of Kafka Connect"),
        (CONFLUENT, "before each message, a zero byte and its schema id"),
        since="",
    )
    schema_registry: str = schema_registry_option()
    schema_ids: tuple[tuple[str, str], ...] = option(
        SchemaIds(),
        (),
        "For writing Confluent's framing: the schema ids of tables whose schemas the registry lacks.",
        example="GG.TCUSTORD=7",
        since="",
    )

    def head_of(self, table: TableDef, schema: Schema) -> bytes | Diagnostic:
        """Return what precedes each message of a table in files, by the options and the registry."""
        if self.file_framing == CONTAINER:
            return b""
        given = dict(self.schema_ids)
        text = given.get(table.full_name, given.get(table.name))
        number = (
            registry(self.schema_registry).number_of(schema, f"{table.full_name}-value") if text is None else int(text)
        )
        if isinstance(number, Diagnostic):
            return number.at(table=table.full_name)
        return head(number)


class Registry:
    """The schemas in a directory, in files named `<id>.avsc` or `<id>.json`, or those of a registry with a URL."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._schemas: dict[int, KnownSchema | Diagnostic] = {}

    def schema(self, number: int) -> Schema | Diagnostic:
        """Return an Avro schema. A schema of another kind is a problem."""
        found = self.known(number)
        if isinstance(found, Diagnostic):
            return found
        return found.schema if found.documents is None else _kind_error(number, JSON, "Avro")

    def known(self, number: int) -> KnownSchema | Diagnostic:
        """Return a schema in Avro or JSON Schema."""
        if number not in self._schemas:
            self._schemas[number] = self._read(number)
        return self._schemas[number]

    def field_names(self, number: int) -> tuple[str, ...]:
        """Return the names of the fields of a schema; none if it is no record, or unknown."""
        known = self.known(number)
        if isinstance(known, Diagnostic):
            return ()
        schema = known.schema
        if not isinstance(schema, dict):
            return ()
        if known.documents is not None:
            return tuple(name for name, _ in properties_of(schema))
        fields = schema.get("fields")
        return tuple(field["name"] for field in fields) if isinstance(fields, list) else ()

    def number_of(self, schema: Schema, subject: str) -> int | Diagnostic:
        """Return the lowest id of an equal schema in a directory, or the id that a registry has for the subject."""
        if self._remote is not None:
            found = self._remote.find(subject, json.dumps(schema))
        else:
            found = next((number for number in sorted(self._files()) if self.schema(number) == schema), None)
        if found is not None:
            return found
        help = "register the output of `ggfmt schema --kind avro` and save it there as `<id>.avsc`, or set `schemaIds`"
        return Diagnostic("GG215", "`schemaRegistry` does not have the schema of the table's messages", help=help)

    @cached_property
    def _remote(self) -> SchemaRegistry | None:
        return _client(self._place) if is_url(self._place) else None

    def _files(self) -> dict[int, Path]:
        try:
            names = sorted(os.listdir(self._place), reverse=True)
        except OSError:
            return {}
        matches = ((_NUMBERED.fullmatch(name), name) for name in names)
        return {int(match[1]): Path(self._place) / name for match, name in matches if match}

    def _read(self, number: int) -> Schema | Diagnostic:
        if not self._place:
            help = "give a registry, or a directory with a file `<id>.avsc` for each schema, with `--schema-registry`"
            return Diagnostic("GG214", f"a message has schema {number}, and no schema registry is given", help=help)
        try:
            found = self._stored(number)
            if found is not None and found.kind not in (AVRO, JSON):
                return _kind_error(number, found.kind, "Avro or JSON Schema")
            if found is not None:
                schema = json.loads(found.text)
                others = {name: json.loads(text) for name, text in found.references.items()}
                if found.kind == JSON:
                    return KnownSchema(schema, others)
                return KnownSchema(with_definitions(schema, others.values()))
        except UnresolvedReferenceError as error:
            return Diagnostic("GG318", f"schema {number} {error}", help=f"register the schemas again; {_HELP}")
        except (OSError, ValueError, RecursionError):
            return Diagnostic("GG318", f"schema {number} cannot be read as JSON", help=f"correct the schema; {_HELP}")
        help = f"put the schema there, into a directory as `{number}.avsc`; {_HELP}"
        return Diagnostic("GG318", f"`schemaRegistry` has no schema {number}", help=help)

    def _stored(self, number: int) -> StoredSchema | None:
        if self._remote is not None:
            return self._remote.schema(number)
        file = self._files().get(number)
        kind = JSON if file is not None and file.suffix == ".json" else AVRO
        return None if file is None else StoredSchema(kind, file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class KnownSchema:
    """A parsed schema, and for JSON Schema the documents that it refers to by name; None for Avro."""

    schema: Schema
    documents: dict[str, Schema] | None = None


def properties_of(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the properties of an object in JSON Schema in the order of Connect's fields."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    indexes = (part.get("connect.index") if isinstance(part, dict) else None for part in properties.values())
    places = [(index if isinstance(index, int) else place, place) for place, index in enumerate(indexes)]
    return [item for _, item in sorted(zip(places, properties.items(), strict=True), key=lambda pair: pair[0])]


def _kind_error(number: int, kind: str, wanted: str) -> Diagnostic:
    message = f"schema {number} is of the kind `{visible(kind[:40])}`, and the format reads {wanted} here"
    help = f"let a converter for {wanted} write the topic; {_HELP}"
    return Diagnostic("GG318", message, help=help)


registry = cache(Registry)
_client = cache(SchemaRegistry)  # which keeps its answers


def number_at(data: bytes, place: int, end: int | None = None) -> int | Diagnostic:
    """Return the id of the schema of the message at a place; `end` of the message, if it is known."""
    if data[place : place + 1] != MARK:
        reason = f"no message with Confluent's framing starts here: the first byte is {data[place]:#04x}, not 0x00"
        return Diagnostic("GG319", reason, help=_HELP)
    if (len(data) if end is None else end) < place + HEAD_BYTES:
        what = "the file ends in the middle of a message" if end is None else "the message has no whole schema id"
        return Diagnostic("GG302", what, help="read it again when it is complete")
    return int.from_bytes(data[place + 1 : place + HEAD_BYTES], "big")


def datum_error(number: int) -> Diagnostic:
    return Diagnostic(
        "GG319", f"the bytes are not a message of schema {number}, or the message is incomplete", help=_HELP
    )


def alone(problem: Diagnostic) -> Diagnostic:
    """Return the problem of a message whose end is known without its schema."""
    return replace(problem, help=(problem.help or "").replace(_HELP, "ggfmt skips this message alone"))
