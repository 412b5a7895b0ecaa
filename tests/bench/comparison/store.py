"""The data of the workloads, made when first asked for; ggfmt itself writes what is in other formats."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from round_trips import WRITTEN, handler

from comparison.data import SHAPES, Data, definition_files, make
from comparison.measured import Failed, reason

MOMENT = "2024-06-02T22:15:00.447000"
_BASE = "orders"  # what is written in other formats


@dataclass(frozen=True)
class _Form:
    """A format that data are written in, with its settings; `shape` is what is written."""

    format: str
    settings: tuple[str, ...] = ()
    shape: str = _BASE


# Data that are not named for their format.
_FORMS = {
    "envelope": _Form("debezium_json", ("schemasEnable=true",)),
    "qlik_avro of tables": _Form("qlik_avro", shape="tables"),
}
_DMS_OPERATIONS = {"I": "insert", "U": "update", "D": "delete"}


class Store:
    """Data below a directory. `master` is the Spark that writes it in other formats, on the Java of `environment`."""

    def __init__(self, directory: Path, master: str, environment: dict[str, str]) -> None:
        self._directory = directory
        self._master = master
        self._environment = environment
        self._made: dict[tuple[str, int], Data] = {}

    def shape(self, name: str) -> str:
        """Which of the SHAPES some data has, whatever it is written in."""
        return name if name in SHAPES else self._form(name).shape

    def format(self, name: str) -> str:
        """The format of some data."""
        return self._form(name).format

    @staticmethod
    def _form(name: str) -> _Form:
        return _FORMS.get(name, _Form("json" if name in SHAPES else name))

    def data(self, name: str, megabytes: int) -> Data:
        """Some data, of so many megabytes before it is written in another format. Failed if it cannot be made."""
        if (name, megabytes) not in self._made:
            directory = self._directory / f"{name}-{megabytes}"
            make_it = make if name in SHAPES else self._written if self.format(name) in WRITTEN else self._dms
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
            form = self._form(name)
            lines = ["gg.handlerlist=h", *handler(form.format, self._directory / "dirdef", *form.settings)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def _written(self, directory: Path, name: str, size: int) -> Data:
        base = self.data(self.shape(name), size // 10**6)
        output = directory.with_name(f"{directory.name}-output")
        command = [sys.executable, "-m", "ggfmt", "--log-level", "error", "run", str(base.directory), "-o", str(output)]
        command += ["-c", str(self.handler_file(name)), "--definitions", str(self.definitions(name))]
        command += ["--current-timestamp", MOMENT, "--master", self._master]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{name} cannot be made: {reason(done.stderr, done.returncode)}")
        shutil.move(output / "h", directory)
        shutil.rmtree(output)
        found = replace(base, directory=directory)
        return replace(found, size=sum(path.stat().st_size for path in found.files))

    def _dms(self, directory: Path, name: str, size: int) -> Data:
        """The records of AWS DMS, which ggfmt does not write."""
        base = self.data(self.shape(name), size // 10**6)
        directory.mkdir()
        for path in base.files:
            with path.open("rb") as lines, (directory / path.name).open("wb") as file:
                file.writelines(map(_dms_record, lines))
        found = replace(base, directory=directory)
        return replace(found, size=sum(path.stat().st_size for path in found.files))


def _dms_record(line: bytes) -> bytes:
    record = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    schema, table = msgspec.json.decode(record["table"]).split(".")
    metadata = {
        "timestamp": msgspec.json.decode(record["op_ts"]).replace(" ", "T") + "Z",
        "record-type": "data",
        "operation": _DMS_OPERATIONS[msgspec.json.decode(record["op_type"])],
        "partition-key-type": "schema-table",
        "schema-name": schema,
        "table-name": table,
        "stream-position": msgspec.json.decode(record["pos"]),
    }
    made: dict[str, object] = {"data": record.get("after", record.get("before")), "metadata": metadata}
    if "after" in record and "before" in record:
        made["before-image"] = record["before"]
    return msgspec.json.encode(made) + b"\n"
