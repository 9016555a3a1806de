"""The paper's claims, each as one comparison between two methods on one task."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.paper import exploration
from benchmarks.paper.figures import SCALED, STRONG, WEAK
from benchmarks.statistics import Comparison, Record, Scale, Verdict, compare

Kind = Literal["better", "tie", "little loss"]

_CONTROL = (("lunar", "3a"), ("pushing", "3b"), ("rover", "3c"))


@dataclass(frozen=True)
class Claim:
    """`first` is better than `second` on a task, or as good, or loses little."""

    statement: str
    where: str  # the paper's figure
    task: str
    first: str
    second: str
    kind: Kind = "better"
    by: Literal["iteration", "evaluation"] = "iteration"


@dataclass(frozen=True)
class Finding:
    """What the records say about a claim."""

    claim: Claim
    comparison: Comparison | None
    verdict: Verdict


def _claims() -> Iterator[Claim]:
    more = "explores more than Deep Ensemble where nothing was observed"
    for name, method in zip(("STO-BNTS", "Linear"), exploration.METHODS[1:], strict=True):
        yield Claim(f"{name} {more}", "1abc", exploration.TASK, method, exploration.METHODS[0])
    deep = "STO-BNTS beats Deep Ensemble"
    yield Claim(deep, "1d", "synthetic", "sto-paper:8x64", "ensemble-paper:8x64")
    yield Claim(deep, "2a", "forest", "sto-paper", "ensemble-paper")
    yield Claim(deep, "2c", "boosting", "sto-paper", "ensemble-paper")
    yield from _batches()
    yield from _widths()
    yield from _against_linear()
    yield from _architectures()
    yield from _baselines()


def _batches() -> Iterator[Claim]:
    text = "a batch of four beats one query per iteration"
    yield Claim(text, "1d", "synthetic", "linear-paper:8x64@4", "linear-paper:8x64")
    yield Claim(text, "2a", "forest", "sto-paper@4", "sto-paper")
    yield Claim(text, "2c", "boosting", "sto-paper@4", "sto-paper")
    yield Claim(text, "3d", "images", "sto-paper:cnn64@4", "sto-paper:cnn64")
    for task, where in _CONTROL:
        for method in ("sto-paper", "linear-paper"):
            yield Claim(text, where, task, f"{method}@4", method)
    for method in ("sto-paper", "linear-paper"):
        yield Claim(
            "a batch of four loses little per evaluation", "lunar-batch-b", "lunar",
            f"{method}@4", method, "little loss", "evaluation",
        )  # fmt: skip


def _widths() -> Iterator[Claim]:
    wider, narrow = "Linear gains from width", "a width of 16 hurts"
    yield Claim(wider, "1d", "synthetic", "linear-paper:8x512", "linear-paper:8x64")
    yield Claim(wider, "images-width", "images", "linear-paper:cnn128", "linear-paper:cnn64")
    yield Claim(wider, "images-width", "images", "linear-paper:cnn64", "linear-paper:cnn16")
    yield Claim(narrow, "1d", "synthetic", "linear-paper:8x64", "linear-paper:8x16")
    yield Claim(narrow, "1d", "synthetic", "sto-paper:8x64", "sto-paper:8x16")


def _against_linear() -> Iterator[Claim]:
    beats = "STO-BNTS beats Linear on categorical and image tasks"
    yield Claim(beats, "2a", "forest", "sto-paper", "linear-paper")
    yield Claim(beats, "2c", "boosting", "sto-paper", "linear-paper")
    yield Claim(beats, "3d", "images", "sto-paper:cnn64", "linear-paper:cnn64")
    for task, where in _CONTROL:
        text = "STO-BNTS and Linear are level on control tasks"
        yield Claim(text, where, task, "sto-paper", "linear-paper", "tie")


def _architectures() -> Iterator[Claim]:
    for task, where in (("forest", "2a"), ("boosting", "2c"), ("convnet", "cnn-a")):
        for other in ("1x512", "8x64"):
            text = f"two layers of 256 beat {other}"
            yield Claim(text, where, task, "sto-paper", f"sto-paper:{other}")


def _baselines() -> Iterator[Claim]:
    for task, where in (("forest", "2b"), ("boosting", "2d"), *_CONTROL):
        scaled = () if task == "lunar" else SCALED
        for rival in (*WEAK, *scaled, *STRONG):
            yield Claim(f"STO-BNTS beats {_words(rival)}", where, task, "sto-paper", rival)
    for rival in ("neural-ucb-paper:cnn64", "neural-ts-paper:cnn64", "gp-ucb-paper", "gp-ts-paper",
                  "gp-ucb", "gp-ts"):  # fmt: skip
        text = f"STO-BNTS beats {_words(rival)}"
        yield Claim(text, "3d", "images", "sto-paper:cnn64", rival)
    for rival in ("gp-ts-paper", "neural-ts-paper"):
        text = f"with batches of four STO-BNTS beats {_words(rival)}"
        yield Claim(text, "lunar-batch-a", "lunar", "sto-paper@4", f"{rival}@4")


def _words(rival: str) -> str:
    name, _, configuration = rival.partition(":")[0].rpartition("-")
    if configuration == "paper":
        return f"the paper's {name}"
    return f"the paper's {name} on scaled targets" if configuration == "scaled" else f"our {rival}"


CLAIMS = tuple(_claims())


def findings(records: Sequence[Record]) -> list[Finding]:
    """Judge all claims by the records there are."""
    by_task: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_task[record["task"]][record["method"]].append(record)
    return [_judged(claim, by_task[claim.task]) for claim in CLAIMS]


def _judged(claim: Claim, methods: Mapping[str, list[Record]]) -> Finding:
    if not methods.get(claim.first) or not methods.get(claim.second):
        return Finding(claim, None, "not run")
    if claim.task == exploration.TASK:
        comparison = _compared_spreads(methods[claim.first], methods[claim.second])
    else:
        scale = Scale.of([record for records in methods.values() for record in records])
        comparison = compare(methods[claim.first], methods[claim.second], scale, by=claim.by)
    if comparison is None:
        return Finding(claim, None, "not run")
    judge = {
        "better": comparison.superiority,
        "tie": comparison.equality,
        "little loss": comparison.no_great_loss,
    }[claim.kind]
    return Finding(claim, comparison, judge())


def _compared_spreads(first: Sequence[Record], second: Sequence[Record]) -> Comparison | None:
    """Compare by the logarithm of the spread."""
    one, two = ({r["seed"]: r["log_spread"] for r in records} for records in (first, second))
    differences = [one[s] - two[s] for s in sorted(one.keys() & two.keys())]
    return Comparison.of(differences) if differences else None


def table(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as rows of plain values."""
    rows = []
    for finding in found:
        claim, seen = finding.claim, finding.comparison
        row: dict[str, Any] = {
            "claim": claim.statement, "figure": claim.where, "task": claim.task,
            "first": claim.first, "second": claim.second, "verdict": finding.verdict,
        }  # fmt: skip
        if seen is not None:
            row |= {"seeds": seen.seeds, "upto": seen.upto, "by": claim.by,
                    "difference": _rounded(seen.difference),
                    "interval": [_rounded(seen.low), _rounded(seen.high)],
                    "standardised": _rounded(seen.standardised)}  # fmt: skip
        rows.append(row)
    return rows


def _rounded(value: float) -> float | None:
    """Return a number that JSON has; one seed has no interval."""
    return round(value, 3) if math.isfinite(value) else None
