"""Input and output in an object store: a real server that speaks S3, with its errors, and servers that are silent."""

from __future__ import annotations

import gzip
import json
import logging
import os
import pickle
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted_commits import Died
from runs import JSON_LINES, operation, run_ggfmt, tables, write_lines
from s3_server import KEY, SECRET, Store, s3_server, store
from strategies import examples
from unreliable_store import UnreliableStore

import ggfmt
from ggfmt import location
from ggfmt.commit import journal as output_journal
from ggfmt.commit import locking
from ggfmt.commit import store as output_store
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError, without_credentials
from ggfmt.location import Location, quoted
from ggfmt.reading.files import DamagedDataError, InputChangedError, TransientReadError, read_error
from ggfmt.reading.listing import list_inputs
from ggfmt.render.report.page import page
from ggfmt.render.runs import run_text
from ggfmt.sinks.messages.run_history import read_run
from ggfmt.sinks.messages.verification import verify

__all__ = ["s3_server", "store"]

IN_TIME = 15.0  # seconds; the limit is ten, on a machine with nothing else to do


def lines(tmp_path: Path, *numbers: int) -> bytes:
    return write_lines(tmp_path / "lines", [operation(number, f"GG.T{number % 2}") for number in numbers]).read_bytes()


def run(inputs: list[str], output: str, **others: Any) -> Any:
    return run_ggfmt(inputs, output, *JSON_LINES, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_run_from_and_to_a_store_writes_what_a_local_run_writes(store: Store, tmp_path: Path, scheme: str) -> None:
    data = lines(tmp_path, *range(20))
    (tmp_path / "local.json").write_bytes(data)
    run_ggfmt([tmp_path / "local.json"], tmp_path / "out", *JSON_LINES)
    store.put("in/_hidden.json", b"{")
    cut = data.index(b"\n", len(data) // 2) + 1
    store.put("in/a.json", data[:cut])
    store.put("in/b.json", data[cut:])
    run([f"{scheme}://{store.bucket}/in/"], f"{scheme}://{store.bucket}/out", split_size=2000)
    written: dict[str, bytes] = {}
    for key, content in store.files("out/j").items():
        table = key.partition("/")[0]
        written[table] = written.get(table, b"") + content
    assert written == tables(tmp_path / "out", "j")
    left = store.files("out")
    listed = json.loads(left["_ggfmt/manifest.json"])
    own = {"_SUCCESS", "_ggfmt/manifest.json", f"_ggfmt/runs/{listed['run']}.json"}
    assert {key for key in left if not key.startswith("j/")} == own
    assert [item["path"] for item in listed["inputs"]] == [f"{scheme}://{store.bucket}/in/{n}.json" for n in "ab"]
    assert {item["path"] for item in listed["files"]} == {key for key in left if key.startswith("j/")}


def test_a_compressed_object_is_unpacked_once(store: Store, tmp_path: Path) -> None:
    data = gzip.compress(lines(tmp_path, *range(20)))
    with store.fs.open_output_stream(f"{store.bucket}/a.json.gz", compression=None) as stream:
        stream.write(data)
    run([f"s3://{store.bucket}/a.json.gz"], f"s3://{store.bucket}/out")
    assert sorted(store.numbers("out")) == list(range(20))


def test_modes_hold_in_a_store(store: Store, tmp_path: Path) -> None:
    source, out = f"s3://{store.bucket}/in/*.json", f"s3a://{store.bucket}/deep/out"
    store.put("in/a.json", lines(tmp_path, 2, 4))
    run([source], out)
    before = store.files("deep")
    with pytest.raises(UsageError, match="GG501"):
        run([source], out)
    assert store.files("deep") == before
    run([source], out, mode="append")
    assert store.numbers("deep/out") == [2, 4, 2, 4]
    store.put("in/a.json", lines(tmp_path, 6))
    run([source], out, mode="overwrite")
    assert store.numbers("deep/out") == [6]
    store.put("in/b.json", b"{]\n")
    before = store.files("deep")
    with pytest.raises(Abend, match="GG301"):
        run([source], out, mode="overwrite")
    assert store.files("deep") == before


KEYS = ["a%41.json", "a[1]*.json", "b c.json", "what?.json", "x#y.json", "ü@:+&=.json"]


def test_keys_are_taken_as_they_are_and_once(store: Store, tmp_path: Path) -> None:
    for number, key in enumerate(sorted(KEYS)):
        store.put(f"in/{key}", lines(tmp_path, 2 * number))
    every = [f"s3a://{store.bucket}/in/{quote(key)}" for key in KEYS]
    for inputs in ([f"s3://{store.bucket}/in"], [f"s3://{store.bucket}/i*/*"], [f"s3n://{store.bucket}/in/", *every]):
        run(inputs, str(tmp_path / "out"), mode="overwrite")
        written = tables(tmp_path / "out", "j")["GG.T0"].splitlines()
        assert [int(json.loads(line)["pos"]) for line in written] == [0, 2, 4, 6, 8, 10]
    for uri in every:
        assert len(list_inputs([uri])) == 1


@pytest.mark.parametrize("key", ["in/2026//b.json", "in//b.json", "in///b.json", "in/./b.json", "in/../b.json"])
def test_a_key_that_cannot_be_opened_is_refused_by_name(store: Store, tmp_path: Path, key: str) -> None:
    store.put("in/2026/a.json", lines(tmp_path, 2))
    store.put_as_it_is(key, lines(tmp_path, 4))
    top = f"s3://{store.bucket}"
    for uri in (
        f"{top}/in",
        f"{top}/in/",
        top,
        f"{top}/i*/{'/'.join('*' for _ in key.split('/')[1:])}",
        f"{top}/{key}",
    ):
        with pytest.raises(UsageError, match=r"GG310.*has a part that is empty, `\.` or `\.\.`; rename") as refused:
            list_inputs([uri])
        assert f"`{top}/{key}`" in str(refused.value)
    (file,) = list_inputs([f"{top}/in/2026/*.json"])
    assert file.location.address == f"{top}/in/2026/a.json"
    assert not (tmp_path / "out").exists()


def test_a_key_that_begins_with_a_slash_is_refused_by_name(store: Store, tmp_path: Path) -> None:
    store.put("b.json", lines(tmp_path, 2))
    store.put_as_it_is("/b.json", lines(tmp_path, 4))
    for uri in (f"s3://{store.bucket}", f"s3://{store.bucket}/", f"s3://{store.bucket}//b.json"):
        with pytest.raises(UsageError, match=f"GG310.*`s3://{store.bucket}//b.json` has a part that is empty"):
            list_inputs([uri])


def test_a_key_may_go_on_where_another_one_ends(store: Store, tmp_path: Path) -> None:
    store.put("in/a", lines(tmp_path, 2))
    store.put_as_it_is("in/a/b.json", lines(tmp_path, 4))
    store.put_as_it_is("in/c/", b"")
    store.put_as_it_is("in/c/d.json", lines(tmp_path, 6))
    top = f"s3://{store.bucket}/in"
    run([top], str(tmp_path / "out"))
    written = tables(tmp_path / "out", "j")["GG.T0"].splitlines()
    assert [int(json.loads(line)["pos"]) for line in written] == [2, 4, 6]
    assert [file.location.address for file in list_inputs([f"{top}/a"])] == [f"{top}/a"]
    with pytest.raises(UsageError, match=r"GG310.*name of a file and of a directory"):
        list_inputs([f"{top}/a/"])


def test_an_object_whose_key_ends_with_a_slash_is_not_passed_over(store: Store, tmp_path: Path) -> None:
    store.put("in/a.json", lines(tmp_path, 2))
    store.put_as_it_is("in/b.json/", lines(tmp_path, 4))
    with pytest.raises(Abend, match=f"GG310|s3://{store.bucket}/in/b.json"):
        run([f"s3://{store.bucket}/in"], str(tmp_path / "out"))
    store.put("in/b.json", lines(tmp_path, 6))
    with pytest.raises(UsageError, match=r"GG310.*two objects have the name `b.json`"):
        run([f"s3://{store.bucket}/in"], str(tmp_path / "out"))
    assert not (tmp_path / "out" / "j").exists()


def test_names_that_are_left_out_by_rule_are_in_the_log(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    every = ("a.json", "_late/b.json", "_late/c.json", ".d.json", "_SUCCESS", "_late//e.json")
    for key in every:
        store.put_as_it_is(f"in/{key}", lines(tmp_path, 2))
        local = tmp_path / "in" / key
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(b"")
    for uri in (f"s3://{store.bucket}/in", str(tmp_path / "in")):
        caplog.clear()
        assert len(list_inputs([uri])) == 1
        (message,) = caplog.messages
        assert message.startswith(f"skipped 2 names that start with `_` or `.`: `{uri}/")
        assert list_inputs([f"{uri}/*.json"])
        assert caplog.messages[1:] == [f"skipped a name that starts with `_` or `.`: `{uri}/.d.json`"]


@pytest.mark.parametrize("key", ["GG.T//two.csv", "/GG.T/two.csv", "GG.T/../two.csv"])
def test_a_comparison_never_leaves_out_a_key_that_cannot_be_opened(store: Store, tmp_path: Path, key: str) -> None:
    for side in ("a", "b"):
        store.put(f"{side}/GG.T/one.csv", b"ID,V\n1,x\n")
    top = f"s3://{store.bucket}"
    assert ggfmt.compare(f"{top}/a", f"{top}/b").same
    store.put_as_it_is(f"b/{key}", b"ID,V\n2,y\n")
    for sides in ((f"{top}/a", f"{top}/b"), (f"{top}/b", f"{top}/a")):
        with pytest.raises(UsageError, match=r"GG310.*has a part that is empty") as refused:
            ggfmt.compare(*sides)
        assert f"{top}/b/{key}" in str(refused.value)


def test_a_comparison_names_what_it_leaves_out_by_rule(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    for key in ("a/one.csv", "b/one.csv", "b/_two.csv"):
        store.put(key, b"ID,V\n1,x\n")
    assert ggfmt.compare(f"s3://{store.bucket}/a", f"s3://{store.bucket}/b").same
    assert caplog.messages == [
        f"skipped 1 name that starts with `_` or `.`, for example `s3://{store.bucket}/b/_two.csv`"
    ]


def test_outputs_in_a_store_are_no_input_unless_they_are_named(store: Store, tmp_path: Path) -> None:
    store.put("in/a.json", lines(tmp_path, 2))
    out = f"s3://{store.bucket}/in/more/out"
    for mode in ("error", "append"):
        run([f"s3://{store.bucket}/in"], out, mode=mode)
    assert store.numbers("in/more/out") == [2, 2]
    assert len(list_inputs([f"{out}/j"])) == 2
    with pytest.raises(UsageError, match=r"GG310.*no file to read"):
        list_inputs([f"s3://{store.bucket}/in/more"])


def test_a_checkpoint_may_lie_in_a_store(store: Store, tmp_path: Path) -> None:
    top = f"s3://{store.bucket}"
    store.put("in/a.json", lines(tmp_path, 2))
    run([f"{top}/in"], f"{top}/out", checkpoint=f"{top}/seen")
    store.put("in/b.json", lines(tmp_path, 4))
    for scheme in ("s3a", "s3"):
        again = f"{scheme}://{KEY}:{SECRET}@{store.bucket}"
        run([f"{again}/in"], f"{again}/out", checkpoint=f"{again}/seen", current_timestamp=None)
        assert store.numbers("out") == [2, 4]
    assert all(SECRET.encode() not in data for data in store.files("seen").values())
    store.put("in/a.json", lines(tmp_path, 6))  # another file
    run([f"{top}/in"], f"{top}/out", checkpoint=f"{top}/seen", current_timestamp=None)
    assert store.numbers("out") == [2, 4, 6]
    store.put("in/c.json.gz", lines(tmp_path, 6))  # which Arrow compresses
    with pytest.raises(UsageError, match=r"GG310.*is a copy of `.*a.json`"):
        run([f"{top}/in"], f"{top}/out", checkpoint=f"{top}/seen")
    store.put("in/c.json.gz", lines(tmp_path, 8))  # which Arrow compresses
    store.put("in/a.json", lines(tmp_path, 6) + lines(tmp_path, 7))
    with pytest.raises(UsageError, match=r"GG310.*has grown since a committed run read it"):
        run([f"{top}/in"], f"{top}/out", checkpoint=f"{top}/seen")


def test_a_bucket_that_is_not_there_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"GG310.*(input not found|bucket does not exist)"):
        run(["s3://no-such-bucket/in"], str(tmp_path / "out"))
    store.put("in/a.json", lines(tmp_path, 2))
    with pytest.raises(Abend, match=r"GG506.*bucket does not exist"):
        run([f"s3://{store.bucket}/in"], "s3://no-such-bucket/out")


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


def test_the_lease_of_a_process_that_has_ended_here_stops_no_run(store: Store, tmp_path: Path) -> None:
    top = f"s3://{store.bucket}"
    store.put("in/a.json", lines(tmp_path, 2))
    place = output_store.Store(Location.of(f"{top}/out"))
    lease = locking.Lease(place, locking.owner_of("2026-01-01_00-00-00.000-00000000"), "the output")
    lease._ended.set()
    owner = json.loads(place.read(lease._name) or b"")
    with pytest.raises(UsageError, match="GG501"):
        run([f"{top}/in"], f"{top}/out")
    with subprocess.Popen(["true"]) as ended:
        pass
    changes: list[dict[str, Any]] = [{"pid": ended.pid, "kernel": "another machine"}, {"started": None}]
    for alive in changes:
        place.write(lease._name, json.dumps({**owner, **alive}).encode())
        with pytest.raises(UsageError, match="GG501"):
            run([f"{top}/in"], f"{top}/out")
    for dead in ({"pid": ended.pid}, {"started": "1"}):
        place.write(lease._name, json.dumps({**owner, **dead}).encode())
        run([f"{top}/in"], f"{top}/out", mode="overwrite")
        assert store.numbers("out") == [2]


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


@given(st.lists(st.text(min_size=1).filter(lambda name: "/" not in name), min_size=1, max_size=3))
@examples(1000)
def test_every_key_has_a_uri(names: list[str]) -> None:
    key = "/".join(names)
    for keys in ("", f"{KEY}:{SECRET}@"):
        location = Location.of(f"s3://{keys}bucket/{quoted(key)}?region=x")
        assert (location.store.root, location.key) == (f"s3://{keys}bucket/?region=x", key)


def test_what_looks_like_credentials_in_a_key_is_none() -> None:
    assert Location.of("s3a://bucket/x://k:v@z").store.root == "s3://bucket/"
    assert Location.of("s3a://u:p@bucket/x://k:v@z").store.root == "s3://u:p@bucket/"


def test_credentials_with_a_slash_are_found(store: Store, tmp_path: Path) -> None:
    assert "/" in SECRET
    store.put("in/a@b.json", lines(tmp_path, 2))
    (file,) = list_inputs([f"s3://{KEY}:{SECRET}@{store.bucket}/in/a@b.json"])
    assert file.shown == f"s3://{store.bucket}/in/a@b.json" == without_credentials(file.shown)
    (file,) = list_inputs([f"s3://{store.bucket}/in/a@b.json"])
    assert file.size


def test_a_commit_over_two_directories_with_keys_in_their_uris_is_ended_by_the_next_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rename and no lock: the journal decides, and the lease of the dead run grows old."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    source = tmp_path / "in.json"
    source.write_bytes(lines(tmp_path, *range(8)))
    whose = f"s3://{KEY}:{SECRET}@{store.bucket}"
    settings = (
        *JSON_LINES,
        f"gg.handler.j.rootFilePath={whose}/one",
        "gg.handler.k.format=json",
        "gg.handler.k.format.jsonDelimiter=CDATA[\\n]",
        "gg.handler.k.format.generateSchema=false",
        f"gg.handler.k.rootFilePath={whose}/two",
        "gg.handlerlist=j,k",
    )
    real, left = output_store.Store.move, 3

    def move(self: output_store.Store, old: str, new: str, size: int) -> None:
        nonlocal left
        if not left:
            raise Died
        left -= 1
        real(self, old, new, size)

    with monkeypatch.context() as patch:
        patch.setattr(output_store.Store, "move", move)
        patch.setattr(output_journal, "REQUESTS_AT_ONCE", 1)
        patch.setattr(locking.Lease, "release", lambda lease: lease._ended.set())
        with pytest.raises(Died):
            run_ggfmt([source], None, *settings)
    written = b"".join(store.files("").values())
    assert SECRET.encode() not in written and KEY.encode() not in written
    assert store.files("one").keys() >= {"_ggfmt/journal.json"}
    for directory in ("one", "two"):
        with pytest.raises(UsageError, match=r"GG501.*another run is writing"):
            run_ggfmt([source], f"{whose}/{directory}", *JSON_LINES)  # type: ignore[arg-type]
    monkeypatch.setattr(locking, "LEASE_SECONDS", -1.0)
    with pytest.raises(UsageError, match=r"GG501.*already holds output"):
        run_ggfmt([source], None, *settings)
    for directory in ("one", "two"):
        found = verify(f"{whose}/{directory}")
        assert found.findings == []
        assert sum(found.messages.values()) == 8
        run = read_run(f"{whose}/{directory}")
        assert SECRET not in page(run) + run_text(run)


# Stores that do not answer


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where connections are taken and nothing is ever said."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield server.getsockname()[1]


@pytest.fixture
def full() -> Iterator[int]:
    """A port where connections are not even taken."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port: int = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


def _quickly(uri: str, tmp_path: Path) -> str:
    started = time.monotonic()
    with pytest.raises(UsageError, match="GG310") as caught:
        run([uri], str(tmp_path / quote(uri, safe="")))
    assert time.monotonic() - started < IN_TIME
    return str(caught.value)


def test_a_store_that_does_not_answer_is_an_error_in_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: int, full: int
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    ports = {closed: "refused", silent: "Operation too slow", full: "no response within"}
    uris = [f"s3://KEY:{SECRET}@bucket/in?scheme=http&endpoint_override=127.0.0.1:{port}" for port in ports]
    with ThreadPoolExecutor() as threads:
        texts = list(threads.map(lambda uri: _quickly(uri, tmp_path), uris))
    for text, (port, told) in zip(texts, ports.items(), strict=True):
        assert f"127.0.0.1:{port}" in text and told in text and SECRET not in text
    source = tmp_path / "in.json"
    source.write_bytes(lines(tmp_path, 1))
    with pytest.raises(UsageError, match=r"GG506.*does not respond"):
        run([str(source)], f"s3a://bucket/out?scheme=http&endpoint_override=127.0.0.1:{closed}")
    assert f"127.0.0.1:{closed}" in _quickly(f"hdfs://127.0.0.1:{closed}/in", tmp_path)
    assert f"127.0.0.1:{closed}" in _quickly(f"gs://bucket/in?endpoint_override=127.0.0.1:{closed}", tmp_path)
