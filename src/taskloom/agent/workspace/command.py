"""run_command: one program with its arguments, without a shell, with permission and limits."""

from typing import Annotated, Final

from msgspec import Meta

from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.context import WorkspaceContext, make_tool
from taskloom.agent.workspace.permission import PermissionRequest

TIMEOUT_S: Final = 120
TIMEOUT_MAX_S: Final = 3600


def command_tool(context: WorkspaceContext) -> Tool:
    """Return `run_command(argv, timeout_s, directory)`."""
    texts = context.texts

    async def run_command(
        argv: Annotated[list[str], Meta(min_length=1)],
        timeout_s: Annotated[int, Meta(ge=1, le=TIMEOUT_MAX_S)] = TIMEOUT_S,
        directory: str = ".",
    ) -> str:
        where = context.resolve(directory)
        if not where.is_dir():
            raise NotADirectoryError(texts.no_folder.format(path=directory))
        await context.ask(PermissionRequest("run", directory, tuple(argv), target=str(where)))
        try:
            done = await context.commands.run(argv, where, context.environment, timeout_s=timeout_s)
        except FileNotFoundError as error:
            raise FileNotFoundError(texts.no_program.format(program=argv[0])) from error
        if done.timed_out:
            ended = texts.timed_out.format(seconds=timeout_s)
        else:
            ended = texts.exit_code.format(code=done.code)
        return f"{done.output.rstrip()}\n{ended}".lstrip()

    return make_tool(
        run_command,
        texts.run_command,
        idempotent=False,
        argv=texts.argv,
        timeout_s=texts.timeout_s,
        directory=texts.folder,
    )
