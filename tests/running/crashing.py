"""Objectives that end their process; a module of few imports, for workers that start fast."""

import os
import time


def end_the_process(params):
    os._exit(1)


def end_at_large_x(params):
    if params["x"] > 0.5:
        os._exit(1)
    time.sleep(0.1)
    return params["x"]


def set_offset(offset):
    os.environ["OFFSET"] = str(offset)


def offset_or_end(params):
    return os._exit(1) if params["n"] == 2 else float(os.environ["OFFSET"])
