"""A real PostgreSQL server for tests, on the loopback address: `postgres_url()` gives a fresh, empty database in it."""

from __future__ import annotations

import atexit
import functools
import getpass
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

_numbers = itertools.count(1)


def postgres_url() -> str:
    """The address of a new database. Skips the test when there is no PostgreSQL."""
    return server().new_database()


@functools.cache
def server() -> Server:
    """The server of this process, which ends with it. Skips the test when there is no PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is missing: `initdb` and `postgres` (Debian's package `postgresql`)")
    user = _user()
    if user is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as")
    started = Server(programs, user)
    atexit.register(started.remove)
    started.start()
    return started


def _programs() -> Path | None:
    """The folder of initdb and postgres, the newest version first."""
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    folders = sorted(installed, key=lambda folder: float(folder.parent.name), reverse=True)
    if on_path := shutil.which("initdb"):
        folders.insert(0, Path(on_path).resolve().parent)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def _user() -> str | None:
    """Whom the server runs as: this user, unless that is root."""
    if os.getuid() != 0:
        return getpass.getuser()
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


class Server:
    """One cluster in a temporary folder. It trusts everyone on the loopback address, and does not wait for the disk."""

    def __init__(self, programs: Path, user: str) -> None:
        self._programs = programs
        self._as = {"user": user} if os.getuid() == 0 else {}
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="flowgraph-postgres-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        options = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        made = subprocess.run(
            [programs / "initdb", "-D", self.folder / "data", *options],
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
            **self._as,
        )
        if made.returncode:
            pytest.fail(f"initdb failed: {made.stderr}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {"fsync": "off", "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data", "-p", str(self.port), *settings],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._as,
            )
        end = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    pytest.fail(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop it at once: the connections break, and what was not committed is lost."""
        if self._process is not None:
            self._process.send_signal(3)  # SIGQUIT: an "immediate" shutdown
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        """Stop it, and remove everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """The address of a database of its own."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://tester:secret@127.0.0.1:{self.port}/{database}"
