"""The converters of Kafka Connect, which make the bytes of keys and values, by the properties of the producer."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar import avro
from ggfmt.columnar.json_text import quote_json
from ggfmt.columnar.pieces import Encoding, join, join_binary
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.formats.avro.confluent import CONTAINER
from ggfmt.formats.goldengate.kafkaconnect import ConnectOptions, KafkaConnectAvroOptions, KafkaConnectOptions
from ggfmt.kafka.registry import SETTINGS, SchemaRegistry

JSON, STRING, AVRO = "json", "string", "avro"
KEY_SCHEMA = json.dumps("string")  # of keys, in Avro
_CLASSES = {
    "org.apache.kafka.connect.json.JsonConverter": JSON,
    "org.apache.kafka.connect.storage.StringConverter": STRING,
    "io.confluent.connect.avro.AvroConverter": AVRO,
}
_URL = "schema.registry.url"
_REGISTRY = "schema.registry."
_BY_TOPIC = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
# The settings that do not change messages.
_WITHOUT_EFFECT = {"schemas.cache.size", "schemas.cache.config", "max.schemas.per.subject", "replace.null.with.default"}
_WITHOUT_EFFECT |= {"auto.register.schemas", "schemas.enable"}  # which have meanings below
# The only values of others, which are their defaults.
_DEFAULTS = {
    "decimal.format": "BASE64",
    "converter.encoding": "UTF-8",
    "use.latest.version": "false",
    "normalize.schemas": "false",
    "connect.meta.data": "true",
    "enhanced.avro.schema.support": "false",
    "scrub.invalid.names": "false",
    "key.subject.name.strategy": _BY_TOPIC,
    "value.subject.name.strategy": _BY_TOPIC,
}


@dataclass(frozen=True)
class Converter:
    """The converter of keys or values (`side`): what it makes, with schemas in JSON, with a registry for Avro."""

    side: str
    makes: str
    schemas: bool = True
    registry: SchemaRegistry | None = None
    registers: bool = True

    @classmethod
    def of(cls, side: str, properties: Mapping[str, str], file: str) -> Converter:
        key = f"{side}.converter"
        makes = _CLASSES.get(properties.get(key, "").strip())
        if makes is None or (side, makes) == ("value", STRING):
            found = f"is `{properties[key].strip()}`" if properties.get(key) else "is missing"
            help = f"set it to {', '.join(f'`{name}`' for name in _CLASSES)}"
            raise _error(f"`{key}` {found}, and ggfmt does not know the bytes of such a converter", file, help)
        named = {name: value for name, value in properties.items() if name.startswith((_REGISTRY, "basic.auth."))}
        own = {name.removeprefix(f"{key}."): value for name, value in properties.items() if name.startswith(f"{key}.")}
        settings = {}
        for name, value in (named | own).items():
            setting = name.removeprefix(_REGISTRY)
            if setting in SETTINGS:
                settings[setting] = value
            elif name not in {_URL, *_WITHOUT_EFFECT} and _DEFAULTS.get(name, "").lower() != value.strip().lower():
                help = "it can change the bytes of messages or the subjects of schemas: let GoldenGate send these"
                raise _error(f"`{key}.{name}` has no support, or not with this value", file, help)
        url = (named | own).get(_URL, "").strip()
        if makes == AVRO and not url:
            raise _error(f"`{key}` has no schema registry", file, f"set `{key}.{_URL}`")
        return cls(
            side,
            makes,
            own.get("schemas.enable", "true").strip().lower() != "false",
            SchemaRegistry(url, settings or None) if makes == AVRO else None,
            own.get("auto.register.schemas", "true").strip().lower() != "false",
        )

    def schema_id(self, topic: str, schema: str, dry: bool = False) -> int | None:
        """Return the id of an Avro schema for messages of a topic. The registry gets the schema, unless it has it, or
        `auto.register.schemas` is false. `dry`: return None for a schema that it would take. Raises: Abend GG578."""
        if self.registry is None:
            return None
        subject = f"{topic}-{self.side}"
        if self.registers and not dry:
            return self.registry.register(subject, schema)
        number = self.registry.find(subject, schema)
        if number is None and not self.registers:
            message = f"the subject `{subject}` does not have the schema, and `auto.register.schemas` is `false`"
            raise Abend("GG578", message, self.registry.place, "register the output of `ggfmt schema --kind avro`")
        if number is None:
            self.registry.check(subject, schema)
        return number


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
        if self.value.makes == JSON:
            return "kafkaconnect_json", options.to(KafkaConnectOptions, schemas_enable=self.value.schemas)
        return "kafkaconnect_avro", options.to(KafkaConnectAvroOptions, file_framing=CONTAINER)


def converted_keys(keys: pa.StringArray, converter: Converter) -> pa.BinaryArray:
    """Return n keys as bytes; null stays null. In Avro they lack the id of `KEY_SCHEMA` in front."""
    if converter.makes == STRING:
        return pc.cast(keys, pa.binary())
    if converter.makes == AVRO:
        made = join_binary(avro.strings(pc.fill_null(keys, "")), len(keys))
    else:
        schema = '{"schema":{"type":"string","optional":false},"payload":' if converter.schemas else ""
        json_texts = join([schema, quote_json(keys, Encoding.CONNECT), "}" if schema else ""], len(keys))
        made = pc.cast(json_texts, pa.binary())
    return pc.if_else(keys.is_valid(), made, pa.scalar(None, pa.binary())) if keys.null_count else made


def _error(message: str, file: str, help: str) -> ConfigurationError:
    return ConfigurationError("GG577", message, file or None, help)
