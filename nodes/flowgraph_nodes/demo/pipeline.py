"""The pipeline: classify each message, take a branch by what was found, summarise, shorten in a loop, merge.

It leaves to the small model what that can do (telling praise from complaint, one-sentence summaries, shortening), and
to plain functions what it cannot (telling a question, deciding, writing the page).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel

import flowgraph as fg
from flowgraph_nodes.agents import ReactAgent
from flowgraph_nodes.demo.mail import Mail, packaged, read_folder
from flowgraph_nodes.flows import LoopFlow
from flowgraph_nodes.models import Model, ModelLike, ModelSettings
from flowgraph_nodes.models.local import LocalModel

Mood: TypeAlias = Literal["praise", "complaint", "question"]

FITS: Final = 45
"""Words that the lead of the page may have."""


class Sentiment(BaseModel):
    """What the model is asked for, as JSON."""

    sentiment: Literal["positive", "negative"]


@contextmanager
def demo(folder: Path | None = None) -> Iterator[tuple[fg.Graph, dict[str, Any]]]:
    """The graph and its inputs for a folder of messages (default: the packaged ones), with the model's server up.

    Raises InputError for a folder without messages, LocalModelMissing when the embedded model is not installed.
    """
    mails = read_folder(folder or packaged())
    with LocalModel() as local:
        yield digest(Model(local.model, settings=local.settings)), {"mails": mails}


def digest(model: ModelLike) -> fg.Graph:
    """The graph: `mails` (a list of `Mail`) in, one page of Markdown out."""
    graph = fg.Graph("digest", title="A digest of the day's messages")
    graph.input("mails", list[Mail], title="messages")
    graph.map("moods", _mood(model), each={"mail": "mails"}, max_concurrency=2, title="what each message is")
    graph.node(sorted_out, title="count and sort")
    graph.choose("sorted_out", {"trouble": "worst", "calm": "thanks"})
    graph.node(worst, title="the complaints")
    graph.node(thanks, title="the praise")
    graph.node(chosen, title="what to report", needs=("worst", "thanks"))
    graph.map("summaries", _summary(model), each={"text": "chosen"}, max_concurrency=2, title="one sentence each")
    graph.node(joined, title="put together")
    shorter = LoopFlow(_shorter(model), until=short_enough, score=brevity, max_iterations=8, on_exhausted="best")
    graph.add("lead", shorter, bind={"text": "joined"}, title=f"shorten to {FITS} words")
    graph.node(questions, title="the questions")
    graph.node(page, title="the page")
    return graph


def _mood(model: ModelLike) -> fg.Graph:
    """Praise, complaint or question? A graph of its own, mapped over the messages."""
    graph = fg.Graph("mood")
    graph.input("mail", Mail)

    @graph.node
    def asks(mail: Mail) -> bool:
        return "?" in mail.body

    @graph.node(when="not asks")
    def text(mail: Mail) -> str:
        return mail.body

    system = "Classify the sentiment of the customer's message as positive or negative."
    graph.add(
        "sentiment",
        ReactAgent(
            name="sentiment",
            model=model,
            instructions=system,
            prompt="{text}",
            output_type=Sentiment,
            tool_mode="schema",
            settings=ModelSettings(max_tokens=30),
        ),
    )

    @graph.node
    def mood(asks: bool, sentiment: fg.Maybe[Sentiment]) -> Mood:
        if sentiment is None:
            return "question"
        return "praise" if sentiment.sentiment == "positive" else "complaint"

    return graph


def _summary(model: ModelLike) -> ReactAgent:
    return ReactAgent(
        name="summary",
        model=model,
        instructions="Extract and present the main key point of the input text in one very short sentence, including "
        "essential details like dates or locations if necessary.",
        prompt="{text}",
        settings=ModelSettings(max_tokens=60),
    )


def _shorter(model: ModelLike) -> fg.Graph:
    """One round of shortening: the model rewrites; where that is no shorter, the last sentence goes."""
    graph = fg.Graph("shorter")
    graph.input("text", str)
    graph.add(
        "rewrite",
        ReactAgent(
            name="rewrite",
            model=model,
            instructions="You're an AI assistant for text re-writing. Rewrite the input text to make it more concise "
            "while preserving its core meaning.",
            prompt="{text}",
            settings=ModelSettings(max_tokens=160),
        ),
    )
    graph.node(tightened)
    return graph


def tightened(text: str, rewrite: str) -> str:
    """The rewritten text if it is shorter, else the text without its end: every round makes it shorter."""
    words = text.split()
    if 0 < len(rewrite.split()) < len(words):
        return rewrite.strip()
    sentences = _sentences(text)
    return " ".join(sentences[:-1] if len(sentences) > 1 else words[: max(1, len(words) * 3 // 4)])


def sorted_out(mails: list[Mail], moods: list[Mood], ctx: fg.Context) -> Literal["trouble", "calm"]:
    """Is it a bad day? It is when a third of the messages complain."""
    ctx.keep(counts={mood: moods.count(mood) for mood in ("praise", "complaint", "question")})
    return "trouble" if moods.count("complaint") * 3 >= len(mails) else "calm"


def worst(mails: list[Mail], moods: list[Mood]) -> list[Mail]:
    """The complaints, longest first, three of them."""
    found = [mail for mail, mood in zip(mails, moods, strict=True) if mood == "complaint"]
    return sorted(found, key=lambda mail: -len(mail.body))[:3]


def thanks(mails: list[Mail], moods: list[Mood]) -> list[Mail]:
    """The praise, three of it."""
    return [mail for mail, mood in zip(mails, moods, strict=True) if mood == "praise"][:3]


def chosen(worst: fg.Maybe[list[Mail]], thanks: fg.Maybe[list[Mail]]) -> list[str]:
    """The texts of whichever branch was taken."""
    return [mail.body for mail in worst or thanks or []]


def joined(summaries: list[str]) -> str:
    """The first sentence of every summary."""
    return " ".join(_sentences(summary)[0] for summary in summaries)


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text.strip())


def short_enough(output: str) -> bool:
    """Whether the lead fits."""
    return 0 < len(output.split()) <= FITS


def brevity(output: str) -> float:
    """The shorter, the better, but not nothing."""
    return -len(output.split()) if output.split() else float("-inf")


def questions(mails: list[Mail], moods: list[Mood]) -> list[str]:
    """Who waits for an answer."""
    return [
        f"{mail.subject} ({mail.sender.partition(' <')[0]})"
        for mail, mood in zip(mails, moods, strict=True)
        if mood == "question"
    ]


def page(
    mails: list[Mail],
    moods: list[Mood],
    lead: str,
    worst: fg.Maybe[list[Mail]],
    thanks: fg.Maybe[list[Mail]],
    questions: list[str],
) -> str:
    """The merge: one page of Markdown from whatever the branches gave."""
    counts = ", ".join(f"{moods.count(mood)} x {mood}" for mood in ("complaint", "question", "praise"))
    heading, shown = ("Complaints", worst) if worst is not None else ("Praise", thanks or [])
    more = moods.count("complaint" if worst is not None else "praise") - len(shown)
    lines = ["# Messages", "", f"{len(mails)} messages: {counts}.", "", lead.strip(), "", f"## {heading}"]
    lines += [f"- {mail.subject} ({mail.sender.partition(' <')[0]})" for mail in shown]
    lines += [f"- … and {more} more"] if more else []
    if questions:
        lines += ["", "## Waiting for an answer", *(f"- {question}" for question in questions)]
    return "\n".join(lines)
