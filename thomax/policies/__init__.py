"""Policies: callables that turn a key and data into a score to maximise."""
