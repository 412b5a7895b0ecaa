"""Options that several dialects have."""

from __future__ import annotations

from ggfmt.options.spec import option
from ggfmt.options.table_keys import Keys, TableKeys


def primary_keys_option() -> Keys:
    """The option for primary keys, where messages do not tell them."""
    return option(TableKeys(), (), "The primary keys of tables, for reading messages that do not tell them.")
