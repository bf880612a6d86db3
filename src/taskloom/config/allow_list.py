"""The allow list of `[run.allow]`: requests that need no confirmation."""

from functools import lru_cache

from taskloom.agent.workspace import PermissionRequest
from taskloom.config.config import AllowConfig
from taskloom.session.allow_rules import AllowRules, read_rule


def is_allowed(allow: AllowConfig, request: PermissionRequest) -> bool:
    """Return whether a rule covers a request; a secret never is."""
    if request.secret:
        return False
    rules = _rules(allow)
    if request.action == "write":
        return rules.allows_write(request.path)
    if request.action == "run":
        return rules.allows_command(request.command, request.directory)
    return False


@lru_cache(maxsize=64)
def _rules(allow: AllowConfig) -> AllowRules:
    commands = tuple(read_rule(rule, "run.allow.run") for rule in allow.run)
    return AllowRules(commands, allow.write)
