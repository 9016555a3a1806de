"""The appendix's batch figure (a): Lunar-Lander, all methods in batches of four.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("lunar-batch-a", __doc__)
