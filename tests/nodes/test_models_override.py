"""Stand-ins and the ban on real models hold in the whole process while their block is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from flowgraph_nodes import ReactAgent
from flowgraph_nodes.errors import ModelConfigError, RealModelError
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.models import Request, ScriptedModel, no_real_models, override_models, resolve
from flowgraph_nodes.transcript import Transcript

HI = Request(messages=Transcript([UserMessage("Hi")]))


def answer(backend: str = "asyncio", model: str = "openai/x") -> str:
    async def ask() -> str:
        return (await resolve(model).complete(HI)).message.content

    return anyio.run(ask, backend=backend)


def on_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_blocks_hold_on_plain_threads(backend: str) -> None:
    with no_real_models():
        assert isinstance(on_thread(lambda: answer(backend)), RealModelError)
        with override_models({"openai/*": ScriptedModel(["thread"])}):
            assert on_thread(lambda: answer(backend)) == "thread"
            assert isinstance(on_thread(lambda: answer(backend, "anthropic/x")), RealModelError)
        assert isinstance(on_thread(lambda: answer(backend)), RealModelError)


def test_blocks_hold_in_a_pool_whose_threads_were_there_before() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with no_real_models(), pytest.raises(RealModelError):
            pool.submit(answer).result()
        with override_models({"*": ScriptedModel(["pool"])}):
            agent = ReactAgent(model="openai/x")
            assert pool.submit(lambda: agent.run("Hi").output).result() == "pool"


def test_blocks_side_by_side_keep_their_own_models() -> None:
    both = threading.Barrier(2)

    def work(name: str) -> str:
        with override_models({"*": ScriptedModel([name])}):
            both.wait(10)
            found = answer()
            both.wait(10)
            return found

    with no_real_models(), ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, ["one", "two"])) == ["one", "two"]


def test_a_stand_in_opened_elsewhere_later_replaces_what_is_forbidden_here() -> None:
    opened, done = threading.Event(), threading.Event()

    def fixture() -> None:
        with override_models({"openai/*": ScriptedModel(["elsewhere"])}):
            opened.set()
            done.wait(10)

    with no_real_models(), ThreadPoolExecutor(1) as pool:
        held = pool.submit(fixture)
        opened.wait(10)
        assert answer() == "elsewhere"
        done.set()
        held.result()
        with pytest.raises(RealModelError):
            answer()


@pytest.mark.parametrize("models", [{"openai/*": "scripted"}, {"openai/*": None}, {5: ScriptedModel([])}])
def test_what_is_no_stand_in_is_refused_at_entry(models: Any) -> None:
    with pytest.raises(ModelConfigError, match="override_models"), override_models(models):
        pass
