"""Feeds every native kernel with random and hostile data, under AddressSanitizer, and compares with the plain code.

usage: python tests/tools/fuzz_kernels.py [INPUTS [TARGET ...]]

Builds the kernels with gcc's AddressSanitizer and UndefinedBehaviorSanitizer in a temporary directory. Each target (all
of them, unless some are named) gets so many inputs (200) of each kind, in a process of its own. What scanners read are
copies that end with the memory that they are in, so that each read beyond them is seen. So is each difference between
pointers that are not of one object. The first mistake with memory, and the first difference to what is made without
kernels, ends it with its report and the seed.

`CFLAGS=-DGGFMT_PORTABLE` tries the kernels as they are where there is no SSE2.

A target has several kinds of data. How many operations scanners took of each is counted: a kind of which they took
none, and a format whose undamaged messages reach no scanner, are a failure too. A kind of which they took none so far
gets up to 500 inputs. `TARGET:SEED:KIND` looks at one input again.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parents[1] / name) for name in ("support", ""))

from places import PACKAGE

HERE = Path(__file__).resolve().parent
SOURCES = PACKAGE / "kernels"
SANITIZERS = (
    "-fsanitize=address,undefined,pointer-compare,pointer-subtract",
    "-fno-sanitize-recover=undefined",
    "-g",
    "-O1",
)
_MODULE = "ggfmt.kernels._native"
_PATIENCE = 500  # inputs of a kind of which scanners took no operation so far


def json_records(kind: str, seed: int) -> None:
    from hostile_json import PROJECTIONS, assert_same, assert_same_definitions, file, partial_file
    from reading import chunk_size

    draw = random.Random(seed)
    with chunk_size(draw.choice((100, 1000, 10**6))):
        data = file(seed, 60, draw.choice((0.0, 0.05, 0.3, 1.0)))
        assert_same(data, draw.choice(PROJECTIONS))
        for found in (data, partial_file(seed, 60, draw.choice((0.0, 0.1, 0.5)))):
            assert_same_definitions(found, draw.random() < 0.5)


def avro_data(kind: str, seed: int) -> None:
    from avro_cases import MAKERS, damaged, on_exact_memory, told
    from scanners import without_kernels

    draw = random.Random(seed)
    case = MAKERS[kind](draw)
    hurt = draw.random() < 0.7

    def damage(data: bytes) -> bytes:
        return damaged(data, random.Random(seed)) if hurt else data

    with without_kernels():
        expected = told(case, damage)
    with on_exact_memory():
        assert told(case, damage) == expected


def container_records(kind: str, seed: int) -> None:
    from avro_cases import damaged, on_exact_memory
    from container_files import assert_same_columns, block_of

    draw = random.Random(seed)
    records = draw.randrange(1, 20)
    schema, whole = block_of(kind, records, draw.randrange(100), draw.random() < 0.5)
    for _ in range(20):
        data = damaged(whole, draw) if draw.random() < 0.9 else whole
        count = records if draw.random() < 0.8 else draw.randrange(20)
        with on_exact_memory():
            assert_same_columns(schema, draw.random() < 0.5, data, count)


def text_data(kind: str, seed: int) -> None:
    from hostile_scans import fuzz_delimited, fuzz_delimited_freely, fuzz_xml
    from hostile_text import PROJECTIONS, SIZES, assert_delimited_text_is_read_the_same, assert_xml_is_read_the_same

    draw = random.Random(seed)
    for fuzz in (fuzz_xml,) if kind == "xml" else (fuzz_delimited, fuzz_delimited_freely):
        fuzz(draw)
    if seed % 8 == 0:  # readers take longer
        compare = assert_xml_is_read_the_same if kind == "xml" else assert_delimited_text_is_read_the_same
        compare(draw, draw.choice(SIZES), draw.choice(PROJECTIONS))


def messages(kind: str, seed: int) -> None:
    from hostile_pieces import compare

    compare(seed)


def damaged_messages(name: str, draw: random.Random) -> bytes:
    """Messages of a format as its contract has them, some of them several times, with some damage or none."""
    from fuzz import damaged, seeds

    data = draw.choice(seeds(name)[:2])
    return damaged(draw, data) if draw.random() < 0.8 else data


def formats(kind: str, seed: int) -> None:
    from dialects import read
    from fuzz import definitions, routed, seen, sources
    from scanners import without_kernels

    draw = random.Random(seed)
    data, source = damaged_messages(kind, draw), draw.choice(sources(kind))
    with without_kernels():
        expected = seen(read(kind, data, source, trusted=definitions(kind)))
        tables = routed(kind, data, source)
    assert seen(read(kind, data, source, trusted=definitions(kind))) == expected
    found = routed(kind, data, source)
    assert (found is None) == (tables is None)
    for (place, table), (exactly, known) in zip(found or (), tables or (), strict=True):
        assert place == exactly and (table == known or not known)  # a reject needs no table


def without_memory(kind: str, seed: int) -> None:
    """One allocation fails: there is an error then, or what there is without kernels."""
    from dialects import read
    from fuzz import definitions, seen, sources
    from hostile_pieces import everything
    from scanners import without_kernels

    draw = random.Random(seed)

    def made() -> Any:
        if kind == "messages":
            return everything(seed)
        return seen(read(kind, data, source, trusted=definitions(kind)))

    if kind != "messages":
        data, source = damaged_messages(kind, draw), draw.choice(sources(kind))
    library = ctypes.CDLL(sys.modules[_MODULE].__file__)
    countdown = ctypes.c_long.in_dll(library, "failing_countdown")
    allocations = ctypes.c_long.in_dll(library, "failing_allocations")
    with without_kernels():
        expected = made()
    before = allocations.value
    assert made() == expected
    if allocations.value == before:
        return
    countdown.value = draw.randrange(1, allocations.value - before + 1)
    try:
        found = made()
    except MemoryError:
        return
    finally:
        countdown.value = 0
    assert found == expected


def _makers() -> Sequence[str]:
    from avro_cases import MAKERS

    return tuple(MAKERS)


def _scanned_formats() -> Sequence[str]:
    from fuzz import PROPERTIES, TARGETS

    return [name for name in TARGETS if name != PROPERTIES]


@dataclass(frozen=True)
class Target:
    """What is done with a seed of a kind of data; `scans` says that scanners take operations of each kind."""

    look: Callable[[str, int], None]
    kinds: Callable[[], Sequence[str]]
    scans: bool = True


TARGETS = {
    "json": Target(json_records, lambda: ("json",)),
    "avro": Target(avro_data, _makers),
    "containers": Target(container_records, lambda: ("avro_row_ocf", "avro_op_ocf"), scans=False),
    "text": Target(text_data, lambda: ("xml", "delimited")),
    "formats": Target(formats, _scanned_formats),
    "messages": Target(messages, lambda: ("messages",), scans=False),
    "memory": Target(without_memory, lambda: (*_scanned_formats(), "messages"), scans=False),
}


def build(folder: Path) -> Path:
    """The extension module with sanitizers in it, and with allocations that can be had fail."""
    flags = os.environ.get("CFLAGS", "").split()
    made = folder / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_path("include")
    files = [*map(str, SOURCES.glob("*.c")), str(HERE / "failing_memory.c")]
    command = ["gcc", "-std=c11", "-fPIC", "-shared", *flags, *SANITIZERS, "-include", str(HERE / "failing_memory.h")]
    subprocess.run([*command, f"-I{include}", *files, "-o", str(made)], check=True)
    return made


class Exactly:
    """A kernel's object whose data are copied to memory that ends with them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in ("decode", "scan", "scan_spans", "write"):
            return method
        return lambda data, *others: method((ctypes.c_char * len(data)).from_buffer_copy(data), *others)


