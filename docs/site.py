"""Hooks of the site: pages show figures that live beside the results they were drawn from."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
FIGURES = "benchmarks/results"


def on_files(files: Files, config: Any) -> Files:
    """Add the figures of the results to the site."""
    for path in sorted((ROOT / FIGURES).rglob("*.svg")):
        name = path.relative_to(ROOT).as_posix()
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at the copies."""
    return markdown.replace("](../benchmarks/", "](benchmarks/")
