"""Figure 3 (c): a rover's trajectory, 20 parameters.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("3c", __doc__)
