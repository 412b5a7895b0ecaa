"""The JSON schema of handler files, for editors: the keys, each with what it does, its words and its default."""

from __future__ import annotations

import re
from typing import Any

from ggfmt.config import symbols
from ggfmt.config.property_table import OwnerKind
from ggfmt.config.replacements import is_replacement
from ggfmt.options.reference import releases, sentence
from ggfmt.options.value_types import Bool, Choice
from ggfmt.render.reference import named_values


def editor_schema() -> dict[str, Any]:
    """Return a schema of a file as an object of texts. It allows keys and values that it does not have: names of keys
    and many values are in any case in files that work with GoldenGate."""
    keys = {
        f"{owner.kind.value}{spec.name}": None
        for owner in symbols.OWNERS
        for spec in owner.own
        if owner.kind is not OwnerKind.TARGET
    }
    found = [word for key in keys if isinstance(word := symbols.find_symbol(key), symbols.PropertySymbol)]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Handler file of GoldenGate for Big Data",
        "type": "object",
        "patternProperties": {_pattern(word): _property(word) for word in found},
        "additionalProperties": {"type": "string"},
    }


def _pattern(word: symbols.PropertySymbol) -> str:
    aliases = (alias for variant in word.variants for alias in variant.spec.aliases)
    names = "|".join(_any_case(name) for name in dict.fromkeys((word.name, *aliases)))
    number = "[0-9]*" if is_replacement(word.name) else ""
    return f"^{_any_case(word.kind.value)}(?:{names}){number}$"


def _any_case(name: str) -> str:
    """Return a pattern for a name, with a free part as one or more characters, and its first letter in either case."""
    parts = re.split("<.*?>", name)
    pattern = ("[^.]+" if name.startswith("gg.") else ".+").join(map(re.escape, parts))
    is_own = "." not in name and pattern[:1].isalpha()
    return f"[{name[0].lower()}{name[0].upper()}]{pattern[1:]}" if is_own else pattern


def _property(word: symbols.PropertySymbol) -> dict[str, Any]:
    specs = [variant.spec for variant in word.variants]
    docs = dict.fromkeys(sentence(spec) for spec in specs if spec.doc)
    described: dict[str, Any] = {
        "type": "string",
        "description": "\n".join((*docs, f"Releases: {releases(specs[0])}.")),
    }
    words = dict(named_values(word)) or {
        word: doc
        for spec in specs
        for word, doc in (spec.kind.words if isinstance(spec.kind, Choice) else {"true": "", "false": ""}).items()
        if isinstance(spec.kind, Choice | Bool)
    }
    if words:
        described["anyOf"] = [{"enum": list(words)}, {}]
    defaults = {spec.default_text for spec in specs}
    return {**described, "default": defaults.pop()} if len(defaults) == 1 and any(defaults) else described
