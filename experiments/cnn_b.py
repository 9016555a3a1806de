"""The appendix's CNN figure (b): tuning a convolutional network, against the baselines.

`--quick` shows that it runs; without options the settings are those of the committed results,
`--paper` takes as many iterations as the paper.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("cnn-b", __doc__)
