"""Figure 2 (a): random forest on the Pima data, variants of the method.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("2a", __doc__)
