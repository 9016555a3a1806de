"""The sections of a page, each with a sentence on how to read it."""

from collections.abc import Sequence
from html import escape

from thomax.report import figures, model_figures
from thomax.report.content import MOST_BEST, Content, reason_of
from thomax.report.metric_sections import front, limits, progress, why_no_best, why_no_model
from thomax.report.pieces import (
    Sheet,
    big,
    grid,
    in_part,
    inline,
    note,
    params_cell,
    params_json,
    params_table,
    table,
    view_buttons,
)
from thomax.report.text import number, shown
from thomax.storage.front import value_in
from thomax.storage.trial import Trial, outcome_words, value_of

_MOST_LISTED = 50  # rows of a list, most of them folded
_SEEN = 5  # rows of a list that are not folded


def _best(sheet: Sheet, content: Content) -> None:
    if content.snapshot.metrics.only is None:
        return
    how = "The best value that was observed, and the point that the model would choose."
    if content.snapshot.metrics.limits:
        how += " Only trials that keep all limits count."
    best = content.best
    if best is None:
        sheet.add("best", "Best", how, f"<p>{why_no_best(content)}</p>")
        return
    own_json = "" if content.recommended in (None, best) else params_json(best)
    others = f" ({escape(outcome_words(best))})" if len(best.values) > 1 else ""
    observed = (
        f"<h3>Best observed</h3>{big(number(value_of(best)))}"
        f"<p>trial {best.number}{others}{_model_text(content, best)}</p>"
        f"{params_table(best)}{own_json}"
    )
    model = f"<h3>Recommended by the model</h3>{_recommended(content, best)}"
    columns = f'<div class="columns"><div>{observed}</div><div>{model}</div></div>'
    sheet.add("best", "Best", how, columns, note(content.note))


def _recommended(content: Content, best: Trial) -> str:
    trial = content.recommended
    if trial is None:
        return f"<p>{why_no_model(content)}</p>{params_json(best)}"
    if trial == best:
        return f"<p>The same trial.</p>{params_json(best)}"
    return (
        f"{big(number(content.beliefs[trial.number][0]))}<p>expected of trial {trial.number}, "
        f"where {number(value_of(trial))} was observed. With noise the best observed value "
        "is an overestimate; the posterior mean is less of one.</p>"
        f"{params_table(trial)}{params_json(trial)}"
    )


def _convergence(sheet: Sheet, content: Content) -> None:
    if content.snapshot.metrics.only is None:
        progress(sheet, content)
        return
    limited = " of those that keep all limits" if content.snapshot.metrics.limits else ""
    how = (
        f"Each dot is an observed value; the red line is the best so far{limited}, crosses at the "
        f"{'bottom' if content.snapshot.sign > 0 else 'top'} are failures. Orange is what the "
        "model now believes of each point, ± 2 standard deviations. "
    ) + ("Shading separates batches." if figures.batch_shades(content.snapshot.batches) else "")
    if not content.snapshot.complete and not content.snapshot.failed:
        sheet.add("convergence", "Convergence", how, "<p>Nothing has been told yet.</p>")
        return
    views = view_buttons("convergence", figures.convergence_views(content))
    place = sheet.figure("convergence", figures.convergence(content), 420)
    sheet.add("convergence", "Convergence", how, views, place)


def _parallel(sheet: Sheet, content: Content) -> None:
    metrics = content.snapshot.metrics
    how = (
        "Each line is a trial, crossing every parameter at its value; red lines are the best. "
        if metrics.only is not None
        else "Each line is a trial, crossing every parameter at its value; red: the front. "
    ) + "Where red lines come together, the parameter matters; “–” means inactive."
    if not content.snapshot.complete or not content.axes:
        return
    views = view_buttons("parallel", figures.parallel_views(content))
    width = 90 * len(content.axes)
    place = sheet.figure("parallel", figures.parallel(content), 440)
    wide = f'<div class="scroll"><div style="min-width:{width}px">{place}</div></div>'
    sheet.add("parallel", "Parameters", how, views, wide)


def _importance(sheet: Sheet, content: Content) -> None:
    found = {name: part.importance for name, part in content.models.items()}
    known = [(name, each) for name, each in found.items() if each is not None]
    if not known:
        return
    how = (
        "How much of the variation of the model's mean over the whole space each parameter "
        f"explains, alone and with interactions (Sobol indices from {known[0][1].points} random "
        "points, each parameter moved through its range). The longer the grey line, 5–95 % of the "
        "posterior draws, the less is known yet about what the parameter does alone."
    )
    parts = []
    for i, (name, each) in enumerate(known):
        height = 90 + 30 * len(each.names)
        figure = model_figures.importance_bars(each)
        parts += [_heading(name), sheet.figure(_numbered("importance", i), figure, height)]
    sheet.add("importance", "Importance", how, *parts)


