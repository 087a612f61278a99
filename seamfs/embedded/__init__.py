"""Stores that run inside this process, for the demonstration and for quick tests. Nothing here is loaded otherwise."""
