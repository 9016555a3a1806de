import os

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def quick(monkeypatch):
    """Skip the waiting for the disk, where a test opens a thousand files."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
