"""Where the lines of one version of a file are: newline counts per block. Pure."""
