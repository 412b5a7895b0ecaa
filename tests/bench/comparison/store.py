"""The data of the workloads, made when first asked for; ggfmt itself writes what is in other formats."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from round_trips import handler

from comparison.data import SHAPES, Data, definition_files, make
from comparison.measured import Failed, reason

MOMENT = "2024-06-02T22:15:00.447000"
_BASE = "orders"  # what is written in other formats
_SETTINGS = {"envelope": ("schemasEnable=true",)}


class Store:
    """Data below a directory. `master` is the Spark that writes it in other formats, on the Java of `environment`."""

    def __init__(self, directory: Path, master: str, environment: dict[str, str]) -> None:
        self._directory = directory
        self._master = master
        self._environment = environment
        self._made: dict[tuple[str, int], Data] = {}

    def shape(self, name: str) -> str:
        """Which of the SHAPES some data has, whatever it is written in."""
        return name if name in SHAPES else _BASE

    def data(self, name: str, megabytes: int) -> Data:
        """Some data, of so many megabytes before it is written in another format. Failed if it cannot be made."""
        if (name, megabytes) not in self._made:
            directory = self._directory / f"{name}-{megabytes}"
            make_it = make if name in SHAPES else self._written
            print(f"making {megabytes:,} MB of {name}", file=sys.stderr, flush=True)
            self._made[name, megabytes] = make_it(directory, name, megabytes * 10**6)
        return self._made[name, megabytes]

    def definitions(self, name: str) -> Path:
        directory = self._directory / f"definitions-{self.shape(name)}"
        return directory if directory.exists() else definition_files(directory, self.shape(name))

    def handler_file(self, name: str) -> Path:
        """The handler that data in a format of its own was written with."""
        path = self._directory / f"{name}.properties"
        if not path.exists():
            format = "debezium_json" if name == "envelope" else name
            settings = _SETTINGS.get(name, ())
            lines = ["gg.handlerlist=h", *handler(format, self._directory / "dirdef", *settings)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def _written(self, directory: Path, name: str, size: int) -> Data:
        base = self.data(_BASE, size // 10**6)
        output = directory.with_name(f"{directory.name}-output")
        command = [sys.executable, "-m", "ggfmt", "--log-level", "error", "run", str(base.directory), "-o", str(output)]
        command += ["-c", str(self.handler_file(name)), "--definitions", str(self.definitions(_BASE))]
        command += ["--current-timestamp", MOMENT, "--master", self._master]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{name} cannot be made: {reason(done.stderr, done.returncode)}")
        shutil.move(output / "h", directory)
        shutil.rmtree(output)
        found = replace(base, directory=directory)
        return replace(found, size=sum(path.stat().st_size for path in found.files))
