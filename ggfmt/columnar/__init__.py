"""Kernels over Arrow arrays: work done once per column and batch, never once per value."""
