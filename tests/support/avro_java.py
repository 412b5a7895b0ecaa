"""The Avro library for Java inside of Spark's JVM, as a consumer of what ggfmt writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class AvroJava:
    """Reads by the library that GoldenGate itself writes with; `jvm` is py4j's view of a running JVM."""

    def __init__(self, jvm: Any) -> None:
        self._lang = jvm.java
        self._avro = jvm.org.apache.avro

    def parse(self, schema: str) -> Any:
        return self._avro.Schema.Parser().parse(schema)

    def pretty(self, schema: str) -> str:
        return str(self.parse(schema).toString(True))

    def hash(self, text: str) -> int:
        """`String.hashCode()`"""
        return int(self._lang.util.Objects.hashCode(text))

    def fingerprint(self, schema: str) -> int:
        return int(self._avro.SchemaNormalization.parsingFingerprint64(self.parse(schema)))

    def logical_types(self, schema: str, field: str) -> list[Any]:
        """The logical type of a nullable decimal field of a row or an image: its name, precision and scale."""
        record = self.parse(schema)
        if record.getField(field) is None:
            record = record.getField("before").schema().getTypes().get(1)
        kind = record.getField(field).schema().getTypes().get(1).getLogicalType()
        return [kind.getName(), kind.getPrecision(), kind.getScale()]

    def is_name(self, name: str) -> bool:
        try:
            self.parse(json.dumps({"type": "record", "name": name, "namespace": "n", "fields": []}))
        except Exception as error:
            assert "SchemaParseException" in str(error), error
            return False
        return True

    def stream(self, data: bytes, schema: str) -> list[dict[str, Any]]:
        """The messages of an undelimited stream."""
        reader = self._avro.generic.GenericDatumReader(self.parse(schema))
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(data, None)
        records = []
        while not decoder.isEnd():
            records.append(json.loads(reader.read(None, decoder).toString()))
        return records

    def payloads(self, data: bytes, schema: str) -> list[tuple[str, int, bytes]]:
        """Table, number of the schema and payload of each generic wrapper in a stream."""
        reader = self._avro.generic.GenericDatumReader(self.parse(schema))
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(data, None)
        found = []
        while not decoder.isEnd():
            record = reader.read(None, decoder)
            found.append((record.get(0).toString(), record.get(1), bytes(record.get(2).array())))
        return found

    def container(self, path: Path) -> Iterator[dict[str, Any]]:
        """The messages of an object container file."""
        reader = self._avro.file.DataFileReader(self._lang.io.File(str(path)), self._avro.generic.GenericDatumReader())
        try:
            while reader.hasNext():
                yield json.loads(reader.next().toString())
        finally:
            reader.close()
