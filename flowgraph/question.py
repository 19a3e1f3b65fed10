"""Questions to people: what a gate asks, what fits as an answer, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import AnswerRefused
from .fits import adapter_for, describe, details, shown
from .missing import MISSING
from .policy import Seconds, seconds


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person.

    text: what is asked. type: what the answer must be (anything that pydantic knows). timeout: seconds (or timedelta)
    after which `default` is taken or, without one, the node fails; None: never.

    Raises ValueError when the timeout is negative or the default is no possible answer, TypeError for an odd type.
    """

    text: str
    type: Any = str
    timeout: Seconds | None = None
    default: Any = MISSING

    def __post_init__(self) -> None:
        if self.timeout is not None:
            seconds(self.timeout, "timeout")
        if self.default is not MISSING:
            try:
                object.__setattr__(self, "default", self.checked(self.default))
            except AnswerRefused as error:
                raise ValueError(f"the default of the question {self.text!r} is no possible answer: {error}") from None

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the answer. Raises TypeError when pydantic has none for the type."""
        from pydantic import PydanticUserError

        try:
            return dict(adapter_for(self.type).json_schema())
        except PydanticUserError as error:
            raise TypeError(f"{describe(self.type)} cannot be the type of an answer: {error.message}") from error

    def checked(self, answer: Any) -> Any:
        """The answer, converted where pydantic can. Raises AnswerRefused."""
        from pydantic import ValidationError

        try:
            return adapter_for(self.type).validate_python(answer)
        except ValidationError as error:
            raise AnswerRefused(
                f"{self.text!r} wants {describe(self.type)}, got {shown(answer)}{details(error)}"
            ) from None
