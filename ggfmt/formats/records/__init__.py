"""Formats whose files are records: the reader, the discovery and the formatter that all such systems share."""
