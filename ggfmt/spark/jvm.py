"""The Java virtual machine of a Spark that ggfmt starts, instead of Spark's shell scripts.

Spark's own launcher makes the command line, because its options change with every release and every Java. ggfmt runs
that command. So Spark runs on a small Java image without `jdk.incubator.vector`, a log file has all output of the JVM,
and no command line shows a setting.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import string
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from socketserver import BaseServer

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.spark.failures import cause_in_log, spark_error
from ggfmt.spark.installations import Java

_VECTOR_MODULE = "jdk.incubator.vector"
_VECTOR_FLAG = f"--add-modules={_VECTOR_MODULE}"
_TOLERANT_JAVA = """#!/bin/sh
for word do
  shift
  [ "$word" = {flag} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""
_START_SECONDS = 120.0
_IN_QUOTES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})
_PLAIN = frozenset(string.ascii_letters + string.digits + "._-/,;@+*[]{}()$")


@dataclass(frozen=True)
class Jvm:
    """A running JVM with Spark's py4j gateway: `port` and `secret` are what a client needs."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str

    def stop(self, seconds: float = 10.0) -> None:
        """End the JVM: Spark's gateway exits when its standard input ends. After `seconds`, kill it."""
        _end(self.process, seconds)


def start_jvm(
    java: Java,
    home: Path,
    conf: Mapping[str, str],
    defaults: Mapping[str, str],
    environment: Mapping[str, str],
    log: Path,
    scratch: Path,
    workers_home: Path | None = None,
) -> Jvm:
    """Start Spark's JVM and wait until its gateway listens.

    `home`: the Spark to run. `conf`: its configuration; `defaults` are for what neither that nor the user's
    `spark-defaults.conf` sets. `environment`: the whole environment of the JVM, except for what Spark's start needs.
    `log`: the output is appended to it. `scratch`: a directory for the files of the JVM. `workers_home`: the Spark that
    processes of this JVM use, by default `home`. The JVM ends with this process, in whatever way that ends, and Ctrl-C
    of the terminal does not reach it.

    Raises: Abend GG503, with `log` and the cause, if the JVM ends or does not listen within two minutes.
    """
    gateway_file = scratch / "gateway"
    # The JVM does little work itself, so a quick start counts for more than the best code.
    options = [f'"-Djava.io.tmpdir={scratch}"', "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1"]
    # A JVM that crashes would leave its report and its memory in the current directory.
    options += [f'"-XX:ErrorFile={scratch}/crash"', "-XX:-CreateCoredumpOnCrash"]
    theirs, before = user_defaults(home, environment), environment.get("SPARK_SUBMIT_OPTS", "")
    given = " ".join([before, conf.get("spark.driver.extraJavaOptions", ""), theirs.decode(errors="replace")])
    if not re.search(r"-XX\\?:[+-]Use\w*GC\b", given):
        options.append("-XX:+UseSerialGC")
    names = {} if user_name() else dict.fromkeys(("SPARK_USER", "HADOOP_USER_NAME"), f"user-{os.getuid()}")
    options += [f'"-Duser.home={scratch}"'] if names else []
    options += [before] if before else []  # later ones count, so those of the user come last
    environment = {
        **names,
        **environment,
        "SPARK_SUBMIT_OPTS": " ".join(options),
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(home),
        "SPARK_ENV_LOADED": "1",
        "SPARK_SCALA_VERSION": _scala_version(home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(gateway_file),
    }
    # The last of several values of a property counts.
    settings = private_file(scratch / "spark.properties", as_properties(defaults) + theirs + as_properties(conf))
    command = _command(java, home, settings, environment, log)
    words = private_file(scratch / "arguments", as_argument_file(command[1:]))
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                [command[0], f"@{words}"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                # On a local cluster, executors that this JVM starts get their whole environment from Spark.
                env={
                    **environment,
                    "JAVA_HOME": str(tolerant_home(java, scratch)),
                    "SPARK_HOME": str(workers_home or home),
                },
                start_new_session=True,
            )
        except OSError as error:
            raise _not_started(str(error), log) from error
    try:
        port, secret = _connection(process, gateway_file, log)
    except BaseException:
        _end(process, 0)
        raise
    finally:
        settings.unlink(missing_ok=True)
        words.unlink(missing_ok=True)
    return Jvm(process, port, secret)


def _scala_version(home: Path) -> str:
    """Return the Scala version of this Spark, from the names of its jars; the launcher requires it."""
    names = (re.match(r"spark-launcher_([\d.]+)-", jar.name) for jar in (home / "jars").glob("spark-launcher_*.jar"))
    return next((name[1] for name in names if name), "2.13")


def private_file(path: Path, content: bytes) -> Path:
    """Write a new file that only this user can read, replacing an existing one, and return its path."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
    return path


def as_properties(conf: Mapping[str, str]) -> bytes:
    """Return settings as a Java properties file, with every character of keys and values."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in conf.items()).encode("ascii")


def _escaped(text: str) -> str:
    encoded = text.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(encoded) // 2}H", encoded)
    return "".join(chr(unit) if chr(unit) in _PLAIN else f"\\u{unit:04x}" for unit in units)


def user_name() -> str | None:
    """Return the name of this user, without which neither Spark nor Hadoop starts. In containers, any number may run a
    program, and has none."""
    try:
        import pwd
    except ImportError:  # not a system of POSIX: everyone has a name
        return os.environ.get("USERNAME") or "unknown"
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None


def user_defaults(home: Path, environment: Mapping[str, str]) -> bytes:
    """Return `spark-defaults.conf`, with line ends after it; nothing if there is none."""
    directory = environment.get("SPARK_CONF_DIR")
    try:
        text = (Path(directory) if directory else home / "conf").joinpath("spark-defaults.conf").read_bytes()
    except OSError:
        return b""
    return text + b"\n\n"  # a backslash at the end takes in the next line


def as_argument_file(words: Sequence[str]) -> bytes:
    return b"".join(b'"%s"\n' % os.fsencode(word.translate(_IN_QUOTES)) for word in words)


def _command(java: Java, home: Path, settings: Path, environment: Mapping[str, str], log: Path) -> list[str]:
    """Return the command line that Spark's launcher makes of a file of settings, without a module that this Java lacks.
    Settings may be secrets, and every user of the machine can see a command line: so they are in a file."""
    launcher = [
        str(java.executable),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-cp",
        str(home / "jars" / "*"),
        "org.apache.spark.launcher.Main",
        "org.apache.spark.deploy.SparkSubmit",
    ]
    launcher += ["--properties-file", str(settings)]
    with log.open("ab") as output:
        try:
            version = subprocess.run(
                [*launcher, "pyspark-shell"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment,
                start_new_session=True,
                check=False,
            )
        except OSError as error:
            raise _not_started(str(error), log) from error
        # The launcher prints a NUL and a line end before the command, and its own messages before that.
        said, mark, words = version.stdout.partition(b"\0\n")
        output.write(said)
    command = [os.fsdecode(word) for word in words.split(b"\0") if word]
    if version.returncode or not mark or not command:
        raise _not_started(cause_in_log(log), log)
    if _VECTOR_FLAG in command and not _has_module(java, _VECTOR_MODULE):
        command.remove(_VECTOR_FLAG)
    return command


def tolerant_home(java: Java, scratch: Path) -> Path:
    """Return a Java home whose `java` accepts the options that Spark passes to its executors. That is the Java itself,
    or in `scratch` a home of links to it, with a `java` that drops the option for a module that the Java lacks."""
    if _has_module(java, _VECTOR_MODULE):
        return java.home
    home = scratch / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    for entry in java.home.iterdir():
        if entry.name != "bin" and not (home / entry.name).exists():
            (home / entry.name).symlink_to(entry)
    script = home / "bin" / "java"
    script.write_text(_TOLERANT_JAVA.format(flag=_VECTOR_FLAG, java=shlex.quote(str(java.executable))))
    script.chmod(0o755)
    return home


def _has_module(java: Java, module: str) -> bool:
    try:
        release = (java.home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        release = ""
    modules = re.search(r'^MODULES="([^"]*)"', release, re.MULTILINE)
    if modules is not None:
        return module in modules[1].split()
    listed = subprocess.run(
        [java.executable, "--list-modules"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return any(line.partition("@")[0] == module for line in listed.stdout.splitlines())


def _connection(process: subprocess.Popen[bytes], gateway_file: Path, log: Path) -> tuple[int, str]:
    """Wait for the file with the port and secret of the gateway; Spark renames it into place when it is complete."""
    deadline = time.monotonic() + _START_SECONDS
    while not gateway_file.exists():
        if process.poll() is not None:
            raise _not_started(cause_in_log(log), log)
        if time.monotonic() > deadline:
            raise _not_started(f"it was not ready within {_START_SECONDS:.0f} seconds", log)
        time.sleep(0.01)
    content = gateway_file.read_bytes()
    gateway_file.unlink()
    port, length = struct.unpack_from("!ii", content)
    return port, content[8 : 8 + length].decode()


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _not_started(reason: str, log: Path) -> Abend:
    return spark_error("GG503", "Spark did not start", reason, log)


def stop_quietly(server: BaseServer) -> None:
    """Stop a server that PySpark has for its JVM; its socket may have been deleted with its directory."""
    with contextlib.suppress(OSError):
        server.shutdown()
