"""The claims of the paper's experiments, and ours beside them, each as comparisons of methods.

`PAPER` holds what the paper states, with the place where it does; `OURS` the same statements
against baselines that the paper did not have: on standardised targets, or with our own settings.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.paper import exploration
from benchmarks.paper.figures import FIGURES, SCALED, STRONG, WEAK
from benchmarks.statistics import By, Compared, Comparison, Record, Verdict, compare, regret_left

Kind = Literal["better", "tie", "little loss", "not zero"]

SHARE = 0.3  # of the paper's iterations: curves that are shorter say nothing about its claims
_CONTROL = {"lunar": "3a", "pushing": "3b", "rover": "3c"}
_NETWORKS = ("sto-paper", "linear-paper")


@dataclass(frozen=True)
class Pair:
    """`first` is better than `second` on a task, or as good, or loses little."""

    figure: str
    task: str
    first: str
    second: str
    kind: Kind = "better"
    by: By = "iteration"


@dataclass(frozen=True)
class Claim:
    """A statement that holds if enough of its comparisons do: almost always there is one."""

    statement: str
    place: str  # in the paper
    pairs: tuple[Pair, ...]
    needed: int = 1


@dataclass(frozen=True)
class Part:
    """What the records say about one comparison of a claim."""

    pair: Pair
    score: Comparison | None  # decides
    end: Comparison | None
    verdict: Verdict


@dataclass(frozen=True)
class Finding:
    """What the records say about a claim."""

    claim: Claim
    parts: tuple[Part, ...]
    verdict: Verdict


def _claim(
    statement: str, section: str, figure: str, first: str, second: str, kind: Kind = "better"
) -> Claim:
    """Return a claim that is one comparison in a figure."""
    panel = FIGURES[figure]
    pair = Pair(figure, panel.task, first, second, kind, panel.by)
    return Claim(statement, f"{section}, {panel.place}", (pair,))


def _synthetic() -> Iterator[Claim]:
    explores, where = "STO-BNTS and Linear explore more than Deep Ensemble", "1abc"
    for method in exploration.METHODS[1:]:
        pair = Pair(where, exploration.TASK, method, exploration.METHODS[0])
        yield Claim(explores, "Section 5.1, Figure 1a–c", (pair,))
    sto, linear, deep = (f"{name}-paper:8x64" for name in ("sto", "linear", "ensemble"))
    stuck, smooth = "Deep Ensemble does not reach zero regret", "GP-TS is competitive"
    yield _claim("STO-BNTS beats Deep Ensemble", "Section 5.1", "1d", sto, deep)
    yield _claim(stuck, "Section 5.1", "1d", deep, "", "not zero")
    yield _claim(_BATCH, "Section 5.1", "1d", f"{linear}@4", linear)
    for wide, narrow in (("512", "64"), ("64", "16")):
        first, second = f"linear-paper:8x{wide}", f"linear-paper:8x{narrow}"
        yield _claim(_WIDTH, "Section 5.1", "1d", first, second)
    yield _claim("STO-BNTS suffers from a width of 16", "Section 5.1", "1d", sto,
                 "sto-paper:8x16")  # fmt: skip
    yield _claim(smooth, "Section 5.1", "1d", "gp-ts-paper", sto, "little loss")


_BATCH = "a batch of four beats one query per iteration"
_WIDTH = "Linear gains from width"
_LINEAR = "STO-BNTS beats Linear on categorical and image inputs"


def _tuning() -> Iterator[Claim]:
    section, variants = "Section 5.2", {"forest": "2a", "boosting": "2c", "convnet": "cnn-a"}
    for figure in variants.values():
        yield _claim("STO-BNTS beats Deep Ensemble", section, figure, "sto-paper",
                     "ensemble-paper")  # fmt: skip
        yield _claim(_BATCH, section, figure, "sto-paper@4", "sto-paper")
    for figure in ("2a", "2c"):
        yield _claim(_LINEAR, section, figure, *_NETWORKS)
    for other in ("1x512", "8x64"):
        pairs = [Pair(f, task, "sto-paper", f"sto-paper:{other}") for task, f in variants.items()]
        yield Claim(f"2x256 beats {other} in two of three tuning tasks",
                    f"{section}, Figures 2a, 2c, 4a", tuple(pairs), 2)  # fmt: skip
    for figure in ("2b", "2d"):
        for rival in WEAK:
            text = "STO-BNTS beats every baseline on random forests and XGBoost"
            yield _claim(text, section, figure, "sto-paper", rival)
    for rival in WEAK:
        text = "STO-BNTS is level with every baseline on the convolutional network"
        yield _claim(text, section, "cnn-b", "sto-paper", rival, "tie")


def _control() -> Iterator[Claim]:
    section = "Section 5.3"
    for figure in _CONTROL.values():
        for name, method in zip(("STO-BNTS", "Linear"), _NETWORKS, strict=True):
            for rival in WEAK:
                text = f"{name} beats every baseline on control tasks"
                yield _claim(text, section, figure, method, rival)
            yield _claim(_BATCH, section, figure, f"{method}@4", method)
        level = "STO-BNTS and Linear are level on control tasks"
        yield _claim(level, section, figure, *_NETWORKS, "tie")
        yield _claim(level, section, figure, "sto-paper@4", "linear-paper@4", "tie")


def _images() -> Iterator[Claim]:
    section, sto, linear = "Section 5.4", "sto-paper:cnn64", "linear-paper:cnn64"
    networks = ("neural-ucb-paper:cnn64", "neural-ts-paper:cnn64")
    for rival in (*networks, "gp-ucb-paper", "gp-ts-paper"):
        yield _claim("STO-BNTS beats every baseline on images", section, "3d", sto, rival)
    yield _claim(_LINEAR, section, "3d", sto, linear)
    for rival in networks:
        text = "the other convolutional methods beat Linear on images"
        yield _claim(text, section, "3d", rival, linear)
    for wide, narrow in (("128", "64"), ("64", "16")):
        first, second = f"linear-paper:cnn{wide}", f"linear-paper:cnn{narrow}"
        yield _claim(_WIDTH, "Appendix F.4", "images-width", first, second)
    level = "a wide Linear is level with STO-BNTS on images"
    yield _claim(level, section, "images-width", "linear-paper:cnn128", sto, "tie")


def _batches() -> Iterator[Claim]:
    section = "Appendix F.3"
    for method in _NETWORKS:
        for rival in ("gp-ts-paper", "neural-ts-paper"):
            text = "with batches of four STO-BNTS and Linear beat GP-TS and Neural TS"
            yield _claim(text, section, "lunar-batch-a", f"{method}@4", f"{rival}@4")
    for method in _NETWORKS:
        text = "a batch of four loses little per evaluation"
        yield _claim(text, section, "lunar-batch-b", f"{method}@4", method, "little loss")


def _ours() -> Iterator[Claim]:
    for figure, section in (("2b", "5.2"), ("2d", "5.2"), ("3a", "5.3"), ("3b", "5.3"),
                            ("3c", "5.3")):  # fmt: skip
        for rival in (*(r for r in SCALED if r in FIGURES[figure].ours), *STRONG):
            yield _claim(_words(rival), f"Section {section}", figure, "sto-paper", rival)
    for rival in ("gp-ucb", "gp-ts"):
        yield _claim(_words(rival), "Section 5.4", "3d", "sto-paper:cnn64", rival)


def _words(rival: str) -> str:
    scaled = rival.endswith("-scaled")
    return f"STO-BNTS beats {'baselines on scaled targets' if scaled else 'our baselines'}"


PAPER = (*_synthetic(), *_tuning(), *_control(), *_images(), *_batches())
OURS = (*_ours(),)


def findings(records: Sequence[Record], claims: Sequence[Claim] = PAPER) -> list[Finding]:
    """Judge claims by the records there are."""
    by_task: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_task[record["task"]][record["method"]].append(record)
    found = []
    for claim in claims:
        parts = tuple(_judged(pair, by_task[pair.task]) for pair in claim.pairs)
        found.append(Finding(claim, parts, _together([p.verdict for p in parts], claim.needed)))
    return found


def _together(verdicts: Sequence[Verdict], needed: int) -> Verdict:
    """Return the verdict on a claim that needs some of its comparisons to hold.

    Example:
        >>> _together(["holds", "not run", "holds"], 2)
        'holds'
        >>> _together(["holds", "not run", "does not hold"], 2)
        'not run'
    """
    counts = Counter(verdicts)
    if counts["holds"] >= needed:
        return "holds"
    if counts["does not hold"] > len(verdicts) - needed:
        return "does not hold"
    order: tuple[Verdict, ...] = ("not run", "not enough iterations", "not enough seeds")
    return next(verdict for verdict in order if counts[verdict])


def _judged(pair: Pair, methods: Mapping[str, list[Record]]) -> Part:
    seen = _compared(pair, methods)
    if seen is None:
        return Part(pair, None, None, "not run")
    score, end = seen.score, seen.end
    judge = {
        "better": score.superiority,
        "tie": score.equality,
        "little loss": score.no_great_loss,
        "not zero": score.not_zero,
    }[pair.kind]
    short = pair.figure in FIGURES and score.upto < SHARE * FIGURES[pair.figure].paper_iterations
    return Part(pair, score, end, "not enough iterations" if short else judge())


def _compared(pair: Pair, methods: Mapping[str, list[Record]]) -> Compared | None:
    first, second = methods.get(pair.first, []), methods.get(pair.second, [])
    if pair.kind == "not zero":
        if not first:
            return None
        left = regret_left(first)
        return Compared(left, left)
    if pair.task == exploration.TASK:
        return _compared_spreads(first, second)
    return compare(first, second, by=pair.by)


def _compared_spreads(first: Sequence[Record], second: Sequence[Record]) -> Compared | None:
    """Compare by the logarithm of the spread."""
    one, two = ({r["seed"]: r["log_spread"] for r in records} for records in (first, second))
    differences = [one[s] - two[s] for s in sorted(one.keys() & two.keys())]
    found = Comparison.of(differences) if differences else None
    return None if found is None else Compared(found, found)


def table(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as rows of plain values, each with its comparisons."""
    return [
        {
            "claim": finding.claim.statement, "place": finding.claim.place,
            "verdict": finding.verdict, "parts": [_row(part) for part in finding.parts],
        }
        for finding in found
    ]  # fmt: skip


def _row(part: Part) -> dict[str, Any]:
    pair = part.pair
    row: dict[str, Any] = {
        "figure": pair.figure, "task": pair.task, "first": pair.first, "second": pair.second,
        "kind": pair.kind, "by": pair.by, "verdict": part.verdict,
    }  # fmt: skip
    if part.score is not None and part.end is not None:
        row |= {
            "seeds": part.score.seeds, "upto": part.score.upto,
            "difference": _rounded(part.score.difference),
            "interval": [_rounded(part.score.low), _rounded(part.score.high)],
            "end": _rounded(part.end.difference),
            "end_interval": [_rounded(part.end.low), _rounded(part.end.high)],
        }  # fmt: skip
    return row


def _rounded(value: float) -> float | None:
    """Return a number that JSON has; one seed has no interval."""
    return round(value, 3) if math.isfinite(value) else None
