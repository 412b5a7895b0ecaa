"""Hash tables of the native kernels: no file can make its texts collide, and no result depends on the seed."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest
from places import SUPPORT, TESTS

from ggfmt import kernels

pytestmark = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")

COUNT = 128  # texts, in a table of twice as many places
SEEDS = (bytes(16), bytes(range(16)), bytes.fromhex("ff00aa55" * 4))
_WORDS = 1 << 64


def siphash(seed: bytes, data: bytes) -> int:
    """SipHash-1-3, as `hash.c` has it."""
    one, two = struct.unpack("<2Q", seed)
    a, b, c, d = (
        one ^ 0x736F6D6570736575,
        two ^ 0x646F72616E646F6D,
        one ^ 0x6C7967656E657261,
        two ^ 0x7465646279746573,
    )
    blocks = struct.unpack(f"<{len(data) // 8 + 1}Q", data + bytes(7 - len(data) % 8) + bytes([len(data) & 255]))

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) % _WORDS

    for place in range(len(blocks) + 3):
        block = blocks[place] if place < len(blocks) else 0
        c ^= 0xFF if place == len(blocks) else 0
        d ^= block
        a, c = (a + b) % _WORDS, (c + d) % _WORDS
        b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
        a = turned(a, 32)
        c, a = (c + b) % _WORDS, (a + d) % _WORDS
        b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
        c = turned(c, 32)
        a ^= block
    result: int = a ^ b ^ c ^ d
    return result


@cache
def colliding(seed: bytes) -> list[bytes]:
    """Texts that all have one place in a table, for an attacker who knows the seed."""
    found: list[bytes] = []
    number = 0
    while len(found) < COUNT:
        number += 1
        text = b"N%d\0" % number  # an identity of a record in JSON ends so
        if siphash(seed, text) % (2 * COUNT) == 0:
            found.append(text)
    return found


def unseeded(count: int) -> list[bytes]:
    """Texts with one hash, where a hash has no seed: these are of one of the kind xor, multiply and fold."""
    factor, mask = 0xFF51AFD7ED558CCD, _WORDS - 1
    texts = []
    for number in range(1, count + 1):
        state = ((0x9E3779B97F4A7C15 ^ 16 ^ number) * factor) & mask
        texts.append(struct.pack("<2Q", number, state ^ state >> 32))
    return texts


WORKER = """
import json, sys
from ggfmt.kernels import native

seed, names = json.loads(sys.stdin.read())
native.seed_hashes(bytes.fromhex(seed))
names = [bytes.fromhex(name) for name in names]
done = {}


def noted(kind, work):
    before = native.hash_work()
    work()
    done[kind] = native.hash_work() - before


def delimited():
    scanner = native.DelimitedScanner(b",", b"\\n", b"", b"", False, 2, 0, (1,), (), {b"I": b"I"})
    for name in names:
        scanner.refuse(name)


def xml():
    scanner = native.XmlScanner({b"I": b"I"}, True, True)
    for name in names:
        scanner.bind(name, ())


def avro():
    nothing = (10, 0, None, (), ())
    scanner = native.AvroScanner(nothing, 0, False, {b"I": b"I"}, False, b"")
    for name in names:
        scanner.bind(name, nothing, 0, 0)


def dts():
    scanner = native.DtsScanner((b"",) * 12, (), b"-" * 17, (), (), {}, False, False)
    for name in names:
        scanner.bind(name, (), b"", 0, 6)


def json_scanner():
    members = ((b"table", 2, True, None, None),)
    return native.JsonScanner(members, {b"I": (b"I", None, None, 0)}, {}, False, False, None)


def identities():
    scanner = json_scanner()
    for name in names:
        scanner.bind(name.rstrip(b"\\0").replace(b"\\0", b"\\1") + b"\\0", (), (), None, None)


def columns():
    json_scanner().bind(b"\\0", tuple(names), (), None, None)


