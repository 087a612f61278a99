"""Finding one's way in a workspace: directories, names and lines, on every store alike and within bounds."""
