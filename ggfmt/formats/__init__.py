"""All formats by id. A format is a module of this package and one import line here."""

from __future__ import annotations

from ggfmt.formats import canal, gg_avro, gg_delimited, gg_json, gg_xml
from ggfmt.formats.declaration import Format

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        *gg_delimited.FORMATS,
        *gg_json.FORMATS,
        *gg_avro.FORMATS,
        *gg_xml.FORMATS,
        *canal.FORMATS,
    )
}
