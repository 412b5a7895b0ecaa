"""Secrets in settings of Spark and in URLs: on no command line, in no file that stays, in nothing that is shown."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import descendants
from runs import operation, write_lines

from ggfmt import cli
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, without_credentials
from ggfmt.spark.installations import find_java
from ggfmt.spark.jvm import as_argument_file, as_properties, private_file

SECRET = "Zk7-no=one: sees\\this"
_ECHO = """
import java.nio.file.*;
import java.util.*;
public class Echo {
  public static void main(String[] words) throws Exception {
    Properties found = new Properties();
    found.load(Files.newBufferedReader(Path.of(words[0])));
    System.out.write((found.getProperty("spark.a b=c") + "\\0" + words[1]).getBytes("UTF-8"));
    System.out.flush();
  }
}
"""


@pytest.mark.spark
def test_no_setting_of_spark_is_on_a_command_line(tmp_path: Path) -> None:
    """Of the launcher, Spark, and its Python workers; nor in the environment of what is started."""
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(2000)])
    (tmp_path / "tmp").mkdir()
    # The program gets both secrets through its standard input: so they are in no command line of a fork of it either.
    program = (
        "import sys\n"
        "from ggfmt import convert\n"
        "key, java = sys.stdin.read().splitlines()\n"
        "convert(['in.json'], to='json', output='out', master='local[2]', split_size=20000,"
        " spark_conf={'spark.hadoop.fs.s3a.secret.key': key, 'spark.driver.extraJavaOptions': java})\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip
    seen: dict[int, bytes] = {}
    shown, modes = [], set()

    def watch() -> None:
        while process.poll() is None:
            for child in descendants(process.pid):
                for name in ("cmdline", "environ"):
                    try:
                        text = Path(f"/proc/{child}/{name}").read_bytes()
                    except OSError:
                        continue
                    seen[child] = seen.get(child, b"") + text
                    if b"Zk7" in text:
                        shown.append(text)
            for path in [Path(top, name) for top, _, names in os.walk(tmp_path / "tmp") for name in names]:
                try:
                    if path.is_file() and b"Zk7" in path.read_bytes():
                        modes.add((stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)))
                except OSError:
                    continue
            time.sleep(0.003)

    thread = threading.Thread(target=watch)
    thread.start()
    _, told = process.communicate(f"{SECRET}\n-Dmy.password=Zk7-in-java\n", timeout=120)
    thread.join()
    assert process.returncode == 0, told
    assert any(b"pyspark.daemon" in text for text in seen.values())
    assert any(b"java" in text for text in seen.values())
    assert shown == []
    assert modes <= {(0o600, 0o700)}
    assert modes, "the file with the settings was never met"
    assert "Zk7" not in told
    assert source.exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"Zk7" in path.read_bytes()] == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("echo") / "Echo.java"
    program.write_text(_ECHO)
    return program


@pytest.mark.spark
def test_java_reads_settings_and_words_as_they_are(echo: Path, tmp_path: Path) -> None:
    text = " a\\b \"c\" 'd' #e !f\tg\n=h: é€😀 %&\\"
    settings = private_file(tmp_path / "s", as_properties({"spark.a b=c": text}))
    words = private_file(tmp_path / "w", as_argument_file([str(echo), str(settings), "\\ \"x\" 'y' # z\t\n é"]))
    for file in (settings, words):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    java = [str(find_java().executable), "-Dfile.encoding=UTF-8", f"@{words}"]
    done = subprocess.run(java, capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=60)
    if b"jdk.compiler" in done.stderr:
        pytest.skip("this Java has no compiler")
    assert done.stdout.decode() == f"{text}\0" + "\\ \"x\" 'y' # z\t\n é", done.stderr


@given(st.text(), st.text())
def test_settings_are_one_line_each(key: str, value: str) -> None:
    content = as_properties({key: value, "last": "1"})
    assert content.count(b"\n") == 2
    assert content.isascii()


HIDDEN = [
    "jdbc:oracle:thin:scott/Zk7tiger@//db:1521/x",
    'jdbc:oracle:oci:scott/"Zk7 @ tiger"@db',
    "jdbc:mysql://root:Zk7pw@db:3306/x",
    "jdbc:postgresql://db/x?user=u&password=Zk7pw&ssl=true",
    "jdbc:sqlserver://db;user=sa;password=Zk7pw;encrypt=false",
    "mongodb://u:Zk7pw@h/x",
    "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='Zk7 pw';",
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="Zk7 pw";',
    "spark.hadoop.fs.s3a.secret.key=Zk7pw",
    "fs.azure.account.key.acct.dfs.core.windows.net=Zk7/pw==",
    "https://acct.blob.core.windows.net/c?sv=1&sig=Zk7%2Fpw",
    '{"password": "Zk7"}',
    "oauth.token=Zk7",
    "PWD=Zk7;",
]
SHOWN = [
    "gg.handler.h.format.includeTokens=true",
    "includeggtokens=maybe",
    "`password=true` makes no sense",
    "give `--key ID`",
    "jdbc:mysql://db.example.com:3306/orders",
    "jdbc:oracle:thin:@//db:1521/x",
    "connection.password=${vault.pw}",
    "a token: the third",
    "abfs://container@account.dfs.core.windows.net/x",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_secret_is_in_nothing_that_is_shown(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Zk7" not in without_credentials(text)
    assert without_credentials(without_credentials(text)) == without_credentials(text)
    diagnostic = Diagnostic("GG103", f"`x` cannot be `{text}`", Span("f", 1, 1, source=f"x={text}"), f"not `{text}`")
    assert "Zk7" not in repr(diagnostic)
    file = tmp_path / "h.properties"
    lines = ["gg.handlerlist=h,j", "gg.handler.h.type=jdbc", "gg.handler.j.format=json"]
    keys = (
        "h.connectionURL",
        "h.conectionURL",
        "j.format.wat",
        "j.format.encoding",
        "j.format.treatAllColumnsAsStrings",
    )
    lines += [f"gg.handler.{key}={text}" for key in keys]
    lines += [f"gg.handler.h.connectionURL={text} # \\u00", text, f"#{text}", f"sasl.jaas.config={text}"]
    file.write_text("\n".join(lines))
    for output_format in ("text", "json", "github", "gitlab", "junit", "rdjson", "sarif"):
        cli.main(["validate-config", str(file), "--output-format", output_format])
    cli.main(["run", "in.json", "-c", str(file), "-o", str(tmp_path / "out"), "--master", "none"])
    shown = "".join(capsys.readouterr())
    assert "GG1" in shown
    assert "Zk7" not in shown


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert without_credentials(text) == text
