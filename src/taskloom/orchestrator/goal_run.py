"""The Orchestrator's own runs: from a goal to its result, resumable after a crash.

Each run is a turn of the session's conversation with a journal under `turns/`. A goal may take
several turns: an agent that stops before its Tasks have ended is reminded of them in another one.
`goals.jsonl` records with which turn each goal began.

When the process dies, the next host resumes the last journal: tool calls that were active run
again, and because each has an id on the board, nothing is done twice.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio.to_thread
from msgspec import Struct

from taskloom.agent import Agent, Language, Message, Result, Run
from taskloom.errors import Code, RefusedError
from taskloom.ids import RunId, TaskId
from taskloom.log import RecordLog
from taskloom.orchestrator.event_bus import RunOutput
from taskloom.orchestrator.inbox import Inbox
from taskloom.orchestrator.prompt.texts import agent_texts
from taskloom.session import Conversation, SessionDirectory

_REMINDERS_MAX: Final = 3
"""How often an Orchestrator that stops before its Tasks have ended is reminded of them."""

_ENDED: Final = ("completed", "returned_directly")
"""Stop reasons of a turn that is not resumed."""


class Goal(Struct, frozen=True):
    """A line of `goals.jsonl`: a goal of the session, and the name of its first journal."""

    text: str
    journal: str


class GoalHistory:
    """The goals and the conversation of one session. Every method blocks."""

    def __init__(self, session: SessionDirectory, language: Language) -> None:
        """Name the session; nothing is read yet."""
        self.session_id = session.session_id
        self.conversation = Conversation(session, language)
        self.goals: list[Goal] = []
        self._session = session
        self._log = RecordLog[Goal](session.root / "goals.jsonl", Goal)

    @property
    def session_goal(self) -> str:
        """The goal that the session was created with; may be empty."""
        return self._session.info.goal

    def open(self) -> None:
        """Read goals and conversation, and lock them.

        Raises:
            RefusedError: another process has them locked.
            StorageError: the files cannot be used.
        """
        self.conversation.begin()
        if not self._log.try_lock():
            raise RefusedError(
                Code.SESSION_BUSY,
                f"Another process has {self._log.path} open. Wait until it has ended.",
            )
        self.goals = self._log.read_new()
        turns = self._session.turns()
        if turns and not self.goals:
            # A session of an earlier version has no record of its goal.
            self.goals = [Goal(self.session_goal, turns[0].name)]

    def add(self, text: str) -> Goal:
        """Record a goal that begins with the next turn."""
        goal = Goal(text, self._session.next_turn().name)
        self._log.append([goal])
        self.goals.append(goal)
        if not self.session_goal:
            self._session.update(goal=text)
        return goal

    def next_journal(self) -> Path:
        """Return the journal of the next turn."""
        return self._session.next_turn()

    def last_journal(self, goal: Goal) -> Path | None:
        """Return the journal of a goal's last turn; None if the goal has not begun."""
        following = self.goals[self.goals.index(goal) + 1 :]
        end = following[0].journal if following else ""
        turns = [turn for turn in self._session.turns() if turn.name >= goal.journal]
        own = [turn for turn in turns if not end or turn.name < end]
        return own[-1] if own else None

    def result(self, goal: Goal) -> Result | None:
        """Return the stored result of a goal's last turn; None if the goal has not begun."""
        journal = self.last_journal(goal)
        return None if journal is None else self.conversation.turn_result(journal)

    def answer(self, run_id: RunId) -> Result | None:
        """Return the last answer in the conversation as a result; None if there is none."""
        messages = self.conversation.messages
        last = messages[-1] if messages else None
        if last is None or last.role != "assistant" or last.tool_calls:
            return None
        return Result(run_id, "completed", list(messages), last)

    def close(self) -> None:
        """Close the files."""
        self.conversation.close()
        self._log.close()


