"""Definitions are the same with the native scanner and without it, in every format of JSON records."""

from __future__ import annotations

import random

import pytest
from dialects import discover

import ggfmt.formats.records.discovery as records_discovery
from contract import contract_of
from contract.rules import source_of_records
from ggfmt import kernels
from ggfmt.formats import FORMATS
from ggfmt.kernels import native


def _is_scanned(name: str) -> bool:
    reads = FORMATS[name].read_support if FORMATS[name].reads is not None else None
    discovery = None if reads is None else reads.discovery
    return (
        discovery is not None
        and issubclass(discovery, records_discovery.DialectDiscovery)
        and discovery.dialect.scanned
        and discovery.dialect.reads_text
    )


@pytest.mark.skipif(native is None, reason="no native kernels")
@pytest.mark.parametrize("name", [name for name in FORMATS if _is_scanned(name)])
def test_definitions_do_not_depend_on_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = contract_of(name)
    source = source_of_records(contract)
    for seed in range(8):
        draw = random.Random(seed)
        records = [draw.choice(contract.records) for _ in range(draw.randint(1, 40))]
        data = contract.file(*records)
        for size in (None, 300):
            found = discover(name, data, source, size)
            with monkeypatch.context() as patch:
                patch.setattr(kernels, "native", None)
                assert discover(name, data, source, size) == found
