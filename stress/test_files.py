"""Corrupt files: whatever happens to a journal, no intact record is lost or changed silently."""

import os
import random
from collections import Counter

import pytest

from stress.damage import GIANTS, MANGLERS, Sound, SoundOfMetrics, check, read_a_giant_line
from stress.intruders import CHANGES, INDEXES, change_while_open, lay_links, spoil_index
from stress.sentences import raised
from stress.workers import answer_of
from thomax.storage.records import encode
from thomax.storage.repair import repair


@pytest.fixture
def sound(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    return Sound(tmp_path / "run.jsonl")


@pytest.fixture(params=[Sound, SoundOfMetrics], ids=["one", "metrics"])
def each_sound(request, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    return request.param(tmp_path / "run.jsonl")


def test_a_journal_cut_short_anywhere_keeps_all_lines_that_are_whole(part, short, each_sound):
    sound = each_sound
    cuts = [*range(0, len(sound.content) + 1, 97 if short else 1)]
    for cut in cuts:
        outcome = check(part, sound, sound.content[:cut], f"a cut at byte {cut}")
        is_headless = cut < len(sound.lines[0]) - 1
        part.check((outcome == "loaded") != is_headless, f"a cut at byte {cut} was {outcome}")
    part.figures[f"cuts{sound.kind}"] = len(cuts)


def test_flipped_bits_are_noticed_unless_they_tear_the_last_line(part, short, each_sound):
    sound = each_sound
    count = 60 if short else 1000
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        rng = random.Random(seed)
        content = bytearray(sound.content)
        bits = rng.sample(range(8 * len(content)), rng.choice([1, 1, 2, 3]))
        for bit in bits:
            content[bit // 8] ^= 1 << bit % 8
        where = f"bits {bits} flipped"
        outcomes[check(part, sound, bytes(content), where)] += 1
    part.figures[f"flips{sound.kind}"] = {"files": count, **outcomes}


def test_a_mangled_journal_is_refused_and_its_intact_records_are_repaired(part, short, each_sound):
    sound = each_sound
    count = 60 if short else 1500
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        rng = random.Random(seed)
        kinds = rng.choices([*MANGLERS], k=rng.choice([1, 1, 2, 3]))
        content = sound.content
        for kind in kinds:
            content = MANGLERS[kind](rng, content, sound)
        outcomes[check(part, sound, content, f"{', '.join(kinds)} (seed {seed})")] += 1
    part.figures[f"mangled{sound.kind}"] = {"files": count, **outcomes}


def test_what_editors_transfers_and_accidents_make_of_a_journal_is_refused(part, sound):
    content = sound.content
    files = {
        "a byte-order mark": (b"\xef\xbb\xbf" + content, "refused"),
        "Windows line ends": (content.replace(b"\n", b"\r\n"), "refused"),
        "no line ends": (content.replace(b"\n", b""), "refused"),
        "blank lines": (content.replace(b"\n", b"\n\n"), "refused"),
        "UTF-16": (content.decode().encode("utf-16"), "refused"),
        "everything twice": (content * 2, "refused"),
        "the last record twice": (content + sound.lines[-1], "refused"),
        "a first record twice": (b"".join([*sound.lines[:2], *sound.lines[1:]]), "refused"),
        "zeros behind it": (content + bytes(5000), "loaded"),
        "nothing": (b"", "refused"),  # read needs a header; opening begins one
        "zeros": (bytes(5000), "refused"),
        "text": (b"notes\n" * 100, "refused"),
        "bytes": (random.Random(0).randbytes(5000), "refused"),
        "a line end": (b"\n", "refused"),
        "other JSON": (b'{"a": 1}\n[]\nnull\n', "refused"),
    }
    for name, (bad, expected) in files.items():
        outcome = check(part, sound, bad, name)
        part.check(outcome == expected, f"a file with {name} must be {expected}, got {outcome}")
    part.figures["whole files"] = len(files)


def test_a_newer_version_and_records_of_an_unknown_kind_are_refused(part, sound):
    count = len(sound.lines)
    newer = encode(0, {**sound.header, "version": 2})
    files = {
        "newer": (newer + b"".join(sound.lines[1:]), "newer thomax"),
        "unknown": (
            sound.content + encode(count, {"prune": 3}),
            f"record {count}: unknown record",
        ),
        "long": (sound.content + encode(count, {"prune": "x" * 9999}), f"record {count}: unknown"),
    }
    for name, (content, sentence) in files.items():
        sound.write(content)
        error = raised(sound.opened)
        is_clear = isinstance(error, ValueError) and sentence in str(error)
        part.check(
            is_clear and len(str(error)) < 1000, f"a {name} record must be refused, got {error!r}"
        )
        part.check(sound.path.read_bytes() == content, f"a {name} record's file was changed")
        if name == "newer":
            error = raised(lambda: repair(sound.path))
            part.check("newer" in str(error), f"repair must refuse a newer file, got {error!r}")


def test_an_open_journal_that_others_have_changed_is_not_written_to(part, tmp_path):
    for i, name in enumerate(CHANGES):
        (tmp_path / str(i)).mkdir()
        change_while_open(part, tmp_path / str(i) / "run.jsonl", name)
    part.figures["changes to an open journal"] = len(CHANGES)


def test_links_beside_a_journal_are_not_followed(part, tmp_path):
    lay_links(part, tmp_path / "run.jsonl")


def test_an_index_that_does_not_fit_its_journal_is_not_believed(part, tmp_path):
    spoil_index(part, tmp_path / "run.jsonl")
    part.figures["attacks on an index"] = len(INDEXES) + 50


@pytest.mark.full
def test_lines_of_100_megabytes_take_bounded_time_and_memory(part):
    most = {"seconds": 0.0, "megabytes": 0.0}
    for kind in GIANTS:
        for place in ("in the middle", "at the end"):
            found = answer_of(read_a_giant_line, kind, place, seconds=300)
            where = f"a line of 100 MB of {kind} {place}"
            # At the end it may be half-written; in the middle it is damage.
            as_expected = found["was read"] == (place == "at the end")
            part.check(as_expected, f"{where} was {'' if found['was read'] else 'not '}read")
            part.check(found["lost"] == 0, f"repair lost {found['lost']} records around {where}")
            part.check(found["seconds"] < 60, f"{where} took {found['seconds']} s")
            part.check(found["megabytes"] < 500, f"{where} took {found['megabytes']} MB")
            most = {name: max(most[name], found[name]) for name in most}
    part.figures["lines of 100 MB"] = most
