"""Figure 1 (d): a function drawn from a Gaussian process, by method, width and batch.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("1d", __doc__)
