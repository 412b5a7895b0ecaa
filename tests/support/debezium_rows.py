"""Values that tests of Debezium's JSON share."""

from __future__ import annotations

NAME = "debezium_json"
AT = "2020-09-15 09:24:54.123456"


TEXTS = {"id": "1", "name": "a"}
