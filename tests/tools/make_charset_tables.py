"""Makes `ggfmt/java/charset_names.txt` and `ggfmt/java/charset_tables.xz` from the charsets of a full JDK 17.

    python tests/tools/make_charset_tables.py [JAVA_HOME]

A small Java program, run from its source, prints names, aliases and what each charset makes of every character. A
charset gets Python's codec where that makes the same bytes of all characters, and else a table.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import PACKAGE

JAVA = PACKAGE / "java"
HOLE = "\uffff"
ENDS_AT = 0x30000  # no charset but those of all Unicode has a character from here on

# What encodes all of Unicode, of which the generator does not look at every character; the test does.
_UNICODE = {
    "UTF-8": "utf-8",
    "UTF-16": "utf-16-be",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "x-UTF-16LE-BOM": "utf-16-le",
    "UTF-32": "utf-32-be",
    "UTF-32BE": "utf-32-be",
    "UTF-32LE": "utf-32-le",
    "X-UTF-32BE-BOM": "utf-32-be",
    "X-UTF-32LE-BOM": "utf-32-le",
    "CESU-8": "unicode",
    "GB18030": "unicode",
}
_PYTHON = (
    "ascii", "latin-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8",
    "iso8859-9", "iso8859-11", "iso8859-13", "iso8859-15", "iso8859-16", "cp1250", "cp1251", "cp1252", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857",
    "cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp866", "cp869", "cp874", "koi8-r", "koi8-u",
    "mac-latin2", "mac-roman", "gb2312", "johab",
)  # fmt: skip

_PROGRAM = r"""
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.*;
import java.util.*;

public class Dump {
    static final int[] SECOND = {0x300, 0x301, 0x304, 0x30c, 0x2e5, 0x2e9, 0x309a, 0xff9e, 0xff9f};
    static final ByteBuffer OUT = ByteBuffer.allocate(64);

