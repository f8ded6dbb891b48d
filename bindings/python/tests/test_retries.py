# Wherry: row R29 of features.md, from Python: attempts after the first one
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import threading

import pytest
import wherry


def test_R29_requests_go_again_as_often_as_asked(mock: wherry.MockTransport) -> None:
    mock.add(None, "http://h/a", times=2, status=503, headers={"Retry-After": "0"})
    mock.add(None, "*", content=b"ok")
    mock.advance(0)
    with wherry.Client(transport=mock, max_retries=2) as client:
        answers: list[wherry.Response] = []
        thread = threading.Thread(target=lambda: answers.append(client.get("http://h/a")))
        thread.start()
        while thread.is_alive():
            # A second and a half is the most that both waits can take.
            mock.advance(0.5)
            thread.join(0.01)
        assert answers[0].content == b"ok"
        assert len(mock.requests) == 3


def test_R29_nothing_goes_again_by_default_nor_a_post(mock: wherry.MockTransport) -> None:
    mock.add(None, "*", status=503)
    with wherry.Client(transport=mock) as client:
        assert client.get("http://h/").status_code == 503
        client.configure(max_retries=3)
        assert client.post("http://h/").status_code == 503
        assert len(mock.requests) == 2


def test_R29_a_post_goes_again_where_it_is_allowed(mock: wherry.MockTransport) -> None:
    mock.add(None, "*", times=1, status=500)
    mock.add(None, "*", content=b"ok")
    with wherry.Client(transport=mock) as client:
        answer = client.post(
            "http://h/", data=b"twice", max_retries=1, retry_unsafe_methods=True, metrics=True
        )
        assert answer.content == b"ok"
        assert [request.content for request in mock.requests] == [b"twice", b"twice"]
        assert answer.metrics is not None and answer.metrics.retries == 1


def test_R29_a_number_below_none_is_refused() -> None:
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(max_retries=-2)
