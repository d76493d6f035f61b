"""Runs a flow of protocol/oauth against answers written down beforehand, and keeps what it asked."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from openclaw.protocol.oauth.wire import Flow, FlowRequest, FlowResponse

T = TypeVar("T")


class Script:
    """`answers` by address: a FlowResponse, an exception to throw, or a list of either, used one after the other. The rest is 404."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = {url: list(answer) if isinstance(answer, list) else [answer] for url, answer in answers.items()}
        self.requests: list[FlowRequest] = []

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.requests]

    def play(self, flow: Flow[T]) -> T:
        try:
            request = next(flow)
            while True:
                self.requests.append(request)
                waiting = self._answers.get(request.url, [])
                answer = (waiting.pop(0) if len(waiting) > 1 else waiting[0]) if waiting else FlowResponse(404)
                request = flow.throw(answer) if isinstance(answer, Exception) else flow.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def ok(value: Any, status: int = 200) -> FlowResponse:
    return FlowResponse(status, json.dumps(value).encode())


def form_of(request: FlowRequest) -> dict[str, str]:
    return dict(parse_qsl((request.body or b"").decode(), keep_blank_values=True))
