"""The requests that ggfmt sends to an object store: how many, of which kind, and what it does when some fail."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from runs import JSON_LINES, operation, run_ggfmt
from s3_server import Store, s3_server, store
from unreliable_store import UnreliableStore

import ggfmt
from ggfmt import location
from ggfmt.commit import store as output_store
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.location import Location
from ggfmt.reading import files
from ggfmt.reading.files import (
    InputChangedError,
    InputFile,
    check_inputs_unchanged,
    keep,
    open_input,
    open_unchanged,
    small_objects,
)
from ggfmt.reading.listing import list_inputs
from ggfmt.rowfiles.spill import distinct_columns
from ggfmt.rows.staging import StagedPart, load

__all__ = ["s3_server", "store"]

MORE = 10  # files or tables
ERROR = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>InternalError</Code><Message>an error in a response</Message><HostId>%s</HostId></Error>"""


def convert(top: str, **others: Any) -> None:
    run_ggfmt([f"{top}/in/"], f"{top}/out", *JSON_LINES, **others)  # type: ignore[arg-type, list-item]


def convert_with_checkpoint(top: str) -> None:
    convert(top, checkpoint=f"{top}/seen")


def consolidate(top: str) -> None:
    ggfmt.consolidate(f"{top}/in/", f"{top}/out", to="parquet", master="none")


def put_operations(store: Store, name: str, files: int, tables: int) -> None:
    for number in range(files):
        records = [operation(number, f"GG.T{table}") for table in range(tables)]
        store.put(f"{name}/in/{number:05}.json", b"".join(json.dumps(record).encode() + b"\n" for record in records))


def requests(store: Store, do: Callable[[], object]) -> Counter[str]:
    before = len(store.server.requests())
    do()
    found = store.server.requests()[before:]
    assert not [path for _, path in found if "uploads" in path or "partNumber" in path]
    return Counter("LIST" if "list-type" in path else method for method, path in found)


@pytest.mark.parametrize(
    ("command", "of_file", "of_table"),
    [
        # Arrow sends a HEAD for each object that it opens. A file that is written is one object in staging, and its
        # copy.
        pytest.param(convert, {"HEAD": 1, "GET": 1}, {"PUT": 2}, id="run"),
        pytest.param(convert_with_checkpoint, {"HEAD": 1, "GET": 1}, {"PUT": 2}, id="checkpoint"),
        pytest.param(consolidate, {"HEAD": 1, "GET": 1}, {"PUT": 2}, id="consolidate"),
    ],
)
def test_requests_do_not_rise_unnoticed(
    store: Store, command: Callable[[str], None], of_file: dict[str, int], of_table: dict[str, int]
) -> None:
    found: list[Counter[str]] = []
    list_inputs([f"s3://{store.bucket}"], allow_empty=True)  # which makes a client
    for number_of_files, number_of_tables in ((2, 2), (2 + MORE, 2), (2, 2 + MORE)):
        name = f"{number_of_files}-{number_of_tables}"
        put_operations(store, name, number_of_files, number_of_tables)
        top = f"s3://{store.bucket}/{name}"
        found.append(requests(store, lambda top=top: command(top)))  # type: ignore[misc]
    few, files, tables = found
    assert files - few == {kind: MORE * count for kind, count in of_file.items()}
    assert tables - few == {kind: MORE * count for kind, count in of_table.items()}
    assert few.total() <= 140


def test_a_compressed_object_is_read_in_large_pieces(store: Store) -> None:
    data = gzip.compress(random.Random(1).randbytes(3 << 20))
    with store.fs.open_output_stream(f"{store.bucket}/a.gz", compression=None) as stream:
        stream.write(data)
    (file,) = list_inputs([f"s3://{store.bucket}/a.gz"])

    def read() -> None:
        with open_input(file) as stream:
            assert len(stream.read()) == 3 << 20

    assert requests(store, read) == {"HEAD": 1, "GET": 4}


def put_later(store: Store, key: str, data: bytes) -> None:
    """Replaces an object in a later second: times in stores have no smaller unit."""
    time.sleep(1.1)
    store.put(key, data)


def test_an_object_of_the_same_size_in_its_place_is_found(store: Store) -> None:
    for name in "abc":
        store.put(f"in/{name}.json", b"12345")
    store.put("in/b.json.gz", b"12345")  # which Arrow compresses
    files = {file.location.name: file for file in list_inputs([f"s3://{store.bucket}/in"])}
    a, packed = files["a.json"], files["b.json.gz"]
    check_inputs_unchanged(list(files.values()))
    with open_unchanged(a) as stream, open_unchanged(packed) as other:
        assert stream.read() == other.read() == b"12345"
    put_later(store, "in/a.json", b"54321")
    store.put("in/b.json.gz", b"54321")
    for file in (a, packed):
        with pytest.raises(InputChangedError, match="modified"), open_unchanged(file):
            pass
        with pytest.raises(InputChangedError, match="modified"):
            keep(file)
        with pytest.raises(Abend, match=r"GG310.*changed while it was read"):
            check_inputs_unchanged([*files.values()] if file is a else [file])


