"""Completion: what is offered, by the functions and in a real bash; and that it is quick and never complains."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

from ggfmt.config.handler_file import NEW_TYPES
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats import FORMATS

BIN = Path(sys.executable).parent
READ = [name for name, format in FORMATS.items() if format.reads is not None]


def offered(*words: str, cwd: Path = ROOT) -> list[str]:
    """What bash is offered for the last of the words."""
    environment = {**os.environ, "_GGFMT_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(("ggfmt", *words))}
    environment["COMP_CWORD"] = str(len(words))
    ended = subprocess.run(
        [BIN / "ggfmt"], env=environment, cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def test_codes_formats_and_properties_for_explain() -> None:
    assert offered("explain", "GG10") == [code for code in CODES if code.startswith("GG10")]
    assert offered("explain", "pk") == ["pkUpdateHandling"]
    assert offered("explain", "avro_o") == ["avro_op", "avro_op_ocf"]
    assert "gg.handlerlist" in offered("explain", "")


def test_formats_for_options_and_the_input() -> None:
    assert {"ggfmt", "handler", "process", "kafka", "s3", *FORMATS} <= set(offered("options", ""))
    assert offered("run", "x", "--input-format", "") == ["auto", *READ]
    assert offered("run", "x", "--input-format", "js") == [name for name in READ if name.startswith("js")]


def test_masters() -> None:
    whole_or_begun = ["local[*]", "local[1]", "spark://", "yarn", "k8s://"]
    assert offered("doctor", "--master", "") == whole_or_begun
    assert offered("run", "x", "--master", "") == [*whole_or_begun, "none", "none[1]"]
    assert offered("doctor", "--master", "sp") == ["spark://"]


def test_pages_for_docs_and_formats_for_init() -> None:
    assert offered("docs", "com") == ["compare-rows", "commands", "comparing"]
    assert offered("docs", "GG20") == [code for code in CODES if code.startswith("GG20")]
    assert offered("docs", "canal") == ["canal", "canal_json"]
    formats = [name for name, format in FORMATS.items() if format.writes is not None]
    assert offered("init", "") == [*formats, *NEW_TYPES, "replicat"]
    assert offered("init", "kafkac") == ["kafkaconnect_json", "kafkaconnect_avro", "kafkaconnect"]


def test_words_that_are_declared_come_by_themselves() -> None:
    assert offered("run", "x", "--mode", "") == ["error", "append", "overwrite"]
    assert offered("schema", "--kind", "") == ["avro", "json", "xsd", "ddl"]


def test_the_handlers_of_the_files_that_are_given(tmp_path: Path) -> None:
    text, json = "conf/delimitedtext.properties", "conf/json.properties"
    assert offered("run", "x", "-c", json, "--handler", "") == ["json"]
    assert offered("run", "x", "-c", text, "-c", json, "--set", "gg.handlerlist=text,json", "--handler", "") == [
        "text",
        "json",
    ]
    assert offered("run", "x", "--set", "gg.handler.mine.format=json", "--handler", "") == ["mine"]
    (tmp_path / "keys").write_text("gg.handler.b.format=json\ngg.handler.a.format=xml\n", encoding="utf-8")
    assert offered("schema", "-c", "keys", "--handler", "", cwd=tmp_path) == ["b", "a"]


def test_files_that_cannot_be_read_are_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"gg.handlerlist=\\uXX\n\xff")
    for file in ("nowhere", "bad", str(tmp_path)):
        assert offered("run", "x", "-c", file, "--handler", "", cwd=tmp_path) == []


def test_keys_for_set() -> None:
    json = offered("run", "x", "-c", "conf/json.properties", "--set", "gg.handler.json.format.p")
    assert json == ["gg.handler.json.format.prettyPrint=true", "gg.handler.json.format.prettyPrint=false"]
    pk = offered("run", "x", "--set", "gg.handler.mine.format.pk")
    assert pk == [f"gg.handler.mine.format.pkUpdateHandling={word}" for word in ("abend", "update", "delete-insert")]
    assert "gg.handler.out.format=json" in offered("run", "x", "--set", "gg.handler.out.")
    assert offered("run", "x", "--set", "ggfmt.")[0] == "ggfmt.compatibility=12.2"


def test_other_shells_are_given_a_few_words_too() -> None:
    environment = {**os.environ, "_GGFMT_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment["_TYPER_COMPLETE_ARGS"] = "ggfmt explain GG103"
    ended = subprocess.run([BIN / "ggfmt"], env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == f"GG103\t{CODES['GG103'].title}\n"


@pytest.mark.parametrize(
    "words",
    [("explain", "GG"), ("options", ""), ("docs", ""), ("init", ""), ("run", "x", "--handler", "")],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(words: tuple[str, ...]) -> None:
    program = (
        "import atexit, sys, ggfmt.cli\n"
        "def tell(): print(sorted({name.partition('.')[0] for name in sys.modules} & {'pyarrow', 'pyspark', 'lxml'}))\n"
        "atexit.register(tell)\n"
        "sys.argv = ['ggfmt']\n"
        "ggfmt.cli.main()\n"
    )
    environment = {**os.environ, "_GGFMT_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(("ggfmt", *words))}
    environment["COMP_CWORD"] = str(len(words))
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.splitlines()[-1] == "[]"


# The scripts


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    ended = subprocess.run(
        [BIN / "ggfmt", "--show-completion", shell], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"_GGFMT_COMPLETE=complete_{shell}" in ended.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=ended.stdout, text=True, check=True)


def test_a_shell_without_completion() -> None:
    ended = subprocess.run(
        [BIN / "ggfmt", "--show-completion", "tcsh"], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 2
    assert ended.stderr == "ggfmt: there is no completion for `tcsh`; shells are bash, zsh, fish, powershell, pwsh\n"


def test_it_is_installed(tmp_path: Path) -> None:
    ended = subprocess.run(
        [BIN / "ggfmt", "--install-completion", "bash"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    file = tmp_path / ".bash_completions" / "ggfmt.sh"
    assert ended.stdout == f"The completion is in {file} and works in the next shell.\n"
    assert "complete_bash" in file.read_text(encoding="utf-8")
    assert str(file) in (tmp_path / ".bashrc").read_text(encoding="utf-8")


# A real bash


class Bash:
    """An interactive bash on a pseudo terminal, with the completion loaded."""

    def __init__(self) -> None:
        self._leader, follower = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "PS1": "", "HISTFILE": "", "COLUMNS": "200"}
        environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
        environment["INPUTRC"] = os.devnull
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        os.close(follower)
        for setting in ("bell-style none", "page-completions off", "completion-query-items 0"):
            self.types(f"bind 'set {setting}'\n")
        self.types('eval "$(ggfmt --show-completion bash)"; echo loa""ded\n')
        self.shows("loaded")

    def types(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def shows(self, pattern: str, seconds: float = 60) -> str:
        """What is shown until it matches."""
        told = ""
        end = time.monotonic() + seconds
        while not re.search(pattern, told):
            ready, _, _ = select.select([self._leader], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{pattern} did not come: {told!r}"
            told += os.read(self._leader, 65536).decode()
        return told

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)


@pytest.fixture
def bash() -> Iterator[Bash]:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    shell = Bash()
    yield shell
    shell.close()


def test_bash_shows_the_codes(bash: Bash) -> None:
    bash.types("ggfmt explain GG10\t\t")
    told = bash.shows(r"GG109[\s\S]*GG10")
    assert set(re.findall("GG10[0-9]", told)) == {f"GG10{number}" for number in range(10)}


def test_bash_completes_a_format_and_a_handler(bash: Bash) -> None:
    bash.types("echo options; ggfmt options xm\t")
    bash.shows("xml ")
    bash.types("\x15ggfmt run x -c conf/json.properties --handler \t")
    bash.shows("--handler json ")


def test_bash_completes_files_where_there_is_nothing_else(bash: Bash) -> None:
    bash.types("ggfmt run samples/TCUSTORD.d\t")
    bash.shows(r"samples/TCUSTORD\.def ")
