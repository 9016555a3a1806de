"""The default policy of a space, repeats, and what known noise changes in recommendations."""

import numpy as np
import pytest
from scipy import stats

import thomax as tx
from thomax.keys import make_keys
from thomax.model.data import Data
from thomax.model.evaluation import evaluate
from thomax.model.noise import pooled
from thomax.prediction import predict
from thomax.space.given import region_of
from thomax.suggest import (
    GreedyStart,
    default_policy,
    posterior_means,
    rows_to_repeat,
    shows_noise,
    suggest,
)

SPACE = tx.Space({"x": tx.Float(-1, 1), "y": tx.Float(-1, 1)})
POLICY = tx.STOBNTSLinear(tx.MLP(1, 32, "erf"), noise_std=0.3)
RNG = np.random.default_rng(0)
POINTS = [{"x": float(a), "y": float(b)} for a, b in RNG.uniform(-1, 1, (8, 2))]
ROWS = SPACE.encode(POINTS)
DATA = Data(ROWS, np.sin(2 * ROWS.sum(1)))
KEYS = make_keys(0, 5)
ALL = np.full(8, True)


def test_a_draw_is_evaluated_again_where_it_promises_hardly_more_elsewhere():
    draws = POLICY(KEYS, DATA)
    values = evaluate(draws, DATA.x)
    maxima = RNG.uniform(-1, 1, (5, 2)).astype(np.float32)
    promised = np.diag(evaluate(draws, maxima))
    for margin in (0.0, 0.5, 100.0):
        found = rows_to_repeat(draws, maxima, DATA, allowed=ALL, margin=margin)
        for row, best, value, most in zip(
            found, values.argmax(1), values.max(1), promised, strict=True
        ):
            assert row == (best if most <= value + margin else None)


def test_only_allowed_evaluations_are_repeated_and_draws_without_a_new_point_repeat_one():
    draws = POLICY(KEYS, DATA)
    maxima = DATA.x[:3]
    allowed = np.arange(8) == 4
    found = rows_to_repeat(draws, maxima, DATA, allowed=allowed, margin=1e9)
    assert found == [4] * 5
    found = rows_to_repeat(draws, maxima, DATA, allowed=allowed, margin=-1e9)
    assert found == [None, None, None, 4, 4]


def asked(space=SPACE, data=DATA, **settings):
    return suggest(POLICY, space, data, 3, seed=1, number=8, exclude=POINTS, **settings)


def test_repeats_are_points_as_they_were_told_and_others_are_as_without():
    new = asked()
    assert asked(repeatable=POINTS, repeat_margin=-1e9) == new
    always = asked(repeatable=POINTS, repeat_margin=1e9)
    assert all(point in POINTS for point in always)
    failed = Data(
        DATA.x, [np.nan if p in always else y for p, y in zip(POINTS, DATA.y, strict=True)]
    )
    nothing = Data(DATA.x, np.full(8, np.nan))
    assert not any(p in POINTS for p in asked(data=nothing, repeatable=POINTS, repeat_margin=9.0))
    others = asked(data=failed, repeatable=POINTS, repeat_margin=1e9)
    assert all(point in POINTS and point not in always for point in others)


def test_the_margin_counts_in_deviations_of_the_noise():
    """A margin of m with noise s is that of m / 2 with noise 2 s in the same draws."""
    draws, maxima = POLICY(make_keys(1, 3, first=8), DATA), SPACE.encode(asked())
    gaps = np.diag(evaluate(draws, maxima)) - evaluate(draws, DATA.x).max(1)
    assert (gaps > 0).all()
    for i in range(3):
        inside, beyond = (
            asked(repeatable=POINTS, repeat_margin=factor * gaps[i] / 0.3)[i]
            for factor in (1.01, 0.99)
        )
        assert inside in POINTS
        assert beyond not in POINTS


def test_repeats_lie_in_the_region_that_is_searched():
    region = region_of(SPACE, {"x": POINTS[2]["x"]})
    found = asked(region, repeatable=POINTS, repeat_margin=1e9)
    assert found == [POINTS[2]] * 3


