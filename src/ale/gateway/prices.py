"""What a call costs: the price in the script file, else the public price list of `genai-prices`."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from pydantic import Field

from ale.documents import Document
from ale.trajectory.schema import Usage

_MILLION = Decimal(1_000_000)


class Price(Protocol):
    @property
    def source(self) -> str:
        """Where the price comes from, with its version, for the record."""

    def cost(self, usage: Usage) -> Decimal: ...


class StatedPrice(Document):
    """US dollars per million tokens. Cache prices default to the input price."""

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cache_read: Decimal | None = Field(default=None, ge=0)
    cache_write: Decimal | None = Field(default=None, ge=0)

    @property
    def source(self) -> str:
        return "script"

    def cost(self, usage: Usage) -> Decimal:
        plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        total = plain * self.input + usage.cache_read_tokens * read + usage.cache_write_tokens * write
        return (total + usage.output_tokens * self.output) / _MILLION


class ListedPrice:
    """The public list price of a model. Raises LookupError for a model that is not listed."""

    def __init__(self, model: str) -> None:
        from importlib.metadata import version

        self._model = model
        self.cost(Usage())
        self._source = f"genai-prices {version('genai-prices')}"

    @property
    def source(self) -> str:
        return self._source

    def cost(self, usage: Usage) -> Decimal:
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        return genai_prices.calc_price(tokens, model_ref=self._model).total_price


def listed_price(model: str) -> ListedPrice | None:
    try:
        return ListedPrice(model)
    except LookupError:
        return None
