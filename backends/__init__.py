"""Stores behind the seam: one small room per store, opened by URL through `backends.registry`."""
