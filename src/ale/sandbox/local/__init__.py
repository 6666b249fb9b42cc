"""Sandboxes on this host, without a daemon, an image registry or hardware virtualisation."""

from ale.sandbox.local.provider import LocalProvider

__all__ = ["LocalProvider"]
