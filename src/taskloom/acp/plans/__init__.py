"""Plans shown to ACP clients."""
