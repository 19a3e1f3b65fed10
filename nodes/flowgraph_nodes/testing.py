"""For tests of graphs with agents: models that answer from a script, and a block in which no real one is called.

    from flowgraph_nodes.testing import ScriptedModel, no_real_models, override_models

    with override_models({"openai/*": ScriptedModel(["Tea is a drink."])}):
        run = fg.run(graph, {"topic": "tea"})

A whole test suite stays offline with a fixture in its `conftest.py`, which sync and async tests obey:

    @pytest.fixture(autouse=True)
    def offline():
        with no_real_models():
            yield

The engine's own aids, a clock that jumps and drawn orders of finishing, are in `flowgraph.testing`.
"""

from flowgraph_nodes.models import Reply, Scripted, ScriptedModel, call, no_real_models, override_models

__all__ = ["Reply", "Scripted", "ScriptedModel", "call", "no_real_models", "override_models"]
