"""Seconds and memory of this process."""

import statistics
import threading
import time
from pathlib import Path

STATUS = Path("/proc/self/status")
MB = 2**20


def spent(function):
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def timed(function, repeats):
    first = spent(function)
    times = [spent(function) for _ in range(repeats)]
    medians = {key: statistics.median(t[key] for t in times) for key in first}
    return {"first_s": first["wall_s"], **medians}


def status_mb(name):
    """Return a line of this process's status in MB; NaN where there is no such file."""
    if not STATUS.exists():
        return float("nan")
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


class AnonymousMemory:
    """Watch how much memory is taken that is no mapped file: those pages are given back."""

    def __enter__(self):
        self._end, self.growth_mb = threading.Event(), 0.0
        self._before = status_mb("RssAnon")
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _watch(self):
        while not self._end.wait(0.02):
            self.growth_mb = max(self.growth_mb, status_mb("RssAnon") - self._before)
