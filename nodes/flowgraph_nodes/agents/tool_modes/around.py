"""What the modes have in common: a model around another one."""

from __future__ import annotations

from flowgraph_nodes.models import ChatModel, is_priced


class Around:
    """A model that stands around another, `model`, and is it but for how calls travel."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.model.name

    def check(self) -> None:
        """See the inner model."""
        self.model.check()

    async def priced(self) -> bool:
        """See the inner model."""
        return await is_priced(self.model)
