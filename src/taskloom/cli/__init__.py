"""The command line: parse, one call, render. Imports wait until a command needs them."""
