"""Places of deleted rows in a file as a text, which a manifest has for the file: an inline deletion vector of Delta."""

from __future__ import annotations

import struct
from base64 import b85decode, b85encode
from typing import Any, Final

import pyarrow as pa

from ggfmt.arrow.arrays import int64_view, narrow

_HEAD: Final = struct.pack("<iqi", 1681511377, 1, 0)  # the magic number, and one bitmap, of the places below 2**32
_PYTHON = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85, _FROM_Z85 = bytes.maketrans(_PYTHON, _Z85), bytes.maketrans(_Z85, _PYTHON)


def encode_places(places: pa.Int64Array) -> str:
    """Return the text of places, which count from 0 in any order: a Roaring bitmap in the alphabet Z85."""
    from pyroaring import BitMap  # of the extras `delta` and `iceberg`

    data = _HEAD + BitMap(int64_view(places)).serialize()
    return b85encode(data + bytes(-len(data) % 4)).translate(_TO_Z85).decode()


def decode_places(text: str) -> pa.Int64Array:
    """Return the places of a text in ascending order: none of an empty one."""
    places: pa.Array[Any] = pa.array(_bitmap(text).to_array() if text else [], pa.int64())
    return narrow(places, pa.Int64Array)


def size_in_bytes(text: str) -> int:
    """Return the size of the vector that a text has, without the bytes that fill it up."""
    return len(_HEAD) + len(_bitmap(text).serialize())


def _bitmap(text: str) -> Any:
    from pyroaring import BitMap

    return BitMap.deserialize(b85decode(text.encode().translate(_FROM_Z85))[len(_HEAD) :])
