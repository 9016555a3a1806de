"""Figure 3 (b): robot pushing, 14 parameters.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("3b", __doc__)
