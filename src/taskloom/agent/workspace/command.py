"""run_command: one program with its arguments, without a shell, with permission and limits."""

import re
from typing import Annotated, Final

from msgspec import Meta

from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.context import WorkspaceContext, make_tool
from taskloom.agent.workspace.permission import PermissionRequest
from taskloom.agent.workspace.process import Finished

TIMEOUT_S: Final = 120
TIMEOUT_MAX_S: Final = 3600


_REFUSALS: Final = re.compile(
    r".*(?:Read-only file system|Permission denied|Operation not permitted|Network is unreachable"
    r"|Temporary failure in name resolution|Could not resolve|EROFS|EACCES|EPERM|ENETUNREACH).*"
)
_REFUSAL_CHARS_MAX: Final = 200


def command_tool(context: WorkspaceContext) -> Tool:
    """Return `run_command(argv, timeout_s, directory)`, and `outside_sandbox` if there is one."""
    texts = context.texts

    async def run(argv: list[str], timeout_s: int, directory: str, *, outside: bool) -> str:
        where = context.resolve(directory)
        if not where.is_dir():
            raise NotADirectoryError(texts.no_folder.format(path=directory))
        sandbox = "" if outside else context.commands.sandbox
        request = PermissionRequest(
            "run",
            command=tuple(argv),
            target=str(where),
            directory=context.shown(where).removesuffix("/"),
            sandbox=sandbox,
            leaves_sandbox=outside,
        )
        await context.ask(request)
        context.check_unchanged(directory, where)
        try:
            done = await context.commands.run(
                argv, where, context.environment, timeout_s=timeout_s, outside_sandbox=outside
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(texts.no_program.format(program=argv[0])) from error
        return _report(context, done, sandbox, timeout_s)

    async def run_command(
        argv: Annotated[list[str], Meta(min_length=1)],
        timeout_s: Annotated[int, Meta(ge=1, le=TIMEOUT_MAX_S)] = TIMEOUT_S,
        directory: str = ".",
    ) -> str:
        return await run(argv, timeout_s, directory, outside=False)

    described = {"argv": texts.argv, "timeout_s": texts.timeout_s, "directory": texts.folder}
    if not context.commands.sandbox:
        return make_tool(run_command, texts.run_command, idempotent=False, **described)
    plain = run_command

    async def confined_run_command(
        argv: Annotated[list[str], Meta(min_length=1)],
        timeout_s: Annotated[int, Meta(ge=1, le=TIMEOUT_MAX_S)] = TIMEOUT_S,
        directory: str = ".",
        outside_sandbox: bool = False,
    ) -> str:
        return await run(argv, timeout_s, directory, outside=outside_sandbox)

    confined_run_command.__name__ = plain.__name__
    described["outside_sandbox"] = texts.outside_sandbox
    return make_tool(confined_run_command, texts.run_command, idempotent=False, **described)


def _report(context: WorkspaceContext, done: Finished, sandbox: str, timeout_s: int) -> str:
    """Return what a program wrote and how it ended, with what the sandbox refused."""
    texts = context.texts
    if done.timed_out:
        ended = texts.timed_out.format(seconds=timeout_s)
    else:
        ended = texts.exit_code.format(code=done.code)
    lines = [done.output.rstrip(), ended]
    refused = _REFUSALS.search(done.output) if sandbox and done.code != 0 else None
    if refused is not None:
        line = refused[0].strip()[:_REFUSAL_CHARS_MAX]
        lines.append(texts.sandboxed.format(sandbox=sandbox, refused=line))
    return "\n".join(lines).lstrip()
