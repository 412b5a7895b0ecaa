"""A real Hive, inside of Spark: runs the statements that `ggfmt schema --kind ddl` printed, and then a query.

usage, by `Hive` in a process of its own: hive_reader.py DIRECTORY < lines of JSON, each [statements, query]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Hive:
    """A running Hive, whose metastore is below `directory`; ends with the block of a `with`."""

    def __init__(self, directory: Path) -> None:
        self._log = directory / "hive.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=directory,
            )

    def __enter__(self) -> Hive:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def rows(self, statements: Sequence[str], query: str) -> list[list[Any]]:
        """The rows of the query after the statements."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(statements), query]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._log.read_text()
        found: list[list[Any]] = json.loads(answer)
        return found


def main(directory: str) -> None:
    from pyspark.sql import SparkSession

    from ggfmt.spark.session import SparkRunner, SparkSettings

    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{directory}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
    }
    with SparkRunner(SparkSettings("local[1]", tuple(conf.items()))) as session:
        assert session._context is not None
        spark = SparkSession(session._context)
        for line in sys.stdin:
            statements, query = json.loads(line)
            for statement in statements:
                for part in statement.split(";\n"):
                    if part.strip():
                        spark.sql(part)
            found = [[None if value is None else str(value) for value in row] for row in spark.sql(query).collect()]
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