class GoalRunner:
    """Runs the Orchestrator's agent for one goal after another."""

    def __init__(
        self,
        session: SessionDirectory | None,
        language: Language,
        *,
        open_tasks: Callable[[], Awaitable[list[TaskId]]],
        publish: Callable[[RunOutput], None],
    ) -> None:
        """Start before the first goal.

        Args:
            session: the session that keeps goals and journals; without one nothing is kept.
            language: of the reminder of open Tasks.
            open_tasks: returns the Tasks that have not ended.
            publish: takes the output of every run.
        """
        self.inbox = Inbox()
        self._history = None if session is None else GoalHistory(session, language)
        self._language: Language = language
        self._open_tasks = open_tasks
        self._publish = publish
        self._is_open = False
        self._named = 0
        """How many goals of the session the calls of this process have named."""
        self._messages: list[Message] = []
        """The conversation, without a session."""
        self._run: Run | None = None
        self._is_stopped = False

    async def run(self, agent: Agent, text: str | None, *, again: bool = False) -> Result:
        """Carry out a goal and return its result.

        A goal that the session has is resumed, or its result is returned if it is done. The search
        starts after the goals that this process has named, so a program that names several goals in
        order resumes each. None resumes the session; `again` adds the goal in any case.

        Raises:
            RefusedError: there is nothing to resume.
        """
        named, result = self._named, None
        try:
            if self._history is None:
                return await self._until_tasks_end(agent, await self._new_turn(agent, text or ""))
            if not self._is_open:
                await anyio.to_thread.run_sync(self._history.open)
                self._is_open = True
            result = await self._run_goal(agent, self._history, text, again=again)
            return result
        finally:
            self._is_stopped = False
            if result is None or result.stop_reason not in _ENDED:
                self._named = named  # The same call resumes the goal.

    def stop(self) -> None:
        """End the run where it is; it can be resumed later."""
        self._is_stopped = True
        if self._run is not None:
            self._run.cancel()

    def close(self) -> None:
        """Close the session's files."""
        if self._history is not None and self._is_open:
            self._history.close()

    async def _run_goal(
        self, agent: Agent, history: GoalHistory, text: str | None, *, again: bool
    ) -> Result:
        goals = history.goals
        if text is None:
            if goals:
                return await self._resume(agent, history)
            has_messages = bool(history.conversation.messages)
            text = await self._reminder() if has_messages else history.session_goal
            if not text:
                raise RefusedError(
                    Code.VALIDATION_ERROR,
                    f"Session {history.session_id!r} has no goal and no open Task to resume. Give "
                    f'it a goal: taskloom run --resume {history.session_id} "…"',
                )
        elif not again:
            for index in range(self._named, len(goals)):
                if goals[index].text == text:
                    return await self._resume(agent, history, index)
        elif not goals and not history.conversation.messages:
            # The goal that the session was created with was never started.
            text = f"{history.session_goal}\n\n{text}".strip()
        unfinished = history.conversation.unfinished_turn()
        if unfinished is not None:
            result = await self._run_turn(agent, unfinished, None)
            if self._is_stopped:
                return result
        await anyio.to_thread.run_sync(history.add, text)
        return await self._resume(agent, history)

    async def _resume(self, agent: Agent, history: GoalHistory, index: int = -1) -> Result:
        """Finish a goal, by default the last one; an earlier one has its result."""
        goals = history.goals
        goal = goals[index]
        self._named = goals.index(goal) + 1
        stored = await anyio.to_thread.run_sync(history.result, goal)
        if stored is not None and goal is not goals[-1]:
            return stored
        unfinished = history.conversation.unfinished_turn()
        if unfinished is not None:
            result = await self._run_turn(agent, unfinished, None)
            if self._is_stopped:
                return result
            if unfinished.name >= goal.journal:
                return await self._until_tasks_end(agent, result)
        if stored is None:
            stored = await self._new_turn(agent, goal.text)
        elif stored.stop_reason not in _ENDED:
            # Another interface recorded the turn as interrupted, and may have finished the goal.
            reminder = await self._reminder()
            answered = None if reminder else history.answer(stored.run_id)
            stored = answered or await self._new_turn(agent, reminder or goal.text)
        return await self._until_tasks_end(agent, stored)

    async def _until_tasks_end(self, agent: Agent, result: Result) -> Result:
        for _ in range(_REMINDERS_MAX):
            if result.stop_reason != "completed" or self._is_stopped:
                break
            reminder = await self._reminder()
            if not reminder:
                break
            result = await self._new_turn(agent, reminder)
        return result

    async def _reminder(self) -> str:
        """Return the message about Tasks that have not ended; empty if there are none."""
        left = await self._open_tasks()
        return agent_texts(self._language).reminder.format(tasks=", ".join(left)) if left else ""

    async def _new_turn(self, agent: Agent, text: str) -> Result:
        history = self._history
        if history is None:
            return await self._run_turn(agent, None, [*self._messages, Message.user(text)])
        # A turn that failed or was cancelled is not resumed once another one follows it.
        await anyio.to_thread.run_sync(history.conversation.add_interrupted_turn)
        messages = [*history.conversation.messages, Message.user(text)]
        return await self._run_turn(agent, history.next_journal(), messages)

    async def _run_turn(
        self, agent: Agent, journal: Path | None, messages: list[Message] | None
    ) -> Result:
        """Run the agent from messages, or resume it from its journal."""
        self._run = run = agent.run(messages, journal=journal)
        if self._is_stopped:
            run.cancel()
        with self.inbox:
            async for event in run:
                self._publish(event)
        result = run.result
        self._messages = result.messages
        if self._history is not None and journal is not None and result.stop_reason in _ENDED:
            conversation = self._history.conversation
            if conversation.unfinished_turn() == journal:
                await anyio.to_thread.run_sync(
                    conversation.add_turn, journal, result.messages, result.stop_reason
                )
        return result
