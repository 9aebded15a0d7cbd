"""Sampling rules, one class in a file of its own."""
