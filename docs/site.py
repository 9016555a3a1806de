"""Hooks of the site: pages show figures and files that live elsewhere in the repository."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
FIGURES = "benchmarks/results"
PAGES = ("CODE_OF_CONDUCT.md", "SECURITY.md")  # that CONTRIBUTING.md links to


def on_files(files: Files, config: Any) -> Files:
    """Add the figures of the results, and pages of the root, to the site."""
    figures = sorted((ROOT / FIGURES).rglob("*.svg"))
    for name in (*(path.relative_to(ROOT).as_posix() for path in figures), *PAGES):
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at the copies."""
    return markdown.replace("](../benchmarks/", "](benchmarks/")
