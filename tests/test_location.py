"""Locations: each part of a path or URI, and nothing secret in what people see."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.location import Location, StoreError, quoted
from ggfmt.reading.files import InputFile

STORE = "s3a://KEY:SECRET@bucket"


def test_a_relative_path_is_absolute_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    location = Location.of("a b/../c?d")
    assert location.address == location.shown == location.canonical == location.inner == f"{tmp_path}/c?d"
    assert (location.name, location.parent) == ("c?d", Location.local(str(tmp_path)))
    assert location.child("x").name_below(Location.of(".")) == "c?d/x"
    assert Location.of(f"file://{tmp_path}/a%20b/") == Location.local(f"{tmp_path}/a b")


def test_a_uri_keeps_its_options_at_its_end_and_its_secrets_to_itself() -> None:
    root = Location.of(f"{STORE}/in/?region=x")
    file = root.entry("a b/c%.json")
    assert file.address == f"{STORE}/in/a%20b/c%25.json?region=x"
    assert (file.key, file.name) == ("in/a b/c%.json", "c%.json")
    assert file.name_below(root) == "a%20b/c%25.json"
    assert file.canonical == "s3://bucket/in/a%20b/c%25.json"
    assert file.shown == file.recorded == str(file) == "s3a://bucket/in/a%20b/c%25.json?region=x"
    assert root.show("token=1") == "s3a://bucket/in/token=1?region=x"
    assert "SECRET" not in repr(file)
    above = [root.address, *(place.address for place in parents(root))]
    assert above == [f"{STORE}/in/?region=x", f"{STORE}?region=x"]


def parents(location: Location) -> list[Location]:
    found = []
    while (above := location.parent) is not None:
        found.append(above)
        location = above
    return found


def test_what_is_recorded_gets_its_credentials_from_a_known_location() -> None:
    written = Location.of(f"{STORE}/a").recorded
    assert written == "s3a://bucket/a"
    assert Location.of_record(written, [Location.of("/x"), Location.of(f"{STORE}/b")]).address == f"{STORE}/a"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("schemas/./x", "/out/schemas/x"),
        ("../x", "/out/../x"),
        ("/x/../y", "/x/../y"),
        ("file:///x%20y", "file:///x%20y"),
        ("s3://bucket/x", "s3://bucket/x"),
    ],
)
def test_only_a_relative_text_is_below_the_root(text: str, address: str) -> None:
    assert Location.of("/out").resolve(text).address == address


def test_a_local_file_of_a_uri_has_a_path_without_escapes() -> None:
    assert Location.of("/out").resolve("file:///x%20y").inner == "/x y"


def test_what_is_no_location_is_refused() -> None:
    for text in ("dbfs:/x", "s3://", "kafka://x", "file://elsewhere/x"):
        with pytest.raises(StoreError):
            Location.of(text)


def test_tasks_get_few_bytes_for_each_file() -> None:
    """Locations of one store share it: a file costs its path."""
    root = Location.of(f"{STORE}/a/directory?region=x")
    files = [InputFile(root.child(f"{number:07}.json"), 1, "x") for number in range(1000)]
    data = pickle.dumps(files)
    assert pickle.loads(data) == files
    paths = sum(len(file.location.path) for file in files)
    assert len(data) < paths + 100 * len(files)
    assert {os.path.splitext(file.location.name)[1] for file in pickle.loads(data)} == {".json"}


@given(st.lists(st.text(min_size=1).filter(lambda name: "/" not in name), min_size=1, max_size=3))
@examples(1000)
def test_every_key_has_a_uri(names: list[str]) -> None:
    key = "/".join(names)
    for keys in ("", "KEY:long/SECRET@"):
        location = Location.of(f"s3://{keys}bucket/{quoted(key)}?region=x")
        assert (location.store.root, location.key) == (f"s3://{keys}bucket/?region=x", key)


def test_what_looks_like_credentials_in_a_key_is_none() -> None:
    assert Location.of("s3a://bucket/x://k:v@z").store.root == "s3://bucket/"
    assert Location.of("s3a://u:p@bucket/x://k:v@z").store.root == "s3://u:p@bucket/"


def test_containers_of_azure_are_different_stores_with_and_without_a_key() -> None:
    places = [Location.of(f"abfs://{user}@account.dfs.core.windows.net/x") for user in ("one:KEY", "one", "two:KEY")]
    assert places[0].canonical == places[1].canonical != places[2].canonical
