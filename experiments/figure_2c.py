"""Figure 2 (c): XGBoost on MNIST, variants of the method.

`--quick` shows that it runs; without options the settings are those of the committed results.
The paper's: `--iterations 500` (150 for hyperparameters, 100 for images, 50 for the 1-D function).
"""

from thomax.bench.command import reproduce

if __name__ == "__main__":
    reproduce("2c", __doc__)
