"""A run as its manifest tells it: a page for a browser, and a few lines for a terminal."""
