"""A graph is a node: it nests in other graphs, in maps and in loops, and draws as a cluster."""

import flowgraph as fg

review = fg.Graph("review")
review.input("chapter", str)


@review.node
def grammar(chapter: str) -> int:
    return chapter.count("teh")


@review.node
def length(chapter: str) -> int:
    return len(chapter.split())


@review.node
def verdict(grammar: int, length: int) -> str:
    return f"{length} words, {grammar} typos"


book = fg.Graph("book")
book.input("chapters", list[str])
book.map("reviews", review, each={"chapter": "chapters"})


@book.node
def report(reviews: list[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(reviews, 1))


if __name__ == "__main__":
    run = fg.run(book, {"chapters": ["teh end", "It was teh best of teh times"]})
    print(run.output)
    print(run["reviews[1]/grammar"])  # every node run has a path
    fg.draw(run, "book.svg")
