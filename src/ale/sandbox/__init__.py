"""Where runs happen: one module a provider.

A new one is a module and a line here, or an entry point of `ale.providers`.
"""

from __future__ import annotations

from ale.plugins import load_plugin, plugin_names
from ale.sandbox.protocol import Provider

PROVIDERS = {
    "local": "ale.sandbox.local:LocalProvider",
    "fake": "ale.sandbox.fake:FakeProvider",
}


_GROUP = "ale.providers"


def provider_names() -> list[str]:
    return plugin_names(PROVIDERS, _GROUP)


def open_provider(name: str) -> Provider:
    """Raises UsageError that names the nearest known provider. Nothing is started and nothing is looked for yet."""
    provider: Provider = load_plugin(name, PROVIDERS, _GROUP, "sandbox provider")
    return provider
