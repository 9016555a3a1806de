import numpy as np
import scipy.optimize

from thomax.model.lbfgs import minimise


def rosenbrock(x):
    a, b = x[..., :-1], x[..., 1:]
    value = (100 * (b - a**2) ** 2 + (1 - a) ** 2).sum(-1)
    gradient = np.zeros_like(x)
    gradient[..., :-1] = -400 * a * (b - a**2) - 2 * (1 - a)
    gradient[..., 1:] += 200 * (b - a**2)
    return value, gradient


def test_many_problems_reach_their_minima_together():
    starts = np.random.default_rng(0).uniform(-2, 2, (3, 5, 2))
    found = minimise(rosenbrock, starts, iterations=300, tolerance=1e-6)
    assert found.x.shape == (3, 5, 2)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    assert found.iterations < 300


def test_bounds_are_kept_and_agree_with_scipy():
    rng = np.random.default_rng(1)
    for _ in range(5):
        start = rng.uniform(-1, 1, 4)
        ours = minimise(
            lambda x: rosenbrock(x - 0.5), start[None], iterations=300, lower=-1, upper=1
        )
        theirs = scipy.optimize.minimize(
            lambda x: rosenbrock(x - 0.5), start, jac=True, method="L-BFGS-B", bounds=[(-1, 1)] * 4
        )
        assert (np.abs(ours.x) <= 1).all()
        assert ours.value[0] <= theirs.fun + 1e-3


def test_a_value_never_increases_and_a_problem_without_progress_keeps_its_point():
    def rough(x):  # the gradient points uphill for the second problem
        value, gradient = rosenbrock(x)
        return value, gradient * np.array([1.0, -1.0])[:, None]

    start = np.array([[0.0, 0.5], [0.0, 0.5]])
    found = minimise(rough, start, iterations=50)
    before = rosenbrock(start)[0]
    assert found.value[0] < 1e-3 < before[0]
    assert found.value[1] <= before[1]


def test_a_perfect_preconditioner_solves_a_quadratic_at_once():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    H = root @ root.T + 0.01 * np.eye(6)
    quadratic = lambda x: (0.5 * np.einsum("...i,ij,...j->...", x, H, x), x @ H)  # noqa: E731
    inverse = np.linalg.inv(H)
    unsolved = np.zeros(3, bool)
    found = minimise(
        quadratic, rng.normal(size=(3, 6)), iterations=2,
        model=lambda x, value: (lambda g: g @ inverse, unsolved),
    )  # fmt: skip
    np.testing.assert_allclose(found.x, 0, atol=1e-8)


def test_float32_problems_stay_float32():
    start = np.zeros((2, 3), np.float32)
    found = minimise(
        lambda x: (rosenbrock(x)[0], rosenbrock(x)[1].astype(np.float32)), start, iterations=20
    )
    assert found.x.dtype == np.float32


def test_a_minimum_on_the_faces_of_the_box_ends_the_search():
    """There only the projected gradient vanishes: descent out of the box counts for nothing."""
    centre = np.array([3.0, -2.0, 0.2])
    function = lambda x: (((x - centre) ** 2).sum(-1), 2 * (x - centre))  # noqa: E731
    found = minimise(function, np.zeros((4, 3)), iterations=100, tolerance=1e-6, lower=-1, upper=1)
    np.testing.assert_allclose(found.x, np.tile([1.0, -1.0, 0.2], (4, 1)), atol=1e-5)
    assert found.iterations < 20
    one_more = function(found.x)
    assert (np.linalg.norm(one_more[1], axis=-1) > 1).all()
    stopped = minimise(function, found.x, iterations=5, tolerance=1e-4, lower=-1, upper=1)
    assert stopped.iterations == 0
