"""Every command and every program of a page runs, in the order of the page, and prints what the page shows."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version
from pathlib import Path

import pages
import pytest

FILES = pages.page_files()
NEEDED = {topic: pages.needed_spark(file.read_text(encoding="utf-8")) for topic, file in FILES.items()}
ON_SPARK = {topic: version for topic, version in NEEDED.items() if version is not None}


def check(topic: str, directory: Path) -> None:
    text = FILES[topic].read_text(encoding="utf-8")
    made = pages.run_page(text, directory)
    assert made == text, f"run `python tests/tools/pages.py {topic}`"


@pytest.mark.parametrize("topic", sorted(FILES.keys() - ON_SPARK.keys()))
def test_a_page_runs_and_prints_what_it_shows(topic: str, tmp_path: Path) -> None:
    check(topic, tmp_path)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("topic", sorted(ON_SPARK))
def test_a_page_with_spark_runs_and_prints_what_it_shows(topic: str, tmp_path: Path) -> None:
    """`tests/tools/other_versions.py` runs these on Spark 3.5, too."""
    installed = tuple(map(int, version("pyspark").split(".")[:2]))
    if installed < ON_SPARK[topic]:
        pytest.skip(f"the page needs Spark {ON_SPARK[topic]}")
    check(topic, tmp_path)


def test_a_block_that_fails_ends_a_page(tmp_path: Path) -> None:
    with pytest.raises(pages.PageError, match=r"this fails:\n(?s:.)*exit code 2"):
        pages.run_page("# A\n\n```bash\ntrue\n(exit 2) # exit code 1\n```\n", tmp_path)


def test_blocks_are_known_by_the_paragraph_before_them(tmp_path: Path) -> None:
    text = (
        "# A\n\nSave it as `a/b.txt`:\n\n```text\none\ntwo\nthree\n```\n\n"
        "```bash\ncat a/b.txt; false # exit code 1\n```\n\n"
        "<!-- output 1:2 -->\n\n```text\nold\n```\n\nNot run here: it needs\nEMR.\n\n```bash\nfalse\n```\n\n"
        "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n<!-- output -->\n\n```text\n```\n"
    )
    assert [block.what for block in pages.blocks(text)] == ["saved", "run", "output", "not run", "run", "run", "output"]
    made = pages.run_page(text, tmp_path)
    assert made == text.replace("old\n", "...\ntwo\n...\n").replace("text\n```\n", "text\n1\n```\n")


def test_times_of_today_become_one_time(tmp_path: Path) -> None:
    today = date.today()
    text = f"{today}T01:02:03.456 {today}_01-02-03.000 2015-09-18T13:39:35 {tmp_path}/out"
    assert pages.settled(text, tmp_path) == (
        "2026-01-31T18:30:51.447 2026-01-31_18-30-51.447 2015-09-18T13:39:35 /data/out"
    )
