"""Messages in Confluent's wire format: a zero byte, the schema id in four bytes (big-endian), and the datum.

A file contains one message or several in a row. Only its schema shows where a message ends. If a schema is unknown, or
bytes do not match it, the position of the next message is unknown.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ggfmt.diagnostics.diagnostic import Diagnostic

MARK = b"\0"
HEAD_BYTES = 5

Schema = Any  # a parsed JSON document
_NUMBERED = re.compile(r"0*([0-9]{1,10})\.avsc", re.ASCII)
_HELP = "ggfmt skips the rest of the file: only the schema shows where a message ends"


def head(number: int) -> bytes:
    return MARK + number.to_bytes(4, "big")


class Registry:
    """The schemas in a directory, in files named `<id>.avsc`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._schemas: dict[int, Schema | Diagnostic] = {}

    def schema(self, number: int) -> Schema | Diagnostic:
        if number not in self._schemas:
            self._schemas[number] = self._read(number)
        return self._schemas[number]

    def number_of(self, schema: Schema) -> int | None:
        """Return the lowest id of an equal schema, or None."""
        return next((number for number in sorted(self._files()) if self.schema(number) == schema), None)

    def _files(self) -> dict[int, Path]:
        try:
            names = sorted(os.listdir(self._directory), reverse=True)
        except OSError:
            return {}
        matches = ((_NUMBERED.fullmatch(name), name) for name in names)
        return {int(match[1]): Path(self._directory) / name for match, name in matches if match}

    def _read(self, number: int) -> Schema | Diagnostic:
        if not self._directory:
            help = "set `schemaRegistryDirectory` to a directory with a file `<id>.avsc` for each schema"
            return Diagnostic(
                "GG214", f"a message has schema {number}, and `schemaRegistryDirectory` is not set", help=help
            )
        file = self._files().get(number)
        if file is None:
            help = f"put the schema there as `{number}.avsc`; {_HELP}"
            return Diagnostic("GG318", f"`schemaRegistryDirectory` has no schema {number}", help=help)
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return Diagnostic(
                "GG318", f"the file of schema {number} cannot be read as JSON", help=f"correct the file; {_HELP}"
            )


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
