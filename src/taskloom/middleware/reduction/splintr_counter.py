"""Exact token counts without a network, with the vocabularies of the extra `tokens`.

Only this module imports the library, and no other module imports this one.
"""

try:
    import splintr
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Exact counts need the extra `tokens`: pip install 'taskloom[tokens]' ({error}).",
        name=error.name,
    ) from error


class SplintrCounter:
    """Counts with a model's own tokenizer.

    ToolReduction(backend, token_counter=SplintrCounter("o200k_base"))
    """

    def __init__(self, vocabulary: str = "o200k_base") -> None:
        """Load a vocabulary: `o200k_base`, `cl100k_base`, `llama3`, `qwen3` or another.

        Raises:
            ValueError: the name is unknown; the message lists the known ones.
        """
        self.vocabulary = vocabulary
        self._tokenizer = splintr.Tokenizer.from_pretrained(vocabulary)

    def __call__(self, text: str, /) -> int:
        """Return the number of tokens of a text."""
        # `encode` would count "<|endoftext|>" in a tool's output as one special token.
        return len(self._tokenizer.encode_ordinary(_encodable(text)))


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()  # The library refuses lone surrogates.
    return text
