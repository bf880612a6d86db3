"""Exact counts without a network: the vocabularies of the extra `tokens`.

This module loads the library; nothing else of Taskloom imports it.
"""

try:
    import splintr
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Exact counts need the extra `tokens`: pip install 'taskloom[tokens]' ({error}).",
        name=error.name,
    ) from error


class SplintrCounter:
    """Counts as a model's own tokenizer does.

    ToolReduction(backend, token_counter=SplintrCounter("o200k_base"))
    """

    def __init__(self, vocabulary: str = "o200k_base") -> None:
        """Load a vocabulary: `o200k_base`, `cl100k_base`, `llama3`, `qwen3` or another.

        Raises:
            ValueError: there is none of that name; the message lists those there are.
        """
        self.vocabulary = vocabulary
        self._tokenizer = splintr.Tokenizer.from_pretrained(vocabulary)

    def __call__(self, text: str, /) -> int:
        """Return how many tokens the text has."""
        # `encode` would take "<|endoftext|>" in a tool's output for one special token.
        return len(self._tokenizer.encode_ordinary(_encodable(text)))


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()  # Half characters, which it refuses.
    return text
