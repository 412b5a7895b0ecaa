"""Names of properties: the option that a key means, and a suggestion for a key that means none.

The case of a name does not matter: files that work with GoldenGate use any case. Names that are clear but not right
(misprints of the manual, aliases) are found too, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from ggfmt.config.properties import Entry
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    KEYS,
    OF_JAVA_ADAPTER,
    PROCESS,
    types_having,
)
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic, did_you_mean, listing, suggestion
from ggfmt.formats import FORMATS
from ggfmt.lazy import lazy_regex
from ggfmt.options.releases import FIRST_RELEASE, UNKNOWN
from ggfmt.options.spec import PropertySet

_HANDLER_KEY = lazy_regex(r"gg\.handler\.([^.]+)\.(.+)", re.DOTALL)
_SECTIONS = ("handler", "eventhandler")


@dataclass(frozen=True)
class HandlerKey:
    """A key below a handler: the handler's name and the rest; `format.` starts a property of the format."""

    handler: str
    rest: str

    @property
    def is_format(self) -> bool:
        return self.rest.lower() in ("format", "formatter")

    @property
    def format_property(self) -> str | None:
        head, dot, tail = self.rest.partition(".")
        return tail if dot and head.lower() in ("format", "formatter") else None

    @property
    def misspells_format(self) -> bool:
        return self.rest.partition(".")[0].lower() != "format"


def handler_key(key: str, listed: Iterable[str] = ()) -> HandlerKey | None:
    for name in sorted(listed, key=len, reverse=True):
        prefix = f"gg.handler.{name}."
        if key.startswith(prefix) and len(key) > len(prefix):
            return HandlerKey(name, key[len(prefix) :])
    match = _HANDLER_KEY.fullmatch(key)
    return HandlerKey(match[1], match[2]) if match else None


def rename_finding(entry: Entry, name: str, read_as: str, help: str | None = None) -> Diagnostic:
    """Return GG102 for a key that is read as another. `name`: the right key."""
    fix = name if entry.is_plain else None
    return Diagnostic("GG102", f"`{entry.key}` is read as `{read_as}`", entry.key_span, help, fix)


def owner(name: str) -> str | None:
    """Return the formats that have the property, in words, those of GoldenGate before others; None if none has it."""
    having = {own.name: spec.since for own in FORMAT_OWNERS.values() if (spec := own.find(name)) is not None}
    formatters = [known for known in having if known in FORMATS and FORMATS[known].is_formatter]
    of_goldengate = formatters or [known for known in having if known not in FORMATS or FORMATS[known].writes is None]
    return in_words(of_goldengate, having[of_goldengate[0]]) if of_goldengate else listing(list(having)) or None


def in_words(formats: Sequence[str], since: str) -> str:
    if since == OF_JAVA_ADAPTER:
        return f"{listing(formats)} of the Java adapter"
    later = "" if since in ("", FIRST_RELEASE, UNKNOWN) else f" from GoldenGate for Big Data {since} on"
    return f"{listing(formats)}{later}"


_SURELY = 0.8  # tables of properties are not complete: only what is nearly a known name is a mistake


def meant_property(name: str, known: Iterable[str], given: Iterable[str]) -> str | None:
    """Return the property that an unknown name surely means: one that is near, and that the file does not have.

    `topicTemplate` is near `topicMappingTemplate`: only words in the middle are missing.
    """
    ends, known = _ends(name), list(known)
    near = did_you_mean(name, known, _SURELY) or next((one for one in known if ends and _ends(one) == ends), None)
    return near if near is not None and near.lower() not in {other.lower() for other in given} else None


def _ends(name: str) -> tuple[str, str] | None:
    words = [word.lower() for word in re.split("(?=[A-Z])", name) if word]
    return (words[0], words[-1]) if len(words) > 1 else None


def nearest_handler_property(name: str, known: Iterable[str], format: PropertySet) -> str | None:
    """Return what an unknown property of a handler probably means. `known`: the properties of its type."""
    misplaced = format.find(name)
    return f"format.{misplaced.name}" if misplaced else did_you_mean(name, ["format", *known])


def nearest_format_property(name: str, handler: Iterable[PropertySet], format: PropertySet) -> str | None:
    misplaced = next(filter(None, (properties.find(name) for properties in handler)), None)
    if misplaced and not misplaced.is_open:
        return misplaced.name
    near = did_you_mean(name, format.names)
    return f"format.{near}" if near else None


