"""Values as they are typed: 0.81, or 0.71,0.74,0.69 for repeated measurements, or yield=0.81."""

from collections.abc import Sequence

from thomax.cli.numbers import number_in, repeated, value_in
from thomax.storage.metrics import Metrics, require_metrics
from thomax.storage.outcomes import Measured, NoiseStd, Value

_FAILURES = "give --failed REASON"


def measured_in(words: Sequence[str], metrics: Metrics, who: str) -> Value:
    """Return the value, or the values by the names of metrics, that words stand for.

    Args:
        words: What was typed.
        metrics: What the search measures.
        who: The command, for errors.

    Examples:
        >>> measured_in(["0.71,0.74,0.69"], Metrics(), "tell")
        [0.71, 0.74, 0.69]
        >>> metrics = Metrics.of({"yield": "maximize", "cost": "minimize"})
        >>> measured_in(["yield=0.81", "cost=3"], metrics, "tell")
        {'yield': 0.81, 'cost': 3.0}
    """
    texts = _by_name(words, metrics, who)
    if metrics.is_plain:
        if len(texts) != 1:
            raise ValueError(f"{who} needs one VALUE, or --failed without a VALUE, got {words}.")
        return _together(who, [texts[0][1]])
    return {
        name: _together(f"{who}: {name}", [text for own, text in texts if own == name])
        for name in dict.fromkeys(name for name, _ in texts)
    }


def noise_std_in(words: Sequence[str], metrics: Metrics, who: str) -> NoiseStd:
    """Return the known standard deviations that words stand for; None where there are none.

    Args:
        words: What was typed after --noise-std.
        metrics: What the search measures.
        who: The command, for errors.

    Examples:
        >>> noise_std_in(["0.02"], Metrics(), "tell")
        0.02
    """
    found: dict[str, float] = {}
    for name, text in _by_name(words, metrics, f"{who}: --noise-std"):
        number = number_in(text)
        if name in found or number is None:
            wrong = "two" if name in found else repr(text)
            of = "" if metrics.is_plain else f" for {name!r}"
            raise ValueError(f"{who}: --noise-std needs one number{of}, got {wrong}.")
        found[name] = number
    if metrics.is_plain:
        return next(iter(found.values()), None)
    return found or None


def named_values(names: Sequence[str]) -> str:
    """Return how values of metrics are typed, as an example.

    Args:
        names: The names of the metrics.

    Examples:
        >>> named_values(["yield", "cost"])
        'yield=VALUE cost=VALUE'
    """
    return " ".join(f"{name}=VALUE" for name in names)


def _by_name(words: Sequence[str], metrics: Metrics, who: str) -> list[tuple[str, str]]:
    """Return each word's name and text; only one metric needs no name."""
    pairs = [word.rpartition("=") for word in words]
    example = named_values(metrics.names)
    for (name, is_pair, _), word in zip(pairs, words, strict=True):
        if metrics.is_plain and is_pair:
            raise ValueError(
                f"{who} needs a number, got {word!r}: this search has one objective without a "
                "name. Others are named in the tables [objectives] and [limits] of a space file."
            )
        if not is_pair and len(metrics.names) > 1:
            raise ValueError(f"{who} needs values by name, got {word!r}: write {example}.")
        if is_pair:
            require_metrics(who, {name: None}, metrics)
    return [(name or metrics.names[0], text) for name, _, text in pairs]


def _together(where: str, texts: Sequence[str]) -> Measured:
    parts = [part for text in texts for part in repeated(text) or [text]]
    numbers = [value_in(part, where, _FAILURES) for part in parts]
    return numbers[0] if len(numbers) == 1 else numbers
