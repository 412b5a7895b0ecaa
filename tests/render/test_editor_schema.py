"""The JSON schema of handler files: it is one, and it allows and describes the keys of real files."""

from __future__ import annotations

import json
import re

import documents
import jsonschema
from handler_files import right_files
from places import ROOT

from ggfmt.config.properties import decode, parse_properties
from ggfmt.config.symbols import PropertySymbol, find_symbol
from ggfmt.render.editor_schema import editor_schema

SCHEMA = editor_schema()
PATTERNS = SCHEMA["patternProperties"]


def described(key: str) -> list[dict[str, object]]:
    return [about for pattern, about in PATTERNS.items() if re.search(pattern, key)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    code, printed = documents.called(["options", "--output-format", "json-schema"])
    assert (code, json.loads(printed)) == (0, SCHEMA)


def test_a_key_has_what_it_does_its_words_and_its_default() -> None:
    (mode,) = described("gg.handler.orders.mode")
    assert mode["anyOf"] == [{"enum": ["tx", "op"]}, {}]
    assert "deliver a transaction as a whole" in str(mode["description"])
    (interval,) = described("gg.handler.fw.FileRollInterval")
    assert interval["default"] == "0" and "Start a new file" in str(interval["description"])
    (codec,) = described("gg.eventhandler.pq.compressionCodec")
    assert "SNAPPY" in str(codec["anyOf"])
    (type,) = described("gg.handler.orders.type")
    assert "kafkaconnect" in str(type["anyOf"])
    assert described("gg.handler.orders.partitioner.S.T") and described("gg.schemareplaceregex2")
    assert described("gg.stage") and described("ggfmt.compatibility") and not described("gg.stag")


def test_real_files_are_right_and_their_known_keys_are_described() -> None:
    validator = jsonschema.Draft7Validator(SCHEMA)
    folded = re.compile("|".join(PATTERNS), re.IGNORECASE)
    values: dict[str, set[str]] = {}
    for _, content in right_files(ROOT / "tests" / "config" / "lint" / "right_files.txt"):
        for entry in parse_properties(decode(content).text, "f").entries:
            values.setdefault(entry.key, set()).add(entry.value)
    while any(values.values()):  # each key with each of its values once
        lines = {key: others.pop() for key, others in values.items() if others}
        assert list(validator.iter_errors(lines)) == []
    free = {key for key in values if not folded.search(key)}
    known = {key for key in free if isinstance(find_symbol(key), PropertySymbol)}
    assert known == set()
    assert free


def test_the_schema_has_all_names() -> None:
    code, told = documents.called(["options", "kafka", "--output-format", "json-schema"])
    assert code == 2 and "leave out the name" in told
    code, told = documents.called(["options", "--output-format", "json"])
    assert code == 2 and "no format or type is given" in told
