"""The checks of handler files: every finding, and its fix."""
