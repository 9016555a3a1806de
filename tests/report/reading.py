"""What the tests read pages with, and the model they use."""

import json
from html.parser import HTMLParser
from pathlib import Path

from thomax import MLP, STOBNTSLinear
from thomax.report import write_report

SMALL = STOBNTSLinear(MLP(width=24, activation="erf"), noise_std=0.1, beta=0.5)


def tell_all(optimizer, n, objective):
    for trial in optimizer.ask(n):
        optimizer.tell(trial, objective(trial.params))


class Page(HTMLParser):
    """Take a page apart as a browser does: elements, visible text, and the figures."""

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.tags, self.attributes, self.ids = [], [], []
        self._texts, self._scripts, self._inside = [], [], None
        self.feed(source)
        self.text = " ".join(" ".join(self._texts).split())
        self.figures = json.loads(self._scripts[0])
        self.scripts = self._scripts[1:]

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.ids += [value for name, value in attributes if name == "id"]
        if tag in ("script", "style"):
            self._inside = tag
            if tag == "script":
                self._scripts.append("")

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self._scripts[-1] += data
        elif self._inside is None:
            self._texts.append(data)

    def meta(self, name):
        start = self.source.index(f'http-equiv="{name}" content="')
        return self.source[start:].split('"')[3]


def page_of(source, folder, **options):
    return Page(Path(write_report(source, folder / "report.html", **options)).read_text("utf-8"))