def use(path: str) -> None:
    """Has this process use an extension module; nothing of ggfmt may be loaded yet."""
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=ExtensionFileLoader(_MODULE, path))
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    module = sys.modules[_MODULE] = ModuleType(_MODULE)
    for name, value in vars(native).items():
        made = (
            (lambda *given, kind=value, **named: Exactly(kind(*given, **named))) if isinstance(value, type) else value
        )
        setattr(module, name, made)


def check_seeds() -> None:
    """An error where messages of a format's contract reach no scanner."""
    from dialects import read
    from fuzz import definitions, repeated, sources
    from scanners import operations_taken

    for name in _scanned_formats():
        with operations_taken() as taken:
            for source in sources(name):
                read(name, repeated(name), source, trusted=definitions(name))
        assert taken.operations, f"no scanner takes a message of {name}"


@contextmanager
def noted(target: str, kind: str, seed: int) -> Iterator[None]:
    try:
        yield
    except BaseException:
        print(f"{target}: the seed is {seed}, of {kind}", file=sys.stderr)
        raise


def run(module: str, target: str, inputs: str, seed: str = "", kind: str = "") -> None:
    """One target in this process; a seed alone, if it is given with its kind."""
    use(module)
    from scanners import operations_taken

    from ggfmt import kernels

    assert kernels.native is sys.modules[_MODULE], kernels.state
    chosen = TARGETS[target]
    if seed:
        chosen.look(kind, int(seed))
        return
    kinds = chosen.kinds()
    if target == "formats":
        check_seeds()
    for kind in kinds:
        seeds, operations = 0, 0
        while seeds < int(inputs) or (chosen.scans and not operations and seeds < _PATIENCE):
            number = random.getrandbits(48)
            with noted(target, kind, number), operations_taken() as taken:
                chosen.look(kind, number)
            operations += taken.operations
            seeds += 1
        scanned = f", {operations:,} operations taken by a scanner" if chosen.scans else ""
        print(f"{target}: {seeds:,} inputs of {kind}, no mistake and no difference{scanned}", flush=True)
        if chosen.scans and not operations:
            sys.exit(f"{target}: no scanner took an operation of {kind}")


def main(inputs: str = "200", *targets: str) -> None:
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": library.stdout.strip(),
        # Python keeps what it needs to its end; NULL is no pointer to subtract from, either.
        "ASAN_OPTIONS": "detect_leaks=0:detect_invalid_pointer_pairs=2",
        "PYTHONMALLOC": "malloc",  # so that what is read beyond an object is seen
    }
    with tempfile.TemporaryDirectory() as folder:
        module = build(Path(folder))
        for target in targets or TARGETS:
            name, *seed = target.split(":")
            subprocess.run(
                [sys.executable, __file__, "--run", str(module), name, inputs, *seed], env=environment, check=True
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
