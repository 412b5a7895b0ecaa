"""The version, where whatever needs it can have it without more."""

VERSION = "0.2.0"
