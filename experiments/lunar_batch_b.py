"""The appendix's batch figure (b): Lunar-Lander by evaluations.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("lunar-batch-b", __doc__)
