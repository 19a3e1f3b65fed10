"""A program that writes runs: `python writer.py PLACE NAME RUNS BATCHES`. It says on stdout what was stored.

With BATCHES of 0 it goes on until it is killed.
"""

from __future__ import annotations

import itertools
import sys
import threading

from flowgraph.stores import SQLStore
from tests.engine.stores.making import batch, head

ROWS = 3


def row(run_id: str, number: int) -> str:
    return f'["{run_id}", {number}, "{"z" * (number % 700)}"]'


def write(store: SQLStore, run_id: str, batches: int) -> None:
    claim = store.claim(run_id, head(run_id))
    for number in itertools.count() if batches == 0 else range(batches):
        rows = [row(run_id, number * ROWS + place) for place in range(ROWS)]
        store.write([batch(claim, number * ROWS, rows, {f"{run_id}/{number}": "1", f"shared {number % 50}": "2"})])
        # One call, so that lines of several threads do not mix.
        sys.stdout.write(f"{run_id} {(number + 1) * ROWS}\n")
        sys.stdout.flush()
    store.release(claim)


def main(place: str, name: str, runs: int, batches: int) -> None:
    store = SQLStore(place)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    threads = [threading.Thread(target=write, args=(store, f"{name}{run}", batches)) for run in range(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
