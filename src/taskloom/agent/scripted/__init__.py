"""Chat models that follow a script, in Python or in a file."""

from taskloom.agent.scripted.model import Reply, Say, Script, ScriptedModel, call_tool, call_tools

__all__ = ["Reply", "Say", "Script", "ScriptedModel", "call_tool", "call_tools"]
