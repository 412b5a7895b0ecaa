"""Reads tables by Flink SQL, inside of an environment that has PyFlink; `tests/consumers/flink.py` starts it.

usage: flink_reader.py REQUESTS, a JSON array of objects with `path`, `format`, `columns`, `select` and `options`.

Prints a line of JSON for each request: the changelog as pairs of the kind of a row and its values, as texts, or under
`error` why Flink stopped.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]


def changelog(request: dict[str, Any]) -> list[list[Any]]:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "1")
    settings = {"connector": "filesystem", "path": request["path"], "format": request["format"], **request["options"]}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in settings.items())
    tables.execute_sql(f"CREATE TABLE changes ({request['columns']}) WITH ({listed})")
    with tables.execute_sql(f"SELECT {request['select']} FROM changes").collect() as rows:
        return [[str(row.get_row_kind()), [None if value is None else str(value) for value in row]] for row in rows]


def main(requests: list[dict[str, Any]]) -> None:
    for request in requests:
        try:
            answer: dict[str, Any] = {"rows": changelog(request)}
        except Exception as error:  # of Java, by py4j: the innermost cause names what Flink did not take
            causes = [line for line in str(error).splitlines() if line.startswith("Caused by:")]
            answer = {"error": (causes or [str(error)])[-1][:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
