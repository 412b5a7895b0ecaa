"""Spark: use a running one, or find Java and start one; run one task for each item; report failures in one clause."""
