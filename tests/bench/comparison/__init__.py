"""The parts of `tests/bench/compare.py`: data, workloads, how a side is run and measured, and the table."""
