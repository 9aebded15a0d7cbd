"""Random problems and whole runs of them, for the tests and for the studies in analysis/; not shipped."""
