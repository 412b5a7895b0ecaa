"""Spark: Java is found and started, the session runs one task per item, failures are told in one clause."""
