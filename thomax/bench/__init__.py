"""The paper's experiments: problems, methods, a resumable runner, statistics and figures."""