    static String encoded(CharsetEncoder encoder, int... characters) {
        encoder.reset();
        OUT.clear();
        CharBuffer in = CharBuffer.wrap(new String(characters, 0, characters.length));
        if (!encoder.encode(in, OUT, true).isUnderflow()) return null;
        encoder.flush(OUT);
        return HexFormat.of().formatHex(OUT.array(), 0, OUT.position());
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        for (Charset charset : Charset.availableCharsets().values()) {
            out.println(charset.name() + "\t" + String.join(" ", new TreeSet<>(charset.aliases())));
            if (!charset.canEncode()) { out.println("-\n\n"); continue; }
            CharsetEncoder encoder = charset.newEncoder();
            out.println(HexFormat.of().formatHex(encoder.replacement()));
            StringBuilder pairs = new StringBuilder();
            boolean some = !charset.name().matches("(?i).*(UTF-|CESU|GB18030).*");
            int end = encoder.maxBytesPerChar() == 1 ? 0x10000 : Integer.parseInt(arguments[0]);
            for (int c = 0; some && c < end; c++) {
                String one = Character.isSurrogate((char) c) && c < 0x10000 ? null : encoded(encoder, c);
                if (one == null) continue;
                out.print(Integer.toHexString(c) + ":" + one + " ");
                if (encoder.maxBytesPerChar() == 1 || c < 0x80) continue;
                for (int second : SECOND) {
                    String two = encoded(encoder, c, second);
                    if (two == null || two.length() > one.length()) continue;
                    pairs.append(Integer.toHexString(c) + "," + Integer.toHexString(second) + ":" + two + " ");
                }
            }
            out.println();
            out.println(pairs);
        }
        out.flush();
    }
}
"""


@dataclass(frozen=True)
class Dumped:
    """A charset as Java has it; `replacement` is None where Java cannot encode, `characters` maps texts to bytes."""

    name: str
    aliases: tuple[str, ...]
    replacement: bytes | None
    characters: dict[str, bytes]


def dump(java_home: str) -> list[Dumped]:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "Dump.java")
        source.write_text(_PROGRAM)
        command = [f"{java_home}/bin/java", str(source), str(ENDS_AT)]
        lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\n")
    found = []
    for head, replacement, singles, pairs in zip(*(lines[at::4] for at in range(4)), strict=False):
        name, _, aliases = head.partition("\t")
        items = (item.split(":") for item in (*singles.split(), *pairs.split()))
        characters = {
            "".join(chr(int(code, 16)) for code in text.split(",")): bytes.fromhex(made) for text, made in items
        }
        known = None if replacement == "-" else bytes.fromhex(replacement)
        found.append(Dumped(name, tuple(aliases.split()), known, characters))
    return found


def python_codec(charset: Dumped) -> str | None:
    """The codec of Python that makes the same bytes of every character, alone and beside others."""
    known = {text: made for text, made in charset.characters.items() if len(text) == 1}
    characters, whole = "".join(known), b"".join(known.values())
    for codec in _PYTHON:
        if charset.replacement != b"?" or encoded(codec, characters) != whole:
            continue
        others = "".join(_ALL - known.keys())
        if not others.encode(codec, "ignore") and all(one.encode(codec) == made for one, made in known.items()):
            return codec
    return None


_ALL = frozenset(chr(code) for code in range(ENDS_AT) if not 0xD800 <= code < 0xE000)


def encoded(codec: str, text: str) -> bytes | None:
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        return None


_MODE = re.compile(rb"(\x1b\$\([A-D]|\x1b\$[@AB]|\x1b\([A-Z]|\x1b\.[A-Z]|\x0e)(..?)(\x1b\([B]|\x0f)", re.DOTALL)


def table(charset: Dumped) -> dict[str, object]:
    """As `charsets` reads it: modes, each with the bytes that switch to it, and its rows of characters."""
    modes: dict[bytes, dict[bytes, list[str]]] = defaultdict(lambda: defaultdict(list))
    pairs: dict[str, str] = {}
    initial = b""
    modes[initial]
    for text, made in charset.characters.items():
        shifted = _MODE.fullmatch(made) if len(made) > 3 else None
        enter, body = (shifted[1], shifted[2]) if shifted else (b"", made)
        if shifted:
            initial = shifted[3]
        if len(text) > 1:
            pairs[text] = enter.hex() + ":" + body.hex()
        else:
            modes[enter][body].append(text)
    listed = [[(enter or initial).hex(), *rows(bodies)] for enter, bodies in modes.items()]
    assert charset.replacement is not None
    return {"replacement": charset.replacement.hex(), "pairs": pairs, "modes": listed}


def rows(codes: dict[bytes, list[str]]) -> tuple[str, str]:
    """Runs of bytes that differ only in their last one, as `prefix first count`, and their characters in that order.

    Where several characters have the same bytes, each further one is in a row of its own.
    """
    heads, texts = [], []
    layers: dict[tuple[int, bytes], dict[int, str]] = defaultdict(dict)
    for code, characters in codes.items():
        for layer, character in enumerate(characters):
            layers[layer, code[:-1]][code[-1]] = character
    for (_, prefix), row in sorted(layers.items(), key=lambda item: (item[0][0], len(item[0][1]), item[0][1])):
        first, last = min(row), max(row)
        heads.append(f"{prefix.hex() or '-'} {first} {last - first + 1}")
        texts.append("".join(row.get(at, HOLE) for at in range(first, last + 1)))
    return ",".join(heads), "".join(texts)


def made(java_home: str) -> tuple[str, dict[str, object]]:
    """The names with what encodes them, and the tables."""
    lines: list[str] = []
    tables: dict[str, object] = {}
    for charset in dump(java_home):
        codec = _UNICODE.get(charset.name) or (charset.replacement and python_codec(charset)) or "table"
        if charset.replacement is None or charset.name in REFUSED:
            codec = "none"
        elif codec == "table":
            tables[charset.name] = table(charset)
        line = " ".join((charset.name, codec, *charset.aliases))
        lines += textwrap.wrap(line, 120, subsequent_indent=" ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n", tables


# Each message would need its designations again, by rules that no two of these have in common.
REFUSED = ("ISO-2022-KR", "x-ISO-2022-CN-CNS", "x-ISO-2022-CN-GB")


if __name__ == "__main__":
    names, tables = made(sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/jvm/java-17-openjdk-amd64")
    (JAVA / "charset_names.txt").write_text(names, encoding="ascii")
    packed = json.dumps(tables, ensure_ascii=False, separators=(",", ":")).encode()
    (JAVA / "charset_tables.xz").write_bytes(lzma.compress(packed, preset=9 | lzma.PRESET_EXTREME))
