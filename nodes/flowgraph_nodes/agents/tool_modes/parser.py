"""Reading Thought / Action / Action Input / Final Answer replies, as small models really write them.

The rules. A marker stands at the start of a line, in any case, perhaps numbered or in bold; inside a code fence or in
the JSON of an argument there are none. The first thing decided holds: after the first action everything is dropped
(an observation that the model made up, further actions, an answer); after `Final Answer:` everything is the answer.
`Action: None` is no action. A reply without any marker is an answer. A thought is never an answer.

Source of the format: ReAct, https://arxiv.org/abs/2210.03629.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

_WORDS: Final = r"thought|action[ _]?input|action|observation|final[ _]?answer"
_MARKER: Final = re.compile(
    rf"[ \t]*(?:[>#]+[ \t]*)?(?:\*\*(?P<bold>{_WORDS})[ \t]*\d*(?:\*\*[ \t]*:|:[ \t]*\*\*)"
    rf"|(?P<word>{_WORDS})[ \t]*\d*[ \t]*:)[ \t]*",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})")
_WHOLE_FENCE: Final = re.compile(r"\s*```[\w-]*[ \t]*\n(?P<body>.*?)\n?```\s*", re.DOTALL)
_OPEN_FENCE: Final = re.compile(r"```[\w-]*[ \t]*\n")
_INLINE: Final = re.compile(r"(?P<name>[\w-]+)[ \t]*[\[(](?P<input>.*)[\])]", re.DOTALL)
_NOTHING: Final = frozenset(
    {"", "none", "n/a", "na", "null", "nil", "no action", "nothing", "-", "no tool", "not needed"}
)
_DECODER: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says. action: the tool's name; answer: None when there is none. At most one of the two is set.

    closed: something follows the action's input, so that it is complete even when the reply was cut off.
    """

    thought: str = ""
    action: str | None = None
    action_input: str = ""
    answer: str | None = None
    closed: bool = False


class _Marker(NamedTuple):
    word: str
    start: int
    end: int


def parsed(text: str) -> Parsed:
    """Read a whole reply."""
    if whole := _WHOLE_FENCE.fullmatch(text):
        text = whole["body"]
    nothing_at: int | None = None
    marked = False
    for marker in _markers(text):
        marked = True
        before = text[: marker.start if nothing_at is None else nothing_at]
        if marker.word == "finalanswer":
            return Parsed(_thought(before), answer=_trimmed(text[marker.end :]))
        if marker.word == "observation":
            return Parsed(_thought(before))
        if marker.word == "action":
            found = _action(text, marker)
            if found is not None:
                return replace(found, thought=_thought(before))
            nothing_at = marker.start if nothing_at is None else nothing_at
    if not marked:
        return Parsed(answer=text.strip())
    if nothing_at is not None:
        return Parsed(_thought(text[:nothing_at]), answer=_behind_nothing(text[nothing_at:]))
    return Parsed(_thought(text))


def answer_start(text: str) -> int | None:
    """Where the final answer begins in a reply that is still being written; None while that is not known."""
    for marker in _markers(text):
        if marker.word == "finalanswer":
            return marker.end + len(text[marker.end :]) - len(text[marker.end :].lstrip())
        if marker.word == "observation" or (marker.word == "action" and _action(text, marker) is not None):
            return None
    return None


def _markers(text: str) -> Iterator[_Marker]:
    """The markers in order, without those in fences and in JSON arguments."""
    position, fence = 0, ""
    while position < len(text):
        line_end = text.find("\n", position) + 1 or len(text)
        if found := _FENCE.match(text, position):
            marks = found["fence"]
            fence = marks if not fence else "" if marks.startswith(fence) else fence
        elif not fence and (match := _MARKER.match(text, position)):
            word = re.sub(r"[ _]", "", (match["bold"] or match["word"]).lower())
            yield _Marker(word, match.start(), match.end())
            if found := _FENCE.match(text, match.end()):
                marks = found["fence"]
                fence = marks if text.count(marks, match.end(), line_end) % 2 else ""
            elif (end := _json_end(text, match.end())) > match.end():
                line_end = max(line_end, _line_after(text, end))
        position = line_end


