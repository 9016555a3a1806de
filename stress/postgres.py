"""A PostgreSQL server of our own, for as long as it is needed."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, where they are installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    if found:
        return found[-1].parent
    return None if beside is None else Path(beside).parent


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def postgres(programs: Path, *, settings: str = "") -> Iterator[str]:
    """Start a server in a temporary folder, on a free loopback port; yield its address."""
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="thomax-postgres-"))
    # PostgreSQL refuses to run as root.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")

    def call(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), "-D", str(folder / "data"), *arguments]
        with (folder / "commands.log").open("a") as log:  # a pipe would stay open in the server
            subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log, timeout=90)

    call("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 {settings}"
    call("pg_ctl", "-w", "-l", str(folder / "server.log"), "-o", options, "start")
    try:
        yield f"postgresql+psycopg2://postgres@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
