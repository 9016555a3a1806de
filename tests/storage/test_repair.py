import os
import random

import pytest
from journals import HEADER, LINES, RECORDS, by_hand, full_header, reopened, write_run

from thomax.storage.journal import Journal
from thomax.storage.records import MAX_LINE
from thomax.storage.repair import repair


def test_every_flipped_bit_is_noticed_and_costs_only_its_own_line(path, quick):
    content = b"".join(LINES)
    rng = random.Random(1)
    flips = [(i, n) for n, line in enumerate(LINES) for i in range(len(line))]
    for position, (i, n) in enumerate(flips):
        bad = bytearray(content)
        bad[position] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        others = [record for number, record in enumerate(RECORDS, start=1) if number != n]
        if n == 8 and ord("\n") not in (content[position], bad[position]):  # may be torn
            with pytest.warns(UserWarning, match="ended in a damaged line"):
                assert reopened(path) == others
        else:
            with pytest.raises(ValueError, match="damaged at line"):
                Journal.open(path, HEADER)
            assert path.read_bytes() == bad
            if LINES[n][i] == ord("\n"):  # a changed line end costs nothing at all
                assert repair(path) == (8, 0)
                others = RECORDS
            elif n == 0:
                with pytest.raises(ValueError, match="Pass header="):
                    repair(path)
                assert path.read_bytes() == bad
            repair(path, HEADER)
            assert reopened(path) == others
        for leftover in path.parent.glob("run.jsonl.*"):
            leftover.unlink()


def test_damage_is_located_and_the_damaged_file_is_kept(path):
    bad = [*LINES[:3], b"what is this?\n", b"\xff\xfe\n", *LINES[3:]]
    path.write_bytes(b"".join(bad))
    offset = len(b"".join(LINES[:3]))
    sentence = rf"damaged at line 4 \(byte {offset}\): its checksum .* Run thomax.repair\('.*'\)"
    for opening in (lambda: Journal.open(path, HEADER), lambda: Journal.read(path)):
        with pytest.raises(ValueError, match=sentence):
            opening()
    assert repair(path) == (8, 2)
    assert reopened(path) == RECORDS
    assert path.with_name("run.jsonl.damaged-1").read_bytes() == b"".join(bad)
    path.write_bytes(b"".join(bad[1:]))
    assert repair(path, HEADER) == (8, 2)
    assert path.with_name("run.jsonl.damaged-2").read_bytes() == b"".join(bad[1:])
    assert len(list(path.parent.iterdir())) == 3


@pytest.mark.parametrize(
    ("lines", "kept", "sentence"),
    [
        ([*LINES[:4], *LINES[3:]], RECORDS, "line 5 .*: record 3 stands where record 4 belongs"),
        ([*LINES[:3], *LINES[4:]], [*RECORDS[:2], *RECORDS[3:]], "line 4 .*: record 4 stands"),
        ([LINES[0], *LINES[:0:-1]], RECORDS, "line 2 .*: record 8 stands where record 1 belongs"),
        ([*LINES, LINES[-1]], RECORDS, "line 10 .*: record 8 stands where record 9 belongs"),
    ],
    ids=["copied", "lost", "reversed", "last line copied"],
)
def test_lines_out_of_sequence_are_damage(path, lines, kept, sentence):
    path.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match=sentence):
        Journal.open(path, HEADER)
    assert repair(path) == (len(kept), max(0, len(lines) - len(LINES)))
    assert reopened(path) == kept


@pytest.mark.parametrize(
    ("mangle", "sentence"),
    [
        (lambda content: b"\xef\xbb\xbf" + content, "line 1 .* byte-order mark"),
        (lambda content: content.replace(b"\n", b"\r\n"), "line 1 .* header"),
        (lambda content: content.replace(b"\n", b" ", 4), "line 1 .* header"),
    ],
    ids=["byte-order mark", "Windows line ends", "joined lines"],
)
def test_what_editors_do_is_damage_that_repair_undoes(path, mangle, sentence):
    path.write_bytes(mangle(b"".join(LINES)))
    with pytest.raises(ValueError, match=sentence):
        Journal.open(path, HEADER)
    assert repair(path) == (8, 0)
    assert path.read_bytes() == b"".join(LINES)


def test_a_joined_last_line_is_not_mistaken_for_a_torn_one(path):
    path.write_bytes(b"".join(LINES)[:-1].replace(LINES[7], LINES[7][:-1]))
    with pytest.raises(ValueError, match="line 8"):
        Journal.open(path, HEADER)
    assert repair(path) == (8, 0)
    assert reopened(path) == RECORDS


@pytest.mark.parametrize(
    "record",
    ['{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": NaN}', '{"a": 1e999}', "[]", "{"],
    ids=["deep", "NaN", "infinite", "no record", "no JSON"],
)
def test_hostile_records_with_a_right_checksum_are_damage(path, record):
    path.write_bytes(b"".join([*LINES[:3], by_hand(3, record), *LINES[3:]]))
    with pytest.raises(ValueError, match="damaged at line 4"):
        Journal.open(path, HEADER)
    assert repair(path) == (8, 1)
    assert reopened(path) == RECORDS


