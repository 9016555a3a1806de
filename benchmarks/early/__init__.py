"""Compare methods over the whole run: after 8, 16, 32 and 64 evaluations and at the end."""
