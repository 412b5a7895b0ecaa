"""Members with values of other JSON types: each reader and each `sniff` makes what it can of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from contract import contract_of
from dialects import read
from scanners import without_kernels

from fuzz import TARGETS, definitions, sources
from ggfmt.formats import FORMATS
from ggfmt.formats.api.reading import SplitBoundaryError

# Values of all JSON types; Python's own notation of the last ones is never a text of a message.
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1.5, 2**70, "", "x", "1", [], {}, ["odd"], [None], [["odd"]], [{"odd": 1}],
    {"odd": 1}, {"odd": None}, {"odd": {"odd": [True]}}, {"string": "x"}, {"long": 1}, {"odd.Value": {"id": 1}},
)  # fmt: skip
_NOTATION = ("{'odd'", "['odd'", "[['odd'", "[{'odd'", "{'string'", "{'long'", "{'odd.", "[None")
_JSON = [name for name in TARGETS if name in FORMATS and contract_of(name).texts]


def _replaced(value: Any) -> Iterator[Any]:
    """Each copy of a JSON value in which one part has a value of another type."""
    if isinstance(value, dict):
        for name, part in value.items():
            for other in (*_VALUES, *_replaced(part)):
                yield {**value, name: other}
    elif isinstance(value, list):
        for place, part in enumerate(value[:2]):
            for other in (*_VALUES, *_replaced(part)):
                yield [*value[:place], other, *value[place + 1 :]]


def _mutated(name: str) -> list[bytes]:
    records = [json.loads(record) for record in contract_of(name).records if record.startswith(b"{")]
    return [json.dumps(other).encode() for record in records for other in _replaced(record)]


# One of so many records is tried, with another value of each member; the tests that take long try them all.
STEPS = [7, pytest.param(1, marks=pytest.mark.long)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", _JSON)
def test_members_of_other_types_reach_every_reader(name: str, step: int) -> None:
    contract = contract_of(name)
    mutated = _mutated(name)
    assert len(mutated) > 100
    mutated = mutated[::step]
    data = contract.file(*contract.records, *mutated)
    for source in sources(name):
        try:
            found = read(name, data, source, trusted=definitions(name))
            with without_kernels():
                exact = read(name, data, source, trusted=definitions(name))
        except SplitBoundaryError:
            continue
        for operation in (*found.plain, *exact.plain):
            values = (image.values() for image in (operation.tokens, operation.before, operation.after) if image)
            for text in (operation.pos, operation.op_ts, *chain.from_iterable(values)):
                assert not (text or "").startswith(_NOTATION)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", _JSON)
def test_members_of_other_types_reach_every_sniff(name: str, step: int) -> None:
    readers = [format.read_support.reader for format in FORMATS.values() if format.reads is not None]
    for record in _mutated(name)[::step]:
        for reader in readers:
            reason = reader.sniff(record)
            assert reason is None or isinstance(reason, str)
