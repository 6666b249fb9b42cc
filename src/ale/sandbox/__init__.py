"""Where runs happen: one module a provider.

A new one is a module and a line here, or an entry point of `ale.providers`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from ale.documents import nearest
from ale.errors import UsageError
from ale.sandbox.protocol import Provider

PROVIDERS = {
    "local": "ale.sandbox.local:LocalProvider",
    "fake": "ale.sandbox.fake:FakeProvider",
}


def provider_names() -> list[str]:
    return sorted({point.name for point in entry_points(group="ale.providers")} | PROVIDERS.keys())


def open_provider(name: str) -> Provider:
    """Raises UsageError that names the nearest known provider. Nothing is started and nothing is looked for yet."""
    outside = {point.name: point.value for point in entry_points(group="ale.providers")}
    target = (outside | PROVIDERS).get(name)
    if target is None:
        raise UsageError(f"there is no sandbox provider '{name}'{nearest(name, provider_names())}")
    module, _, attribute = target.partition(":")
    provider: Provider = getattr(import_module(module), attribute)()
    return provider
