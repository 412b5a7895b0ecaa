"""The table of properties has every property of the reference pages, and says where each is known from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggfmt import config
from ggfmt.formats import FORMATS
from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
from ggfmt.options.spec import Options

TABLE = Path(config.__file__).parent / "properties.txt"
REFERENCE = Path(__file__).parents[2].parent / "shared" / "reference"
PAGES = ("event-handlers.md", "goldengate-later.md")

# In a page: columns that list properties, by the start of their heads; a name in such a column; keys in any line.
LISTS = ("property", "required beside", "optional", "names seen", "further names", "`gg.handler.NAME.…`")
NAME = re.compile(r"[A-Za-z]\w*(?:\.\w+)*\*?")
KEY = re.compile(r"`((?:gg|jvm|goldengate|javawriter|java)\.[\w.*]+)")
HANDLER_KEY = re.compile(r"gg\.(?:event)?handler(?:\.\w*\.?(?:format\.)?([\w*]*))?", re.IGNORECASE)

NOT_IN_TABLE = {
    "the page says that no handler has it": {"writeHeader", "includeFileHeader"},
    "a misprint that the page quotes": {"gg.hander", "gg.hander.name.logSuccessfullySentMessages", "gg.state"},
    "the name of a page": {"goldengate.md"},
    "a word of a sentence": {"any", "later", "none"},
    "the start of a name with several ends": {"insert", "update", "delete", "index", "id"},
    "a format, a store or a catalog": {"avro_op_ocf", "gcs", "s3", "Avro", "Glue", "JDBC", "Nessie", "Polaris", "REST"},
    "a group of properties, whose names the table has": {"kerberos", "proxy"},
}
EXCLUDED = frozenset().union(*NOT_IN_TABLE.values())


def sections() -> dict[str, list[str]]:
    """Return the lines of the properties of each section, by its head. Those declared in Python are `declared`."""
    options: dict[str, type[Options]] = {f"+{it.__name__}": it for it in (ParquetOptions, OrcOptions)}
    options |= {f"format {name}": format.options for name, format in FORMATS.items()}
    found = {head: [f"{spec.name} | | | declared" for spec in declared.specs()] for head, declared in options.items()}
    lines: list[str] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line[:1] == "[":
            lines = found.setdefault(line[1 : line.index("]")], [])
        elif line[:1] == "+":
            lines += found[line]
        elif line[:1] not in ("", "#", " "):
            lines.append(line)
    return found


SECTIONS = sections()


def has(head: str, name: str) -> bool:
    """Return whether a section has a property; without a head, any section. `proxy*` is any name with this start."""
    wanted, heads = name.lower(), (head, head.split(" ")[0]) if head else SECTIONS
    for known in (line.partition(" |")[0].lower() for head in heads for line in SECTIONS[head]):
        start, free, _ = known.partition("<")
        if known == wanted or (free and wanted.startswith(start)):
            return True
        if wanted[-1] == "*" and known.startswith(wanted[:-1]):
            return True
    return False


def expected(page: str) -> Iterator[tuple[str, str]]:
    """Yield each property of a page, with the head of its section; an empty one for any section."""
    kind, titles = "handler", [""]
    for line in (REFERENCE / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            kind = "eventhandler" if "vent handlers" in line else "handler"
        for key in KEY.findall(line):
            match = HANDLER_KEY.fullmatch(key)
            yield "", (match[1] or "") if match else key
        if not line.startswith("|"):
            titles = [""]
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        titles = cells if titles == [""] else titles
        words = re.findall(r"[\w-]+", cells[0]) if "type" in titles[0] else []
        heads = [head for word in words if (head := f"{kind} {word}") in SECTIONS] or [""]
        for title, cell in zip(titles, cells, strict=False):
            parts = re.split("[,;/]| and | or ", re.sub(r"\([^)]*\)", "", cell)) if title.startswith(LISTS) else []
            names = (part.strip(" `") for part in parts if cell != title)
            yield from ((head, name) for name in names for head in heads if NAME.fullmatch(name))


@pytest.mark.parametrize("page", PAGES)
def test_the_table_has_every_property_of_a_page(page: str) -> None:
    if not REFERENCE.is_dir():
        pytest.skip("the project's shared reference is not here")
    found = {pair for pair in expected(page) if pair[1] and pair[1] not in EXCLUDED}
    assert len(found) > 100
    assert sorted(pair for pair in found if not has(*pair)) == []


def test_every_property_has_a_source_with_its_certainty() -> None:
    lines = [line for head, lines in SECTIONS.items() for line in lines if not line.endswith("| declared")]
    sources = {line: line.rsplit(" | ")[-1] for line in lines}
    assert [line for line, source in sources.items() if not re.match("[SELIM] [A-Z]?[a-z]", source)] == []
    assert [line for line, source in sources.items() if source[0] == "M" and "required" in line] == []
