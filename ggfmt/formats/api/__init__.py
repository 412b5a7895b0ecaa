"""The interface of formats: declaration and settings, losses, readers and writers."""
