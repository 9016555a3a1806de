"""The appendix's CNN figure (a): tuning a convolutional network, variants of the method.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("cnn-a", __doc__)
