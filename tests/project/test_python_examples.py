"""Every example in Python that the documents show runs, on a real Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents
import pytest
from places import ROOT
from round_trips import STORY, write_as, write_story

import ggfmt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Pages whose examples another test runs.
ELSEWHERE = {
    "python": "tests/project/test_documents.py",
    "iceberg": "tests/rows/targets/test_pages.py",
    "extending": "tests/project/test_new_format.py",
}
PAGES = ("consolidation", "dataframes", "lakehouse", "spark")


def examples(page: str) -> list[str]:
    text = (documents.DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_no_page_is_left_out() -> None:
    with_examples = {
        path.stem for path in documents.DOCS.rglob("*.md") if examples(str(path.relative_to(documents.DOCS))[:-3])
    }
    assert with_examples == {*PAGES, *ELSEWHERE}
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_runs(
    page: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths of examples are those of this test: Spark was started in another directory. A page is left at the first
    example that this Spark is too old for.
    """
    write_story(tmp_path / "story.json", STORY)
    write_as(tmp_path / "story.json", "json", tmp_path / "written", "generateSchema=true")
    (tmp_path / "changes").mkdir()
    sample = (ROOT / "samples" / "tcustord.json").read_bytes()
    (tmp_path / "changes" / "0.json").write_bytes(
        sample if page == "lakehouse" else (tmp_path / "story.json").read_bytes()
    )
    (tmp_path / "written" / "dirdef").rename(tmp_path / "dirdef")
    (tmp_path / "json.properties").write_bytes((ROOT / "conf" / "json.properties").read_bytes())
    places = {"samples/": ROOT / "samples", "conf/": ROOT / "conf", "/data/": tmp_path}
    names: dict[str, Any] = {"spark": spark, "ggfmt": ggfmt, "parse": parser(spark)}
    for block in examples(page):
        if ".write.format" in block:
            names["changes"] = ggfmt.read(spark, tmp_path / "changes", table="GG.ORDERS")
        code = re.sub(r'"(changes/|dirdef/|state|operations|out|json\.properties)"', rf'"{tmp_path}/\1"', block)
        for name, place in places.items():
            code = code.replace(f'"{name}', f'"{place}/')
        try:
            exec(compile(code.replace("spark.sql(", "parse("), f"{page}.md", "exec"), names)
        except ggfmt.UsageError as error:
            assert "GG531" in str(error)
            assert spark.version < "4", error
            return
    if page == "consolidation":
        assert "JUNG" in capsys.readouterr().out


def parser(spark: SparkSession) -> Callable[[str], object]:
    """Spark's parser: what a statement needs besides, such as a catalog, is the reader's."""
    session: Any = spark
    parsing: Callable[[str], object] = session._jsparkSession.sessionState().sqlParser().parsePlan
    return parsing
