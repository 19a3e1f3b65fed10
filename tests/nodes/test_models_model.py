"""Names, fallbacks and stand-ins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from flowgraph_nodes.errors import (
    BadRequestError,
    ContextTooLongError,
    ModelConfigError,
    ModelServerError,
    RateLimitError,
    RealModelError,
    ScriptError,
)
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.models import (
    ChatModel,
    Fallbacks,
    Model,
    ModelSettings,
    Request,
    Scripted,
    ScriptedModel,
    no_real_models,
    override_models,
    resolve,
)
from flowgraph_nodes.transcript import Transcript

pytestmark = pytest.mark.anyio
HI = Request(messages=Transcript([UserMessage("Hi")]))


async def answer(model: ChatModel, request: Request = HI) -> str:
    return (await model.complete(request)).message.content


def test_importing_the_package_does_not_import_litellm() -> None:
    code = "import sys, flowgraph_nodes; sys.exit('litellm' in sys.modules or 'openai' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert found.returncode == 0


def test_resolve_takes_names_models_and_lists() -> None:
    scripted = ScriptedModel([])
    assert resolve("openai/gpt-5-mini") == Model("openai/gpt-5-mini")
    assert resolve(scripted) is scripted
    assert resolve(["a/b"]) == Model("a/b")
    several = resolve(["a/b", scripted])
    assert several == Fallbacks((Model("a/b"), scripted))
    assert several.name == "a/b, scripted"
    for wrong in ("", " ", [], 3, None, [3]):
        with pytest.raises(ModelConfigError):
            resolve(wrong)  # type: ignore[arg-type]


async def test_fallbacks_are_tried_in_turn_for_each_call() -> None:
    first = ScriptedModel([BadRequestError("no"), "first"])
    second = ScriptedModel(["second"])
    model = resolve([first, second])
    assert [await answer(model), await answer(model)] == ["second", "first"]
    assert (len(first.requests), len(second.requests)) == (2, 1)


@pytest.mark.parametrize(
    ("errors", "raised"),
    [
        ([BadRequestError, ContextTooLongError], BadRequestError),
        ([BadRequestError, RateLimitError, ModelServerError], RateLimitError),
    ],
)
async def test_when_all_fail_the_error_that_helps_most_is_raised(
    errors: list[type[Exception]], raised: type[Exception]
) -> None:
    with pytest.raises(raised) as caught:
        await answer(resolve([ScriptedModel([error("no")]) for error in errors]))
    assert len(caught.value.__notes__) == len(errors) - 1


async def test_a_script_that_ran_out_is_no_reason_to_fall_back() -> None:
    spare = ScriptedModel(["spare"])
    with pytest.raises(ScriptError):
        await answer(resolve([ScriptedModel([]), spare]))
    assert spare.requests == []


async def test_stand_ins_take_the_calls_of_models_that_exist_already() -> None:
    model, other = resolve("openai/gpt-5-mini"), resolve("anthropic/claude")
    fake, rest = ScriptedModel(["fake"] * 9), Scripted({"*": lambda request: "rest"})
    with override_models({"openai/*": fake, "*": rest}):
        model.check()
        assert [await answer(model), await answer(other)] == ["fake", "rest"]
        with override_models({"openai/gpt-5-mini": ScriptedModel(["inner"])}):
            assert [await answer(model), await answer(other)] == ["inner", "rest"]
        assert await answer(model) == "fake"


async def test_the_settings_of_the_model_reach_a_stand_in_under_those_of_the_call() -> None:
    fake = ScriptedModel(["ok"])
    model = Model("openai/x", ModelSettings(temperature=1, seed=3))
    with override_models({"*": fake}):
        await model.complete(Request(messages=HI.messages, settings=ModelSettings(temperature=0)))
    assert fake.requests[0].settings == ModelSettings(temperature=0, seed=3)


async def test_no_real_models_forbids_what_is_not_replaced() -> None:
    model = resolve("openai/gpt-5-mini")
    with override_models({"*": ScriptedModel(["outer"])}), no_real_models():
        for call in (model.check, lambda: answer(model)):
            with pytest.raises(RealModelError, match=r"'openai/gpt-5-mini' is real"):
                await _maybe(call)
        with override_models({"openai/*": ScriptedModel(["ok"])}):
            assert await answer(model) == "ok"
            with pytest.raises(RealModelError):
                await answer(resolve("anthropic/claude"))
        with pytest.raises(RealModelError):
            await answer(resolve([model, ScriptedModel(["fallback"])]))


async def test_stand_ins_hold_in_tasks_and_threads_the_block_starts_and_only_there() -> None:
    model, answers = resolve("openai/x"), list[str]()

    async def ask() -> None:
        answers.append(await answer(model))

    with override_models({"openai/*": ScriptedModel(["task", "thread"])}):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
        await anyio.to_thread.run_sync(lambda: anyio.run(ask))
    assert answers == ["task", "thread"]
    with no_real_models(), pytest.raises(RealModelError):
        await ask()


async def test_a_real_model_may_stand_in_for_others_without_going_in_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    async def complete(name: str, request: Request, on_delta: object) -> None:
        called.append(name)

    monkeypatch.setattr("flowgraph_nodes.models.litellm.complete", complete)
    with override_models({"*": Model("local/small")}):
        await resolve("openai/big").complete(HI)
    assert called == ["local/small"]


async def _maybe(call: Callable[[], Any]) -> None:
    value = call()
    if value is not None:
        await value