def test_a_check_at_the_end_asks_in_as_few_requests_as_it_can(store: Store) -> None:
    for number in range(5):
        store.put(f"in/{number}.json", b"12345")
    files = list_inputs([f"s3://{store.bucket}/in"])
    named = list_inputs([f"s3://{store.bucket}/in/{number}.json" for number in (0, 1)])

    def asked(some: list[InputFile]) -> Counter[str]:
        return requests(store, lambda: check_inputs_unchanged(some))

    assert asked(files) == {"LIST": 1}
    assert asked(files[:1]) == {"LIST": 1}
    assert asked(named) == {"HEAD": 2}, "nothing says how many objects are beside them"
    store.fs.delete_file(f"{store.bucket}/in/1.json")
    for some in (files, named):
        with pytest.raises(Abend, match=r"in/1.json.*GG310.*removed while it was read"):
            check_inputs_unchanged(some)
    store.put("in/1.json", b"123456")
    for some in (files, named):
        with pytest.raises(Abend, match=r"in/1.json.*GG310.*had 5 bytes, and has 6 now"):
            check_inputs_unchanged(some)


def test_a_copy_that_fails_in_the_middle_of_a_response_is_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amazon S3 sends the status before it has copied."""
    store.put("out/a", b"12345")
    at = f"/{store.bucket}/out/b"
    failing = UnreliableStore(
        store.server.port, lambda method, path, _: 200 if (method, path) == ("PUT", at) else None, ERROR % b"a"
    )
    with failing.running():
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{failing.port}")
        monkeypatch.setattr(location, "_REQUEST_ATTEMPTS", 1)
        with pytest.raises(OSError, match="an error in a response"):
            output_store.Store(Location.of(f"s3://{store.bucket}/out")).move("a", "b", 5)
    assert store.files("out") == {"a": b"12345"}


@pytest.mark.parametrize(
    ("files", "body"),
    [
        pytest.param(30, b"", id="no-text"),
        pytest.param(30, ERROR % (b"x" * 2000), id="text"),
        pytest.param(5000, ERROR % (b"x" * 2000), id="many", marks=pytest.mark.long),
    ],
)
def test_a_run_ends_well_if_some_requests_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, files: int, body: bytes
) -> None:
    """The text of an error may be longer than what was asked for."""
    put_operations(store, "in", files, 2)
    top = f"s3://{store.bucket}"
    chance, refused = random.Random(5), Counter[int]()

    def answer(method: str, path: str, count: int) -> int | None:
        if chance.random() >= 0.05:
            return None
        status = chance.choice([429, 500, 503, 503])
        refused[status] += 1
        return status

    with UnreliableStore(store.server.port, answer, body).running() as unreliable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unreliable.port}")
        run_ggfmt([f"{top}/in/in/"], f"{top}/out", *JSON_LINES)  # type: ignore[arg-type, list-item]
    assert sorted(store.numbers("out")) == sorted([*range(files)] * 2)
    assert refused.total() > files * 2 * 0.03


def test_more_requests_may_be_refused_than_one_client_of_amazon_allows(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own quota of retries is a hundred."""
    store.put("in/a.json", b"12345")

    def answer(method: str, path: str, count: int) -> int | None:
        return 503 if method == "HEAD" and path.endswith("a.json") and count % 2 == 0 else None

    with UnreliableStore(store.server.port, answer).running() as unreliable:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unreliable.port}")
        place = Location.of(f"s3://{store.bucket}/in/a.json")
        assert [place.info().size for _ in range(110)] == [5] * 110


def test_a_small_file_of_staged_operations_is_read_at_once(store: Store) -> None:
    place = Location.of(f"s3://{store.bucket}/a.arrow")
    batches = [distinct_columns(pa.record_batch({"n": [number]})) for number in range(5)]
    with place.create() as stream, pa.ipc.new_file(stream, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    parts = [StagedPart(0, 8, file=place, index=index) for index in (1, 3)]
    loaded: list[pa.RecordBatch] = []
    assert requests(store, lambda: loaded.extend(load(parts))) == {"HEAD": 1, "GET": 1}
    assert [batch["n"][0].as_py() for batch in loaded] == [1, 3]


def test_an_object_that_is_kept_takes_no_request_wherever_it_is_read(store: Store) -> None:
    store.put("in/a.json", b"12345")
    store.put("in/b.json.gz", b"12345")  # which Arrow compresses
    for file in list_inputs([f"s3://{store.bucket}/in"]):
        kept = pickle.loads(pickle.dumps(keep(file)))
        assert kept == file

        def read(kept: InputFile = kept) -> None:
            for opened in (open_input, open_unchanged):
                with opened(kept) as stream:
                    assert stream.read() == b"12345"

        assert requests(store, read) == {}


def test_small_objects_are_kept_as_far_as_memory_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "KEPT_BYTES", 25)
    monkeypatch.setattr(files, "BUFFER_BYTES", 12)
    place = Location.of("s3://bucket/in")
    found = [InputFile(place.child(f"{size}-{n}"), size, "") for n, size in enumerate((10, 0, 13, 10, 9, 5))]
    found.append(InputFile(Location.of("/tmp/1"), 1, ""))
    assert sorted(kept.name for kept in small_objects(found)) == ["10-0", "10-3", "5-5"]


def test_one_listing_says_what_all_objects_are(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"1")
    store.put("in/a.json", b"1")
    store.put("in/b.json", b"1")
    one, other = list_inputs([f"s3://{store.bucket}/in/"])
    assert one.listing is other.listing
    assert one.listing is not None and one.listing.objects == 2
    (local,) = list_inputs([str(tmp_path)])
    assert local.listing is None
