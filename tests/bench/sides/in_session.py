"""A PySpark session that starts, runs an empty job and stops."""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession

session = SparkSession.builder.master(f"local[{sys.argv[1]}]").getOrCreate()
assert session.sparkContext.parallelize([1], 1).map(lambda item: item).collect() == [1]
session.stop()
