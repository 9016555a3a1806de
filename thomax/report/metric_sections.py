"""The sections of a page about several metrics: the front, how it grew, and the limits."""

from html import escape

from thomax.report import metric_figures
from thomax.report.content import Content
from thomax.report.metrics import kept_counts, steps_of
from thomax.report.pieces import Sheet, grid, note, params_json, params_table, table
from thomax.storage.front import is_feasible, least_violating
from thomax.storage.trial import outcome_words
from thomax.suggest import FEWEST_VALUES


def why_no_best(content: Content) -> str:
    """Return why there is neither a best trial nor a front, and which trial is the closest.

    Args:
        content: What the report says.
    """
    snapshot = content.snapshot
    if not snapshot.complete:
        return "No trial has a value yet."
    if not any(is_feasible(t, snapshot.metrics) for t in snapshot.complete):
        closest = least_violating(snapshot.trials, snapshot.metrics)
        which = "" if closest is None else (
            f" The closest is trial {closest.number}: {escape(outcome_words(closest))}."
        )  # fmt: skip
        return f"No trial keeps all limits yet.{which}"
    return "No trial has a value of every objective yet."


def why_no_model(content: Content) -> str:
    """Return why the model says nothing yet.

    Args:
        content: What the report says.
    """
    if content.snapshot.space is None:
        return (
            "A journal holds a checksum of its pool, not the candidates: for what the model "
            "believes, write the report from the optimiser."
        )
    return f"The model has a say from {FEWEST_VALUES} values on."


def front(sheet: Sheet, content: Content) -> None:
    """Add the front of several objectives.

    Args:
        sheet: The page.
        content: What the report says.
    """
    snapshot = content.snapshot
    if snapshot.metrics.only is not None:
        return
    is_flat = len(snapshot.metrics.objectives) == 2
    how = (
        "The front, in red: trials that no other one beats, because that would have to be as good "
        "in all objectives and better in one. "
        + ("Each dot is a trial. " if is_flat else "Each line is a trial, good values on top. ")
        + ("Grey ones are outside a limit, or miss its value. " if snapshot.metrics.limits else "")
        + "Bars are standard errors of repeated or noisy measurements."
    )
    if not snapshot.complete:
        sheet.add("front", "Front", how, f"<p>{why_no_best(content)}</p>")
        return
    place = sheet.figure("front", metric_figures.front(content), 440)
    if not snapshot.front:
        sheet.add("front", "Front", how, f"<p>{why_no_best(content)}</p>", place)
        return
    many = f"{len(snapshot.front)} trial{'' if len(snapshot.front) == 1 else 's'} on the front."
    chosen = content.recommended
    advice = f"<p>{why_no_model(content)}</p>" if chosen is None else (
        f"<h3>Recommended if all objectives count alike</h3><p>trial {chosen.number}: "
        f"{escape(outcome_words(chosen))}</p>{params_table(chosen)}{params_json(chosen)}"
    )  # fmt: skip
    sheet.add("front", "Front", how, f"<p>{many}</p>", place, advice, note(content.note))


def limits(sheet: Sheet, content: Content) -> None:
    """Add what keeps the limits, and what breaks them.

    Args:
        sheet: The page.
        content: What the report says.
    """
    metrics = content.snapshot.metrics
    if not metrics.limits or not content.snapshot.complete:
        return
    how = (
        "Values of limited metrics over the trials. The red line is the limit; what lies in the "
        "shaded part breaks it."
    )
    kept = sum(is_feasible(t, metrics) for t in content.snapshot.complete)
    counts = kept_counts(content.snapshot)
    rows = [
        (escape(f"{name} {limit}"), f"{counts[name][0]} of {counts[name][1]}")
        for name, limit in metrics.limits.items()
    ]
    places = [
        sheet.figure(f"limit-{i}", metric_figures.limit_figure(content, name), 240)
        for i, name in enumerate(metrics.limits)
        if counts[name][1]
    ]
    said = f"<p>{kept} of {len(content.snapshot.complete)} trials keep all limits.</p>"
    sheet.add("limits", "Limits", how, said, table(("limit", "kept by"), rows), grid(places))


def progress(sheet: Sheet, content: Content) -> None:
    """Add the convergence of several objectives.

    Args:
        sheet: The page.
        content: What the report says.
    """
    steps = steps_of(content.snapshot)
    if not steps:
        how = "How the front has grown."
        sheet.add("convergence", "Convergence", how, f"<p>{why_no_best(content)}</p>")
        return
    how = (
        "How much of a box the front dominates with each trial: the box goes from a little below "
        "the worst feasible values to the best one of each objective, and a single trial that is "
        "best in all of them would fill it."
        if steps[0].volume is not None
        else "How many trials were on the front with each trial."
    )
    place = sheet.figure("convergence", metric_figures.progress(content, steps), 320)
    sheet.add("convergence", "Convergence", f"{how} Crosses are failures.", place)
