"""`/v1/questions…`, and `/v1/approvals…` for those about calls alone: what a person is asked now, and the answer to it; and
`/v1/approvals/grants…`: what they allowed for good.

A question is shown whole, to whoever has the gateway's token, and answered by its id and digest; the register (asking/questions.py) says
which answer counts. Whoever wants to be counted among those who can be asked watches `/v1/events?answers=…`.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from openclaw.asking.answers import Given, UnfitAnswerError
from openclaw.asking.open_question import ShownQuestion, changed_json
from openclaw.asking.questions import (
    AlreadyEndedError,
    UnknownQuestionError,
    WrongDigestError,
)
from openclaw.commands.approvals import grant_json, known_servers
from openclaw.conversation import QUESTION_KINDS
from openclaw.engine import Engine
from openclaw.gateway.completions import error_json
from openclaw.gateway.http import failure, json_response, read_object, read_query
from openclaw.gateway.route import Route

# What each path is about.
_KINDS: Mapping[str, Collection[str]] = {"questions": QUESTION_KINDS, "approvals": ("approval",)}
# What is said of each: of all of them, of one, and of an answer.
_WORDS = {
    "questions": (
        "What a person is asked now; `?state=recent`: what became of the last 200",
        "One question, with the digest that an answer has to carry",
        'Answer it: `{"digest": …, "choice": …}`',
    ),
    "approvals": (
        "The same three for questions about calls of tools alone: all",
        "One of them",
        "An answer",
    ),
}


class QuestionsWanted(msgspec.Struct):
    state: Annotated[
        Literal["pending", "recent"], msgspec.Meta(description="`recent`: what became of the last 200")
    ] = "pending"


class NewAnswer(msgspec.Struct, forbid_unknown_fields=True):
    digest: str
    choice: str
    offer: str = ""
    content: dict[str, Any] = {}
    note: str = ""


class QuestionRoutes:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._questions = engine.questions
        self._grants = engine.grants

    def routes(self) -> list[Route]:
        return [
            # No question has such an id.
            Route(
                "GET",
                "/v1/approvals/grants",
                self.list_grants,
                "What a person allowed for good; `ended` says why a grant no longer holds",
            ),
            Route("GET", "/v1/approvals/grants/{id}", self.show_grant, "One of these grants"),
            Route("DELETE", "/v1/approvals/grants/{id}", self.revoke, "Take it back"),
            *self._question_routes(),
        ]

    def _question_routes(self) -> list[Route]:
        return [
            route
            for name, (many, one, answer) in _WORDS.items()
            for route in (
                Route("GET", f"/v1/{name}", self.list_questions, many, query=QuestionsWanted),
                Route("GET", f"/v1/{name}/{{id}}", self.show, one),
                Route("POST", f"/v1/{name}/{{id}}", self.answer, answer, body=NewAnswer),
            )
        ]

    async def list_questions(self, request: web.Request) -> web.Response:
        state = read_query(request, QuestionsWanted).state
        kinds = _kinds(request)
        if state == "pending":
            await self._questions.look()
            pending = [one.as_json() for one in self._questions.pending() if one.question.kind in kinds]
            return json_response({"questions": pending})
        recent = [changed_json(one) for one in await self._questions.recent() if one.kind in kinds]
        return json_response({"questions": recent})

    async def show(self, request: web.Request) -> web.Response:
        try:
            return json_response((await self._find(request)).as_json())
        except AlreadyEndedError as error:
            return json_response(changed_json(error.ended))
        except UnknownQuestionError as error:
            return failure(404, "question_not_found", str(error))

    async def answer(self, request: web.Request) -> web.Response:
        given: NewAnswer = await read_object(request, NewAnswer)
        answer = Given(given.choice, given.offer, given.content, given.note)
        try:
            one = await self._find(request)
            ended = await self._questions.answer(one.id, given.digest, answer, by="http")
        except UnknownQuestionError as error:
            return failure(404, "question_not_found", str(error))
        except AlreadyEndedError as error:
            body = {**error_json(str(error), "already_answered"), "question": changed_json(error.ended)}
            return json_response(body, status=409)
        except WrongDigestError as error:
            return failure(412, "wrong_digest", str(error))
        except UnfitAnswerError as error:
            return failure(422, "unfit_answer", str(error))
        return json_response(changed_json(ended))

    async def list_grants(self, request: web.Request) -> web.Response:
        return json_response({"grants": await self._kept()})

    async def show_grant(self, request: web.Request) -> web.Response:
        one = next((one for one in await self._kept() if one["id"] == request.match_info["id"]), None)
        return json_response(one) if one is not None else _no_grant()

    async def _kept(self) -> list[dict[str, Any]]:
        kept = await self._grants.kept()
        servers = await known_servers(self._engine) if kept else {}
        return [grant_json(one, servers) for one in kept]

    async def revoke(self, request: web.Request) -> web.Response:
        """Takes back; over HTTP nothing is granted but by the answer to a question."""
        is_gone = await self._grants.revoke(request.match_info["id"])
        return json_response({"revoked": True}) if is_gone else _no_grant()

    async def _find(self, request: web.Request) -> ShownQuestion:
        """The open question of exactly this id. Raises UnknownQuestionError or AlreadyEndedError."""
        name, kinds = request.match_info["id"], _kinds(request)
        try:
            one = await self._questions.find(name)
        except AlreadyEndedError as error:
            if error.ended.kind in kinds:
                raise
        else:
            if one.id == name and one.question.kind in kinds:
                return one
        raise UnknownQuestionError(
            f"There is no question of this id. GET /v1/{_part(request)} lists those that are open."
        )


def _no_grant() -> web.Response:
    return failure(404, "grant_not_found", "There is no grant of this id. GET /v1/approvals/grants lists them.")


def _part(request: web.Request) -> str:
    return request.path.split("/")[2]


def _kinds(request: web.Request) -> Collection[str]:
    return _KINDS[_part(request)]
