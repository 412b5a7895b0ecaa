"""MySQL's column types, which the messages of several systems name."""
