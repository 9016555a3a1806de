"""Figure 1 (a-c): how much the acquisition functions of three methods disagree.

`--quick` shows that it runs; without options the settings are those of the committed results.
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("1abc", __doc__)
