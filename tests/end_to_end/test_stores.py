"""What holds in each object store: runs, modes, checkpoints, interrupted commits, keys of all kinds, and what commands
read there; and that a store which does not answer is an error in seconds."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from frame_rows import generic_rows, write_parts, writer
from interrupted_commits import dies_in_commit
from lake_tables import change
from mortal import Mortal
from round_trips import Operation
from runs import JSON_LINES, operation, run_ggfmt, tables, write_lines
from stores import KEY, SECRET, SECRETS, AnyStore, put_operations

import ggfmt
from ggfmt.commit import journal as output_journal
from ggfmt.commit import locking
from ggfmt.commit import store as output_store
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.shapes import GENERIC
from ggfmt.location import AZURE_KEY, Location
from ggfmt.reading.files import InputChangedError, check_inputs_unchanged, keep, open_unchanged
from ggfmt.reading.listing import CommitLimits, list_inputs
from ggfmt.render.report.manifests import run_report
from ggfmt.render.report.page import page
from ggfmt.render.runs import run_text
from ggfmt.sinks.messages import execution
from ggfmt.sinks.messages.run_history import read_run
from ggfmt.sinks.messages.verification import verify

SECRET_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", AZURE_KEY)
MORE = 10  # files or tables
IN_TIME = 15.0  # seconds; the limit is ten, on a machine with nothing else to do


def lines(tmp_path: Path, *numbers: int) -> bytes:
    return write_lines(tmp_path / "lines", [operation(number, f"GG.T{number % 2}") for number in numbers]).read_bytes()


def shown(store: AnyStore, key: str) -> str:
    return Location.of(store.uri(key)).shown


def pattern(store: AnyStore, glob: str) -> str:
    return store.uri("GLOB").replace("GLOB", glob)


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
    scheme = store.kind.schemes[-1]
    run([store.uri("in/", scheme, with_keys=True)], store.uri("out", scheme, with_keys=True), split_size=2000)
    written: dict[str, bytes] = {}
    for key, content in store.files("out/j").items():
        table = key.partition("/")[0]
        written[table] = written.get(table, b"") + content
    assert written == tables(tmp_path / "out", "j")
    left = store.files("out")
    listed = json.loads(left["_ggfmt/manifest.json"])
    own = {"_SUCCESS", "_ggfmt/manifest.json", f"_ggfmt/runs/{listed['run']}.json"}
    assert {key for key in left if not key.startswith("j/")} == own
    inputs = [Location.of(store.uri(f"in/{key}", scheme)).recorded for key in ("a.json", "deep/er/b.json.gz")]
    assert [item["path"] for item in listed["inputs"]] == inputs
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


def test_a_run_goes_on_where_an_interrupted_one_has_stopped(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    for number in range(3):
        store.put(f"in/{number}.json", lines(tmp_path, *range(10 * number, 10 * number + 10)))
    given: dict[str, Any] = {"split_size": 700, "resume": True, "current_timestamp": datetime(2026, 1, 2)}
    whole = Mortal()
    run([store.uri("in")], store.uri("whole"), start=lambda: nullcontext(whole), **given)
    for lives in (1, whole.ran.total() // 2, whole.ran.total() - 1):
        out = f"out{lives}"
        with pytest.raises(KeyboardInterrupt):
            run([store.uri("in")], store.uri(out, with_keys=True), start=partial(nullcontext, Mortal(lives)), **given)
        left = store.files(out)
        assert not any(secret.encode() in content for content in left.values() for secret in SECRETS)
        rest = Mortal()
        run([store.uri("in")], store.uri(out, with_keys=True), start=partial(nullcontext, rest), **given)
        assert rest.ran.total() == whole.ran.total() - lives
        assert store.files(f"{out}/j") == store.files("whole/j")
        assert not [key for key in store.files(out) if "staging" in key]


def test_a_consolidation_goes_on_where_an_interrupted_one_has_stopped(
    any_store: AnyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = any_store
    for number in range(3):
        store.put(f"in/{number}.json", lines(tmp_path, *range(10 * number, 10 * number + 10)))

    def consolidate(out: str, runner: Mortal) -> Mortal:
        monkeypatch.setattr("ggfmt.rows.run.InThreads", lambda threads: runner)
        given: dict[str, Any] = {"key": "ID", "split_size": 700, "resume": True, "master": "none"}
        ggfmt.consolidate(store.uri("in"), store.uri(out, with_keys=True), **given)
        return runner

    def rows(out: str) -> list[bytes]:
        return [content for key, content in store.files(out).items() if "_ggfmt" not in key]

    whole = consolidate("whole", Mortal()).ran.total()
    for lives in (1, whole // 2, whole - 1):
        out = f"out{lives}"
        with pytest.raises(KeyboardInterrupt):
            consolidate(out, Mortal(lives))
        assert not any(secret.encode() in content for content in store.files(out).values() for secret in SECRETS)
        assert consolidate(out, Mortal()).ran.total() == whole - lives
        assert rows(out) == rows("whole")
        assert not [key for key in store.files(out) if "staging" in key]


@pytest.mark.parametrize("moves", [0, 1, 4])
def test_commits_in_steps_go_on_after_a_death(
    moves: int, any_store: AnyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = any_store
    for number in range(3):
        store.put(f"in/{number}.json", lines(tmp_path, 2 * number, 2 * number + 1))
    given: dict[str, Any] = {"checkpoint": store.uri("seen"), "limits": CommitLimits(max_files=1)}
    with dies_in_commit(monkeypatch, moves):
        monkeypatch.setattr(output_journal, "REQUESTS_AT_ONCE", 1)
        with monkeypatch.context() as patch:
            patch.setattr(locking.Lease, "release", lambda lease: lease._ended.set())
            run([store.uri("in")], store.uri("out"), **given)
    monkeypatch.setattr(locking, "LEASE_SECONDS", -1.0)
    run([store.uri("in")], store.uri("out"), **given)
    assert store.numbers("out") == [0, 2, 4, 1, 3, 5]
    read = [json.loads(content)["inputs"] for key, content in store.files("out/_ggfmt/runs").items()]
    assert sorted(Location.of(each["path"]).name for (each,) in read) == ["0.json", "1.json", "2.json"]
    assert verify(store.uri("out")).findings == []
    assert not [key for name in ("out", "seen") for key in store.files(name) if "staging" in key]


def test_outputs_are_no_input_unless_they_are_named(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    store.put("in/a.json", lines(tmp_path, 2))
    for mode in ("error", "append"):
        run([store.uri("in")], store.uri("in/more/out"), mode=mode)
    assert store.numbers("in/more/out") == [2, 2]
    assert len(list_inputs([store.uri("in/more/out/j")])) == 2
    with pytest.raises(UsageError, match=r"GG310.*no file to read"):
        list_inputs([store.uri("in/more")])


KEYS = ["a%41.json", "a[1]*.json", "b c.json", "what?.json", "x#y.json", "ü@:+&=.json"]


def test_keys_are_taken_as_they_are_and_once(any_store: AnyStore, tmp_path: Path) -> None:
    store, out = any_store, "out " + "".join(KEYS)
    for number, key in enumerate(sorted(KEYS)):
        store.put(f"in/{key}", lines(tmp_path, 2 * number))
    every = [store.uri(f"in/{key}", store.kind.schemes[-1]) for key in KEYS]
    directories = [store.uri("in/", scheme) for scheme in store.kind.schemes]
    for inputs in ([store.uri("in")], [pattern(store, "i*/*")], [*directories, *every]):
        run(inputs, store.uri(out), mode="overwrite")
        assert store.numbers(out) == [0, 2, 4, 6, 8, 10]
    for uri, key in zip(every, KEYS, strict=True):
        (file,) = list_inputs([uri])
        assert file.location.name == key


def test_globs_match_directories(any_store: AnyStore, tmp_path: Path) -> None:
    for key in ("in/x/a.json", "in/y/a.json", "in/z.json"):
        any_store.put(key, lines(tmp_path, 2))
    for glob, files in (("*/*.json", 2), ("[xy]/a.json", 2), ("*.json", 1)):
        assert len(list_inputs([pattern(any_store, f"in/{glob}")])) == files


def test_a_checkpoint_holds(any_store: AnyStore, tmp_path: Path) -> None:
    """For all schemes of a store, with and without keys in URIs."""
    store = any_store
    usual, other = store.kind.schemes[0], store.kind.schemes[-1]

    def convert(scheme: str = usual, with_keys: bool = False) -> None:
        source, output, seen = (store.uri(name, scheme, with_keys) for name in ("in", "out", "seen"))
        run([source], output, checkpoint=seen, current_timestamp=None)

    store.put("in/a.json", lines(tmp_path, 2))
    convert()
    store.put("in/b.json", lines(tmp_path, 4))
    for scheme in (other, usual):
        convert(scheme, with_keys=True)
        assert store.numbers("out") == [2, 4]
    assert not any(secret.encode() in content for content in store.files("seen").values() for secret in SECRETS)
    store.put("in/a.json", lines(tmp_path, 6))  # another file
    convert()
    assert store.numbers("out") == [2, 4, 6]
    store.put("in/c.json.gz", gzip.compress(lines(tmp_path, 6)))
    with pytest.raises(UsageError, match=r"GG310.*is a copy of `.*/in/a.json"):
        convert()
    store.put("in/c.json.gz", gzip.compress(lines(tmp_path, 8)))
    store.put("in/a.json", lines(tmp_path, 6) + lines(tmp_path, 7))
    with pytest.raises(UsageError, match=r"GG310.*has grown since a committed run read it"):
        convert()


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


@pytest.mark.parametrize(
    ("any_store", "with_keys"),
    [("s3", False), ("s3", True), ("gcs", False), ("azure", True)],
    indirect=["any_store"],
)
def test_a_commit_over_two_directories_is_ended_by_the_next_run(
    any_store: AnyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_keys: bool
) -> None:
    """No rename and no lock: the journal decides, and the lease of the dead run grows old."""
    source, store = tmp_path / "in.json", any_store
    for variable in SECRET_VARIABLES if with_keys else ():
        monkeypatch.delenv(variable, raising=False)
    source.write_bytes(lines(tmp_path, *range(8)))
    directories = [store.uri(name, with_keys=with_keys) for name in ("one", "two")]
    settings = (
        *JSON_LINES,
        f"gg.handler.j.rootFilePath={directories[0]}",
        "gg.handler.k.format=json",
        "gg.handler.k.format.jsonDelimiter=CDATA[\\n]",
        "gg.handler.k.format.generateSchema=false",
        f"gg.handler.k.rootFilePath={directories[1]}",
        "gg.handlerlist=j,k",
    )
    with monkeypatch.context() as patch, dies_in_commit(monkeypatch, moves=3):
        patch.setattr(output_journal, "REQUESTS_AT_ONCE", 1)
        patch.setattr(locking.Lease, "release", lambda lease: lease._ended.set())
        run_ggfmt([source], None, *settings)
    written = b"".join(store.files().values())
    assert not any(secret.encode() in written for secret in (*SECRETS, KEY))
    assert store.files("one").keys() >= {"_ggfmt/journal.json"}
    for directory in directories:
        with pytest.raises(UsageError, match=r"GG501.*another run is writing"):
            run_ggfmt([source], directory, *JSON_LINES)  # type: ignore[arg-type]
    monkeypatch.setattr(locking, "LEASE_SECONDS", -1.0)
    with pytest.raises(UsageError, match=r"GG501.*already holds output"):
        run_ggfmt([source], None, *settings)
    for directory in directories:
        found = verify(directory)
        assert found.findings == []
        assert sum(found.messages.values()) == 8
        shown = read_run(directory)
        assert not any(secret in page(run_report(shown)) + run_text(shown) for secret in SECRETS)


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


EMPTY, DOTS = ("in/2026//b.json", "in//b.json", "in///b.json"), ("in/./b.json", "in/../b.json")


# Google's emulator has no `..` and no slash at the start. Arrow ends the process when it lists an empty part in Azure.
@pytest.mark.parametrize(
    ("any_store", "key"),
    [*product(["s3"], [*EMPTY, *DOTS, "/b.json"]), *product(["gcs"], [*EMPTY, DOTS[0]]), *product(["azure"], DOTS)],
    indirect=["any_store"],
)
def test_a_key_that_cannot_be_opened_is_refused_by_name(any_store: AnyStore, tmp_path: Path, key: str) -> None:
    store = any_store
    store.put("in/2026/a.json", lines(tmp_path, 2))
    store.put_as_it_is(key, lines(tmp_path, 4))
    glob = "/".join("i*" if part == "in" else "*" for part in key.split("/"))
    top = store.uri("")
    below = [store.uri("in"), store.uri("in/"), pattern(store, glob)] if key.startswith("in") else []
    for uri in (*below, top, top.replace(f"{store.bucket}/", store.bucket), store.uri(key)):
        with pytest.raises(UsageError, match=r"GG310.*has a part that is empty, `\.` or `\.\.`; rename") as refused:
            list_inputs([uri])
        assert f"`{shown(store, key)}`" in str(refused.value)
    (file,) = list_inputs([pattern(store, "in/2026/*.json")])
    assert file.location.address == store.uri("in/2026/a.json")


@pytest.mark.parametrize("any_store", ["s3", "azure"], indirect=True)  # Google's emulator has files and directories
def test_a_key_may_go_on_where_another_one_ends(any_store: AnyStore, tmp_path: Path) -> None:
    store = any_store
    store.put("in/a", lines(tmp_path, 2))
    store.put_as_it_is("in/a/b.json", lines(tmp_path, 4))
    store.put_as_it_is("in/c/", b"")
    store.put_as_it_is("in/c/d.json", lines(tmp_path, 6))
    run([store.uri("in")], str(tmp_path / "out"))
    written = tables(tmp_path / "out", "j")["GG.T0"].splitlines()
    assert [int(json.loads(line)["pos"]) for line in written] == [2, 4, 6]
    assert [file.location.address for file in list_inputs([store.uri("in/a")])] == [store.uri("in/a")]
    with pytest.raises(UsageError, match=r"GG310.*name of a file and of a directory"):
        list_inputs([store.uri("in/a/")])


def test_names_that_are_left_out_by_rule_are_in_the_log(
    any_store: AnyStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    for key in ("a.json", "_late/b.json", "_late/c.json", ".d.json", "_SUCCESS", "_late/./e.json"):
        any_store.put_as_it_is(f"in/{key}", lines(tmp_path, 2))
        local = tmp_path / "in" / key
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(b"")
    for uri in (any_store.uri("in/X"), str(tmp_path / "in" / "X")):
        caplog.clear()
        assert len(list_inputs([uri.replace("/X", "")])) == 1
        (message,) = caplog.messages
        start = Location.of(uri).shown.partition("X")[0]
        assert message.startswith(f"skipped 2 names that start with `_` or `.`: `{start}")
        assert list_inputs([uri.replace("X", "*.json")])
        hidden = Location.of(uri.replace("X", ".d.json")).shown
        assert caplog.messages[1:] == [f"skipped a name that starts with `_` or `.`: `{hidden}`"]


@pytest.mark.parametrize(
    ("any_store", "key"),
    [
        *product(["s3", "gcs"], ["GG.T//two.csv", "/GG.T/two.csv"]),
        *product(["s3", "azure"], ["GG.T/../two.csv"]),
    ],
    indirect=["any_store"],
)
def test_a_comparison_never_leaves_out_a_key_that_cannot_be_opened(any_store: AnyStore, key: str) -> None:
    store, one, other = any_store, any_store.uri("a"), any_store.uri("b")
    for side in "ab":
        store.put(f"{side}/GG.T/one.csv", b"ID,V\n1,x\n")
    assert ggfmt.compare(one, other).same
    store.put_as_it_is(f"b/{key}", b"ID,V\n2,y\n")
    for sides in ((one, other), (other, one)):
        with pytest.raises(UsageError, match=r"GG310.*has a part that is empty") as refused:
            ggfmt.compare(*sides)
        assert shown(store, f"b/{key}") in str(refused.value)


def test_a_comparison_names_what_it_leaves_out_by_rule(any_store: AnyStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    for key in ("a/one.csv", "b/one.csv", "b/_two.csv"):
        any_store.put(key, b"ID,V\n1,x\n")
    assert ggfmt.compare(any_store.uri("a"), any_store.uri("b")).same
    hidden = shown(any_store, "b/_two.csv")
    assert caplog.messages == [f"skipped 1 name that starts with `_` or `.`, for example `{hidden}`"]


def test_a_bucket_that_is_not_there_is_told(any_store: AnyStore, tmp_path: Path) -> None:
    nowhere = any_store.uri("X").replace(any_store.bucket, "no-such-bucket")
    with pytest.raises(UsageError, match=r"GG310.*(input not found|bucket does not exist)"):
        run([nowhere], str(tmp_path / "out"))
    any_store.put("in/a.json", lines(tmp_path, 2))
    with pytest.raises(Abend, match=r"GG506.*(bucket does not exist|NOT_FOUND|container does not exist)"):
        run([any_store.uri("in")], nowhere)


def test_the_lease_of_a_process_that_has_ended_here_stops_no_run(any_store: AnyStore, tmp_path: Path) -> None:
    store, source, out = any_store, any_store.uri("in"), any_store.uri("out")
    store.put("in/a.json", lines(tmp_path, 2))
    place = output_store.Store(Location.of(out))
    lease = locking.Lease(place, locking.owner_of("2026-01-01_00-00-00.000-00000000"), "the output")
    lease._ended.set()
    owner = json.loads(place.read(lease._name) or b"")
    with pytest.raises(UsageError, match="GG501"):
        run([source], out)
    with subprocess.Popen(["true"]) as ended:
        pass
    changes: list[dict[str, Any]] = [{"pid": ended.pid, "kernel": "another machine"}, {"started": None}]
    for alive in changes:
        place.write(lease._name, json.dumps({**owner, **alive}).encode())
        with pytest.raises(UsageError, match="GG501"):
            run([source], out)
    for dead in ({"pid": ended.pid}, {"started": "1"}):
        place.write(lease._name, json.dumps({**owner, **dead}).encode())
        run([source], out, mode="overwrite")
        assert store.numbers("out") == [2]


def test_an_object_of_the_same_size_in_its_place_is_found(any_store: AnyStore) -> None:
    store, data, other = any_store, gzip.compress(b"12345"), gzip.compress(b"54321")
    for name in "abc":
        store.put(f"in/{name}.json", data)
    store.put("in/b.json.gz", data)
    files = {file.location.name: file for file in list_inputs([store.uri("in")])}
    a, packed = files["a.json"], files["b.json.gz"]
    check_inputs_unchanged(list(files.values()))
    with open_unchanged(a) as stream, open_unchanged(packed) as unpacked:
        assert (stream.read(), unpacked.read()) == (data, b"12345")
    time.sleep(1.1)  # times in stores may have no smaller unit than a second
    for file in (a, packed):
        store.put(f"in/{file.location.name}", other)
        with pytest.raises(InputChangedError, match="modified"), open_unchanged(file):
            pass
        with pytest.raises(InputChangedError, match="modified"):
            keep(file)
        with pytest.raises(Abend, match=r"GG310.*changed while it was read"):
            check_inputs_unchanged([*files.values()] if file is a else [file])


def test_one_listing_says_what_all_objects_are(any_store: AnyStore, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"1")
    for name in "ab":
        any_store.put(f"in/{name}.json", b"1")
    one, other = list_inputs([any_store.uri("in/")])
    assert one.listing is other.listing
    assert one.listing is not None and one.listing.objects == 2
    (local,) = list_inputs([str(tmp_path)])
    assert local.listing is None


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


def convert(store: AnyStore, name: str, **others: Any) -> None:
    run([store.uri(f"{name}/in")], store.uri(f"{name}/out"), **others)


def convert_with_checkpoint(store: AnyStore, name: str) -> None:
    convert(store, name, checkpoint=store.uri(f"{name}/seen"))


def consolidate(store: AnyStore, name: str) -> None:
    ggfmt.consolidate(store.uri(f"{name}/in"), store.uri(f"{name}/out"), to="parquet", master="none")


# Arrow sends a HEAD for each object that it opens. A file that is written is one object in staging, and its copy.
OF_FILE = {"s3": {"HEAD": 1, "GET": 1}, "gcs": {"GET": 4}, "azure": {"HEAD": 1, "GET": 1}}
OF_TABLE = {
    "s3": {"PUT": 2},
    "gcs": {"GET": 2, "POST": 2, "PUT": 1, "DELETE": 1},
    "azure": {"HEAD": 1, "GET": 2, "PUT": 4},
}


@pytest.mark.parametrize("command", [convert, convert_with_checkpoint, consolidate])
def test_requests_do_not_rise_unnoticed(any_store: AnyStore, command: Callable[[AnyStore, str], None]) -> None:
    store, found = any_store, list[Counter[str]]()
    list_inputs([store.uri("")], allow_empty=True)  # which makes a client
    for files, tables_of_each in ((2, 2), (2 + MORE, 2), (2, 2 + MORE)):
        name = f"{files}-{tables_of_each}"
        put_operations(store, name, files, tables_of_each)
        before = len(store.requests())
        command(store, name)
        found.append(Counter(method for method, _ in store.requests()[before:]))
    few, *more = found
    for of_each, many in zip((OF_FILE, OF_TABLE), more, strict=True):
        grown = {kind: round(count / MORE) for kind, count in (many - few).items()}
        assert {kind: count for kind, count in grown.items() if count} == of_each[store.name]
    assert 0 < few.total() <= 200
