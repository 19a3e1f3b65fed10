"""Building: from the spec of a graph, and the record of a run when there is one, to a picture."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..events import Decided, RunResumed
from ..node_run import NodeRun
from ..outcome import Status
from ..record import Run
from ..spec import EdgeSpec, GraphSpec
from . import text
from .cards import facts_of, lines_of, tip_of
from .direction import direction_of
from .items import Item, Level, level_of_graph
from .marks import Marks, asks, marks_of
from .opening import Expand, Opening
from .order import critical_path
from .picture import Card, Cluster, Edge, EdgeState, Flow, Key, Picture
from .shapes import size_of

_LABEL = 40  # characters of an edge's label


def picture_of_graph(spec: GraphSpec, expand: Expand = None) -> Picture:
    """The picture of a graph. expand: see `Opening`."""
    builder = _Builder(Opening(expand))
    builder.build(level_of_graph(spec, None, inputs=True))
    inputs = sum(node.kind == "input" for node in spec.nodes)
    facts = [text.count(len(spec.nodes) - inputs, "node"), *([text.count(inputs, "input")] if inputs else [])]
    return builder.picture(spec.title or spec.name, facts, None)


def picture_of_run(run: Run, expand: Expand = None) -> Picture:
    """The picture of a run, finished or not. expand: see `Opening`."""
    spec = run.spec
    pairs = [(edge.source, edge.target) for edge in spec.edges]
    seconds = {node.name: node.duration for node in run.root.children if node.duration is not None}
    critical = critical_path([node.name for node in spec.nodes], pairs, seconds)
    marks = marks_of(run)
    builder = _Builder(Opening(expand, marks.asking), _choices(run), critical if len(critical) > 1 else [], marks)
    builder.critical_seconds = sum(seconds[name] for name in critical)
    builder.build(level_of_graph(spec, run.root, inputs=True))
    return builder.picture(spec.title or spec.name, _heading(run, marks), run.status)


def _heading(run: Run, marks: Marks) -> list[str]:
    usage = run.usage
    facts = [str(run.status), *(fact for fact in facts_of(run.root) if fact != str(run.status))]
    if usage.model_calls:
        facts.append(text.count(usage.model_calls, "model call"))
    if usage.tool_calls:
        facts.append(text.count(usage.tool_calls, "tool call"))
    if asking := marks.asking.get("", 0):
        facts.append(f"{text.count(asking, 'answer')} missing")
    # A fork goes on with a copied journal: that is no resume of its own.
    if resumed := sum(isinstance(event, RunResumed) for event in run.events) - bool(run.forked_from):
        facts.append("resumed" if resumed == 1 else f"resumed {resumed} times")
    if run.forked_from:
        facts.append(f"forked from {run.forked_from}")
    return facts


def _choices(run: Run) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """What each chooser, by path, took: the labels with their targets."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for event in run.events:
        if isinstance(event, Decided) and event.what == "choice":
            found.setdefault(event.path, []).append((event.detail, frozenset(event.taken)))
    return found


