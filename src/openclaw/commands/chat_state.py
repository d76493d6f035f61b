"""One conversation at one surface: what its lines are about, and what a line leads to.

Where lines go to a gateway one by one, the terminal carries what they change (`ChatState`) from one to the next.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.references import FullMessage, wanted_by
from openclaw.config.agents import AgentSpec, agent
from openclaw.conversation import Conversation
from openclaw.sessions.key import session_key
from openclaw.skills.catalog import Skills
from openclaw.skills.served import ServedSkills
from openclaw.tool import Invocation


class ChatState(msgspec.Struct, frozen=True):
    """Which conversation, which model in place of the agent's own, and the files that go with the next message."""

    agent: str
    key: str
    model: str = ""
    attached: tuple[str, ...] = ()


class Chat(msgspec.Struct):
    """`context` is what its commands run in. `told` is what its terminal has been told of servers; `folders` are where it works, if it
    says so itself (`Conversation.folders`), and with `reads_only` nothing that it calls may change anything. `can_switch`: its lines may
    go on with another conversation."""

    app: App
    context: Context
    agent: str
    key: str
    told: set[str] = msgspec.field(default_factory=set)
    model: str = ""
    attached: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    reads_only: bool = False
    can_switch: bool = True

    @property
    def console(self) -> Console:
        return self.context.console

    @property
    def spec(self) -> AgentSpec:
        return agent(self.app.config, self.agent)

    @property
    def session(self) -> str:
        """The whole key of the conversation."""
        return session_key(self.spec.id, self.key)

    @property
    def state(self) -> ChatState:
        return ChatState(self.agent, self.key, self.model, self.attached)

    def switch(self, state: ChatState) -> None:
        """Go on so from the next line on."""
        self.agent, self.key, self.model, self.attached = state.agent, state.key, state.model, state.attached

    def conversation(self) -> Conversation:
        """What every message and command of it says besides its words."""
        return Conversation(
            self.agent,
            self.key,
            workspace=self.context.cwd,
            model=self.model,
            asker=self.console.asker,
            surface="chat",
            folders=self.folders,
            reads_only=self.reads_only,
        )

    def wants(self) -> Invocation:
        """What a server is told of its person when they want something that is no tool's."""
        known = Conversation(self.spec.id, self.session, asker=self.console.asker, surface="chat")
        return wanted_by(self.app.engine, known)

    def skills(self) -> Skills:
        """Those of the place where the agent works: that of the person, if it has none configured. Reads files: not for the event loop."""
        return self.app.workplace(self.spec, self.context.cwd, self.folders).skills()

    async def served(self) -> ServedSkills:
        """Those that servers offer."""
        return await self.app.served_skills(self.spec, self.session)


class Outcome(msgspec.Struct, frozen=True):
    """What to do after a slash line. `said`: say this to the model instead. `leave`: the person wants to go."""

    said: FullMessage | None = None
    leave: bool = False


Run = Callable[[Chat, str], Awaitable[Outcome]]
