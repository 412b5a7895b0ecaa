"""Native kernels: all results are the same without them, and ggfmt reports which it has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from hostile_json import PROJECTIONS, TABLES, assert_same, file
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from reading import chunk_size, read
from strategies import examples

from ggfmt import kernels
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.records.reader import DialectReader
from ggfmt.spark.workers import zip_package

needs_kernels = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")

seeds = st.integers(0, 2**32)
projections = st.sampled_from(PROJECTIONS)


@needs_kernels
@given(seeds, st.sampled_from((0.0, 0.05, 0.3, 1.0)), projections, st.sampled_from((100, 1000, 10**6)))
@examples(100)
def test_a_hostile_file_is_read_as_without_kernels(
    seed: int, hostile: float, projection: Projection, size: int
) -> None:
    with chunk_size(size):
        assert_same(file(seed, 40, hostile), projection)


@needs_kernels
@given(seeds, st.sampled_from((30, 200, 900)), projections)
@examples(100)
def test_a_hostile_file_is_read_as_without_kernels_wherever_it_is_cut(
    seed: int, size: int, projection: Projection
) -> None:
    data = file(seed, 8, 0.1)
    for start in range(0, max(len(data), 1), size):
        try:
            assert_same(data, projection, [(start, size)])
        except Exception as error:
            assert type(error).__name__ == "SplitBoundaryError"


def odd_records(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Those that the scanner leaves from here on."""
    odd = []
    exactly = DialectReader.examined_at

    def noted(self: DialectReader, chunk: Chunk, start: int, end: int) -> tuple[Any, Any]:
        odd.append(chunk.data[start:end])
        return exactly(self, chunk, start, end)

    monkeypatch.setattr(DialectReader, "examined_at", noted)
    return odd


@needs_kernels
def test_regular_records_are_taken_by_the_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing is ever odd would be as wrong as that everything is: the tests above would pass."""
    odd = odd_records(monkeypatch)
    regular = (
        b'{"table":"S.ORDERS","op_type":"I","op_ts":"t","pos":"1","after":{"ID":1,"NAME":"a\\u00e9","N":null}}\n'
    ) * 50
    assert len(read(regular, TABLES).operations) == 50
    assert not odd
    assert len(read(regular + b'{"table":"S.ORDERS","op_type":"D"}\n' + regular, TABLES).operations) == 100
    assert len(odd) == 1


@needs_kernels
def test_an_image_in_a_list_is_none() -> None:
    """Other formats have lists of images; here they are rejects, with kernels and without."""
    found = assert_same(b'{"table":"S.ORDERS","op_type":"I","after":[{"ID":1}]}\n', PROJECTIONS[0])
    assert len(found.rejects) == 1


@needs_kernels
def test_where_most_records_are_odd_all_are_left_to_the_exact_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = odd_records(monkeypatch)
    data = b'{"table":"S.ORDERS","op_type":"I","after":{"I\\u0044":1}}\n' * 1000
    with chunk_size(2000):
        assert len(read(data, TABLES).operations) == 1000
    assert 0 < len(odd) < 200


def state_in(environment: dict[str, str], code: str = "", path: str = "") -> str:
    """What a new process says of its kernels."""
    env = {**{name: value for name, value in os.environ.items() if name != kernels.SWITCH}, **environment}
    if path:
        env["PYTHONPATH"] = path
    shown = f"{code}\nimport ggfmt.kernels as k\nprint(k.__file__, k.native is not None, k.state, sep='|')"
    done = subprocess.run([sys.executable, "-c", shown], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_kernels_can_be_switched_off() -> None:
    assert state_in({kernels.SWITCH: "off"}).endswith("False|off, by GGFMT_KERNELS")


@needs_kernels
def test_kernels_work_from_the_zip_file_that_executors_get(tmp_path: Path) -> None:
    archive = zip_package(tmp_path)
    found = state_in({"TMPDIR": str(tmp_path)}, f"import sys; sys.path.insert(0, {str(archive)!r})")
    assert found == f"{archive}/ggfmt/kernels/__init__.py|True|native"
    assert list(tmp_path.iterdir()) == [archive]


def test_the_revision_is_the_same_on_both_sides() -> None:
    header = (Path(kernels.__file__).parent / "revision.h").read_text()
    assert f"#define GGFMT_REVISION {kernels.REVISION}\n" in header


def test_nothing_is_built_for_big_endian_machines() -> None:
    """Floating-point numbers would be read the wrong way round."""
    here = Path(kernels.__file__).parent
    command = ["gcc", "-std=c11", "-fsyntax-only", f"-I{sysconfig.get_path('include')}", str(here / "buffer.c")]
    for flags, message in ([], ""), (["-DWORDS_BIGENDIAN=1"], "are for little-endian machines"):
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) is bool(message), done.stderr
        assert message in done.stderr
    # Every file has this header, since no other has Python's: so all are built against the limited API, too.
    sources = {path.name for path in here.glob("*.[ch]") if "#include <Python.h>" in path.read_text()}
    assert sources == {"python.h"}


def test_the_build_has_all_sources_and_need_not_succeed() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[[tool.setuptools.ext-modules]]")[2].partition("\n[")[0]
    assert "\noptional = true\n" in section
    here = Path(kernels.__file__).parent
    assert set(re.findall(r'"ggfmt/kernels/(\w+\.[ch])"', section)) == {path.name for path in here.glob("*.[ch]")}