for kind in (delimited, xml, avro, dts, identities, columns):
    noted(kind.__name__, kind)
print(json.dumps(done))
"""


def run(code: str, *given: Any) -> Any:
    """What a new process prints, as JSON."""
    env = {**os.environ, "PYTHONPATH": f"{SUPPORT}{os.pathsep}{TESTS}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=json.dumps(given), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def work(seed: bytes, names: Iterable[bytes]) -> dict[str, int]:
    """How many places each kind of table looked at to take in these names."""
    found: dict[str, int] = run(WORKER, seed.hex(), [name.hex() for name in names])
    return found


KINDS = {"delimited", "xml", "avro", "dts", "identities", "columns"}


@pytest.mark.parametrize("crafted", [lambda: colliding(SEEDS[0]), lambda: unseeded(2000)], ids=["seeded", "unseeded"])
def test_crafted_names_are_no_more_work_than_others(crafted: Callable[[], list[bytes]]) -> None:
    names = crafted()
    for seed in SEEDS[1:]:
        found = work(seed, names)
        assert found.keys() == KINDS
        # Each is looked for, entered, and entered again as the table grows, and meets few others there.
        assert all(len(names) <= count <= 10 * len(names) for count in found.values()), found


def test_who_knows_the_seed_can_craft_names() -> None:
    """So that the test above could fail: work is counted, and what it holds for one seed it does not for another."""
    found = work(SEEDS[0], colliding(SEEDS[0]))
    assert all(count > COUNT * COUNT / 4 for count in found.values()), found


def test_each_process_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Python's own hashes have none, as in workers of Spark."""
    code = """
import json, random, struct
from ggfmt.kernels import native

draw = random.Random(1)
scanner = native.DelimitedScanner(b",", b"\\n", b"", b"", False, 2, 0, (1,), (), {b"I": b"I"})
for _ in range(300):
    scanner.refuse(draw.randbytes(8))
print(json.dumps(native.hash_work()))
"""
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    assert len({run(code) for _ in range(4)}) > 1


def test_the_seed_is_not_changed_under_a_table() -> None:
    code = """
import json
from ggfmt.kernels import native

native.XmlScanner({b"I": b"I"}, True, True)
try:
    native.seed_hashes(bytes(16))
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
    assert run(code) == "hashes are in use"


@pytest.mark.long
def test_results_do_not_depend_on_the_seed() -> None:
    """Operations in their order, rejects and definitions, of all formats, with many tables in turns."""
    code = """
import hashlib, json, sys

(seed,) = json.loads(sys.stdin.read())
from ggfmt.kernels import native

native.seed_hashes(bytes.fromhex(seed))
import random
from fuzz import TARGETS, PROPERTIES, definitions, seeds, seen, sources
from dialects import read
from avro_cases import MAKERS, told as avro_told

done = {}
for name in TARGETS:
    if name != PROPERTIES:
        known = definitions(name)
        found = [seen(read(name, data, given, trusted=known)) for data in seeds(name) for given in sources(name)]
        done[name] = hashlib.sha256(repr(found).encode()).hexdigest()
for name, make in MAKERS.items():
    found = [avro_told(make(random.Random(n))) for n in range(8)]
    done["made " + name] = hashlib.sha256(repr(found).encode()).hexdigest()
images = [{f"C{column}": str(table) for column in range(table + 1)} for table in range(97)]
rows = [{"table": f"S.T{n % 97}", "op_type": "I", "pos": str(n), "after": images[n % 97]} for n in range(2000)]
found = read("json", "\\n".join(map(json.dumps, rows)).encode())
assert len(found.operations) == 2000
done["many tables"] = hashlib.sha256(repr(seen(found)).encode()).hexdigest()
done["work"] = native.hash_work() > 0
print(json.dumps(done))
"""
    first, second = (run(code, seed.hex()) for seed in SEEDS[1:])
    assert first["work"]
    assert first == second
