"""Progressive disclosure: what a model sees of a large catalog of tools. Presentation only; nothing is here yet."""