def test_a_finite_space_that_is_used_up_is_repeated():
    space = tx.Space({"k": tx.Int(1, 4)})
    points = [{"k": k} for k in (1, 2, 3, 4)]
    data = Data(space.encode(points), [0.0, 1.0, 2.0, 1.5])
    common = {"seed": 0, "number": 4, "exclude": points}
    assert suggest(POLICY, space, data, 2, **common) == []
    found = suggest(POLICY, space, data, 2, **common, repeatable=points)
    assert len(found) == 2
    assert all(point in points for point in found)


def noisy(n=24, std=0.5):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    return x, np.sin(2 * x.sum(1)), std * rng.normal(size=n)


def test_a_known_error_is_no_evidence_of_noise_but_changes_the_recommendation():
    """One value is far too good, and known to be bad: another is recommended."""
    x, f, _ = noisy()
    y = f.copy()
    y[3] += 5.0
    lucky = Data(x, y)
    assert int(np.argmax(lucky.y)) == 3
    assert posterior_means(POLICY, SPACE, Data(x, f), seed=0) is None  # without noise
    stds = np.full(len(y), np.nan)
    stds[3] = 5.0
    known = Data(x, y, noise_std=stds)
    assert not shows_noise(SPACE, known)
    model = tx.STOBNTSLinear()
    means = posterior_means(model, SPACE, known, seed=0)
    assert int(np.argmax(means)) != 3
    np.testing.assert_allclose(np.delete(means, 3), np.delete(f, 3), atol=0.1)  # as they are


def test_the_scatter_of_measurements_shows_noise_where_points_are_far_apart():
    x, f, _ = noisy(8)
    rng = np.random.default_rng(0)
    several = [pooled(value + 0.5 * rng.normal(size=3)) for value in f]
    y, repeats, scatter = np.array(several).T
    assert not shows_noise(SPACE, Data(x, y))
    assert shows_noise(SPACE, Data(x, y, repeats=repeats, scatter=scatter))
    assert not shows_noise(SPACE, Data(x, y, repeats=repeats, scatter=1e-8 * scatter))


@pytest.mark.parametrize("std", [0.05, 0.4])
def test_predictions_take_known_errors_into_account(std):
    """Where all errors are known, a new measurement is expected to be as noisy."""
    x, f, noise = noisy()
    data = Data(x, f + std / 0.5 * noise, noise_std=np.full(len(f), std))
    found = predict(tx.STOBNTSLinear(), SPACE, data, POINTS, direction="maximize", seed=0)
    t = stats.t.ppf(0.95, len(f) / 2)
    half = (found.measurement_high - found.measurement_low) / (2 * t)
    np.testing.assert_allclose(np.sqrt(half**2 - found.std**2), std, rtol=1e-4)


def numbers(d):
    return tx.Space({f"x{i}": tx.Float(0, 1) for i in range(d)})


@pytest.mark.parametrize(
    ("space", "length", "later"),
    [
        (numbers(1), 3, 1.0),
        (numbers(2), 6, 1.0),
        (numbers(6), 18, 0.5),
        (numbers(40), 30, 0.5),
        (tx.Space({"kind": tx.Categorical(["a", "b"]), "x": tx.Float(0, 1)}), 6, 1.0),
        (tx.Pool(np.random.default_rng(0).normal(size=(9, 2))), 30, 1.0),
    ],
)
def test_draws_begin_with_a_quarter_of_the_deviation_and_end_with_half_or_all_of_it(
    space, length, later
):
    beta = default_policy(space).beta
    assert beta == GreedyStart(length, then=later)
    assert [beta(n) for n in (0, length - 1, length, 10**6)] == [0.25, 0.25, later, later]


def test_targets_are_not_warped_where_the_space_is_explored_fully():
    assert default_policy(numbers(3)).warp_targets
    assert not default_policy(numbers(2)).warp_targets