def _action(text: str, marker: _Marker) -> Parsed | None:
    """The action at a marker; None when it is none."""
    behind = text[marker.end :]
    later = next((found for found in _markers(behind) if found.start > 0), None)
    value = (behind[: later.start] if later else behind).strip()
    if (both := _blob(value)) is not None:
        return Parsed(action=both[0], action_input=both[1], closed=True)
    first = next((line for line in value.splitlines() if line.strip()), "")
    name = first.strip("`*\"'<>. \t")
    if name.lower() in _NOTHING:
        return None
    if later is not None and later.word == "actioninput":
        given, closed = _input(behind[later.end :])
        return Parsed(action=name.rstrip("[]() "), action_input=given, closed=closed)
    if inline := _INLINE.fullmatch(first.strip("`* \t")):
        return Parsed(action=inline["name"], action_input=inline["input"].strip(), closed=True)
    return Parsed(action=name.rstrip("[]() "), closed=later is not None)


def _input(text: str) -> tuple[str, bool]:
    """An action's input (the JSON or the fence it starts with, else the text up to the next marker), and whether
    anything follows it."""
    text = text.lstrip()
    if (end := _json_end(text, 0)) > 0:
        return text[:end], bool(text[end:].strip())
    if fenced := _OPEN_FENCE.match(text):
        body, close, rest = text[fenced.end() :].partition("```")
        end = _json_end(body, 0)
        return body[: end or len(body)].strip(), bool(close and rest.strip())
    later = next((marker for marker in _markers(text) if marker.start > 0 or marker.word != "actioninput"), None)
    value = (text[: later.start] if later else text).strip()
    if value.startswith("`") and value.endswith("`"):
        value = value.strip("`").strip()
    return "" if value.lower() in _NOTHING else value, later is not None


def _blob(value: str) -> tuple[str, str] | None:
    """An action written as one JSON object, perhaps in a fence."""
    if fenced := _WHOLE_FENCE.fullmatch(value):
        value = fenced["body"]
    try:
        data: Any = _DECODER.decode(value.strip())
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    name = next((data[key] for key in ("action", "tool", "name") if isinstance(data.get(key), str)), None)
    given: Any = next((data[key] for key in ("action_input", "args", "arguments", "input") if key in data), {})
    return None if name is None else (name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def _json_end(text: str, position: int) -> int:
    """The end of the JSON object or list that starts there, or `position`."""
    start = position + len(text[position:]) - len(text[position:].lstrip())
    if text[start : start + 1] not in ("{", "["):
        return position
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return position


def _line_after(text: str, position: int) -> int:
    return text.find("\n", position) + 1 or len(text)


def _thought(text: str) -> str:
    """The text before a decision, without its markers."""
    parts, last = [], 0
    for marker in _markers(text):
        parts.append(text[last : marker.start])
        last = marker.end
    parts.append(text[last:])
    return "\n".join(part.strip() for part in parts if part.strip())


def _trimmed(answer: str) -> str:
    """An answer without an empty action behind it."""
    for marker in _markers(answer):
        if marker.word == "action" and _action(answer, marker) is None:
            return answer[: marker.start].strip()
    return answer.strip()


def _behind_nothing(text: str) -> str | None:
    """The text behind `Action: None` and its empty input, unless it is a thought."""
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[1:])
    for marker in _markers(rest):
        if marker.word != "actioninput":
            return None
        value = rest[marker.end :].split("\n", 1)
        if value[0].strip().lower() not in (*_NOTHING, "{}"):
            return None
        rest = value[1] if len(value) > 1 else ""
        break
    return rest.strip() or None
