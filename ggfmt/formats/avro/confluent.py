"""Messages in Confluent's wire format: a zero byte, the schema id in four bytes (big-endian), and the datum.

A file contains one message or several in a row. Only its schema shows where a message ends. If a schema is unknown, or
bytes do not match it, the position of the next message is unknown.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ggfmt.diagnostics.diagnostic import Diagnostic, without_credentials
from ggfmt.java.text import InvalidValueError
from ggfmt.kafka.registry import ENVIRONMENT, SchemaRegistry, is_url
from ggfmt.model.table import TableDef
from ggfmt.options.spec import Options, choice, option
from ggfmt.options.value_types import Pairs, Text

MARK = b"\0"
HEAD_BYTES = 5
CONTAINER, CONFLUENT = "container", "confluent"

Schema = Any  # a parsed JSON document
_NUMBERED = re.compile(r"0*([0-9]{1,10})\.avsc", re.ASCII)
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
    """The schemas in a directory, in files named `<id>.avsc`, or those of a registry with a URL."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._schemas: dict[int, Schema | Diagnostic] = {}

    def schema(self, number: int) -> Schema | Diagnostic:
        if number not in self._schemas:
            self._schemas[number] = self._read(number)
        return self._schemas[number]

    def field_names(self, number: int) -> tuple[str, ...]:
        """Return the names of the fields of a schema; none if it is no record, or unknown."""
        schema = self.schema(number)
        return tuple(field["name"] for field in schema.get("fields", ())) if isinstance(schema, dict) else ()

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
            text = self._text(number)
            if text is not None:
                return json.loads(text)
        except (OSError, ValueError, RecursionError):
            return Diagnostic("GG318", f"schema {number} cannot be read as JSON", help=f"correct the schema; {_HELP}")
        help = f"put the schema there, into a directory as `{number}.avsc`; {_HELP}"
        return Diagnostic("GG318", f"`schemaRegistry` has no schema {number}", help=help)

    def _text(self, number: int) -> str | None:
        if self._remote is not None:
            return self._remote.schema(number)
        file = self._files().get(number)
        return None if file is None else file.read_text(encoding="utf-8")


registry = cache(Registry)
_client = cache(SchemaRegistry)  # which keeps its answers


def number_at(data: bytes, place: int) -> int | Diagnostic:
    if data[place : place + 1] != MARK:
        reason = f"no message with Confluent's framing starts here: the first byte is {data[place]:#04x}, not 0x00"
        return Diagnostic("GG319", reason, help=_HELP)
    if len(data) < place + HEAD_BYTES:
        return Diagnostic(
            "GG302", "the file ends in the middle of a message", help="read the file again when it is complete"
        )
    return int.from_bytes(data[place + 1 : place + HEAD_BYTES], "big")


def datum_error(number: int) -> Diagnostic:
    return Diagnostic(
        "GG319", f"the bytes are not a message of schema {number}, or the message is incomplete", help=_HELP
    )


def alone(problem: Diagnostic) -> Diagnostic:
    """Return the problem of a message whose end is known without its schema."""
    return replace(problem, help=(problem.help or "").replace(_HELP, "ggfmt skips this message alone"))
