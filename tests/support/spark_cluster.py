"""Sparks on this machine: a standalone cluster, on loopback addresses of its own, and a Spark Connect server."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ggfmt.spark.installations import find_java, spark_home
from ggfmt.spark.jvm import tolerant_home

_START_SECONDS = 120.0

# A process of a test has less to do than the best code would take to make.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


@contextlib.contextmanager
def standalone_cluster(directory: Path, workers: int = 2, cores: int = 1, memory: str = "512m") -> Iterator[str]:
    """Run a master on 127.0.0.1 and `workers` workers on 127.0.0.2 onwards, all their files in `directory`.

    Gives the master's URL once every worker has registered, and has ended every process when it returns.
    """
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        arguments = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        log = directory / "master.log"
        daemons.append(_daemon("master.Master", arguments, "127.0.0.1", directory, log))
        _await(daemons[-1], log, lambda: _address(log) is not None)
        master = _address(log)
        assert master is not None
        logs = []
        for number in range(workers):
            address = f"127.0.0.{number + 2}"
            arguments = ["--host", address, "--cores", str(cores), "--memory", memory, "--webui-port", "0"]
            arguments += ["--work-dir", str(directory / f"work-{number}"), master]
            logs.append(directory / f"worker-{number}.log")
            daemons.append(_daemon("worker.Worker", arguments, address, directory, logs[-1]))
        for daemon, log in zip(daemons[1:], logs, strict=True):
            _await(daemon, log, partial(_registered, log))
        yield master
    finally:
        _end(daemons)


@contextlib.contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Run a Spark Connect server, as it is in the package of pyspark; gives its address."""
    log = directory / "connect.log"
    arguments = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"]
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Djava.io.tmpdir={directory}",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    arguments += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    environment = {"PYSPARK_PYTHON": sys.executable}
    server = _daemon("SparkSubmit", [*arguments, "spark-internal"], "127.0.0.1", directory, log, environment)
    try:
        _await(server, log, lambda: _port(log) is not None)
        yield f"sc://127.0.0.1:{_port(log)}"
    finally:
        _end([server])


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses, for as long as the block lasts: it is taken, and nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


def _daemon(
    name: str,
    arguments: list[str],
    address: str,
    directory: Path,
    log: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    home = spark_home()
    environment = {
        **os.environ,
        **environment,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(tolerant_home(find_java(), directory)),
        "SPARK_LOCAL_IP": address,
        "SPARK_LOCAL_DIRS": str(directory),
        "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_JAVA} -Djava.io.tmpdir={directory}",
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )


def quick_executors() -> tuple[str, str]:
    """The setting with which executors start soonest."""
    return "spark.executor.extraJavaOptions", QUICK_JAVA


def _registered(log: Path) -> bool:
    return "Successfully registered with master" in log.read_text()


def _address(log: Path) -> str | None:
    """Where the master listens, once it has logged it: it takes a port that is free."""
    told = re.search(r"Starting Spark master at (spark://127\.0\.0\.1:[0-9]+)", log.read_text())
    return told[1] if told else None


def _port(log: Path) -> str | None:
    told = re.search(r"Spark Connect server started at: \S+:([0-9]+)", log.read_text())
    return told[1] if told else None


def _await(daemon: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the Spark daemon is not up:\n{log.read_text()[-4000:]}")
        time.sleep(0.05)


def _end(daemons: list[subprocess.Popen[bytes]]) -> None:
    """Ask first, because a worker then ends its executors; what is left of its process group is killed."""
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()
