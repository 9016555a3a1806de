"""The commands of `thomax`, one file each: a command is a line of this table.

A command's module has `add_arguments(parser)`, which sets `act`: a function of the parsed options
that returns the exit code. Only the module of the command that was typed is imported.
"""

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("thomax.commands.run", "optimise any program"),
    "suggest": ("thomax.commands.suggest", "propose the next points of a search"),
    "tell": ("thomax.commands.tell", "record what came of a point"),
    "drop": ("thomax.commands.drop", "give up trials that were suggested"),
    "show": ("thomax.commands.show", "list the trials of a search"),
    "report": ("thomax.commands.report", "write a page about a search, to look at"),
    "repair": ("thomax.commands.repair", "rescue a damaged journal"),
    "bench": ("thomax.bench.command", "the paper's experiments and their claims"),
}
