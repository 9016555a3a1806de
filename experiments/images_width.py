"""The appendix's image figure: STO-BNTS-Linear by the width of its network.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("images-width", __doc__)
