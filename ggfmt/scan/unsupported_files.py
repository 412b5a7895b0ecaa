"""Files that ggfmt does not read and that their first bytes name: archives, tables of other systems, trail files."""

from __future__ import annotations

from ggfmt.formats.json.unread import UnsupportedMessages

_UNPACK = "unpack it, and give the files that are in it"
_EXPORT = "export its rows as changes in a format that `ggfmt formats` lists; a table has no operations"
_TRAIL = (
    "the layout of trails is not public: let a Replicat of GoldenGate for Big Data write it out, for example by its "
    "File Writer handler in `json`, and give that to ggfmt"
)
_AGAIN = "give its name the ending `%s`; where it has one, it was compressed twice"

# The header record of a trail begins with `F`, and in it the first token of the first group is this signature: dumps of
# headers by Logdump show it, as http://oracle-help.com/goldengate/logdump-utility-in-golden-gate/ does.
_TRAIL_SIGNATURE = b"GG\r\nTL\n\r"
_TRAIL_HEAD = 64

_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_WORKBOOK = (b"[Content_Types].xml", b"xl/")

# None of these can be the start of a text, or of messages in Avro.
_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x1f\x8b\x08", "compressed by gzip, which its name does not tell", _AGAIN % ".gz"),
    (b"\xfd7zXZ\0", "compressed by xz, which its name does not tell", _AGAIN % ".xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd, which its name does not tell", _AGAIN % ".zst"),
    (b"\x04\x22\x4d\x18", "compressed by LZ4", "decompress it, or compress it by gzip, bzip2, xz or zstd"),
    (b"\xff\x06\0\0sNaPpY", "compressed by Snappy", "decompress it, or compress it by gzip, bzip2, xz or zstd"),
    (b"PAR1\x15", "a Parquet file", _EXPORT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of Microsoft Office, such as an Excel workbook", _EXPORT),
    (b"SQLite format 3\0", "a database of SQLite", _EXPORT),
)


def identify_unsupported(head: bytes) -> UnsupportedMessages | None:
    """What a file is by its first bytes, decompressed, of what ggfmt does not read; None if it is none of that."""
    if _TRAIL_SIGNATURE in head[:_TRAIL_HEAD]:
        return UnsupportedMessages("a trail file of GoldenGate", _TRAIL)
    if head.startswith(_ZIP):
        if all(name in head for name in _WORKBOOK):
            return UnsupportedMessages("an Excel workbook", _EXPORT)
        return UnsupportedMessages("a ZIP archive", _UNPACK)
    for start, what, help in _STARTS:
        if head.startswith(start):
            return UnsupportedMessages(what, help)
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return UnsupportedMessages("compressed by bzip2, which its name does not tell", _AGAIN % ".bz2")
    if head[:3] == b"ORC" and any(byte < 9 for byte in head[3:64]):
        return UnsupportedMessages("an ORC file", _EXPORT)
    if head[257:262] == b"ustar" and b"\0" in head[:257]:
        return UnsupportedMessages("a tar archive", _UNPACK)
    return None