def _heading(name: str) -> str:
    """Return the name of a metric over what the model says of it."""
    return f"<h3>{escape(shown(name))}</h3>" if name else ""


def _numbered(figure: str, i: int) -> str:
    """Return the name of a figure that each metric has one of."""
    return figure if i == 0 else f"{figure}-of-{i}"


def _slices(sheet: Sheet, content: Content) -> None:
    known = [(name, part) for name, part in content.models.items() if part.slices]
    if not known:
        return
    how = (
        "The model along one parameter, the others as in the recommended trial: mean (line), "
        "5–95 % band, three draws (dotted). Blue dots are all observed values, whatever their "
        "other parameters: they need not follow the line."
    )
    parts = [part for k, (name, each) in enumerate(known) for part in _cuts(sheet, name, each, k)]
    sheet.add("slices", "Slices", how, *parts)


def _cuts(sheet: Sheet, name: str, content: Content, k: int) -> list[str]:
    """Return the slices of a metric, and those over two parameters."""
    ends = model_figures.value_range(content)
    ones = [
        sheet.figure(
            _numbered(f"slice-{i}", k), model_figures.slice_figure(content, cut, ends), 240
        )
        for i, cut in enumerate(content.slices)
    ]
    twos = [
        sheet.figure(_numbered(f"pair-{i}", k), model_figures.pair_figure(content, cut), 290)
        for i, cut in enumerate(content.pairs)
    ]
    of = f" of {escape(shown(name))}" if name else ""
    heading = (
        f"<h3>Two at a time{of}</h3><p class='how'>The posterior mean over two parameters; bright "
        "is good, and white dots are trials.</p>"
    )
    seconds = heading + grid(twos) if twos else ""
    return [_heading(name), grid(ones), seconds, _others(content)]


def _others(content: Content) -> str:
    """Return through which trials the slices go that the recommended one cannot serve."""
    recommended = content.recommended
    through = {
        cut.name: cut.centre.number
        for cut in content.slices
        if recommended is not None and cut.centre.number != recommended.number
    }
    if not through:
        return ""
    listed = ", ".join(f"{escape(shown(name))} (trial {n})" for name, n in through.items())
    return (
        "<p class='note'>Inactive in the recommended trial, so cut through the best expected one "
        f"that has them: {listed}.</p>"
    )


def _candidates(sheet: Sheet, content: Content) -> None:
    known = [(n, p, p.candidates) for n, p in content.models.items() if p.candidates is not None]
    if not known:
        return
    how = (
        f"The candidates that the model expects most of, best first, out of {known[0][2].scored} "
        "scored: mean and 5–95 % band. A blue dot is the observed value of an evaluated one."
    )
    parts = []
    for i, (name, part, found) in enumerate(known):
        figure = model_figures.candidates_figure(part, found)
        parts += [_heading(name), sheet.figure(_numbered("candidates", i), figure, 380)]
    sheet.add("candidates", "Candidates", how, *parts)


def _failures(sheet: Sheet, content: Content) -> None:
    failed = content.snapshot.failed
    how = "Trials that ended without a value. They teach the model where evaluations fail."
    if not failed:
        sheet.add("failures", "Failures", how, "<p>None.</p>")
        return
    counted = [(str(n), escape(r)) for r, n in content.reasons[:_MOST_LISTED]]
    reasons = in_part(
        counted, _SEEN, "reasons", lambda rows: table(("count", "reason"), rows, wide=[1])
    )
    latest = sorted(failed, key=lambda t: -t.number)[:_MOST_LISTED]
    each = [(str(t.number), escape(reason_of(t)), params_cell(t)) for t in latest]
    one_by_one = in_part(
        each, _SEEN, "failures",
        lambda rows: table(("trial", "reason", "params"), rows, wide=[1, 2]),
    )  # fmt: skip
    more = len(failed) - len(latest)
    sheet.add(
        "failures", "Failures", how, reasons,
        "<p>A # stands for numbers that differ.</p>" if any("#" in r for _, r in counted) else "",
        "<h3>One by one, latest first</h3>", one_by_one,
        f"<p>… and {more} earlier.</p>" if more else "",
    )  # fmt: skip


