"""A live experiment in a file: pulls handed out and outcomes recorded, by several processes, over days."""
