"""What any bytes have to give: for fuzzing (`python tests/tools/fuzzing.py FORMAT`) and tests that replay its corpus.

A reader makes operations, rejects and counts of whatever it is given: no other exception, and the same however the
bytes are cut into ranges and chunks. The reader of handler files finds what is wrong with them, and nothing else.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from contract import contract_of
from contract.rules import needed_for_records, source_of_records
from dialects import Read, chunk_bytes, chunks_of, read, told
from places import LINT, TESTS

from ggfmt.arrow.arrays import non_null_values
from ggfmt.config.lint.reading import lint
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import SplitBoundaryError, Unroutable
from ggfmt.model.table import Catalog, TableDef

CORPUS = TESTS / "fuzz" / "corpus"
PROPERTIES = "properties"
TARGETS = [name for name, format in FORMATS.items() if format.reads is not None] + [PROPERTIES]
MAX_BYTES = 1 << 14

_TIMES = 4
_RANGES = (1 << 20, 7, 64, 300)
_CHUNKS = (1 << 20, 1, 16, 200)


def target(name: str) -> Callable[[bytes], None]:
    """What looks at bytes and raises where ggfmt should not."""
    return _properties if name == PROPERTIES else partial(_read, name)


def seeds(name: str) -> list[bytes]:
    """What fuzzing starts from besides the corpus: messages as the contract of the format has them."""
    if name == PROPERTIES:
        files = sorted(LINT.glob("*.properties"))
        return [path.read_bytes() for path in files]
    contract = contract_of(name)
    return [
        contract.file(*contract.records),
        repeated(name),
        *(contract.file(record) for record in contract.records),
    ]


def repeated(name: str) -> bytes:
    """Each message several times: a scanner takes none of a table before it has seen the first ones."""
    contract = contract_of(name)
    return contract.file(*(record for record in contract.records for _ in range(_TIMES)))


def corpus(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def _properties(data: bytes) -> None:
    try:
        lint(data, "f")
    except GgfmtError:
        pass


@cache
def sources(name: str) -> list[WriterSettings]:
    """How messages are read: with the options of the contract, and with none, by which a scanner may take them."""
    contract = contract_of(name)
    return [source_of_records(contract), *([told(name)] if contract.told_of_records else [])]


@cache
def definitions(name: str) -> dict[str, TableDef]:
    return needed_for_records(contract_of(name))


def _read(name: str, data: bytes) -> None:
    for source in sources(name):
        _read_with(name, data, source)


def _read_with(name: str, data: bytes, source: WriterSettings) -> None:
    trusted = definitions(name)
    turn = zlib.crc32(data)
    try:
        whole = seen(read(name, data, source, trusted=trusted))
        with chunk_bytes(_CHUNKS[turn % 4]):
            try:
                cut = seen(read(name, data, source, _RANGES[turn // 4 % 4], trusted=trusted))
            except SplitBoundaryError:
                cut = seen(read(name, data, source, trusted=trusted))
    except GgfmtError:
        return
    assert cut == whole, f"cut into chunks of {_CHUNKS[turn % 4]} and ranges of {_RANGES[turn // 4 % 4]} bytes"


def seen(result: Read) -> Any:
    """What was read, to be compared: operations with their places, rejects, definitions and counts."""
    operations = sorted(zip(result.places, map(repr, result.operations), strict=True))
    rejects = [(reject.record, str(reject.diagnostic)) for reject in result.rejects]
    return operations, rejects, result.definitions, json.dumps([result.others, result.members], sort_keys=True)


def routed(name: str, data: bytes, source: WriterSettings) -> list[tuple[int, str]] | None:
    """The place and the table of each record, as the router of a format finds them; None if it cannot divide them."""
    router = FORMATS[name].read_support.by(source).router
    if router is None:
        return None
    routing, found = router(Catalog(definitions(name)), source), list[tuple[int, str]]()
    try:
        for chunk in chunks_of(name, data, source):
            made = routing.route(chunk)
            starts = [start for start, _ in made.spans] if made.starts is None else non_null_values(made.starts)
            numbers = zip(starts, non_null_values(made.tables), strict=True)
            found += [(made.chunk.offset + start, routing.tables[number]) for start, number in numbers]
    except (Unroutable, GgfmtError):
        return None
    return found


PIECES = [b"{", b"}", b"[", b'"', b"\\", b"\n", b"\r", b"\xff", b"\0", b"null", b"]]>", b"</", b"\x80" * 9, b",", b"|"]


def damaged(draw: random.Random, data: bytes) -> bytes:
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice([0, 1, 1, 8, 60]))
        other = draw.randrange(len(data) + 1)
        piece = draw.choice([draw.choice(PIECES), bytes([draw.randrange(256)]), data[other : other + 40], b""])
        data = data[:start] + piece + data[end:]
    return data
