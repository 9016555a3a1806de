import numpy as np

from thomax.model.padding import pad, padded_size


def test_sizes_are_few_and_sufficient():
    sizes = {padded_size(n) for n in range(501)}
    assert sizes == {64, 96, 128, 192, 256, 384, 512}
    assert {padded_size(n, (28, 28, 1)) for n in range(501)} == sizes | {16, 24, 32, 48}
    assert all(n <= padded_size(n, (7,)) <= max(64, 1.5 * n) for n in range(1, 501))
    assert all(n <= padded_size(n, (8, 8, 1)) <= max(16, 1.5 * n) for n in range(1, 501))
    assert pad(np.ones((2, 3)), 5).sum() == 6
    assert pad(np.ones((2, 3)), 5, axis=-1).shape == (2, 5)
