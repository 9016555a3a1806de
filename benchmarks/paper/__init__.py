"""The paper's figures and claims, run again and judged."""
