"""The commands of `thomax`, one file each: a command is a line of this table.

A command's module has `add_arguments(parser)`, which sets `act`: a function of the parsed options
that returns the exit code. Only the module of the command that was typed is imported.
"""

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("thomax.cli.run", "optimise any program"),
    "suggest": ("thomax.cli.suggest", "propose the next points of a search"),
    "tell": ("thomax.cli.tell", "record what came of a point"),
    "correct": ("thomax.cli.correct", "change the result of a finished trial"),
    "retract": ("thomax.cli.retract", "take the results of finished trials back"),
    "drop": ("thomax.cli.drop", "give up trials that were suggested"),
    "predict": ("thomax.cli.predict", "print what the model expects at points"),
    "show": ("thomax.cli.show", "list the trials of a search"),
    "report": ("thomax.cli.report", "write a page about a search, to look at"),
    "repair": ("thomax.cli.repair", "rescue a damaged journal"),
}
