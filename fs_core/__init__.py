"""The seam: what a file system for agents promises, over any store."""
