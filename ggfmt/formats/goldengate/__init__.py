"""The formats of GoldenGate for Big Data and of GoldenGate Data Streams."""

from __future__ import annotations

from ggfmt.formats.goldengate import avro, delimited, json, kafkaconnect, streams, xml

FORMATS = (*delimited.FORMATS, *json.FORMATS, *avro.FORMATS, *xml.FORMATS, *kafkaconnect.FORMATS, *streams.FORMATS)
