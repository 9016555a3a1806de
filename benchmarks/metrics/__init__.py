"""Compare methods on several objectives, or with limits: `python -m benchmarks.metrics`."""
