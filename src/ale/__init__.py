"""Agents' Last Exam: examine AI agents on real professional work."""

from __future__ import annotations

__version__ = "0.1.0"
