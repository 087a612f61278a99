"""Three tools to find one's way with: list_dir, glob and grep, on any backend."""
