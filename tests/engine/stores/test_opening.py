"""Stores by name: kinds of addresses, and one store for all who use the same place."""

from __future__ import annotations

import importlib.util
from contextlib import closing
from pathlib import Path

import pytest

from flowgraph.errors import RunBusy, StoreError
from flowgraph.stores import MemoryStore, SQLStore, open_store
from flowgraph.stores.addresses import parse
from tests.engine.stores.making import batch, head


def test_the_same_place_is_one_store_until_its_last_user_leaves(place: str) -> None:
    one, two = open_store(place), open_store(place)
    assert one._store is two._store  # type: ignore[attr-defined]
    claim = one.claim("r", head())
    with pytest.raises(RunBusy):
        two.claim("r")
    one.close()
    one.close()
    with pytest.raises(StoreError, match="is closed"):
        one.write([batch(claim, 0, [])])
    new = two.claim("r")
    two.write([batch(new, 0, ["[]"])])
    underlying = two._store  # type: ignore[attr-defined]
    two.close()
    with pytest.raises(StoreError, match="is closed"):
        underlying.heads()
    with closing(open_store(place)) as three:
        assert three.read("r").rows == ["[]"]


def test_several_names_of_one_file_are_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    names = ["runs.db", tmp_path / "runs.db", "sqlite:///runs.db", f"sqlite:///{tmp_path}/runs.db", "link.db"]
    stores = [open_store(name) for name in names]
    assert len({id(store._store) for store in stores}) == 1  # type: ignore[attr-defined]
    for store in stores:
        store.close()


def test_a_store_that_is_given_stays_open() -> None:
    mine = MemoryStore()
    share = open_store(mine)
    share.claim("r", head())
    share.close()
    assert mine.heads()[0].owner == ""
    mine.write([batch(mine.claim("r"), 0, ["[]"])])


def test_a_place_that_cannot_be_opened_can_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        open_store(tmp_path / "new" / "runs.db")
    (tmp_path / "new").mkdir()
    open_store(tmp_path / "new" / "runs.db").close()


@pytest.mark.parametrize("name", ["", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(name: str) -> None:
    with pytest.raises(StoreError, match=r"use MemoryStore\(\)"):
        open_store(name)


@pytest.mark.parametrize("name", ["mysql://u:secret@h/d", "sqlite://runs.db", "redis://:secret@h", "a\0b"])
def test_other_addresses_are_refused_without_showing_a_password(name: str) -> None:
    with pytest.raises(StoreError, match=r"no kind of store|three slashes|NUL") as caught:
        open_store(name)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:secret@127.0.0.1:1/d",
        "postgres://u:secret@127.0.0.1:1/d?password=secret&connect_timeout=2",
        "postgresql://u:secret@127.0.0.1:port/d",
        "postgresql://u:secret@[::1/d",
        "postgresql://u:secret@127.0.0.1:1/d?nonsense=secret",
    ],
)
def test_a_server_that_is_not_there(address: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        SQLStore(address)
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in f"{error} {error!r}"
        error = error.__cause__


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StoreError, match=r"pip install 'flowgraph-agents\[postgres\]'"):
        SQLStore("postgresql://localhost/d")


def test_addresses() -> None:
    assert parse("postgres://h/d") == parse("postgresql+psycopg://h/d") == "postgresql://h/d"
    assert parse("sqlite:////tmp/a.db") == parse("/tmp/a.db") == Path("/tmp/a.db").resolve()


@pytest.mark.parametrize("wrong", [5, {"path": "runs.db"}, ["runs.db"]])
def test_what_is_neither_a_place_nor_a_store_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"write store='runs\.db'"):
        open_store(wrong)  # type: ignore[arg-type]
