"""Random problems, whole runs and followed calls, for the tests, the studies in analysis/ and the site; not shipped."""
