# Wherry: JSON schemas of responses
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from typing import Any, Dict, List

import pytest
from conftest import ROOT

import wherry


def rows(name: str) -> List[Dict[str, Any]]:
    path = os.path.join(ROOT, "Tests", "Scenarios", "json-shapes.json")
    with open(path, encoding="utf-8") as file:
        return list(json.load(file)[name])


@pytest.mark.parametrize("case", rows("cases"), ids=str)
def test_R26_responses_match_the_schema_table(mock: wherry.MockTransport, case: Dict[str, Any]) -> None:
    mock.add("GET", "http://api.test/", text=json.dumps(case["json"]))
    with wherry.Client(transport=mock) as client:
        if "fault" not in case:
            response = client.get("http://api.test/", json_shape=case["shape"])
            assert response.json() == case["json"]
            return
        with pytest.raises(wherry.HTTPStatusError) as caught:
            client.get("http://api.test/", json_shape=case["shape"])
    assert caught.value.reason == "bad_json_body"
    assert str(caught.value).endswith(": " + case["fault"] + " [bad_json_body]")
    assert caught.value.response is not None
    assert caught.value.response.json() == case["json"]


def test_R26_a_schema_is_made_of_types(mock: wherry.MockTransport) -> None:
    mock.add("GET", "*", json={"name": "Skye", "age": 5, "friends": [{"id": 1.5}], "on": True})
    shape = {"name": str, "age": int, "friends": [{"id": float}], "on": bool}
    with wherry.Client(transport=mock) as client:
        client.get("http://api.test/", json_shape=shape)
        client.get("http://api.test/", json_shape={"friends": list, "name": object})
        client.get("http://api.test/", json_shape=None)
        with pytest.raises(wherry.HTTPStatusError) as caught:
            client.get("http://api.test/", json_shape={"friends": [{"id": dict}]})
        assert "friends/0/id is a number, not an object" in str(caught.value)
        with pytest.raises(wherry.HTTPStatusError) as caught:
            client.get("http://api.test/", json_shape={"friends": [{"id": int}]})
        assert "friends/0/id is a number with a fraction, not an integer" in str(caught.value)


def test_R26_an_invalid_schema_is_refused(mock: wherry.MockTransport) -> None:
    with wherry.Client(transport=mock) as client:
        for case in rows("bad")[2:3]:
            with pytest.raises(wherry.ArgumentError) as caught:
                client.get("http://api.test/", json_shape=case["shape"])
            assert caught.value.reason == "bad_value"
        for bad in (bytes, {"a": 1}, [print]):
            with pytest.raises(TypeError):
                client.get("http://api.test/", json_shape=bad)
    assert mock.requests == []
