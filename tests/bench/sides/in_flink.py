"""Flink SQL: `ogg-json` or `debezium-json` to `ogg-json`. It has the columns alone: no position, no table, no time."""

from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]
from told import told, work

job = told()
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.get_config().set("parallelism.default", str(job.cores))
columns = ", ".join(f"`{name}` {'DECIMAL(38, 10)' if name in job.numbers else 'STRING'}" for name in job.columns)
source = {"connector": "filesystem", "path": job.source, "format": "ogg-json"}
if job.tolerant:
    source["ogg-json.ignore-parse-errors"] = "true"
if job.envelope:
    source |= {"format": "debezium-json", "debezium-json.schema-include": "true"}
target = {"connector": "filesystem", "path": job.target, "format": "ogg-json"}
for name, settings in (("changes", source), ("written", target)):
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
    tables.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({listed})")
with work():
    tables.execute_sql("INSERT INTO written SELECT * FROM changes").wait()
