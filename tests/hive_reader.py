"""A real Hive, inside of Spark: runs the statements that `ggfmt schema --kind ddl` printed, and then a query.

usage, by `rows` in a process of its own: hive_reader.py DIRECTORY < JSON of [statements, query]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def rows(directory: Path, statements: Sequence[str], query: str) -> list[list[Any]]:
    """The rows of the query after the statements; the metastore lies below `directory`."""
    told = json.dumps([list(statements), query])
    command = [sys.executable, __file__, str(directory)]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False, cwd=directory)
    assert done.returncode == 0, done.stderr
    found: list[list[Any]] = json.loads(done.stdout)
    return found


def main(directory: str) -> None:
    from pyspark.sql import SparkSession

    from ggfmt.spark.session import SparkRunner, SparkSettings

    statements, query = json.load(sys.stdin)
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{directory}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
    }
    with SparkRunner(SparkSettings("local[1]", tuple(conf.items()))) as session:
        assert session._context is not None
        spark = SparkSession(session._context)
        for statement in statements:
            for part in statement.split(";\n"):
                if part.strip():
                    spark.sql(part)
        found = [[None if value is None else str(value) for value in row] for row in spark.sql(query).collect()]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