def _pending(sheet: Sheet, content: Content) -> None:
    pending = content.snapshot.pending
    if not pending:
        return
    how = "Trials that were asked for and not yet told."
    rows = [(str(t.number), params_cell(t)) for t in pending[:_MOST_LISTED]]
    listed = in_part(
        rows, _SEEN, "pending trials", lambda rows: table(("trial", "params"), rows, wide=[1])
    )
    more = len(pending) - len(rows)
    sheet.add("pending", "Pending", how, listed, f"<p>… and {more} later.</p>" if more else "")


def _corrections(sheet: Sheet, content: Content) -> None:
    changes = content.snapshot.changes
    if not changes:
        return
    how = (
        "Results that were corrected, or retracted so that nothing is learnt from them; the "
        "latest change first."
    )
    rows = [
        (
            str(number),
            *(escape(shown(outcome_words(outcome), 160)) for outcome in (before, after)),
            escape(shown(before.why or "–", 300)),
        )
        for number, before, after in changes[: -_MOST_LISTED - 1 : -1]
    ]
    head = ("trial", "was", "became", "why")
    listed = in_part(rows, _SEEN, "changes", lambda rows: table(head, rows, wide=[1, 2, 3]))
    more = len(changes) - len(rows)
    earlier = f"<p>… and {more} earlier.</p>" if more else ""
    sheet.add("corrections", "Corrections", how, listed, earlier)


def _table(sheet: Sheet, content: Content) -> None:
    how = f"The {MOST_BEST} best observed trials, and what the model believes of them."
    if content.snapshot.metrics.only is None:
        how = f"The first {MOST_BEST} trials of the front, and what the model believes of them."
    trials = content.snapshot.ranked[:MOST_BEST]
    if not trials:
        return
    names = content.snapshot.parameters
    has_notes = any(t.note for t in trials)
    metrics = content.snapshot.metrics
    measured = {name: name for name in metrics.names} if content.parts else {"": metrics.names[0]}
    rows = [
        (
            f"{t.number} (corrected)" if t.corrections else str(t.number),
            *(
                cell
                for name in measured
                for cell in (
                    _number_or_dash(value_in(t, name or metrics.names[0], metrics)),
                    _belief_text(content.models[name], t),
                )
            ),
            *(escape(shown(t.params[name])) if name in t.params else "–" for name in names),
            *([escape(shown(t.note or "–", 300))] if has_notes else []),
        )
        for t in trials
    ]
    values = [word for name in measured.values() for word in (name, "model ± 2 sd")]
    head = ("trial", *(escape(shown(name, 40)) for name in (*values, *names)))
    head += ("note",) if has_notes else ()
    listed = table(head, rows, wide=[len(head) - 1] if has_notes else [])
    sheet.add("trials", "Best trials", how, _gallery(content, trials), listed)


def _gallery(content: Content, trials: Sequence[Trial]) -> str:
    if not content.pictures:
        return ""
    pictures = [
        f'<figure><img src="{uri}" alt="candidate of trial {t.number}"><figcaption>'
        f"<b>{escape(outcome_words(t))}</b><br>{escape(inline(t, 60))}</figcaption></figure>"
        for uri, t in zip(content.pictures, trials, strict=False)
    ]
    return f'<div class="gallery">{"".join(pictures)}</div><h3>In numbers</h3>'


def _draws(sheet: Sheet, content: Content) -> None:
    how = (
        "New posterior draws at this number of values, each with the share of its loss that "
        "longer training may still gain, by an estimate."
    )
    found = content.diagnostics
    rows = [
        (str(i + 1), f"{100 * c.decrease:.3g} %", number(c.loss), str(c.iterations))
        for i, c in enumerate(found.certificates)
    ]
    head = ("draw", "still to gain", "loss", "iterations")
    known = content.snapshot.space is not None
    exact = "<p>Draws of this policy are not trained step by step.</p>"
    facts = [(f"<b>{escape(name)}</b>", escape(value)) for name, value in found.facts.items()]
    sheet.add(
        "draws", "Draws", how, table(head, rows) if rows else exact if known else "",
        table((), facts, wide=[1], kind="scroll stacked"),
    )  # fmt: skip


def _number_or_dash(value: float | None) -> str:
    return "–" if value is None else number(value)


def _belief_text(content: Content, trial: Trial) -> str:
    if trial.number not in content.beliefs:
        return "–"
    mean, std = content.beliefs[trial.number]
    return f"{mean:.4g} ± {2 * std:.2g}"


def _model_text(content: Content, trial: Trial) -> str:
    if trial.number not in content.beliefs:
        return ""
    return f"; the model believes {_belief_text(content, trial)}"


SECTIONS = (
    _best, front, limits, _convergence, _parallel, _slices, _importance, _candidates, _pending,
    _failures, _corrections, _table, _draws,
)  # fmt: skip
