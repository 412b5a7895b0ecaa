"""GoldenGate for Big Data and GoldenGate Data Streams: what its handlers write."""

from __future__ import annotations

from ggfmt.formats.goldengate import avro, delimited, json, kafkaconnect, streams, xml

FORMATS = (*delimited.FORMATS, *json.FORMATS, *avro.FORMATS, *xml.FORMATS, *kafkaconnect.FORMATS, *streams.FORMATS)
