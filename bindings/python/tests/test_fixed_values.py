# Wherry: values read from a client are immutable or apply to it
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from conftest import Server, field

import wherry

VALUES = [
    (wherry.Timeout(1, connect=2), "idle", "client.timeout = Timeout(idle=5)"),
    (wherry.Basic("a", "b"), "password", "client.auth = Basic(user, password)"),
    (wherry.Bearer("t"), "token", "client.auth = Bearer(token)"),
    (wherry.DigestAuth("a", "b"), "username", "client.auth = DigestAuth(user, password)"),
    (wherry.Compression(0.5), "quality", "Compression(0.5, max_width=1600)"),
]


@pytest.mark.parametrize(("value", "name", "way"), VALUES, ids=lambda one: type(one).__name__)
def test_changing_a_fixed_setting_suggests_how_to_use_another(
    value: Any,
    name: str,
    way: str,
) -> None:
    # `client.timeout.idle = 1` had no effect on that client, and changed the defaults of later
    # ones.
    before = getattr(value, name)
    with pytest.raises(AttributeError) as caught:
        setattr(value, name, 9)
    assert way in str(caught.value) and name in str(caught.value)
    with pytest.raises(AttributeError, match=name):
        delattr(value, name)
    with pytest.raises(AttributeError):
        value.other = 1
    assert getattr(value, name) == before
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert getattr(again, name) == before


@pytest.mark.parametrize("value", [one for one, _, _ in VALUES], ids=lambda one: type(one).__name__)
def test_equal_settings_are_equal(value: Any) -> None:
    again = copy.copy(value)
    assert again == value and hash(again) == hash(value) and again is not value
    assert value != wherry.Timeout(99) and value != 1


def test_the_timeout_of_a_client_is_not_changed_in_place(client: wherry.Client) -> None:
    with wherry.Client() as usual:
        with pytest.raises(AttributeError, match=r"client.timeout = Timeout\(idle=5\)"):
            usual.timeout.idle = 1
    with wherry.Client() as later:
        assert later.timeout == wherry.Timeout()


def test_assigning_the_timeout_applies_to_later_requests(server: Server) -> None:
    with wherry.Client(timeout=None) as client:
        url = server.url("/bytes/10", gate=server.gate())
        client.timeout = wherry.Timeout(total=0.05)
        with pytest.raises(wherry.TimeoutError) as caught:
            client.get(url)
        assert caught.value.reason == "total_timeout"
        server.open_gate(server.gate())
        client.timeout = None
        assert client.get(url).status_code == 200


def test_assigning_auth_applies_to_later_requests(server: Server, client: wherry.Client) -> None:
    client.auth = wherry.Bearer("one")
    client.auth = wherry.Bearer("two")
    assert field(client.get(server.url("/echo")).json(), "Authorization") == ["Bearer two"]


def test_the_bases_of_a_client_are_read_only(client: wherry.Client) -> None:
    # `client.bases["b"] = ...` changed a copy without an error.
    client.configure(bases={"a": "http://h/"})
    bases: Any = client.bases
    with pytest.raises(TypeError):
        bases["b"] = "http://other/"
    assert dict(client.bases) == {"a": "http://h/"}
