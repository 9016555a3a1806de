"""The first line of a journal: which search it belongs to, and whether this thomax can read it."""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from thomax.storage.metrics import Metrics
from thomax.storage.records import Record, strict_json
from thomax.storage.trial import Direction
from thomax.support.types import Json

FORMAT = "thomax-journal"
VERSION = 1


@dataclass(frozen=True)
class SearchHeader:
    """What the journal of an Optimizer says of its search.

    Args:
        metrics: Its objectives and limits.
        seed: The seed of the search.
        space: The description of the space.
    """

    metrics: Metrics
    seed: int
    space: dict[str, Json]

    @property
    def direction(self) -> Direction:
        """The direction of the first objective."""
        return self.metrics.direction


def search_header(path: Path, header: Record) -> SearchHeader:
    """Return the header of an Optimizer's journal, or refuse that of another program.

    Args:
        path: The journal, for the error message.
        header: Its first record.
    """
    space, seed = header.get("space"), header.get("seed")
    is_ours = "direction" in header or "objectives" in header
    try:
        metrics = Metrics.of_header(header)
    except (ValueError, TypeError):
        is_ours = False
    if not is_ours or not isinstance(space, dict) or type(seed) is not int:
        raise ValueError(
            f"{path} needs to be the journal of an Optimizer, got one that another program has "
            "made: give another path."
        )
    return SearchHeader(metrics, seed, space)


def missing_from(
    description: Mapping[str, Json], *, with_objects: bool = True
) -> tuple[str, str] | None:
    """Return what the description of a space lacks to build the space from it, if anything.

    Args:
        description: The space as the header of a journal describes it.
        with_objects: Whether the objects of labelled choices are needed, and not only the labels.

    Returns:
        What is missing, and the argument of `Optimizer.open` that has it.

    Examples:
        >>> missing_from({"kind": "pool"})
        ('the candidates of a pool', 'space=Pool(...)')
    """
    parameters = description.get("parameters")
    entries = parameters if isinstance(parameters, list) else []
    if description.get("kind") == "pool":
        return "the candidates of a pool", "space=Pool(...)"
    if description.get("constraint"):
        return "a constraint", "space=Space({...}, constraint=...)"
    if with_objects and any(isinstance(e, dict) and e.get("labelled") for e in entries):
        return "choices that are objects", "space={...}"
    return None


def complete_header(header: Record) -> Record:
    """Return a header as it stands in the file, with the format and its version.

    Args:
        header: What the writer says of its search.
    """
    plain: Record = json.loads(strict_json(header))
    return {"format": FORMAT, "version": VERSION, **plain}


def no_journal(path: Path) -> str:
    """Return the sentence for a file that is no journal.

    Args:
        path: The file.
    """
    return (
        f"{path} must be a thomax journal, got a file without an intact header."
        " Give another path, or remove the file if it holds nothing of value."
    )


def require_known_format(path: Path, header: Record) -> None:
    """Refuse what another program or a newer thomax wrote.

    Args:
        path: The journal, for the error message.
        header: Its first record.
    """
    version = header.get("version")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ValueError(no_journal(path))
    if version > VERSION:
        raise ValueError(
            f"Journal {path} was written by a newer thomax (journal version {version},"
            f" this one reads up to {VERSION}): upgrade thomax."
        )


def require_same_search(path: Path, stored: Record, wanted: Record) -> None:
    """Refuse to continue one search with the settings of another.

    Args:
        path: The journal, for the error message.
        stored: The header in the file.
        wanted: The header of the search that is to go on.
    """
    wanted = _comparable(stored, wanted)
    if not _alike(stored, wanted):
        name, old, new = _first_difference("", stored, wanted)
        if name == "space.names_checksum":
            raise ValueError(
                f"Journal {path} belongs to another search: the names or labels of the candidates"
                f" differ from those of the journal (their checksum is {old}, got {new})."
                " Pass the same names and labels in the same order, or another path."
            )
        is_pool = name == "space.checksum"
        what = "candidates in the same order" if is_pool else name.partition(".")[0]
        # Who narrows a space mostly wants points of a part of it for a while.
        way_on = "; to get points of a part of it only, ask(given=...)" if what == "space" else ""
        raise ValueError(
            f"Journal {path} belongs to another search: its {name} is {old}, got {new}."
            f" Pass the same {what}, or another path{way_on}."
        )


def _comparable(stored: Record, wanted: Record) -> Record:
    """Return what is wanted without the checksum of names, which older journals lack."""
    old, new = stored.get("space"), wanted.get("space")
    if not isinstance(old, dict) or not isinstance(new, dict) or "names_checksum" in old:
        return wanted
    return wanted | {"space": {k: v for k, v in new.items() if k != "names_checksum"}}


def _alike(one: Json, other: Json) -> bool:
    """Compare what JSON holds; 1 and 1.0 are the same, but True is another choice than 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _first_difference(name: str, old: Json, new: Json) -> tuple[str, str, str]:
    if isinstance(old, list) and isinstance(new, list):
        old, new = _labelled(old), _labelled(new)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if key not in old or key not in new or not _alike(old[key], new[key]):
                inner = f"{name}.{key}" if name else str(key)
                return _first_difference(inner, old.get(key, "absent"), new.get(key, "absent"))
    return name, reprlib.repr(old), reprlib.repr(new)


def _labelled(items: list[Json]) -> dict[str, Json]:
    """Return items by their names, where they have any, or by their positions."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return {
        name if isinstance(name, str) else str(i): item
        for i, (name, item) in enumerate(zip(names, items, strict=True))
    }
