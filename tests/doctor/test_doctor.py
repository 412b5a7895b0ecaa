"""`ggfmt doctor`: what it finds on machines that have it all and on those that lack something."""

from __future__ import annotations

import io
import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from spark_cluster import closed_port, connect_server, quick_executors, standalone_cluster
from typer.testing import CliRunner

from ggfmt import __version__
from ggfmt.cli import app
from ggfmt.doctor import examination
from ggfmt.doctor.cluster import ExecutorReport, assess_executors
from ggfmt.doctor.finding import LIBRARIES, Directory, Finding, Library, State, size_text, worst
from ggfmt.render.doctor import findings_json, findings_text, print_findings
from ggfmt.spark import installations as java_module
from ggfmt.spark.installations import find_java, spark_home

DOCTOR = [sys.executable, "-m", "ggfmt", "doctor"]
BEFORE_LIBRARIES = ["python", "ggfmt", "user", "java", "spark"]
OF_THE_MACHINE = [*BEFORE_LIBRARIES, *LIBRARIES, "kernels", "scratch"]
OWN = ".".join(map(str, sys.version_info[:3]))


def doctor(*arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit status, and the findings by their names."""
    result = CliRunner().invoke(app, ["doctor", "--output-format", "json", *arguments])
    return result.exit_code, by_name(result.stdout)


def by_name(printed: str) -> dict[str, Any]:
    return {finding["name"]: finding for finding in json.loads(printed)["findings"]}


def apart(
    *arguments: str, environment: dict[str, str] | None = None, **others: Any
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [*DOCTOR, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **others,
    )


# This machine


def test_a_machine_that_has_it_all() -> None:
    java = find_java()
    status, found = doctor()
    assert list(found) == OF_THE_MACHINE
    assert status == 0
    assert found["python"]["facts"]["version"] == OWN
    assert found["ggfmt"]["facts"] == {"version": __version__, "path": str(ROOT / "ggfmt")}
    assert found["java"]["facts"] == {"version": java.version, "home": str(java.home), "origin": java.origin}
    assert found["spark"]["facts"]["home"] == str(spark_home())
    for name in LIBRARIES:
        assert found[name]["state"] == "ok"
        assert found[name]["facts"]["version"][0].isdigit()
    assert found["scratch"]["facts"]["free_bytes"] > 0


def test_nothing_is_made_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    _, found = doctor()
    assert found["scratch"]["facts"]["path"] == str(tmp_path / "tmp")
    assert sorted(os.listdir(tmp_path)) == ["tmp"]
    assert os.listdir(tmp_path / "tmp") == []


def test_the_version_of_spark_is_that_of_its_files() -> None:
    finding = examination.check_spark()
    ended = subprocess.run(
        [sys.executable, "-c", "import pyspark; print(pyspark.__version__)"], capture_output=True, text=True, check=True
    )
    assert finding.facts["version"] == ended.stdout.strip()
    assert finding.facts["home"] == str(spark_home())


def test_a_machine_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "_unnamed_candidates", lambda: iter(()))
    for name in ("GGFMT_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    status, found = doctor("--master", "local[1]")
    assert status == 1
    assert found["java"]["state"] == "problem"
    assert found["java"]["facts"] == {"version": None, "home": None, "origin": None}
    assert "`pip install 'ggfmt[java]'`" in found["java"]["help"]
    assert found["session"]["message"] == found["java"]["message"]
    assert "executors" not in found


@pytest.mark.parametrize("home", ["/etc/passwd", "/nowhere/java", "~nobody-of-that-name/java"])
def test_a_java_home_that_is_none(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GGFMT_JAVA_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME", home)
    status, found = doctor()
    assert status == 1
    assert found["java"]["message"].startswith(f"JAVA_HOME names `{home}`, which ")


def test_the_java_that_is_given_counts() -> None:
    java = find_java()
    assert doctor("--java-home", str(java.home))[1]["java"]["facts"]["origin"] == "--java-home"
    assert doctor("--java-home", "/nowhere")[0] == 1


@pytest.fixture
def client(tmp_path: Path) -> dict[str, str]:
    """An environment whose pyspark is a client of Spark Connect, as the package `pyspark-client` is: without Java."""
    package = tmp_path / "client" / "pyspark"
    package.mkdir(parents=True)
    for entry in spark_home().iterdir():
        if entry.name not in ("bin", "jars", "sbin"):
            (package / entry.name).symlink_to(entry)
    path = os.pathsep.join((str(package.parent), str(ROOT)))
    return {"PYTHONPATH": path, "JAVA_HOME": "/nowhere", "GGFMT_JAVA_HOME": ""}


def test_a_client_of_spark_connect(client: dict[str, str], tmp_path: Path) -> None:
    ended = apart("--output-format", "json", environment=client)
    found = by_name(ended.stdout)
    assert ended.returncode == 0
    assert (found["java"]["state"], found["java"]["message"]) == ("ok", "none is needed")
    assert found["spark"]["state"] == "warning"
    assert found["spark"]["message"].endswith("has no `jars` of a Spark: it can only use Spark Connect")
    assert found["spark"]["help"] == "name a server by `--remote sc://HOST`, or run with `--master none`"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        source, output = str(ROOT / "samples/tcustord.json"), str(tmp_path / "out")
        command = [*DOCTOR[:-1], "run", source, "--to", "json", "-o", output, *words]
        return subprocess.run(command, env={**os.environ, **client}, capture_output=True, text=True, check=False)

    stopped = run("--spark-conf", "spark.driver.memory=1g")
    assert stopped.returncode == 3
    assert "it can only use Spark Connect\n  help: name a server by `--remote" in stopped.stderr
    assert run("--master", "none").returncode == 0


@pytest.mark.long
@pytest.mark.spark
def test_the_server_of_a_client(client: dict[str, str], tmp_path: Path) -> None:
    with connect_server(tmp_path) as address:
        ended = apart("--output-format", "json", "--remote", address, environment=client)
        found = by_name(ended.stdout)
        assert ended.returncode == 0, ended.stderr
        assert found["session"]["facts"]["master"] == address
        assert "by Spark Connect" in found["session"]["facts"]["runs"]
        assert found["executors"]["facts"]["registered"] is None
        assert found["executors"]["facts"]["answered"] == 1
        (report,) = found["executors"]["facts"]["reports"]
        assert report["python"] == OWN


@pytest.mark.spark
def test_a_server_that_does_not_answer() -> None:
    with closed_port() as port:
        status, found = doctor("--remote", f"sc://127.0.0.1:{port}/;token=secret")
    assert status == 1
    refused = f"no Spark Connect server answers at `sc://127.0.0.1:{port}`: connection refused"
    assert found["session"]["message"] == refused
    for wrong, code in ((("--remote", "host:1"), "GG524"), (("--remote", "sc://h", "--master", "local"), "GG520")):
        ended = apart(*wrong)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert f"[{code}]" in ended.stderr


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_does_not_load(name: str) -> None:
    module = LIBRARIES[name][-1]
    program = f"import sys; sys.modules[{module!r}] = None; import ggfmt.cli; sys.exit(ggfmt.cli.main(['doctor']))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    (line,) = (line for line in ended.stdout.splitlines() if line.startswith("problem"))
    assert line.split()[1] == name
    assert f"{LIBRARIES[name][0]} cannot be loaded: " in line


def test_a_user_without_a_name_or_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.delenv("HOME", raising=False)
    status, found = doctor()
    assert status == 0
    assert found["user"]["state"] == "ok"
    assert found["user"]["facts"] == {"name": None, "uid": os.getuid()}


def test_a_directory_for_temporary_files_that_is_passed_over(tmp_path: Path) -> None:
    ended = apart("--output-format", "json", environment={"TMPDIR": str(tmp_path / "nowhere")})
    assert ended.returncode == 0
    finding = by_name(ended.stdout)["scratch"]
    assert finding["state"] == "warning"
    assert finding["message"].startswith(f"TMPDIR names `{tmp_path / 'nowhere'}`, which cannot be written; `/")


def no_file_may_grow() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_where_nothing_can_be_written() -> None:
    ended = apart("--output-format", "json", "--master", "local[1]", preexec_fn=no_file_may_grow)
    assert (ended.returncode, ended.stderr) == (1, "")
    found = by_name(ended.stdout)
    assert found["scratch"]["state"] == "problem"
    assert found["scratch"]["message"].startswith("no usable temporary directory")
    assert found["scratch"]["facts"] == {"path": None, "free_bytes": None}
    assert found["session"]["state"] == "problem"
    assert found["session"]["message"].startswith("Spark did not start: ")


def test_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2**40, 2**40 - 4096, 4096))
    status, found = doctor()
    assert status == 0
    assert {name for name, finding in found.items() if finding["state"] == "warning"} == {"scratch"}
    assert found["scratch"]["message"].endswith("4.1 kB free, which is little")


# Rendering

FINDINGS = [
    Finding("python", State.OK, "3.11.7 in `/usr/bin/python3`", facts={"version": "3.11.7"}),
    Finding("java", State.PROBLEM, "JAVA_HOME names `/\udcff\x1b[31m`", "name another", {"home": None}),
    Finding("schema_registry", State.WARNING, "it asks for a login"),
]


def test_the_text() -> None:
    assert findings_text(FINDINGS) == (
        "ok       python           3.11.7 in `/usr/bin/python3`\n"
        "problem  java             JAVA_HOME names `/\\udcff\\u001b[31m`\n"
        "                          help: name another\n"
        "warning  schema registry  it asks for a login\n"
        "1 problem, 1 warning\n"
    )
    assert (
        findings_text(FINDINGS[:1]).splitlines()[-1]
        == "no problems, no warnings: everything that a run needs is available"
    )


def test_the_json() -> None:
    told = json.loads(findings_json(FINDINGS))
    assert list(told) == ["state", "findings"]
    assert told["state"] == "problem"
    assert told["findings"][1] == {
        "name": "java",
        "state": "problem",
        "message": "JAVA_HOME names `/\\udcff\x1b[31m`",
        "help": "name another",
        "facts": {"home": None},
    }
    assert findings_json(FINDINGS).isascii()


def test_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    terminal, pipe = Terminal(), io.StringIO()
    long = Finding("spark", State.WARNING, "many words " * 20)
    print_findings([long], terminal)
    print_findings([long], pipe)
    assert "\x1b[1;33mwarning" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()
    assert len(pipe.getvalue().splitlines()) == 2
    lines = terminal.getvalue().splitlines()
    assert len(lines) > 4
    assert all(line.startswith(" " * len("warning  spark  ") + "many") for line in lines[1:-1])
    assert all(len(line) <= 60 for line in lines[1:-1])


def test_sizes_and_states() -> None:
    assert [size_text(size) for size in (0, 999, 1000, 69_918_720, 5 * 10**15)] == [
        "0 bytes", "999 bytes", "1.0 kB", "69.9 MB", "5000.0 TB",
    ]  # fmt: skip
    assert worst([]) is State.OK
    assert worst(FINDINGS) is State.PROBLEM
    assert worst(FINDINGS[::2]) is State.WARNING


def test_a_reader_that_goes_away_early() -> None:
    process = subprocess.Popen(DOCTOR, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate(timeout=60)
    assert told == b""


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (
            "--output-format",
            "json",
        ),
    ],
)
def test_output_on_a_full_disk_is_an_error_of_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*DOCTOR, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == (
        "error[GG506] standard output cannot be written: no space left on device\npage: ggfmt docs output\n"
    )


def test_without_an_output() -> None:
    ended = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *DOCTOR], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == ("error[GG506] standard output cannot be written: it is closed\npage: ggfmt docs output\n")


def test_in_a_poor_locale() -> None:
    environment = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    for home in ("/Äpfel", "/\udcff"):
        ended = apart(environment={**environment, "GGFMT_JAVA_HOME": home})
        assert (ended.returncode, ended.stderr) == (1, "")
        assert "GGFMT_JAVA_HOME names `/\\u" in ended.stdout


# A cluster


def report(host: str = "one", python: str = OWN, **others: Any) -> ExecutorReport:
    libraries = {name: Library("1.0") for name in LIBRARIES}
    scratch = (Directory(f"/scratch/{host}", 10**12),)
    values = {"path": "/usr/bin/python3", "ggfmt": __version__, "libraries": libraries, "scratch": scratch, **others}
    return ExecutorReport(host, python, **values)


def test_executors_that_have_it_all() -> None:
    (finding,) = assess_executors([report("one"), report("two")], 2, OWN)
    assert finding.state is State.OK
    assert finding.message == f"2 executors on 2 machines answered: Python {OWN}, ggfmt {__version__}, Arrow 1.0"
    assert {key: finding.facts[key] for key in ("registered", "answered")} == {"registered": 2, "answered": 2}


@pytest.mark.parametrize(
    ("others", "state", "message"),
    [
        ({"python": "3.8.1"}, State.PROBLEM, f"has Python 3.8.1, and this is {OWN}"),
        ({"ggfmt": "0.0.1"}, State.PROBLEM, f"has ggfmt 0.0.1, and this is {__version__}"),
        (
            {"libraries": {"arrow": Library(None, "No module named 'pyarrow'")}},
            State.PROBLEM,
            "cannot load pyarrow: No module named 'pyarrow'",
        ),
        (
            {"scratch": (Directory("/a", 10**12), Directory("/b", None, "read-only file system"))},
            State.PROBLEM,
            "cannot write to `/b`: read-only file system",
        ),
        ({"scratch": (Directory("/a", 1000),)}, State.WARNING, "has 1.0 kB free in `/a`, which is little"),
    ],
)
def test_an_executor_that_lacks_something(others: dict[str, Any], state: State, message: str) -> None:
    summary, finding = assess_executors([report("one"), report("two", **others)], 2, OWN)
    assert summary.name == "executors"
    assert (finding.name, finding.state, finding.message) == ("executor", state, f"the executor on `two` {message}")
    assert finding.help
    assert finding.facts["host"] == "two"


def test_another_patch_of_python_will_do() -> None:
    major, minor, _ = OWN.split(".")
    assert [finding.state for finding in assess_executors([report(python=f"{major}.{minor}.99")], 1, OWN)] == [State.OK]


def test_an_executor_that_does_not_answer() -> None:
    (finding,) = assess_executors([report()], 3, OWN)
    assert finding.state is State.PROBLEM
    assert finding.message == "only 1 of 3 executors answer"


@pytest.mark.parametrize("master", ["spark://127.0.0.1:{}", "spark://nowhere.invalid:{}", "spark://{}"])
def test_a_master_that_is_not_there(master: str) -> None:
    clock = time.monotonic()
    with closed_port() as port:
        status, found = doctor("--master", master.format(port))
    assert status == 1
    assert time.monotonic() - clock < 30, "Spark itself was asked"
    assert found["session"]["state"] == "problem"
    assert found["session"]["help"]
    assert "executors" not in found


def test_no_password_is_told() -> None:
    with closed_port() as port:
        _, found = doctor("--master", f"spark://user:secret@127.0.0.1:{port}")
    assert "secret" not in json.dumps(found)
    assert found["session"]["facts"]["master"].startswith("spark://127.0.0.1:")


@pytest.mark.spark
def test_a_job_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    ended = apart("--master", "local[1]", "--output-format", "json", environment={"TMPDIR": str(tmp_path / "tmp")})
    assert (ended.returncode, ended.stderr) == (0, "")
    found = by_name(ended.stdout)
    assert list(found) == [*OF_THE_MACHINE, "session", "executors"]
    assert found["session"]["facts"]["master"] == "local[1]"
    assert found["session"]["facts"]["runs"].startswith("Spark ")
    facts = found["executors"]["facts"]
    assert (facts["registered"], facts["answered"]) == (1, 1)
    (told,) = facts["reports"]
    assert (told["python"], told["ggfmt"]) == (OWN, __version__)
    assert os.path.samefile(told["path"], sys.executable)
    assert told["arrow"] == found["arrow"]["facts"]["version"]
    assert told["free_bytes"] > 0
    assert all(path.startswith(str(tmp_path / "tmp")) for path in told["scratch"])
    assert os.listdir(tmp_path / "tmp") == []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as master:
        yield master


def small() -> tuple[str, ...]:
    return "--spark-conf", "spark.executor.memory=512m", "--spark-conf", "=".join(quick_executors())


@pytest.mark.spark
@pytest.mark.long
def test_a_cluster_of_two(cluster: str) -> None:
    ended = apart("--master", cluster, *small(), "--output-format", "json")
    found = by_name(ended.stdout)
    assert ended.returncode == 0, ended.stdout
    facts = found["executors"]["facts"]
    assert (facts["registered"], facts["answered"]) == (2, 2)
    assert len({tuple(told["scratch"]) for told in facts["reports"]}) == 2
    assert {told["ggfmt"] for told in facts["reports"]} == {__version__}


@pytest.mark.spark
@pytest.mark.long
def test_workers_with_another_python(cluster: str, tmp_path: Path) -> None:
    other = tmp_path / "python"
    fields = "major minor micro releaselevel serial"
    (tmp_path / "sitecustomize.py").write_text(
        "import collections, sys\n"
        f"sys.version_info = collections.namedtuple('version_info', '{fields}')(3, 99, 0, 'final', 0)\n"
    )
    other.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    ended = apart("--master", cluster, *small(), "--output-format", "json", environment={"PYSPARK_PYTHON": str(other)})
    found = by_name(ended.stdout)
    assert ended.returncode == 1
    assert found["session"]["state"] == "ok"
    assert found["executors"]["state"] == "problem"
    assert "3.99" in found["executors"]["message"]
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in found["executors"]["message"]
    assert "set PYSPARK_PYTHON" in found["executors"]["help"]
