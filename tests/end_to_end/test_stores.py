"""What holds in each object store: runs, modes, checkpoints, interrupted commits, and what commands read there."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from frame_rows import generic_rows, write_parts, writer
from interrupted_commits import Died
from lake_tables import change
from round_trips import Operation
from runs import JSON_LINES, operation, run_ggfmt, tables, write_lines
from stores import SECRETS, AnyStore, any_store, store_server

import ggfmt
from ggfmt.commit import journal as output_journal
from ggfmt.commit import locking
from ggfmt.commit import store as output_store
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.shapes import GENERIC
from ggfmt.location import Location
from ggfmt.reading.listing import list_inputs
from ggfmt.sinks.messages import execution
from ggfmt.sinks.messages.verification import verify

__all__ = ["any_store", "store_server"]


def lines(tmp_path: Path, *numbers: int) -> bytes:
    return write_lines(tmp_path / "lines", [operation(number, f"GG.T{number % 2}") for number in numbers]).read_bytes()


def run(inputs: list[str], output: str, **others: Any) -> Any:
    return run_ggfmt(inputs, output, *JSON_LINES, **others)  # type: ignore[arg-type]


def test_a_run_writes_what_a_local_run_writes(any_store: AnyStore, tmp_path: Path) -> None:
    store, data = any_store, lines(tmp_path, *range(20))
    (tmp_path / "local.json").write_bytes(data)
    run([str(tmp_path / "local.json")], str(tmp_path / "out"))
    store.put("in/_hidden.json", b"{")
    cut = data.index(b"\n", len(data) // 2) + 1
    store.put("in/a.json", data[:cut])
    store.put("in/deep/er/b.json.gz", gzip.compress(data[cut:]))
    run([store.uri("in/")], store.uri("out"), split_size=2000)
    written: dict[str, bytes] = {}
    for key, content in store.files("out/j").items():
        table = key.partition("/")[0]
        written[table] = written.get(table, b"") + content
    assert written == tables(tmp_path / "out", "j")
    left = store.files("out")
    listed = json.loads(left["_ggfmt/manifest.json"])
    own = {"_SUCCESS", "_ggfmt/manifest.json", f"_ggfmt/runs/{listed['run']}.json"}
    assert {key for key in left if not key.startswith("j/")} == own
    assert {item["path"] for item in listed["files"]} == {key for key in left if key.startswith("j/")}
    found = verify(store.uri("out"))
    assert found.findings == [] and sum(found.messages.values()) == 20
    assert not any(secret.encode() in content for content in left.values() for secret in SECRETS)


def test_modes_and_verification_hold(any_store: AnyStore, tmp_path: Path) -> None:
    store, source, out = any_store, any_store.uri("in/"), any_store.uri("deep/out")
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
    assert verify(out).findings == []
    store.put("deep/out/j/GG.T0/stray.json", b"{}\n")
    with pytest.raises(UsageError, match="GG501"):
        run([store.uri("in/a.json")], out, mode="overwrite")
    (finding,) = verify(out).findings
    assert "no manifest lists this file" in finding.message
    (gone,) = [key for key in store.files("deep/out/j") if "stray" not in key]
    store.fs.delete_file(f"{store.bucket}/deep/out/j/{gone}")
    assert len(verify(out).findings) == 2


def test_staging_of_dead_runs_is_deleted(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    store.put("in/a.json", lines(tmp_path, 2))
    store.put("out/_ggfmt/staging/2020-01-01_00-00-00.000-00000000/0/a", b"x")
    store.put("out/_ggfmt/staging/2020-01-01_00-00-00.000-00000001/b", b"x")
    run([store.uri("in")], store.uri("out"))
    assert not [key for key in store.files("out") if "staging" in key]


def test_outputs_are_no_input_unless_they_are_named(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    store.put("in/a.json", lines(tmp_path, 2))
    for mode in ("error", "append"):
        run([store.uri("in")], store.uri("in/more/out"), mode=mode)
    assert store.numbers("in/more/out") == [2, 2]
    assert len(list_inputs([store.uri("in/more/out/j")])) == 2
    with pytest.raises(UsageError, match=r"GG310.*no file to read"):
        list_inputs([store.uri("in/more")])


@pytest.mark.parametrize("key", ["a%41.json", "a[1].json", "b c.json", "what?.json", "x#y.json", "ü@&=.json"])
def test_keys_are_taken_as_they_are(any_store: AnyStore, tmp_path: Path, key: str) -> None:
    any_store.put(f"in/{key}", lines(tmp_path, 2))
    for given in ("in", f"in/{key}"):
        (file,) = list_inputs([any_store.uri(given)])
        assert file.location.name == key
    run([any_store.uri(f"in/{key}")], any_store.uri(f"out {key}"))
    assert any_store.numbers(f"out {key}") == [2]


def test_globs_match_directories(any_store: AnyStore, tmp_path: Path) -> None:
    for key in ("in/x/a.json", "in/y/a.json", "in/z.json"):
        any_store.put(key, lines(tmp_path, 2))
    for glob, files in (("*/*.json", 2), ("[xy]/a.json", 2), ("*.json", 1)):
        assert len(list_inputs([any_store.uri("in/GLOB").replace("GLOB", glob)])) == files


def test_a_checkpoint_holds(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    store.put("in/a.json", lines(tmp_path, 2))
    for numbers in ([2], [2, 4], [2, 4]):
        run([store.uri("in")], store.uri("out"), checkpoint=store.uri("seen"), current_timestamp=None)
        assert store.numbers("out") == numbers
        store.put("in/b.json", lines(tmp_path, 4))
    assert not any(secret.encode() in content for content in store.files("seen").values() for secret in SECRETS)
    store.put("in/a.json", lines(tmp_path, 2) + lines(tmp_path, 7))
    with pytest.raises(UsageError, match=r"GG310.*has grown since a committed run read it"):
        run([store.uri("in")], store.uri("out"), checkpoint=store.uri("seen"))


def test_an_object_that_is_replaced_under_a_run_ends_it(
    any_store: AnyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_store.put("in/a.json", lines(tmp_path, *range(40)))
    real = execution._Task.run

    def replace(self: Any) -> Any:
        outcome = real(self)
        any_store.put("in/a.json", lines(tmp_path, *range(10)))
        return outcome

    monkeypatch.setattr(execution._Task, "run", replace)
    with pytest.raises(Abend, match=r"GG310.* changed while it was read"):
        run([any_store.uri("in")], any_store.uri("out"))
    assert any_store.files("out") == {}


def test_rows_are_consolidated_merged_and_compared(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    settings: dict[str, Any] = {"key": "ID", "master": "none"}
    first = [change("I", n, after={"ID": n, "N": "a"}) for n in (1, 2)]
    second = [change("U", 3, before={"ID": 1, "N": "a"}, after={"ID": 1, "N": "b"}), change("D", 4, before={"ID": 2})]
    for number, changes in enumerate((first, second)):
        data = write_lines(tmp_path / "changes.json", changes).read_bytes()
        store.put(f"in/{number}.json", data)
        ggfmt.consolidate(store.uri("in"), store.uri("rows"), checkpoint=store.uri("seen"), **settings)
    (data,) = store.files("rows/GG.A").values()
    assert pq.read_table(io.BytesIO(data)).to_pylist() == [{"ID": 1, "N": "b"}]
    ggfmt.consolidate(store.uri("in"), store.uri("again"), **settings)
    assert ggfmt.compare(store.uri("rows"), store.uri("again"), key="ID").same
    store.put("again/GG.A/other.parquet", data)
    assert not [key for key in store.files("rows") if "staging" in key or "lease" in key]
    with pytest.raises(UsageError, match="GG501"):
        ggfmt.consolidate(store.uri("in"), store.uri("again"), mode="overwrite", **settings)


def test_a_commit_over_two_directories_is_ended_by_the_next_run(
    any_store: AnyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rename and no lock: the journal decides, and the lease of the dead run grows old."""
    source, store = tmp_path / "in.json", any_store
    source.write_bytes(lines(tmp_path, *range(8)))
    settings = (
        *JSON_LINES,
        f"gg.handler.j.rootFilePath={store.uri('one')}",
        "gg.handler.k.format=json",
        "gg.handler.k.format.jsonDelimiter=CDATA[\\n]",
        "gg.handler.k.format.generateSchema=false",
        f"gg.handler.k.rootFilePath={store.uri('two')}",
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
    assert store.files("one").keys() >= {"_ggfmt/journal.json"}
    for directory in ("one", "two"):
        with pytest.raises(UsageError, match=r"GG501.*another run is writing"):
            run_ggfmt([source], store.uri(directory), *JSON_LINES)  # type: ignore[arg-type]
    monkeypatch.setattr(locking, "LEASE_SECONDS", -1.0)
    with pytest.raises(UsageError, match=r"GG501.*already holds output"):
        run_ggfmt([source], None, *settings)
    for directory in ("one", "two"):
        found = verify(store.uri(directory))
        assert found.findings == []
        assert sum(found.messages.values()) == 8


def test_a_frame_is_written(any_store: AnyStore) -> None:
    """By tasks that hold the directory together, by a lease; what is given up leaves nothing."""
    store, out = any_store, any_store.uri("out")
    story = [Operation("I", None, {"ID": f"{n}"}, table=f"GG.T{n % 2}") for n in range(8)]
    rows, settings = generic_rows(story), ("gg.handlerlist=j", *JSON_LINES)
    made = writer(GENERIC, out, settings)
    parts = write_parts(made, [rows.slice(0, 5), rows.slice(5)])
    (lease,) = [key for key in store.files("out") if key.startswith("_ggfmt/leases/")]
    with pytest.raises(UsageError, match=r"GG501.*another run is writing"):
        run([out], out, allow_empty=True)
    made.commit(parts)
    left = store.files("out")
    assert lease not in left and not [key for key in left if "staging" in key]
    again = writer(GENERIC, out, settings, overwrite=True)
    again.abort(write_parts(again, [rows]))
    assert store.files("out") == left


def test_a_directory_of_a_store(any_store: AnyStore) -> None:
    place = output_store.Store(Location.of(any_store.uri("top")))
    for name in ("a/b/c", "a/d", "e"):
        place.write(name, b"12")
    assert (place.names(""), place.names("a"), place.names("a/b"), place.names("none")) == (
        ["a", "e"],
        ["b", "d"],
        ["c"],
        [],
    )
    assert place.below("a") == {"a/b/c": 2, "a/d": 2}
    place.delete_tree("a")
    place.delete_tree("a")
    place.delete("none")
    assert list(any_store.files("top")) == ["e"]