@dataclass(frozen=True, slots=True)
class _Space:
    """A level and where it is drawn: the cluster, in how many clusters, and the items on the critical path."""

    level: Level
    cluster: str = ""
    depth: int = 0
    on_path: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Builder:
    """A picture in the making. The lists grow together; ids count what is in them."""

    opening: Opening
    choices: dict[str, list[tuple[str, frozenset[str]]]] = field(default_factory=dict)
    critical: list[str] = field(default_factory=list)
    marks: Marks = field(default_factory=Marks)
    critical_seconds: float = 0.0
    cards: list[Card] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def build(self, top: Level) -> None:
        """Draw level by level, so that what is near the top is opened first."""
        top = self.opening.top(top)
        if any(item.kind == "more" for item in top.items):
            self.critical = []  # it runs through nodes that are not drawn
        on_path = frozenset(self.critical)
        waiting = deque([_Space(top, on_path=on_path)])
        while waiting:
            space = waiting.popleft()
            ids: dict[str, str] = {}
            for item in space.level.items:
                ids[item.key], inside = self._place(item, space)
                if inside is not None:
                    waiting.append(_Space(inside, ids[item.key], space.depth + 1))
            self._join(space, ids)

    def picture(self, title: str, facts: list[str], status: Status | None) -> Picture:
        """The finished picture."""
        cards = _evened(self.cards, self.clusters)
        return Picture(
            text.one_line(title, 80),
            tuple(text.one_line(fact, 60) for fact in facts),
            status,
            tuple(cards),
            tuple(self.clusters),
            tuple(self.edges),
            self._legend(),
            direction_of(cards, self.clusters, self.edges),
        )

    def _place(self, item: Item, space: _Space) -> tuple[str, Level | None]:
        """A card or, when the item is opened, a cluster; its id and what is to be drawn inside."""
        below, inside = self.opening.below(item, space.depth)
        narrow = space.level.free and space.depth > 0
        lines = lines_of(item, below, self.marks, opened=inside is not None, narrow=narrow)
        tip, cluster, critical = tip_of(item, below, self.marks), space.cluster, item.key in space.on_path
        if inside is None:
            number = f"n{len(self.cards)}"
            card = Card(number, item.kind, lines, item.status, tip, critical, cluster, item.path, asks=asks(item.run))
            self.cards.append(card)
            return card.id, None
        flow: Flow = "grid" if inside.free else "graph"
        name = f"c{len(self.clusters)}"
        self.clusters.append(Cluster(name, item.kind, lines, item.status, tip, critical, cluster, item.path, flow=flow))
        return name, inside

    def _join(self, space: _Space, ids: dict[str, str]) -> None:
        """The edges of a level: one for each pair of nodes, whatever it is made of."""
        level = space.level
        items = {item.key: item for item in level.items}
        pairs: dict[tuple[str, str], list[EdgeSpec]] = {}
        for spec in level.edges:
            if spec.source in ids and spec.target in ids:
                pairs.setdefault((spec.source, spec.target), []).append(spec)
        way = frozenset() if space.depth else frozenset(pairwise(self.critical))
        for pair, specs in pairs.items():
            source, target = (items[key] for key in pair)
            self._edge(ids, source, target, specs, pair in way)
        if level.rounds:
            for before, after in pairwise(level.items):
                number = f"e{len(self.edges)}"
                self.edges.append(Edge(number, ids[before.key], ids[after.key], "next"))

    def _edge(self, ids: dict[str, str], source: Item, target: Item, specs: list[EdgeSpec], critical: bool) -> None:
        kinds = [spec.kind for spec in specs]
        data = [spec for spec in specs if spec.kind == "data"]
        chosen = source.run is not None and any(self._taken(source.run, target, spec) for spec in specs)
        labels = dict.fromkeys(text.one_line(spec.label, _LABEL) for spec in specs if spec.label)
        edge = Edge(
            f"e{len(self.edges)}",
            ids[source.key],
            ids[target.key],
            "data" if data else "choice" if "choice" in kinds else "order",
            text.cut(", ".join(labels), _LABEL),
            "choice" in kinds,
            chosen,
            bool(data) and all(spec.optional for spec in data),
            _state(source.run, target.run, critical),
        )
        self.edges.append(edge)

    def _taken(self, source: NodeRun, target: Item, spec: EdgeSpec) -> bool:
        """Whether a choice took this edge."""
        if spec.kind != "choice":
            return False
        decided = self.choices.get(source.path)
        if decided is None:  # a record without its events
            return spec.label == source.chosen
        return any(
            target.key in taken and (spec.label[:60] == label[:60] or spec.label == "otherwise")
            for label, taken in decided
        )

    def _legend(self) -> tuple[Key, ...]:
        """A key for every status and every sort of edge in the picture."""
        found = Counter(card.status for card in (*self.cards, *self.clusters))
        keys = [Key(status, str(status).replace("_", " ")) for status in Status if found[status]]
        sorts = {
            "a choice": Edge("", "", "", choice=True),
            "used if there": Edge("", "", "", optional=True),
            "order only": Edge("", "", "", "order"),
            "next round": Edge("", "", "", "next"),
        }
        drawn = {
            "a choice": any(edge.choice for edge in self.edges),
            "used if there": any(edge.optional for edge in self.edges),
            "order only": any(edge.kind == "order" for edge in self.edges),
            "next round": any(edge.kind == "next" for edge in self.edges),
        }
        keys += [Key(edge, words) for words, edge in sorts.items() if drawn[words]]
        if self.critical:
            words = f"critical path, {text.duration(self.critical_seconds)}"
            keys.append(Key(Edge("", "", "", state="critical"), words))
        return tuple(keys)


def _evened(cards: list[Card], clusters: list[Cluster]) -> list[Card]:
    """Cards in a grid are equally wide."""
    widths = {cluster.id: 0.0 for cluster in clusters if cluster.flow == "grid"}
    for card in cards:
        if card.cluster in widths:
            widths[card.cluster] = max(widths[card.cluster], size_of(card)[0])
    return [replace(card, least=widths[card.cluster]) if card.cluster in widths else card for card in cards]


def _state(source: NodeRun | None, target: NodeRun | None, critical: bool) -> EdgeState:
    statuses = [run.status for run in (source, target) if run is not None]
    if Status.SKIPPED in statuses:
        return "faded"
    if target is not None and target.status is Status.UPSTREAM_FAILED and source is not None and source.status.bad:
        return "failed"
    return "critical" if critical else ""
