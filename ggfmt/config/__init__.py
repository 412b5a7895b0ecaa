"""Configuration: handler files as entries with their places, and handlers made from the entries."""

import os


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
