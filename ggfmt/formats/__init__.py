"""All formats by id. A system's formats are one package below this one and one entry here."""

from __future__ import annotations

from ggfmt.formats import arcion, canal, cdl, debezium, dts, goldengate, maxwell, qlik, shareplex
from ggfmt.formats.api.format import Format

FORMATS: dict[str, Format] = {
    format.name: format
    for system in (goldengate, canal, arcion, cdl, debezium, dts, qlik, maxwell, shareplex)
    for format in system.FORMATS
}
