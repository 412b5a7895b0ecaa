"""What a `ggfmt.toml` may have: settings of the linter, and of commands that run. Each ignores those of the other."""

from __future__ import annotations

FILE_NAME = "ggfmt.toml"
OF_LINTER = ("select", "ignore", "extend-ignore", "per-file-ignores", "machine")
OF_RUNS = ("master",)
