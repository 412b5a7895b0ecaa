"""Consolidated frames have what the reference finds, of hundreds of stories at once.

`prove_consolidation.py` has more of them, and takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from consolidation_proof import check_changes, check_files, check_keyless, check_rows
from frame_session import frame_session
from histories import SHAPES, history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with frame_session() as session:
        yield session


def test_rows_and_versions(spark: SparkSession, tmp_path: Path) -> None:
    check_rows(spark, tmp_path, history(SHAPES["GG.MIXED"], 1))


def test_net_changes(spark: SparkSession, tmp_path: Path) -> None:
    check_changes(spark, tmp_path, history(SHAPES["GG.MIXED"], 1), 400, 900)


def test_files_and_positions(spark: SparkSession, tmp_path: Path) -> None:
    check_files(spark, tmp_path, history(SHAPES["GG.WHOLE"], 1), 1)


def test_a_table_without_a_key(spark: SparkSession, tmp_path: Path) -> None:
    check_keyless(spark, tmp_path, history(SHAPES["GG.KEYLESS"], 1), 300)
