import itertools
import os
import random
import shutil
import subprocess
import sys

import pytest
from journals import by_hand, start

from thomax import Float, Optimizer, Pool, Random
from thomax.cli.main import main
from thomax.storage import index as index_module
from thomax.storage import records, telling
from thomax.storage.index import FEWEST_BYTES, index_path, read_index
from thomax.storage.journal import Journal
from thomax.storage.records import encode
from thomax.storage.telling import tell_pending

SPACE = {"x": Float(-1, 1)}
MANY = [({"x": i / 1200}, None, "no room left: " + "x" * 950) for i in range(1200)]


def searching(path, **options):
    return Optimizer(SPACE, Random(), seed=0, journal=path, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a long journal of a single line, three pending trials and the index."""
    folder = tmp_path_factory.mktemp("long")
    with searching(folder / "run.jsonl") as optimizer:
        optimizer.tell_all(MANY)
        optimizer.ask(3)
    return folder


@pytest.fixture
def path(made, tmp_path):
    for file in made.iterdir():
        shutil.copy2(file, tmp_path)
    return tmp_path / "run.jsonl"


def pending(path):
    with searching(path) as optimizer:
        return [t.number for t in optimizer.pending]


def test_closing_a_long_journal_leaves_an_index_and_a_short_one_none(path, tmp_path):
    found = read_index(path)
    assert found.records == 4
    assert found.pending == [1200, 1201, 1202]
    assert found.next_number == 1203
    assert found.end == path.stat().st_size > FEWEST_BYTES
    searching(tmp_path / "short.jsonl").close()
    assert not index_path(tmp_path / "short.jsonl").exists()


def test_telling_by_the_index_writes_what_the_optimiser_writes(path, tmp_path):
    other = tmp_path / "other.jsonl"
    shutil.copy(path, other)
    assert tell_pending(path, 1201, 0.5, None)
    assert tell_pending(path, 1200, None, "out of memory", "stirrer slow")
    with searching(other) as optimizer:
        optimizer.tell(1201, 0.5)
        optimizer.tell(1200, error="out of memory", note="stirrer slow")
    assert path.read_bytes() == other.read_bytes()
    assert read_index(path) == read_index(other)
    assert pending(path) == [1202]


def test_what_an_index_covers_is_read_without_being_written_again(path, monkeypatch):
    """Its bytes were found intact when the index was made: so they are only read."""
    checked = Journal.read(path).records
    with searching(path) as optimizer:
        optimizer.tell(1200, 0.5)
    index = read_index(path)
    with path.open("ab") as file:  # the index does not cover this line
        file.write(encode(index.records + 1, {"tell": 1201, "value": 1.5, "error": None}))
    firsts = []  # the numbers that blocks which are checked begin with
    intact = records._intact
    monkeypatch.setattr(records, "_intact", lambda *args: firsts.append(args[2]) or intact(*args))
    with_index = Journal.read(path).records
    assert firsts
    assert 0 not in firsts
    index_path(path).unlink()
    assert with_index == Journal.read(path).records
    assert with_index[: len(checked)] == checked
    assert 0 in firsts


def test_metrics_are_told_by_the_index_as_by_the_optimiser(tmp_path, monkeypatch):
    path, other = tmp_path / "run.jsonl", tmp_path / "other.jsonl"
    aims = {"yield": "maximize", "cost": "minimize"}
    with searching(path, objectives=aims) as optimizer:
        optimizer.tell_all(MANY)
        optimizer.ask(3)
    shutil.copy(path, other)
    opened = []
    monkeypatch.setattr(Optimizer, "open", lambda *_, **__: opened.append(1))
    words = ["yield=0.5,0.7", "cost=3", "--noise-std", "yield=0.1", "--note", "slow"]
    assert main(["tell", str(path), "1201", *words]) == 0
    assert main(["tell", str(path), "1200", "cost=2"]) == 0  # past a tell of several metrics
    assert main(["tell", str(path), "1202", "speed=2"]) == 2
    assert not opened
    with searching(other, objectives=aims) as optimizer:
        values, errors = {"yield": [0.5, 0.7], "cost": 3}, {"yield": 0.1}
        optimizer.tell(1201, values, noise_std=errors, note="slow")
        optimizer.tell(1200, {"cost": 2})
    assert path.read_bytes() == other.read_bytes()
    assert read_index(path) == read_index(other)


def test_only_pending_trials_are_told_by_the_index(path):
    before = path.read_bytes()
    for number in (5, 1203, 10**6):
        assert not tell_pending(path, number, 0.5, None)
    assert tell_pending(path, 1202, 0.5, None)
    assert not tell_pending(path, 1202, 0.5, None)
    assert len(path.read_bytes().splitlines()) == len(before.splitlines()) + 1


def test_corrections_after_the_index_are_left_to_reading_everything(path):
    old = index_path(path).read_bytes()
    with searching(path) as optimizer:
        optimizer.tell(1200, 0.5, note="stirrer slow")
    index_path(path).write_bytes(old)
    assert tell_pending(path, 1201, 0.5, None)  # past a tell with a note
    for change in (lambda o: o.correct(1201, 0.75), lambda o: o.retract(1201)):
        with searching(path) as optimizer:
            optimizer.retract(5)
            optimizer.correct(5, 1.0)
            old = index_path(path).read_bytes()
            change(optimizer)
        fresh = index_path(path).read_bytes()
        index_path(path).write_bytes(old)
        before = path.read_bytes()
        assert not tell_pending(path, 1202, 0.5, None)
        assert path.read_bytes() == before
        index_path(path).write_bytes(fresh)
        assert read_index(path).pending == [1202]
        assert not tell_pending(path, 1201, 0.5, None)
    assert tell_pending(path, 1202, 0.5, None)
    assert pending(path) == []


def test_what_was_recorded_after_the_index_counts(path):
    old = index_path(path).read_bytes()
    with searching(path) as optimizer:
        optimizer.drop(1200)
        optimizer.tell_all([(1201, 0.5, None), ({"x": 0.5}, 0.25, None)])
        optimizer.enqueue({"x": 0.125})
        assert optimizer.ask().number == 1204
    index_path(path).write_bytes(old)
    for number in (1200, 1201, 1203):
        assert not tell_pending(path, number, 0.5, None)
    for number in (1202, 1204):
        assert tell_pending(path, number, 0.5, None)
    assert pending(path) == []


def edited(path, change, *, keep_times=True):
    """Change the bytes of a file, and nothing else that a system tells of it."""
    times = path.stat()
    path.write_bytes(change(path.read_bytes()))
    if keep_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def with_another_value(content):
    """Edit an early point by hand, with the right checksum and the same length."""
    lines = content.splitlines(keepends=True)
    record = lines[1].partition(b'"record": ')[2][:-2].decode()
    changed = record.replace('{"x": 0.0}', '{"x": 0.5}')
    assert changed != record
    return b"".join([lines[0], by_hand(1, changed), *lines[2:]])


def from_another_journal(path):
    with searching(path.with_name("other.jsonl")) as other:
        other.tell_all(MANY[:-1])
        other.ask(4)
    index_path(path.with_name("other.jsonl")).replace(index_path(path))


def stale_and_cut(path):
    """Cut whole lines off, as who goes back to a backup."""
    edited(path, lambda content: b"".join(content.splitlines(keepends=True)[:-1]))


UNFIT = {
    "no index": lambda path: index_path(path).unlink(),
    "an empty index": lambda path: index_path(path).write_bytes(b""),
    "half an index": lambda path: edited(index_path(path), lambda c: c[: len(c) // 2]),
    "no text": lambda path: index_path(path).write_bytes(bytes(range(256))),
    "another version": lambda path: edited(
        index_path(path), lambda c: by_hand(0, c.partition(b'"record": ')[2][:-2].decode()
                                            .replace('"thomax": "', '"thomax": "9')),
    ),
    "a folder": lambda path: (index_path(path).unlink(), index_path(path).mkdir()),
    "of another journal": from_another_journal,
    "a journal edited by hand": lambda path: edited(path, with_another_value),
    "a journal cut short": stale_and_cut,
}  # fmt: skip


@pytest.mark.parametrize("spoil", UNFIT.values(), ids=[*UNFIT])
def test_an_index_that_does_not_fit_counts_as_none(path, spoil, capsys):
    spoil(path)
    before = path.read_bytes()
    assert not tell_pending(path, 1201, 0.5, None)
    assert path.read_bytes() == before
    assert main(["tell", str(path), "1201", "0.5"]) == 0
    assert path.read_bytes() == before + path.read_bytes().splitlines(keepends=True)[-1]
    if not index_path(path).is_dir():
        assert read_index(path).end == path.stat().st_size  # it was made anew


def test_every_flipped_bit_of_an_index_is_noticed(path):
    sound = index_path(path).read_bytes()
    rng = random.Random(0)
    for position in range(len(sound)):
        bad = bytearray(sound)
        bad[position] ^= 1 << rng.randrange(8)
        index_path(path).write_bytes(bad)
        # Without its end the line is whole, as in a journal.
        assert read_index(path) is None or position == len(sound) - 1


@pytest.mark.parametrize("where", [0.0001, 0.5, 0.9999])
def test_damage_under_the_index_is_found_before_anything_is_written(path, where, capsys):
    def flipped(content):
        position = int(where * len(content))
        return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]

    edited(path, flipped)
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    assert not tell_pending(path, 1201, 0.5, None)
    if where < 0.9:  # else the last line is torn, and moved away
        assert main(["tell", str(path), "1201", "0.5"]) == 2
        assert "is damaged at line" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.parametrize(
    "tail",
    [
        b'{"crc": "0',
        by_hand(5, {"ask": 1203, "params": {"x": 0.5}})[:-1],
        by_hand(6, {"ask": 1203, "params": {"x": 0.5}}),
        by_hand(5, {"ask": 1203, "params": {"x": 7.0}}),
        by_hand(5, {"ask": 1203, "params": {"y": 0.5}}),
        by_hand(5, {"ask": 1199, "params": {"x": 0.5}}),
        by_hand(5, {"tell": 1200, "value": "high", "error": None}),
        by_hand(5, {"tell": 0, "value": 0.5, "error": None}),
        by_hand(5, {"all": 3}),
        by_hand(5, {"event": "tea"}),
    ],
)
def test_an_odd_end_is_left_to_reading_everything(path, tail):
    path.write_bytes(path.read_bytes() + tail)
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    assert not tell_pending(path, 1201, 0.5, None)
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_the_journal_of_a_pool_is_left_to_who_has_the_candidates(tmp_path):
    path = tmp_path / "pool.jsonl"
    pool = Pool([[i / 3000, 1.0] for i in range(3000)])
    with Optimizer(pool, Random(), seed=0, journal=path) as optimizer:
        params = pool.params(range(1500))
        optimizer.tell_all([(p, None, "x" * 900) for p in params])
        number = optimizer.ask().number
    assert read_index(path) is not None
    assert not tell_pending(path, number, 0.5, None)


def test_a_journal_that_this_process_has_open_is_left_alone(path):
    with searching(path) as optimizer:
        assert not tell_pending(path, 1201, 0.5, None)
        optimizer.tell(1201, 0.5)


def test_nothing_fails_where_no_index_can_be_written(path):
    index_path(path).unlink()
    new = index_path(path).with_name(index_path(path).name + ".new")
    new.mkdir()
    (new / "something").touch()
    with searching(path) as optimizer:
        optimizer.tell(1200, 0.5)
    assert not index_path(path).exists()
    assert pending(path) == [1201, 1202]


def test_a_link_in_the_place_of_an_index_is_neither_read_nor_followed(path):
    victim = path.with_name("victim")
    index_path(path).rename(victim)
    precious = victim.read_bytes()
    index_path(path).symlink_to(victim)
    assert read_index(path) is None
    with searching(path) as optimizer:
        optimizer.tell(1200, 0.5)
    assert victim.read_bytes() == precious
    assert read_index(path).pending == [1201, 1202]


def test_a_process_that_ends_at_any_instruction_leaves_nothing_wrong(made, tmp_path, quick):
    """As if it was killed before the k-th bytecode of telling or of writing the index."""
    watched = {
        function.__code__
        for function in (telling.tell_pending, Journal.write_index, index_module.write_index)
    }
    before = sys.gettrace()

    def end_at(k):
        remaining = iter(range(k))

        def trace(frame, event, argument):
            frame.f_trace_opcodes = frame.f_code in watched
            if event == "opcode" and next(remaining, None) is None:
                sys.settrace(before)
                raise KeyboardInterrupt
            return trace

        return trace

    path = tmp_path / "run.jsonl"
    for k in itertools.count(1):
        for file in made.iterdir():
            shutil.copy2(file, tmp_path)
        sys.settrace(end_at(k))
        try:
            tell_pending(path, 1201, 0.5, None)
            break  # it has fewer than k instructions
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        is_told = path.read_bytes().count(b'"tell": 1201') == 1
        assert tell_pending(path, 1201, 0.5, None) != is_told
        assert path.read_bytes().count(b'"tell": 1201') == 1
    assert k > 100


TELLER = """
import sys
from thomax.storage.locks import waiting
from thomax.storage.telling import tell_pending
from pathlib import Path
path, first = sys.argv[1].split("@")
with waiting(60):
    for number in range(int(first), int(first) + 20):
        assert tell_pending(Path(path), number, number / 7, None), number
"""


def test_processes_that_tell_at_the_same_time_lose_nothing(path):
    with searching(path) as optimizer:
        optimizer.ask(57)
    processes = [start(TELLER, f"{path}@{first}") for first in (1200, 1220, 1240)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    with searching(path) as optimizer:
        assert [t.number for t in optimizer.pending] == []
        assert [t.value for t in optimizer.trials[1200:]] == [n / 7 for n in range(1200, 1260)]


def test_telling_by_the_index_imports_no_numerics(path):
    script = (
        "import sys; from thomax.cli.main import main; code = main(sys.argv[1:]);"
        "print(code, {'numpy', 'scipy', 'jax'} & {*sys.modules})"
    )
    command = [sys.executable, "-c", script, "tell", str(path), "1201", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"recorded trial 1201 in {path}", "0 set()"]
