"""Between the wire and Taskloom's own types: messages in, updates and questions out.

jsonrpc_transport  bytes to JSON-RPC messages and back
router             which method answers a message; errors to JSON-RPC errors
client             what may be asked of the client: permission, files, terminals
content_blocks     a prompt to a message, and a message to content blocks
tool_calls         tool calls as the client sees them, and those in progress
updates            events of a run and records of a transcript to session updates
"""
