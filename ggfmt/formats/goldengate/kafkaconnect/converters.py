"""The converters of Kafka Connect, which make the bytes of keys and values, by the properties of the producer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar import avro
from ggfmt.columnar.json_text import quote_json
from ggfmt.columnar.pieces import Encoding, join, join_binary
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.formats.avro.confluent import CONTAINER
from ggfmt.formats.connect.json_schema import json_schema
from ggfmt.formats.goldengate.kafkaconnect import (
    BASE64,
    NUMERIC,
    ConnectOptions,
    KafkaConnectAvroOptions,
    KafkaConnectOptions,
)
from ggfmt.formats.json.values import compact_json
from ggfmt.kafka import registry
from ggfmt.kafka.registry import SETTINGS, SchemaRegistry

JSON, STRING, AVRO, JSON_SCHEMA = "json", "string", "avro", "json schema"
_CLASSES = {
    "org.apache.kafka.connect.json.JsonConverter": JSON,
    "org.apache.kafka.connect.storage.StringConverter": STRING,
    "io.confluent.connect.avro.AvroConverter": AVRO,
    "io.confluent.connect.json.JsonSchemaConverter": JSON_SCHEMA,
}
# The kinds of schemas that a registry gets, and the schemas of keys, by what a converter makes.
_KINDS = {AVRO: registry.AVRO, JSON_SCHEMA: registry.JSON}
_KEY_SCHEMAS = {AVRO: json.dumps("string"), JSON_SCHEMA: compact_json({"type": "string"})}
_URL = "schema.registry.url"
_REGISTRY = "schema.registry."
_STRATEGY = "{}.subject.name.strategy"
_SUBJECTS = "io.confluent.kafka.serializers.subject."
_BY_TOPIC, _BY_RECORD, _BY_BOTH = (f"{_SUBJECTS}{name}NameStrategy" for name in ("Topic", "Record", "TopicRecord"))
# The settings that do not change messages.
_WITHOUT_EFFECT = {"schemas.cache.size", "schemas.cache.config", "max.schemas.per.subject", "replace.null.with.default"}
_WITHOUT_EFFECT |= {"auto.register.schemas", "schemas.enable"}  # which have meanings below
# The values of others, from their defaults on.
_VALUES: dict[str, tuple[str, ...]] = {
    "decimal.format": (BASE64, NUMERIC),
    **dict.fromkeys(map(_STRATEGY.format, ("key", "value")), (_BY_TOPIC, _BY_RECORD, _BY_BOTH)),
    "converter.encoding": ("UTF-8",),
    "use.latest.version": ("false",),
    "normalize.schemas": ("false",),
    "connect.meta.data": ("true",),
    "enhanced.avro.schema.support": ("false",),
    "scrub.invalid.names": ("false",),
    "generalized.sum.type.support": ("false",),
    "object.additional.properties": ("true",),
}


@dataclass(frozen=True)
class Converter:
    """The converter of keys or values (`side`): what it makes.

    schemas         messages in JSON have their schemas
    decimal_format  of messages in JSON
    registry        that has the schemas of others; `registers`: it gets those that it lacks
    strategy        the class that names subjects
    """

    side: str
    makes: str
    schemas: bool = True
    decimal_format: str = BASE64
    registry: SchemaRegistry | None = None
    registers: bool = True
    strategy: str = _BY_TOPIC

    @classmethod
    def of(cls, side: str, properties: Mapping[str, str], file: str) -> Converter:
        key = f"{side}.converter"
        makes = _CLASSES.get(properties.get(key, "").strip())
        if makes is None or (side, makes) == ("value", STRING):
            found = f"is `{properties[key].strip()}`" if properties.get(key) else "is missing"
            help = f"let GoldenGate send these; ggfmt has {', '.join(f'`{name}`' for name in _CLASSES)}"
            raise _error(f"`{key}` {found}, and ggfmt does not know the bytes of such a converter", file, help)
        named = {name: value for name, value in properties.items() if name.startswith((_REGISTRY, "basic.auth."))}
        own = {name.removeprefix(f"{key}."): value for name, value in properties.items() if name.startswith(f"{key}.")}
        settings = {}
        for name, value in (named | own).items():
            setting = name.removeprefix(_REGISTRY)
            if setting in SETTINGS:
                settings[setting] = value
            elif value.strip() and name not in {_URL, *_WITHOUT_EFFECT} and _known(name, value) is None:
                help = "it can change the bytes of messages or the subjects of schemas: let GoldenGate send these"
                raise _error(f"`{key}.{name}` has no support, or not with this value", file, help)
        url = (named | own).get(_URL, "").strip()
        if makes in _KINDS and not url:
            raise _error(f"`{key}` has no schema registry", file, f"set `{key}.{_URL}`")
        return cls(
            side,
            makes,
            own.get("schemas.enable", "true").strip().lower() != "false",
            _known("decimal.format", own.get("decimal.format", "")) or BASE64,
            SchemaRegistry(url, settings or None) if makes in _KINDS else None,
            own.get("auto.register.schemas", "true").strip().lower() != "false",
            _known(_STRATEGY.format(side), own.get(_STRATEGY.format(side), "")) or _BY_TOPIC,
        )

    @property
    def key_schema(self) -> str:
        """The schema of keys in a registry; empty if there is no registry."""
        return _KEY_SCHEMAS.get(self.makes, "")

    def schema_of(self, formatter: Any) -> str:
        """Return the schema of the values of a formatter in a registry; empty if there is no registry."""
        if self.makes == JSON_SCHEMA:
            return compact_json(json_schema(formatter.connect_schema, self.decimal_format == NUMERIC))
        return compact_json(formatter.schema) if self.makes == AVRO else ""

    def schema_id(self, topic: str, schema: str, dry: bool = False) -> int | None:
        """Return the id of a schema for messages of a topic. The registry gets the schema, unless it has it, or
        `auto.register.schemas` is false. `dry`: return None for a schema that it would take. Raises: Abend GG578."""
        if self.registry is None:
            return None
        subject, kind = self._subject(topic, schema), _KINDS[self.makes]
        if self.registers and not dry:
            return self.registry.register(subject, schema, kind)
        number = self.registry.find(subject, schema, kind)
        if number is None and not self.registers:
            message = f"the subject `{subject}` does not have the schema, and `auto.register.schemas` is `false`"
            help = "register the output of `ggfmt schema --kind avro`"
            if kind == registry.JSON:
                help = "let Confluent's converter register the schema first"
            raise Abend("GG578", message, self.registry.place, help)
        if number is None:
            self.registry.check(subject, schema, kind)
        return number

    def _subject(self, topic: str, schema: str) -> str:
        """Return the subject of a schema. Raises: Abend GG578 if it is of a record, and the schema has no name."""
        if self.strategy == _BY_TOPIC:
            return f"{topic}-{self.side}"
        parsed = json.loads(schema)
        parts = [parsed.get(part) for part in ("namespace", "name", "title")] if isinstance(parsed, dict) else []
        name = ".".join(filter(None, parts))
        if not name:
            message = f"each {self.side} is a text, and `{self.strategy}` needs a record with a name"
            help = f"Confluent's serializer refuses such messages too: correct `{_STRATEGY.format(self.side)}`"
            raise Abend("GG578", message, help=help)
        return name if self.strategy == _BY_RECORD else f"{topic}-{name}"


def _known(name: str, value: str) -> str | None:
    """Return a value of `_VALUES` in its own spelling; None if ggfmt has no support for it."""
    return next((known for known in _VALUES.get(name, ()) if known.lower() == value.strip().lower()), None)


@dataclass(frozen=True)
class Converters:
    """Both converters. Pickled to tasks."""

    key: Converter
    value: Converter

    @classmethod
    def of(cls, properties: Mapping[str, str], file: str = "") -> Converters:
        """Return the converters of a producer file. Raises: ConfigurationError GG577 for those without support."""
        return cls(Converter.of("key", properties, file), Converter.of("value", properties, file))

    def format_of(self, options: ConnectOptions) -> tuple[str, ConnectOptions]:
        """Return the format of values, and its options by those of the handler; Avro without the ids of schemas."""
        if self.value.makes != AVRO:
            schemas = self.value.makes == JSON and self.value.schemas
            own = {"schemas_enable": schemas, "decimal_format": self.value.decimal_format}
            return "kafkaconnect_json", options.to(KafkaConnectOptions, **own)
        return "kafkaconnect_avro", options.to(KafkaConnectAvroOptions, file_framing=CONTAINER)


def converted_keys(keys: pa.StringArray, converter: Converter) -> pa.BinaryArray:
    """Return n keys as bytes; null stays null. They lack the id of `key_schema` in front."""
    if converter.makes == STRING:
        return pc.cast(keys, pa.binary())
    if converter.makes == AVRO:
        made = join_binary(avro.strings(pc.fill_null(keys, "")), len(keys))
    else:
        has_schema = converter.makes == JSON and converter.schemas
        schema = '{"schema":{"type":"string","optional":false},"payload":' if has_schema else ""
        json_texts = join([schema, quote_json(keys, Encoding.CONNECT), "}" if schema else ""], len(keys))
        made = pc.cast(json_texts, pa.binary())
    return pc.if_else(keys.is_valid(), made, pa.scalar(None, pa.binary())) if keys.null_count else made


def _error(message: str, file: str, help: str) -> ConfigurationError:
    return ConfigurationError("GG577", message, file or None, help)
