"""What S3 alone can show: moto's server counts requests, refuses keys and answers as a proxy wants, keys are in `s3://`
URIs, and catalogs of lakehouses know S3. All that other stores can do, too, is in `test_stores.py`."""

from __future__ import annotations

import gzip
import logging
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lake_tables import add_changes, change, row_files
from lake_tables import consolidate as consolidate_into_lake
from runs import JSON_LINES, operation, run_ggfmt, tables, write_lines
from s3_server import KEY, SECRET, Store
from stores import put_operations
from unreliable_store import UnreliableStore

from ggfmt import location
from ggfmt.commit import store as output_store
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError, without_credentials
from ggfmt.location import Location
from ggfmt.reading.files import (
    DamagedDataError,
    InputChangedError,
    InputFile,
    TransientReadError,
    check_inputs_unchanged,
    keep,
    open_input,
    open_unchanged,
    read_error,
)
from ggfmt.reading.listing import list_inputs
from ggfmt.rowfiles.spill import distinct_columns
from ggfmt.rows.staging import StagedPart, load

MORE = 10  # files or tables
ERROR = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>InternalError</Code><Message>an error in a response</Message><HostId>%s</HostId></Error>"""


def lines(tmp_path: Path, *numbers: int) -> bytes:
    return write_lines(tmp_path / "lines", [operation(number, f"GG.T{number % 2}") for number in numbers]).read_bytes()


def run(inputs: list[str], output: str, **others: Any) -> Any:
    return run_ggfmt(inputs, output, *JSON_LINES, **others)  # type: ignore[arg-type]


def test_an_object_whose_key_ends_with_a_slash_is_not_passed_over(store: Store, tmp_path: Path) -> None:
    """In other stores, Arrow lists such an object as a directory."""
    store.put("in/a.json", lines(tmp_path, 2))
    store.put_as_it_is("in/b.json/", lines(tmp_path, 4))
    with pytest.raises(Abend, match=f"GG310|s3://{store.bucket}/in/b.json"):
        run([f"s3://{store.bucket}/in"], str(tmp_path / "out"))
    store.put("in/b.json", lines(tmp_path, 6))
    with pytest.raises(UsageError, match=r"GG310.*two objects have the name `b.json`"):
        run([f"s3://{store.bucket}/in"], str(tmp_path / "out"))
    assert not (tmp_path / "out" / "j").exists()


def test_keys_that_are_refused_are_told_and_never_shown(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(lines(tmp_path, 2))
    store.server.demand_keys(True)
    try:
        for prefix in ("s3://", f"s3a://OTHERKEY:{SECRET}@"):
            with pytest.raises(UsageError, match="GG310") as refused:
                run([f"{prefix}{store.bucket}/in"], str(tmp_path / "out"))
            with pytest.raises(GgfmtError, match="GG506") as unwritten:
                run([str(source)], f"{prefix}{store.bucket}/out")
            for text in (str(refused.value), str(unwritten.value)):
                assert SECRET not in text and "OTHERKEY" not in text
                assert store.bucket in text
    finally:
        store.server.demand_keys(False)


def is_data(method: str, path: str) -> bool:
    """Whether a request reads the data of an input."""
    return method == "GET" and path.endswith("/in/a.json")


def test_an_object_that_answers_503_a_few_times_is_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("in/a.json", lines(tmp_path, 2, 4))

    def answer(method: str, path: str, count: int) -> int | None:
        return 503 if is_data(method, path) and count < 4 else None

    refuse = UnreliableStore(store.server.port, answer)
    with refuse.running():
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{refuse.port}")
        run([f"s3://{store.bucket}/in"], str(tmp_path / "out"))
    assert len(b"".join(tables(tmp_path / "out", "j").values()).splitlines()) == 2


def test_a_task_that_cannot_read_an_object_may_run_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_REQUEST_ATTEMPTS", 1)
    store.put("in/a.json", lines(tmp_path, *range(20)))
    (file,) = list_inputs([f"s3://{store.bucket}/in"])
    fail = OSError("When reading: AWS Error SLOW_DOWN during GetObject operation (HTTP status 503)")
    error = read_error(file, fail)
    assert isinstance(error, TransientReadError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.diagnostic, str(again)) == (error.diagnostic, str(error))
    assert "GG310" in str(Abend.of(error.diagnostic)) and "overloaded" in (error.diagnostic.help or "")
    for lasting in (InputChangedError("x"), DamagedDataError("x"), FileNotFoundError("x"), pa.ArrowInvalid("x")):
        assert isinstance(read_error(file, lasting), Abend)
    # Nothing runs this task again, so that the error ends the run, with its place.
    refuse = UnreliableStore(store.server.port, lambda method, path, count: 503 if is_data(method, path) else None)
    with refuse.running():
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{refuse.port}")
        with pytest.raises(GgfmtError, match=r"GG310.*503") as stopped:
            run([f"s3://{store.bucket}/in"], str(tmp_path / "out"), input_format="json")
    assert f"s3://{store.bucket}/in/a.json" in str(stopped.value)


def test_expired_credentials_are_named(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("in/a.json", lines(tmp_path, 2))
    expired = UnreliableStore(store.server.port, lambda method, path, count: 400 if method == "HEAD" else None)
    with expired.running():
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{expired.port}")
        with pytest.raises(UsageError, match=r"GG310.*HTTP status 400.*probably expired"):
            run([f"s3://{store.bucket}/in/a.json"], str(tmp_path / "out"))


def test_no_place_that_shows_a_path_shows_the_credentials_in_it(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = f"{store.bucket}/in"
    store.put("in/a.json", lines(tmp_path, 2) + b"{]\n")
    store.put("in/out/_ggfmt/manifest.json", b"{}")
    whose = f"s3://{KEY}:{SECRET}@"
    with caplog.at_level(logging.DEBUG, "ggfmt"):
        for output in (f"{whose}{store.bucket}/out", str(tmp_path / "out")):
            run([f"{whose}{bare}", f"{whose}{bare}/a.json"], output, quarantine=True)
        failures = []
        for inputs, output in (
            ([f"{whose}{bare}"], f"{whose}{store.bucket}/out"),
            ([f"{whose}{bare}"], f"{whose}{store.bucket}/other"),
            ([f"{whose}{bare}/none"], str(tmp_path / "none")),
            ([f"{whose}{bare}?regoin=x"], str(tmp_path / "none")),
            ([f"http://{KEY}:{SECRET}@host/x"], str(tmp_path / "none")),
            ([f"s3:/{KEY}:{SECRET}@host/x"], str(tmp_path / "none")),
        ):
            with pytest.raises(GgfmtError) as caught:
                run(inputs, output)
            failures.append(str(caught.value))
    shown = capfd.readouterr()
    everything = [caplog.text, shown.out, shown.err, *failures]
    everything += [data.decode() for data in store.files("out").values()]
    everything += [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(f"s3://{bare}/a.json" in text for text in everything)
    for text in everything:
        assert SECRET not in text
        assert KEY not in text


def requests(store: Store, do: Callable[[], object]) -> Counter[str]:
    before = len(store.requests())
    do()
    found = store.requests()[before:]
    assert not [path for _, path in found if "uploads" in path or "partNumber" in path]
    return Counter("LIST" if "list-type" in path else method for method, path in found)


def test_credentials_with_a_slash_are_found(store: Store, tmp_path: Path) -> None:
    assert "/" in SECRET
    store.put("in/a@b.json", lines(tmp_path, 2))
    (file,) = list_inputs([f"s3://{KEY}:{SECRET}@{store.bucket}/in/a@b.json"])
    assert file.shown == f"s3://{store.bucket}/in/a@b.json" == without_credentials(file.shown)
    (file,) = list_inputs([f"s3://{store.bucket}/in/a@b.json"])
    assert file.size


def test_a_compressed_object_is_read_in_large_pieces(store: Store) -> None:
    data = gzip.compress(random.Random(1).randbytes(3 << 20))
    with store.fs.open_output_stream(f"{store.bucket}/a.gz", compression=None) as stream:
        stream.write(data)
    (file,) = list_inputs([f"s3://{store.bucket}/a.gz"])

    def read() -> None:
        with open_input(file) as stream:
            assert len(stream.read()) == 3 << 20

    assert requests(store, read) == {"HEAD": 1, "GET": 4}


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
    store.put("in/b.json.gz", gzip.compress(b"12345"))
    for file in list_inputs([f"s3://{store.bucket}/in"]):
        kept = pickle.loads(pickle.dumps(keep(file)))
        assert kept == file

        def read(kept: InputFile = kept) -> None:
            for opened in (open_input, open_unchanged):
                with opened(kept) as stream:
                    assert stream.read() == b"12345"

        assert requests(store, read) == {}


def add_rounds(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    """Consolidate two rounds; return the last manifest."""
    add_changes(tmp_path, "1", [change("I", n, after={"ID": str(n), "N": "a"}) for n in (1, 2)])
    consolidate_into_lake(tmp_path, **settings)
    add_changes(tmp_path, "2", [change("U", 3, before={"ID": "1"}, after={"ID": "1", "N": "b"})])
    return consolidate_into_lake(tmp_path, **settings)


WANTED = [("1", "b"), ("2", "a")]


def test_an_iceberg_table_whose_catalog_has_the_keys(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.catalog import load_catalog

    for name in store.server.environment:
        monkeypatch.delenv(name)
    options = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"s3://{store.bucket}/warehouse",
        "s3.endpoint": store.server.environment["AWS_ENDPOINT_URL"],
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }
    manifest = add_rounds(tmp_path, to="iceberg", catalog="ours", catalog_options=options)
    table = load_catalog("ours", **options).load_table("GG.A")
    assert sorted((row["ID"], row["N"]) for row in table.scan().to_arrow().to_pylist()) == WANTED
    assert SECRET not in (tmp_path / "lake" / "_ggfmt" / "manifest.json").read_text()
    assert all(path.startswith(f"s3://{store.bucket}/") for path in row_files(manifest))
