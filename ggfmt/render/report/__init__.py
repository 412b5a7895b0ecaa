"""A run from its manifest: a page for a browser, and a few lines for a terminal."""
