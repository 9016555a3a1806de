"""Evaluating trials in parallel: the loop, its workers, and when to give up."""
