"""Where one agent works, and what it finds there: its workspace, its skills, and the native tools that keep to both.

Made anew for every turn, from the config as it is then. Nothing in a workspace runs, or changes a setting, by being there.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from openclaw.config.agents import AgentSpec
from openclaw.config.load import Config
from openclaw.config.paths import Paths
from openclaw.config.sections import SkillLimits
from openclaw.skills.catalog import SkillRules, Skills, load_skills
from openclaw.skills.discover import Limits, skill_roots
from openclaw.skills.variables import Resolve, skill_variables
from openclaw.tools.confine import Fence
from openclaw.tools.native import NativeTools, native_tools

# What is built into every conversation, and what /help says of it. No skill can take these words, so they stand below commands/, where
# `BUILT_IN` (commands/slash.py) has what each does: a new word goes into both, and a test holds them together.
SLASH_WORDS: Mapping[str, str] = {
    "help": "Show this list.",
    "new": "Start a new conversation; this one stays among /sessions.",
    "reset": "Start this conversation afresh.",
    "sessions": "List conversations; go on with one: /sessions NUMBER, KEY or words of its title.",
    "resume": "The same as /sessions; without a word you choose from a list.",
    "title": "Name this conversation: /title WORDS.",
    "undo": "Take your last message and its answer back.",
    "compact": "Let notes take the place of the older part of this conversation.",
    "export": "Write this conversation to a file: /export [FILE.md or FILE.jsonl].",
    "copy": "Copy the last answer.",
    "attach": "Send a file with your next message: /attach FILE … (or @FILE in the message).",
    "model": "List models; have another one answer: /model NAME, or default.",
    "usage": "Show how many tokens this conversation used.",
    "tools": "List the tools the agent has.",
    "last": "Show the whole result of the last call, or of the one before: /last 2. The model's thoughts: /last thoughts.",
    "status": "Show agent, model and conversation.",
    "approvals": "List the questions that wait for you; /approvals ID shows one of them.",
    "approve": "Answer one of them: /approve ID allow-once, allow-always or deny.",
    "skill": "Use a skill by its name: /skill NAME [words].",
    "quit": "Leave.",
    "exit": "The same as /quit.",
}


class Workplace(msgspec.Struct, frozen=True):
    """`root` is the agent's workspace, `folders` what its file tools may use besides."""

    spec: AgentSpec
    root: Path
    config: Config
    paths: Paths
    env: Mapping[str, str]
    # A configured value with its secret references replaced.
    resolve: Resolve
    folders: tuple[Path, ...] = ()

    def skills(self) -> Skills:
        """Read from the disk each time: not for the event loop."""
        section = self.config.root.skills
        roots = skill_roots(
            workspace=self.root,
            home=self.paths.home,
            state_dir=self.paths.state_dir,
            agent=self.spec.id,
            extra_dirs=[self.config.resolve(name) for name in section.load.extra_dirs],
        )
        rules = SkillRules(
            allow_bundled=section.allow_bundled,
            disabled=[name for name, entry in section.entries.items() if entry.enabled is False],
            entries=section.entries,
            allowed=self.spec.skills,
            limits=skill_limits(section.limits),
        )
        return load_skills(
            roots, rules, config=self.config.raw, env=self.env, platform=sys.platform, reserved=SLASH_WORDS
        )

    def native(self, skills: Skills) -> NativeTools:
        """The native tools, which may read the directories of these skills too."""
        fence = Fence(
            roots=self.folders,
            readable=skills.directories,
            kept=(self.paths.media_dir,),
            refused=(*self.config.files, self.paths.state_dir),
        )
        entries = self.config.root.skills.entries

        async def variables(skill: str) -> Mapping[str, str]:
            return await skill_variables(skill, skills.skills, entries, self.resolve)

        return native_tools(fence, environ=self.env, variables=variables, code=self.config.root.tools.code_mode)


def skill_limits(section: SkillLimits) -> Limits:
    return Limits(
        candidates_per_root=section.max_candidates_per_root,
        skills_per_source=section.max_skills_loaded_per_source,
        file_bytes=section.max_skill_file_bytes,
        prompt_skills=section.max_skills_in_prompt,
        prompt_chars=section.max_skills_prompt_chars,
    )


def workspace_of(spec: AgentSpec, given: Path | None, paths: Paths) -> Path:
    """As configured, else as given, else a directory of ours, which may have to be made."""
    if spec.workspace:
        return Path(spec.workspace)
    return paths.workspace_dir if given is None else given
