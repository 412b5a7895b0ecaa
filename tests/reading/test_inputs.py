"""What comes into a run: each file once and whole, in order, as it was planned; and nothing else."""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import lzma
import os
import socket
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, content, operation, run_ggfmt, snapshot, write_lines

from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError
from ggfmt.location import Location, StoreError
from ggfmt.reading import discovery
from ggfmt.reading.files import InputFile, check_unchanged, open_unchanged, stat_file
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.messages import execution
from ggfmt.sinks.messages.verification import verify
from ggfmt.sinks.preview import PreviewSettings, preview
from ggfmt.sinks.schema import schemas


def numbers(out: Path) -> list[int]:
    """The operations of the output by their numbers, in order."""
    return [int(json.loads(line)["pos"]) for line in content(out, "j").splitlines()]


def operations(path: Path, *of: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_lines(path, [operation(number) for number in of])


def refused(inputs: list[Path], out: Path, **others: Any) -> str:
    with pytest.raises(GgfmtError, match="GG310") as caught:
        run_ggfmt(inputs, out, *JSON_LINES, **others)
    assert not out.exists()
    return str(caught.value)


# Inputs that change while they are read


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def _emptied_and_written(path: Path) -> None:
    """As `copytruncate` does it, with as many bytes as there were."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate()
        file.write(b"\n" * size)


def _replaced(path: Path) -> None:
    """By a file of the same size and time, as rsync and tar leave them."""
    status = path.stat()
    other = path.with_name("_other")
    other.write_bytes(b"\n" * status.st_size)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def _grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{")


def _removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_cut, "has 1000 now"),
        (_emptied_and_written, "it was modified at"),
        (_replaced, "another file replaced the input"),
        (_grown, "the input changed while it was read"),
        (_removed, "removed while it was read"),
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("when", [0, 1, 2])
def test_an_input_that_changes_under_a_run_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], told: str, ending: str, when: int
) -> None:
    """Before its first task, between its tasks, and after the last one."""
    source = operations(tmp_path / "in.json", *range(100))
    other = operations(tmp_path / "other.json", *range(100, 110))
    if ending:
        packed = tmp_path / f"in.json{ending}"
        packed.write_bytes(gzip.compress(source.read_bytes()) + gzip.compress(b"") * 200)
        source = packed
    real, done = execution._Task.run, 0

    def run(self: Any) -> Any:
        nonlocal done
        if done == when < 2:
            change(source)
        done += 1
        outcome = real(self)
        if done == when == 2:
            change(source)
        return outcome

    monkeypatch.setattr(execution._Task, "run", run)
    message = refused([source, other], tmp_path / "out", split_size=source.stat().st_size // 2 + 1)
    assert told in message
    assert str(source) in message


def test_a_record_cut_in_two_by_a_change_is_told_as_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = operations(tmp_path / "in.json", *range(100))
    real = execution._Task.run

    def run(self: Any) -> Any:
        _cut(source)
        return real(self)

    monkeypatch.setattr(execution._Task, "run", run)
    assert "has 1000 now" in refused([source], tmp_path / "out")


def test_the_time_of_a_store_counts_to_the_second_and_an_inode_on_its_own_machine(tmp_path: Path) -> None:
    """A listing has milliseconds that a single object does not have; another machine may number its devices so."""
    path = operations(tmp_path / "in.json", 1)
    now = stat_file(Location.of(str(path)), str(path))
    assert now.modified is not None
    elsewhere = InputFile(now.location, now.size, now.shown, now.modified // 10**9 * 10**9, ("other", 1), 1)
    check_unchanged(elsewhere)
    check_unchanged(InputFile(now.location, now.size, now.shown))
    with pytest.raises(OSError, match="modified"):
        check_unchanged(InputFile(now.location, now.size, now.shown, now.modified - 10**9))


def test_a_preview_shows_a_file_that_grows(tmp_path: Path) -> None:
    source = operations(tmp_path / "in.json", *range(5))
    (file,) = list_inputs([str(source)])
    _grown(source)
    with pytest.raises(OSError, match="changed"), open_unchanged(file):
        pass
    shown = preview(
        PreviewSettings(inputs=[str(source)], handlers=read_configuration([], list(JSON_LINES)).handlers, count=5)
    )
    assert len(shown.handlers[0].tables[0].items) == 6, "and half a record"


def test_schemas_are_made_of_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = operations(tmp_path / "in.json", *range(5))
    operations(tmp_path / "more.json", 5)

    def grows(real: Callable[..., object]) -> Callable[..., object]:
        def grow(*arguments: Any) -> object:
            source.write_bytes(source.read_bytes() + (tmp_path / "more.json").read_bytes())
            return real(*arguments)

        return grow

    monkeypatch.setattr(discovery, "discover_split", grows(discovery.discover_split))
    monkeypatch.setattr(execution, "run_split", grows(execution.run_split))
    (schema,) = schemas(ScanRequest([str(source)]), None, None)
    assert schema.name.startswith("GG.TCUSTORD")
    assert refused([source], tmp_path / "out")


# Inputs without files


@pytest.fixture
def empty(tmp_path: Path) -> list[Path]:
    (tmp_path / "empty").mkdir()
    operations(tmp_path / "hidden" / "_temporary" / "a.json", 1)
    operations(tmp_path / "hidden" / ".a.json", 1)
    return [tmp_path / "empty", tmp_path / "hidden", tmp_path / "empty" / "*.json"]


@pytest.mark.parametrize("which", range(3))
def test_an_input_without_files_is_an_error_and_deletes_nothing(empty: list[Path], tmp_path: Path, which: int) -> None:
    out = tmp_path / "out"
    source = operations(tmp_path / "in.json", 1, 2)
    run_ggfmt([source], out, *JSON_LINES)
    before = snapshot(out)
    for inputs in ([empty[which]], [source, empty[which]]):
        with pytest.raises(UsageError, match=r"GG310.*no file to read") as caught:
            run_ggfmt(inputs, out, *JSON_LINES, mode="overwrite")
        assert str(empty[which]) in str(caught.value)
    assert snapshot(out) == before
    run_ggfmt([empty[which]], out, *JSON_LINES, mode="overwrite", allow_empty=True)
    assert numbers(out) == []


def test_files_of_no_bytes_are_input(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").touch()
    with caplog.at_level("WARNING", "ggfmt"):
        run_ggfmt([tmp_path / "in"], tmp_path / "out", *JSON_LINES)
    assert "the input is empty: 1 file of 0 bytes" in caplog.text


def test_files_of_empty_lines_have_no_operations(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\n \r\n")
    run_ggfmt([tmp_path / "a.json"], tmp_path / "out", *JSON_LINES)
    assert numbers(tmp_path / "out") == []


# Each file once


def test_a_file_with_several_names_is_read_once_in_the_place_of_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "in"
    for number, name in enumerate(("a", "b/c", "d")):
        operations(data / f"{name}.json", number)
    (data / "hard.json").hardlink_to(data / "d.json")
    (tmp_path / "link.json").symlink_to(data / "b" / "c.json")
    inputs = [tmp_path / "link.json", data, data / "*.json", data / "a.json", data / "b" / ".." / "a.json"]
    with caplog.at_level("INFO", "ggfmt"):
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES)
    assert numbers(tmp_path / "out") == [1, 0, 2]
    assert "7 input files named more than once, read once" in caplog.text


def test_loops_of_links_end_and_a_file_counts_by_its_own_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, other = tmp_path / "in", tmp_path / "other"
    operations(data / "2024-01" / "a.json", 1)
    operations(data / "2024-02" / "a.json", 2)
    operations(other / "deep" / "b.json", 3)
    (data / "0-latest").symlink_to(data / "2024-02")
    (data / "0-file.json").symlink_to(data / "2024-02" / "a.json")
    (data / "2024-01" / "loop").symlink_to(data)
    (data / "up").symlink_to(tmp_path)
    (data / "1-away").symlink_to(other)
    (other / "back").symlink_to(data)
    (other / "deep" / "again").symlink_to(other)
    with caplog.at_level("INFO", "ggfmt"):
        run_ggfmt([data], tmp_path / "out", *JSON_LINES)
    assert numbers(tmp_path / "out") == [3, 1, 2]
    assert "skipped 5 links to directories that are read already: `" in caplog.text


def test_outputs_below_an_input_are_no_input_unless_they_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, out = tmp_path / "in", tmp_path / "in" / "converted"
    operations(data / "a.json", 1, 2, 3)
    for mode in ("error", "append", "append"):
        run_ggfmt([data], out, *JSON_LINES, mode=mode)
    assert numbers(out) == [1, 2, 3] * 3
    assert f"skipped an output of ggfmt: `{out}`; to read an output, name it" in caplog.text
    assert len(list_inputs([str(data / "*" / "*" / "*" / "*"), str(data)], allow_empty=True)) == 1
    for named in (out, out / "j", out / "j" / "*" / "*"):
        assert len(list_inputs([str(named)])) == 3


def test_links_that_lead_nowhere_and_what_is_no_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = tmp_path / "in"
    operations(data / "a.json", 1)
    os.mkfifo(data / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(data / "socket"))
    run_ggfmt([data], tmp_path / "out", *JSON_LINES)
    assert "skipped 2 pipes, sockets or devices: `" in caplog.text
    for named in (data / "fifo", data / "socket", Path("/dev/null"), Path("/dev/stdin")):
        message = refused([named], tmp_path / "none")
        assert "is not a file, but a pipe, a socket or a device" in message
    broken = data / "broken.json"
    broken.symlink_to(tmp_path / "gone.json")
    for named in (data, data / "*.json", broken):
        message = refused([named], tmp_path / "none")
        assert str(broken) in message and "gone.json" in message


def test_a_directory_that_may_not_be_read_is_an_error() -> None:
    before = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        operations(Path(name) / "in" / "a.json", 1)
        closed = operations(Path(name) / "in" / "closed" / "b.json", 2).parent
        closed.chmod(0)
        if before == 0:
            os.seteuid(65534)  # root may read everything
        try:
            with pytest.raises(UsageError, match=r"GG310.*Permission denied") as caught:
                list_inputs([f"{name}/in"])
        finally:
            os.seteuid(before)
            closed.chmod(0o700)
        assert str(closed) in str(caught.value)


def test_a_directory_in_which_files_are_renamed_is_listed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "in"
    operations(data / "a.json", 1)
    operations(data / "b.tmp", 2)
    real = os.stat

    def look(path: Any, *rest: Any, **others: Any) -> os.stat_result:
        if str(path).endswith("b.tmp"):
            (data / "b.tmp").rename(data / "b.json")
        return real(path, *rest, **others)

    monkeypatch.setattr(os, "stat", look)
    assert [file.location.name for file in list_inputs([str(data)])] == ["a.json", "b.json"]


HOSTILE = ["a[1].json", "*.json", "100%41.json", "what?.json", "#.json", "new\nline.json", "a:b.json", "s 3.json"]


def test_names_are_taken_as_they_are(tmp_path: Path) -> None:
    data = tmp_path / "in"
    names = sorted([os.fsencode(name) for name in HOSTILE] + [b"\xff\xfe.json"])
    for number, encoded in enumerate(names):
        operations(data / "x", number).rename(os.fsdecode(os.fsencode(data) + b"/" + encoded))
    run_ggfmt([data], tmp_path / "out", *JSON_LINES)
    assert sorted(numbers(tmp_path / "out")) == list(range(9))
    told = json.loads((tmp_path / "out" / "_ggfmt" / "manifest.json").read_text("utf-8"))["inputs"]
    assert any(item["path"].endswith("\\xff\\xfe.json") for item in told)
    for name in HOSTILE:
        (file,) = list_inputs([str(data / name)])
        assert file.location.address == str(data / name)
    operations(tmp_path / "[b]" / "c.json", 1)
    assert len(list_inputs([str(tmp_path / "[b]" / "*.json")])) == 1


# URIs


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("dbfs:/mnt/out", "`dbfs:/mnt/out` is not a local path; on Databricks, use the path below `/dbfs`"),
        ("s3:/bucket/x", "write `s3://...`"),
        ("s3:bucket", "write `s3://...`"),
        ("hdfs:/x", "write `hdfs://...`"),
        ("C:\\changes", "a Windows path; in WSL, write `/mnt/c/...`"),
        ("odd:/x", "for a local file, write `./odd:/x`"),
        ("https://host/x", "ggfmt does not support `https://`"),
        ("nosuch://host/x", "supported are `file://`, `s3://`"),
        ("wasbs://c@a.blob.core.windows.net/x", "write `abfss://"),
        ("s3://", "the URI has no bucket"),
        ("s3a:///key", "the URI has no bucket"),
        ("gs:///key", "the URI has no bucket"),
        ("s3://bucket/x?regoin=x", "no option `regoin`"),
        ("file://host/x", "names another machine"),
        ("hdfs://nameservice/x", "HADOOP_HOME"),
        ("viewfs://cluster/x", "HADOOP_HOME"),
    ],
)
def test_a_uri_that_leads_nowhere_is_refused_by_name_as_input_and_as_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = operations(tmp_path / "in.json", 1)
    with pytest.raises(UsageError, match="GG310") as caught:
        run_ggfmt([uri], tmp_path / "out", *JSON_LINES)  # type: ignore[list-item]
    assert told in str(caught.value)
    with pytest.raises(UsageError, match="GG506") as caught:
        run_ggfmt([source], uri, *JSON_LINES)  # type: ignore[arg-type]
    assert told in str(caught.value)
    settings = ("gg.handler.j.format=json", "gg.handler.j.schemaFilePath=" + uri.replace("\\", "\\\\"))
    with pytest.raises(UsageError, match=r"GG506.*the schema directory of handler `j` cannot be opened") as caught:
        run_ggfmt([source], tmp_path / "out", *settings)
    assert told in str(caught.value)
    with pytest.raises(Abend, match=r"GG506.*the output directory cannot be read") as unread:
        verify(uri)
    assert told in str(unread.value)
    assert os.listdir(tmp_path) == ["in.json"]


def test_where_tables_lie_is_a_matter_of_hive(tmp_path: Path) -> None:
    source = operations(tmp_path / "in.json", 1)
    for root in ("dbfs:/mnt/out", "wasb://c@a.blob.core.windows.net/out", "s3a://bucket/out"):
        configuration = read_configuration(
            [], ["gg.handler.d.format=delimitedtext", f"gg.handler.d.rootFilePath={root}"]
        )
        (table,) = schemas(ScanRequest([str(source)]), configuration, "ddl")
        assert f"'{root}/d/GG.TCUSTORD'" in table.content.decode()


def test_a_local_name_may_hold_colons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    operations(Path("2024-01-01T00:00.json"), 1)
    run_ggfmt([Path("2024-01-01T00:00.json")], "./dbfs:/out", *JSON_LINES)  # type: ignore[arg-type]
    assert numbers(Path("dbfs:/out").absolute()) == [1]


def test_a_file_uri_is_a_local_path(tmp_path: Path) -> None:
    operations(tmp_path / "a b%.json", 1)
    for uri in (f"file://{tmp_path}/a%20b%25.json", f"file:{tmp_path}/a%20b%25.json"):
        (file,) = list_inputs([uri, str(tmp_path / "a b%.json")])
        assert file.location.address == str(tmp_path / "a b%.json")
    assert Location.of(f"file://localhost{tmp_path}/").address == str(tmp_path)


# The first bytes and the compression of inputs


@pytest.mark.parametrize("size", [300 << 10, 3 << 20])
def test_a_first_record_that_is_long_is_recognised(tmp_path: Path, size: int) -> None:
    source = write_lines(tmp_path / "in.json", [operation(1, NOTE="x" * size), operation(2)])
    run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert numbers(tmp_path / "out") == [1, 2]


def test_members_of_compressed_files_may_be_empty(tmp_path: Path) -> None:
    import pyarrow as pa

    def zstd(data: bytes) -> bytes:
        return bytes(pa.compress(data, codec="zstd", asbytes=True))

    lines = [write_lines(tmp_path / "x", [operation(number)]).read_bytes() for number in (1, 2)]
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd)):
        one, two, none = pack(lines[0]), pack(lines[1]), pack(b"")
        for data in (one + none + two, none + one + none + none + two + none, one + two):
            (tmp_path / f"in.json{ending}").write_bytes(data)
            run_ggfmt([tmp_path / f"in.json{ending}"], tmp_path / "out", *JSON_LINES, mode="overwrite")
            assert numbers(tmp_path / "out") == [1, 2], (ending, data)
        for data in (one + b"something else", one[:-3], one + two[:5]):
            (tmp_path / f"in.json{ending}").write_bytes(data)
            refused([tmp_path / f"in.json{ending}"], tmp_path / "none")


def test_streams_of_xz_may_have_padding_between_them(tmp_path: Path) -> None:
    text = os.urandom(300 << 10).hex().encode()
    path = tmp_path / "x.xz"
    path.write_bytes(
        lzma.compress(text, preset=0) + bytes(300 << 10) + lzma.compress(b"") + bytes(4) + lzma.compress(text, preset=0)
    )
    (file,) = list_inputs([str(path)])
    with open_unchanged(file) as stream:
        assert stream.read(10) == text[:10]
        assert stream.read() == (text + text)[10:]


def test_an_xz_file_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    xz = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])
    data = bytearray(xz.compress(b"x") + xz.flush())
    # The size of the dictionary is the property of the filter; 34 stands for 512 MiB (The .xz File Format, 5.3.1).
    place = data.index(b"\x21\x01") + 2
    data[place] = 34
    header = data[12 : 12 + (data[12] + 1) * 4 - 4]
    data[12 + len(header) : 12 + len(header) + 4] = zlib.crc32(header).to_bytes(4, "little")
    (tmp_path / "in.json.xz").write_bytes(data)
    with pytest.raises(Abend, match=r"GG310.*more than 268 MB of memory"):
        run_ggfmt([tmp_path / "in.json.xz"], tmp_path / "out", *JSON_LINES)


def test_a_large_bzip2_file_is_read_in_parts(tmp_path: Path) -> None:
    text = os.urandom(200 << 10).hex().encode()  # several reads of the stored file
    path = tmp_path / "x.bz2"
    path.write_bytes(bz2.compress(text) + bz2.compress(b"") + bz2.compress(text))
    (file,) = list_inputs([str(path)])
    with open_unchanged(file) as stream:
        assert stream.read(10) == text[:10]
        assert stream.read() == text[10:] + text


def test_no_log_line_of_inputs_can_be_forged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = operations(tmp_path / "a\n1 operations\x1b[31m.json", 1)
    with caplog.at_level(logging.DEBUG, "ggfmt"):
        run_ggfmt([source, source], tmp_path / "out", *JSON_LINES)
    assert all("\x1b" not in record.getMessage() for record in caplog.records)
    source.write_bytes(source.read_bytes() + b"{]\n")
    with pytest.raises(Abend, match="GG301"):
        run_ggfmt([source], tmp_path / "none", *JSON_LINES)


@pytest.mark.process
def test_a_store_behind_a_proxy_is_not_knocked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    uri = "gs://anonymous@bucket/changes?endpoint_override=127.0.0.1:1&scheme=http"
    with pytest.raises(StoreError, match=r"does not respond at `127\.0\.0\.1:1`"):
        Location.of(uri).file_system()
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert Location.of(uri).file_system()[1] == "bucket/changes"
