"""Adapters to tools that people already run; each file needs its own package and no other."""
