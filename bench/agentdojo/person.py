"""The scripted person: approves what is among the reference calls of their task, declines everything else, and remembers nothing."""

from bench.agentdojo.suite import Scene
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind


class Person:
    def __init__(self, server: str, scene: Scene) -> None:
        self._wanted = [(f"{server}__{wanted.function}", wanted.arguments) for wanted in scene.calls]
        self.asked: list[Question] = []
        self.approved = 0

    def can(self, kind: QuestionKind) -> bool:
        return kind == "approval"

    async def ask(self, question: Question) -> Answer:
        asked = question.approval
        if asked is None:
            return NO_ANSWER
        self.asked.append(question)
        if (asked.tool, dict(asked.arguments)) not in self._wanted:
            return Answer("decline")
        self.approved += 1
        once = next(offer.id for offer in asked.offers if offer.lasts == "once")
        return Answer("accept", {"option": once})