def test_a_gigantic_line_is_damage_in_the_middle_and_torn_at_the_end(path):
    gigantic = b"x" * (MAX_LINE + 1000)
    path.write_bytes(b"".join([*LINES[:3], gigantic, b"\n", *LINES[3:]]))
    with pytest.raises(ValueError, match=r"line 4 .*: it is longer than 67108864 bytes"):
        Journal.open(path, HEADER)
    assert repair(path).kept == 8
    path.with_name("run.jsonl.damaged-1").unlink()
    path.write_bytes(b"".join(LINES) + gigantic)
    with pytest.warns(UserWarning, match=f"its {len(gigantic)} bytes"):
        assert reopened(path) == RECORDS
    path.with_name("run.jsonl.torn").unlink()


def test_repair_leaves_a_sound_journal_alone(path):
    write_run(path)
    inode = path.stat().st_ino
    assert repair(path) == (8, 0)
    assert path.stat().st_ino == inode
    assert list(path.parent.iterdir()) == [path]


def test_repair_keeps_the_files_mode_and_the_link_to_it(path):
    path.write_bytes(b"".join([*LINES[:3], b"?\n", *LINES[3:]]))
    path.chmod(0o640)
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    assert repair(link) == (8, 1)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert reopened(link) == RECORDS


def test_repair_does_not_mix_two_searches(path):
    path.write_bytes(b"".join([*LINES, by_hand(0, full_header(seed=1)), *LINES[1:]]))
    with pytest.raises(ValueError, match=r"must hold one search, got the headers of 2\. Split"):
        repair(path)
    path.write_bytes(b"".join([*LINES, b"?\n"]))
    with pytest.raises(ValueError, match="its seed is 0, got 1"):
        repair(path, HEADER | {"seed": 1})


def test_repair_refuses_a_newer_version_and_a_journal_in_use(path):
    newer = by_hand(0, full_header(version=2)) + b"in a way we cannot read\n" * 2
    path.write_bytes(newer)
    with pytest.raises(ValueError, match="upgrade thomax"):
        repair(path)
    assert path.read_bytes() == newer
    path.unlink()
    with (
        Journal.open(path, HEADER),
        pytest.raises(RuntimeError, match=r"must have one user at a time, got .* Close"),
    ):
        repair(path)


@pytest.mark.parametrize("behind", [b"\0" * 600, b"?!", b"\xff" * 3, b"}}\n", b'{"crc": "'])
def test_an_intact_record_is_kept_whatever_stands_behind_it_in_its_line(path, behind):
    path.write_bytes(b"".join([*LINES[:3], LINES[3][:-1], behind, b"\n", *LINES[4:]]))
    with pytest.raises(ValueError, match="damaged at line 4"):
        Journal.open(path, HEADER)
    assert repair(path).kept == 8
    assert reopened(path) == RECORDS


def test_a_repair_without_room_says_so_and_changes_nothing(path):
    resource = pytest.importorskip("resource")  # none on Windows
    bad = b"".join([*LINES[:3], b"?\n", *LINES[3:]])
    path.write_bytes(bad)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match=r"could not be repaired .* as it was\. Make room"):
            repair(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [*path.parent.iterdir()] == [path]
    assert path.read_bytes() == bad
    assert repair(path) == (8, 1)


# Files beside the journal


@pytest.fixture
def damaged(path):
    path.write_bytes(b"".join([*LINES[:3], b"?\n", *LINES[3:]]))
    path.chmod(0o600)
    return path


def test_side_files_never_follow_a_link(damaged):
    """Row 16: somebody who may write to the folder must not be given our rights elsewhere."""
    victim = damaged.with_name("victim")
    victim.write_bytes(b"precious")
    missing = damaged.with_name("missing")
    for name, target in (("repairing", victim), ("damaged-1", missing), ("damaged-2", victim)):
        damaged.with_name(f"run.jsonl.{name}").symlink_to(target)
    assert repair(damaged) == (8, 1)
    assert damaged.with_name("run.jsonl.damaged-3").is_file()
    assert reopened(damaged) == RECORDS
    damaged.write_bytes(damaged.read_bytes() + b"torn")
    damaged.with_name("run.jsonl.torn").symlink_to(victim)
    os.link(victim, damaged.with_name("run.jsonl.torn-2"))
    with pytest.warns(UserWarning, match=r"moved its 4 bytes to .*run\.jsonl\.torn-3\."):
        assert reopened(damaged) == RECORDS
    assert damaged.with_name("run.jsonl.torn-3").read_bytes() == b"torn"
    assert victim.read_bytes() == b"precious"
    assert not missing.exists()


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_side_files_have_the_mode_of_the_journal(damaged, mode):
    """Row 16: what nobody else may read stays so, in every copy."""
    damaged.chmod(mode)
    repair(damaged)
    damaged.write_bytes(damaged.read_bytes() + b"torn")
    with pytest.warns(UserWarning, match="half-written line"):
        reopened(damaged)
    modes = {file.name: file.stat().st_mode & 0o777 for file in damaged.parent.iterdir()}
    assert modes == dict.fromkeys(["run.jsonl", "run.jsonl.damaged-1", "run.jsonl.torn"], mode)


def test_the_leftover_of_a_killed_repair_does_not_hinder_the_next(damaged):
    damaged.with_name("run.jsonl.repairing").write_bytes(b"half")
    assert repair(damaged) == (8, 1)
    assert reopened(damaged) == RECORDS
    assert not damaged.with_name("run.jsonl.repairing").exists()
