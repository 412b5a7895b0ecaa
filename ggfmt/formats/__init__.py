"""All formats by id. A new system is a package below this one, and its name in `SYSTEMS`: see the page add-a-format."""

from __future__ import annotations

from importlib import import_module

from ggfmt.formats.api.format import Format

SYSTEMS = ("goldengate", "canal", "arcion", "cdl", "debezium", "dts", "qlik", "maxwell", "shareplex", "dms")

FORMATS: dict[str, Format] = {
    format.name: format for system in SYSTEMS for format in import_module(f"{__name__}.{system}").FORMATS
}
