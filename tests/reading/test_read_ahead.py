"""Objects of stores are fetched ahead: the same bytes from any place, by few requests, none beyond a task's range."""

from __future__ import annotations

import io
import random
import threading
from typing import Any

import pyarrow as pa
import pytest

from ggfmt.reading import files
from ggfmt.reading.files import ReadAhead

KIB = 1 << 10
SIZE = 300 * KIB + 7


class Store:
    """An object of `SIZE` bytes that notes each request, and how many wait at once; from place `bad` on, it fails."""

    def __init__(self, size: int = SIZE, bad: int = SIZE) -> None:
        self.data = random.Random(size).randbytes(size)
        self.asked: list[tuple[int, int]] = []
        self.most = self._now = 0
        self._bad, self._lock = bad, threading.Lock()

    def size(self) -> int:
        return len(self.data)

    def read_at(self, size: int, place: int) -> bytes:
        with self._lock:
            self.asked.append((place, size))
            self._now += 1
            self.most = max(self.most, self._now)
        threading.Event().wait(0.001)
        with self._lock:
            self._now -= 1
        if place + size > self._bad:
            raise OSError("no answer")
        return self.data[place : place + size]

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUFFER_BYTES", KIB)
    monkeypatch.setattr(files, "BLOCK_BYTES", 8 * KIB)


def opened(store: Any, end: int | None = None) -> io.BufferedReader:
    return io.BufferedReader(ReadAhead(store, end), KIB)


def test_the_bytes_are_those_of_the_object() -> None:
    store = Store()
    with opened(store) as stream:
        assert stream.read() == store.data
    assert sorted(store.asked) == store.asked, "blocks follow each other"
    assert sum(size for _, size in store.asked) == SIZE
    assert [size for _, size in store.asked][:4] == [KIB, 2 * KIB, 4 * KIB, 8 * KIB]
    assert len(store.asked) <= 4 + -(-SIZE // (8 * KIB))
    assert store.most == files.BLOCKS_AHEAD


@pytest.mark.parametrize("seed", range(30))
def test_any_reads_and_seeks_give_the_bytes_of_a_file(seed: int) -> None:
    choose, store = random.Random(seed), Store()
    end = choose.choice([None, 0, choose.randrange(SIZE), SIZE + 9])
    with opened(store, end) as stream, io.BytesIO(store.data) as file:
        for _ in range(60):
            if choose.random() < 0.3:
                place = choose.choice([choose.randrange(SIZE + 100), stream.tell() + choose.randrange(9 * KIB)])
                whence, place = choose.choice([(0, place), (1, 10), (2, -choose.randrange(SIZE))])
                assert stream.seek(place, whence) == file.seek(place, whence)
            size = choose.choice([0, 1, choose.randrange(3 * KIB), choose.randrange(40 * KIB)])
            assert stream.read(size) == file.read(size)
            assert stream.tell() == file.tell()


def test_no_request_goes_beyond_the_end_of_a_range() -> None:
    store = Store()
    with opened(store, 100 * KIB) as stream:
        stream.seek(50 * KIB)
        stream.read(50 * KIB)
    assert store.asked[0][0] == 50 * KIB
    assert max(place + size for place, size in store.asked) == 100 * KIB


def test_the_head_of_an_object_is_one_request() -> None:
    store = Store()
    with opened(store) as stream:
        stream.read(KIB)
    assert store.asked == [(0, KIB)]


def test_an_error_is_that_of_its_place() -> None:
    store = Store(bad=40 * KIB)
    with opened(store) as stream:
        assert stream.read(20 * KIB) == store.data[: 20 * KIB]
        with pytest.raises(OSError, match="no answer"):
            stream.read(30 * KIB)


def test_an_object_that_became_shorter_gives_no_bytes_of_other_places() -> None:
    store = Store()
    whole, store.data = store.data, store.data[: 100 * KIB + 5]
    store.size = lambda: SIZE  # type: ignore[method-assign]
    with opened(store) as stream:
        assert stream.read() == whole[: 100 * KIB + 5]


def test_arrow_reads_compressed_objects_through_it() -> None:
    data = random.Random(1).randbytes(50 * KIB)
    store = Store()
    store.data = pa.compress(data, codec="gzip", asbytes=True)
    stored: Any = pa.PythonFile(opened(store), "r")
    with pa.CompressedInputStream(stored, "gzip") as stream:
        assert stream.read() == data
