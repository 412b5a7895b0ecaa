"""Values of properties from programs become the texts that a handler file has."""

from __future__ import annotations

import pytest

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.options.spec import property_text


@pytest.mark.parametrize(("value", "text"), [("a b", "a b"), (True, "true"), (False, "false"), (3, "3"), (0.5, "0.5")])
def test_plain_values_are_texts(value: object, text: str) -> None:
    assert property_text("key", value) == text


@pytest.mark.parametrize(("key", "value"), [("key", None), ("key", ["secret"]), ("key", b"secret"), (3, "secret")])
def test_other_values_are_refused_and_not_shown(key: object, value: object) -> None:
    with pytest.raises(UsageError, match="GG565") as caught:
        property_text(key, value)
    assert "secret" not in str(caught.value)
