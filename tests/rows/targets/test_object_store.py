"""Tables of a lakehouse in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lake_tables import add_changes, change, consolidate, row_files
from s3_server import KEY, SECRET, Store, s3_server, store

__all__ = ["s3_server", "store"]


def add_rounds(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    """Consolidate two rounds; return the last manifest."""
    add_changes(tmp_path, "1", [change("I", n, after={"ID": str(n), "N": "a"}) for n in (1, 2)])
    consolidate(tmp_path, **settings)
    add_changes(tmp_path, "2", [change("U", 3, before={"ID": "1"}, after={"ID": "1", "N": "b"})])
    return consolidate(tmp_path, **settings)


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
