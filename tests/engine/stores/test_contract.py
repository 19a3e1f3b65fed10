"""What every store promises."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from flowgraph.errors import RunBusy, RunExists, RunNotFound, StoreError
from flowgraph.stores import Claim, Memo, SQLStore, Store
from tests.engine.stores.making import batch, head


def test_a_run_is_read_as_it_was_written(store: Store) -> None:
    claim = store.claim("r", head(status="running", forked_from="q"))
    store.write([batch(claim, 0, ["[0]", "[1]"], forked_from="q")])
    last = batch(claim, 2, ["[2]"], status="paused", due=17.25, forked_from="q", started=1.0625)
    store.write([last])
    journal = store.read("r")
    assert journal.rows == ["[0]", "[1]", "[2]"]
    assert journal.head == replace(last.head, length=3, owner=claim.owner)
    store.release(claim)
    assert store.read("r").head.owner == ""


def test_a_new_run_is_empty_and_belongs_to_its_maker(store: Store) -> None:
    claim = store.claim("r", head(length=7, owner="somebody"))
    assert f"process {os.getpid()} on host" in claim.owner
    assert store.read("r").head == head(length=0, owner=claim.owner)
    assert store.read("r").rows == []
    assert store.read("r").values == {}


def test_a_batch_may_change_only_the_head(store: Store) -> None:
    claim = store.claim("r", head())
    store.write([batch(claim, 0, ["[]"])])
    store.write([batch(claim, 1, [], status="cancelled")])
    store.write([])
    assert store.read("r").head.status == "cancelled"
    assert store.read("r").head.length == 1


@pytest.mark.parametrize("first", [1, 3, -1])
def test_rows_that_do_not_follow_are_refused_and_nothing_of_them_is_stored(store: Store, first: int) -> None:
    claim = store.claim("r", head())
    store.write([batch(claim, 0, ["[0]", "[1]"])])
    with pytest.raises(StoreError, match=rf"run r .*number 2 and not {first}"):
        store.write([batch(claim, first, ["[9]"], {"d": "1"}, status="failed")])
    journal = store.read("r")
    assert (journal.rows, journal.values, journal.head.status) == (["[0]", "[1]"], {}, "running")
    store.write([batch(claim, 2, ["[2]"])])


def test_batches_of_one_call_are_stored_together_or_not_at_all(store: Store) -> None:
    one, two = store.claim("one", head("one")), store.claim("two", head("two"))
    store.write([batch(one, 0, ["1"]), batch(two, 0, ["2"]), batch(one, 1, ["3"], {"d": "9"})])
    assert store.read("one").rows == ["1", "3"]
    store.release(two)
    with pytest.raises(StoreError, match="run two "):
        store.write([batch(one, 2, ["4"], {"e": "9"}), batch(two, 1, ["5"])])
    with pytest.raises(StoreError, match="run one "):
        store.write([batch(one, 2, ["4"], {"e": "9"}), batch(one, 4, ["5"])])
    assert store.read("one").rows == ["1", "3"]
    assert store.read("one").values == {"d": "9"}
    assert store.read("two").rows == ["2"]
    store.write([batch(one, 2, ["4"])])


def test_a_claim_is_exclusive_and_names_its_owner(store: Store) -> None:
    claim = store.claim("r", head())
    with pytest.raises(RunBusy, match=f"process {os.getpid()} on host") as caught:
        store.claim("r")
    assert caught.value.owner == claim.owner
    with pytest.raises(RunBusy):
        store.delete("r")
    store.release(claim)
    store.release(claim)
    again = store.claim("r")
    assert again.epoch > claim.epoch
    assert store.heads()[0].owner == again.owner


def test_a_claim_that_was_given_back_writes_nothing(store: Store) -> None:
    old = store.claim("r", head())
    store.release(old)
    with pytest.raises(StoreError, match=r"run r .*released"):
        store.write([batch(old, 0, ["[]"])])
    new = store.claim("r")
    with pytest.raises(StoreError, match="run r "):
        store.write([batch(old, 0, ["[]"])])
    store.release(old)
    store.write([batch(new, 0, ["[1]"])])
    assert store.read("r").rows == ["[1]"]


def test_a_run_that_was_made_anew_is_not_the_old_one(store: Store) -> None:
    old = store.claim("r", head())
    store.write([batch(old, 0, ["[]"], {"d": "1"})])
    store.release(old)
    store.delete("r")
    with pytest.raises(RunNotFound):
        store.read("r")
    new = store.claim("r", head())
    assert new.epoch > old.epoch
    with pytest.raises(StoreError):
        store.write([batch(old, 0, ["[]"])])
    assert store.read("r").rows == []
    assert store.read("r").values == {}


def test_unknown_and_known_runs(store: Store) -> None:
    with pytest.raises(RunNotFound, match="no run nix"):
        store.claim("nix")
    with pytest.raises(RunNotFound, match="nix"):
        store.read("nix")
    with pytest.raises(RunNotFound, match="nix"):
        store.delete("nix")
    store.release(Claim("nix", "", 1))
    claim = store.claim("r", head())
    with pytest.raises(RunExists, match="r"):
        store.claim("r", head())
    store.release(claim)
    with pytest.raises(RunExists):
        store.claim("r", head(status="other"))
    assert store.read("r").head.status == "running"
    store.release(store.claim("r"))


def test_values_are_stored_once_and_go_with_their_last_use(store: Store) -> None:
    one, two = store.claim("one", head("one")), store.claim("two", head("two"))
    store.write([batch(one, 0, ["1"], {"shared": '"s"', "mine": '"m"'})])
    store.write([batch(two, 0, ["1"], {"shared": '"s"'}), batch(one, 1, ["2"], {"shared": '"s"', "late": "0"})])
    assert store.read("one").values == {"shared": '"s"', "mine": '"m"', "late": "0"}
    assert store.read("two").values == {"shared": '"s"'}
    store.release(one)
    store.delete("one")
    assert store.read("two").values == {"shared": '"s"'}
    three = store.claim("three", head("three"))
    store.write([batch(three, 0, [], {"mine": '"m"'})])
    assert store.read("three").values == {"mine": '"m"'}


def test_heads_come_with_the_latest_start_first(store: Store) -> None:
    for run_id, started in [("b", 2.0), ("a", 2.0), ("old", 1.0), ("new", 3.0)]:
        store.release(store.claim(run_id, head(run_id, started=started)))
    claim = store.claim("old")
    store.write([batch(claim, 0, ["1", "2"], status="paused", due=9.5)])
    heads = store.heads()
    assert [one.run_id for one in heads] == ["new", "a", "b", "old"]
    assert heads[3] == store.read("old").head
    assert (heads[3].length, heads[3].due, heads[3].owner) == (2, 9.5, claim.owner)
    assert [one.owner for one in heads[:3]] == ["", "", ""]


def test_memos(store: Store) -> None:
    assert store.recall("k") is None
    store.remember("k", Memo('"old"', 1.5))
    store.remember("k", Memo('"new"', 2.5))
    store.remember("other", Memo("{}", 4.0))
    assert store.recall("k") == Memo('"new"', 2.5)
    assert store.forget(2.5) == 0
    assert store.forget(3.0) == 1
    assert store.recall("k") is None
    assert store.recall("other") == Memo("{}", 4.0)


TEXTS = ["", "ünï 漢字 🦊 \u202e", json.dumps("\0\ud800"), "'\";--%s ? :x", "x" * 5_000_000, "\r\n\t"]


def test_texts_of_all_kinds(store: Store) -> None:
    run_id = "läuft/%s ?:1'\" 🦊"
    claim = store.claim(run_id, head(run_id, graph="'; drop"))
    store.write([batch(claim, 0, TEXTS, {text[:9]: text for text in TEXTS}, graph="'; drop")])
    journal = store.read(run_id)
    assert journal.rows == TEXTS
    assert journal.values == {text[:9]: text for text in TEXTS}
    assert (journal.head.run_id, journal.head.graph) == (run_id, "'; drop")


def test_half_a_surrogate_pair_is_refused_where_it_cannot_be_stored(place: str) -> None:
    with closing(SQLStore(place)) as store:
        claim = store.claim("r", head())
        with pytest.raises(StoreError, match="surrogates not allowed"):
            store.write([batch(claim, 0, ["fine", "\ud800"])])
        with pytest.raises(StoreError):
            store.claim("\ud800", head("\ud800"))
        store.write([batch(claim, 0, ["fine"])])
        assert store.read("r").rows == ["fine"]


def test_thousands_of_rows_stay_in_order(store: Store) -> None:
    claim, other = store.claim("r", head()), store.claim("other", head("other"))
    rows = [f"[{number}]" for number in range(12_000)]
    for first in range(0, 12_000, 3_000):
        store.write([batch(claim, first, rows[first : first + 3_000]), batch(other, first // 3_000, ["{}"])])
    assert store.read("r").rows == rows
    assert store.read("other").rows == ["{}"] * 4


def test_many_threads_write_and_read(store: Store) -> None:
    begin = threading.Barrier(6)

    def work(number: int) -> None:
        run_id = f"run {number}"
        claim = store.claim(run_id, head(run_id))
        begin.wait()
        for first in range(40):
            store.write([batch(claim, first, [f"[{number}, {first}]"], {f"{first}": f"{first}", f"{number}/": "0"})])
            assert store.read(run_id).head.length == first + 1
        store.release(claim)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    assert len(store.heads()) == 6
    for number in range(6):
        journal = store.read(f"run {number}")
        assert journal.rows == [f"[{number}, {first}]" for first in range(40)]
        assert journal.values == {f"{number}/": "0"} | {f"{first}": f"{first}" for first in range(40)}


def test_one_of_many_threads_gets_the_claim(store: Store) -> None:
    store.release(store.claim("r", head()))
    begin = threading.Barrier(6)

    def work(_: int) -> Claim | str:
        begin.wait()
        try:
            return store.claim("r")
        except RunBusy as busy:
            return busy.owner

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(work, range(6)))
    (claim,) = [one for one in found if isinstance(one, Claim)]
    assert found.count(claim.owner) == 5


def test_a_closed_store_says_so(store: Store) -> None:
    claim = store.claim("r", head())
    store.close()
    store.close()
    store.release(claim)
    for use in (
        store.heads,
        lambda: store.read("r"),
        lambda: store.claim("r"),
        lambda: store.remember("k", Memo("", 0)),
    ):
        with pytest.raises(StoreError, match="is closed"):
            use()
    with pytest.raises(StoreError):
        store.write([batch(claim, 0, [])])
