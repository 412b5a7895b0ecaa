"""What needs which Spark, and how a user hears of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.spark.features import FEATURES, FRAMES, STREAMS, lacking, require
from ggfmt.spark.jvm import user_defaults


def test_what_a_spark_lacks() -> None:
    assert lacking("3.5.9") == "no DataFrames (Spark 4.0), no streams (Spark 4.2)"
    assert lacking("4.0.1") == "no streams (Spark 4.2)"
    assert lacking("4.2.0") == lacking("5.0.0") == lacking("of a vendor") == ""


@pytest.mark.parametrize("function", ["read", "current", "history", "changes"])
def test_data_frames_ask_for_a_later_spark(function: str) -> None:
    spark: Any = SimpleNamespace(version="3.5.9")
    table = {} if function == "read" else {"table": "GG.T"}
    with pytest.raises(UsageError, match=r"this is Spark 3\.5\.9, and DataFrames need Spark 4\.0") as refused:
        getattr(ggfmt, function)(spark, "changes", **table)
    assert refused.value.diagnostics[0].code == "GG531"
    with pytest.raises(UsageError, match="GG531"):
        ggfmt.register(spark)


def test_a_spark_that_is_new_enough_is_taken() -> None:
    for version in ("4.2.0", "4.10.1", ""):
        require(FRAMES, SimpleNamespace(version=version))
        require(STREAMS, SimpleNamespace(version=version))


def test_the_lowest_spark_is_that_of_the_package() -> None:
    assert f'"pyspark>={FEATURES[0].need},<5"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_defaults_of_the_user_are_read(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_bytes(b"spark.ui.port 1")
    (tmp_path / "other" / "spark-defaults.conf").write_bytes(b"spark.ui.port 2\\")
    assert user_defaults(tmp_path, {}) == b"spark.ui.port 1\n\n"
    assert user_defaults(tmp_path, {"SPARK_CONF_DIR": str(tmp_path / "other")}) == b"spark.ui.port 2\\\n\n"
    assert user_defaults(tmp_path, {"SPARK_CONF_DIR": str(tmp_path)}) == b""
