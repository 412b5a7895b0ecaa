"""ggfmt: change files in, the messages of a GoldenGate handler out."""

__version__ = "0.1.0"
