"""Every command and every program of a page runs, in the order of the page, and prints what the page shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pages
import pytest
from kafka_broker import running_broker
from places import SAMPLES
from postgres import server_or_skip
from spark_cluster import connect_server, standalone_cluster
from started_ggfmt import started_ggfmt

FILES = pages.page_files()
NEEDED = {topic: pages.needed_spark(file.read_text(encoding="utf-8")) for topic, file in FILES.items()}
ON_SPARK = {topic: version for topic, version in NEEDED.items() if version is not None}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with started_ggfmt(tmp_path_factory.mktemp("programs")) as directory:
        yield directory


def check(topic: str, directory: Path, programs: Path | None = None) -> None:
    text = FILES[topic].read_text(encoding="utf-8")
    made = pages.run_page(text, directory, programs=programs)
    assert made == text, f"run `python tests/tools/pages.py {topic}`"


@pytest.mark.parametrize("topic", sorted(FILES.keys() - ON_SPARK.keys()))
def test_a_page_runs_and_prints_what_it_shows(topic: str, tmp_path: Path, programs: Path) -> None:
    check(topic, tmp_path, programs)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("topic", sorted(ON_SPARK))
def test_a_page_with_spark_runs_and_prints_what_it_shows(topic: str, tmp_path: Path) -> None:
    """`tests/tools/other_versions.py` runs these on Spark 3.5, too."""
    installed = tuple(map(int, version("pyspark").split(".")[:2]))
    if installed < ON_SPARK[topic]:
        pytest.skip(f"the page needs Spark {ON_SPARK[topic]}")
    check(topic, tmp_path)


SHOP = SAMPLES / "shop"


@contextmanager
def a_broker(directory: Path) -> Iterator[Mapping[str, str]]:
    with running_broker(directory) as broker:
        lines = (SHOP / "changes" / "2026-01-01.json").read_bytes().splitlines()
        broker.send(broker.topic(name="orders"), [(None, line) for line in lines])
        yield {"broker:9092": broker.brokers}


@contextmanager
def a_database(directory: Path) -> Iterator[Mapping[str, str]]:
    with server_or_skip() as server:
        yield {"postgresql://me@localhost/shop": server.url}


@contextmanager
def a_filled_database(directory: Path) -> Iterator[Mapping[str, str]]:
    with server_or_skip() as server:
        fill = [sys.executable, "-m", "ggfmt", "-q", "apply", str(SHOP / "changes"), server.url]
        subprocess.run(fill, check=True)
        yield {"postgresql://reader@db.example.org/shop": server.url}


@contextmanager
def a_cluster(directory: Path) -> Iterator[Mapping[str, str]]:
    with standalone_cluster(directory, memory="1g") as master:
        yield {"spark://host:7077": master, "/data/": f"{directory}/shared/", "memory=2g": "memory=1g"}


@contextmanager
def a_connect_server(directory: Path) -> Iterator[Mapping[str, str]]:
    with connect_server(directory) as address:
        yield {"sc://host:15002": address, "/data/": f"{directory}/shared/"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("topic", "server", "reason"),
    [
        ("replay-into-kafka", a_broker, "it needs a Kafka broker"),
        ("read-a-topic", a_broker, "it needs a Kafka broker"),
        ("apply-to-postgresql", a_database, "it needs a PostgreSQL server"),
        ("compare-rows", a_filled_database, "it needs a PostgreSQL server"),
        pytest.param("run-on-a-cluster", a_cluster, "it needs a standalone cluster", marks=pytest.mark.spark),
        pytest.param("use-spark-connect", a_connect_server, "it needs a Spark Connect server", marks=pytest.mark.spark),
    ],
)
def test_a_page_runs_with_its_server(
    topic: str, server: Any, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    for folder in ("work", "shared"):
        shutil.copytree(SHOP, tmp_path / folder)
    text = pages.page_files([topic])[topic].read_text(encoding="utf-8")
    assert reason in text
    with server(tmp_path) as places:
        assert pages.run_page(text, tmp_path, reason, places) == text


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
