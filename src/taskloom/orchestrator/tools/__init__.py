"""The Task tools that the Orchestrator and its workers call."""
