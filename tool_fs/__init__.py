"""The three tools that a model edits files with: read, write and edit, on any backend."""
