"""All formats by id. A format is a module of this package and one import line here."""

from __future__ import annotations

from ggfmt.formats import (
    arcion,
    canal,
    cdl,
    debezium,
    dts,
    gg_avro,
    gg_delimited,
    gg_json,
    gg_streams,
    gg_xml,
    maxwell,
    qlik,
    shareplex,
)
from ggfmt.formats.declaration import Format

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        *gg_delimited.FORMATS,
        *gg_json.FORMATS,
        *gg_avro.FORMATS,
        *gg_xml.FORMATS,
        *canal.FORMATS,
        *arcion.FORMATS,
        *cdl.FORMATS,
        *debezium.FORMATS,
        *dts.FORMATS,
        *qlik.FORMATS,
        *gg_streams.FORMATS,
        *maxwell.FORMATS,
        *shareplex.FORMATS,
    )
}
