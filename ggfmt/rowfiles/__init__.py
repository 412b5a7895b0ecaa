"""Rows of tables in files: readers, writers, and partitions that are too large for memory (`spill`)."""