def nearest_key(key: str, listed: Collection[str], value: str) -> str | None:
    if key[:3] != "gg." and key[:3].lower() == "gg.":
        return f"gg.{key[3:]}"
    if key.lower().startswith("gg.eventhandler.") and value.lower() in EVENT_HANDLER_TYPES:
        return f"{key}.type"
    bare = re.fullmatch(r"gg\.handler\.([^.]+)", key, re.IGNORECASE)
    if bare:
        words = {"type": HANDLER_TYPES, "mode": ("op", "tx")}
        property = next((name for name, values in words.items() if value.lower() in values), None)
        property = property or (bare[1] if types_having(bare[1]) else None)
        if property and bare[1] not in listed:
            return f"gg.handler.{next(iter(listed)) if len(listed) == 1 else 'NAME'}.{property}"
        if property:
            return f"{key}.{property}"
    match = re.fullmatch(r"(?:gg\.)?(?:handlers?\.)?([^.]+)\.(.+)", key, re.DOTALL | re.IGNORECASE)
    if match and match[1] in set(listed):
        return f"gg.handler.{match[1]}.{match[2]}"
    if key.startswith("gg.handler.") and key[len("gg.handler.") :] in set(listed):
        return f"{key}.format"
    inner = re.search(r"gg\.(?:event)?handler\..+", key[1:], re.DOTALL)
    if inner:
        return inner[0]
    section = re.fullmatch(r"gg\.([^.]+)\.([^.]+\..+)", key, re.DOTALL)
    near = did_you_mean(section[1], _SECTIONS) if section else None
    if section and near:
        return f"gg.{near}.{section[2]}"
    return _nearest_process_key(key) or did_you_mean(key, ("gg.handlerlist",))


def _nearest_process_key(key: str) -> str | None:
    """Return the key from which an unknown one differs by misspelt parts alone, as many as it has."""
    parts, found = key.split("."), []
    by_number, without_dots = _process_keys()
    known = by_number.get(len(parts), [])
    for at, part in enumerate(parts):
        there = {name[at].lower(): name[at] for name in known}
        free = next((name for name in there.values() if name.startswith("<")), None)
        near = there.get(part.lower()) or did_you_mean(part, [name for name in there.values() if name != free]) or free
        known = [name for name in known if name[at] == near]
        found.append(part if near == free else near or "")
    return ".".join(found) if known else without_dots.get(key.replace(".", "").lower())


@cache
def _process_keys() -> tuple[dict[int, list[list[str]]], dict[str, str]]:
    """Return the parts of each key of the process by their number, and each key by its letters without dots."""
    parts: dict[int, list[list[str]]] = {}
    names = [spec.name for spec in (*KEYS.own, *PROCESS.own)]
    for name in names:
        parts.setdefault(name.count(".") + 1, []).append(name.split("."))
    return parts, {name.replace(".", "").lower(): name for name in names}


_PLACEHOLDER = lazy_regex(r"name|[<{\[(]name[>}\])]", re.IGNORECASE)


def is_placeholder(handler: str) -> bool:
    return _PLACEHOLDER.fullmatch(handler) is not None


def nearest_handler(name: str, known: Iterable[str]) -> str | None:
    known = list(known)
    near = did_you_mean(name, known)
    if near is not None:
        return near
    pairs = ((other, sorted((name.lower(), other.lower()), key=len)) for other in known)
    return next((other for other, (short, long) in pairs if len(short) > 2 and short in long), None)


# What others call a store or a target, by GoldenGate's word for it.
OTHER_NAMES = {
    "bq": "bigquery google_bigquery",
    "s3": "aws aws_s3 amazon_s3 s3a s3n",
    "abs": "azure azure_blob azureblob adls adls2 adlsgen2 abfs abfss wasb wasbs blob",
    "gcs": "gcp gs google google_cloud_storage",
    "oci": "oci_object_storage objectstorage object_storage oos",
    "adw": "oadw adwc autonomous autonomous_database",
    "databricks": "delta deltalake delta_lake",
    "synapse": "azure_synapse sqldw dedicated_sql_pool",
    "fabric_lakehouse": "fabric lakehouse microsoft_fabric",
    "onelake": "one_lake",
}
_MEANT = {other: name for name, others in OTHER_NAMES.items() for other in others.split()}


def suggest_name(word: str, known: Collection[str]) -> str | None:
    """Return a help for the name of a store or target that GoldenGate does not have."""
    meant = _MEANT.get(word.lower().replace("-", "_").replace(" ", "_"))
    return f"write `{meant}`" if meant in known else suggestion(word, known)
