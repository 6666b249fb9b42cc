"""`ale agent`: who can be examined, and whether what it needs is there."""

from __future__ import annotations

import json
from typing import Any

import anyio
import click

from ale.harness import harness_names, open_harness
from ale.sandbox import open_provider


@click.group()
def agent() -> None:
    """List and check the agents that can be examined."""


@agent.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_agents(as_json: bool) -> None:
    """Every known agent, with what it needs."""
    rows = [_row(name) for name in harness_names()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        needs = ", ".join(row["npm"]) or "nothing"
        click.echo(f"{row['name']:<14} {'model' if row['uses_model'] else 'no model':<9} needs {needs}")


@agent.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True)
def show(name: str, as_json: bool) -> None:
    """What one agent needs and how it is installed."""
    row = _row(name)
    if as_json:
        click.echo(json.dumps(row, indent=1))
    else:
        for label, value in (
            ("name", row["name"]),
            ("model", "calls one (--model)" if row["uses_model"] else "uses none"),
            ("npm", ", ".join(row["npm"]) or "no packages"),
            ("node", row["node"] or "none of its own"),
            ("check", " ".join(row["check"]) or "none"),
        ):
            click.echo(f"{label:<8} {value}")


@agent.command()
@click.argument("name")
@click.option("--image", default="base", show_default=True, help="The image that the layer is built on.")
def build(name: str, image: str) -> None:
    """Build the layer that an agent needs.

    Its version is read back from inside a sandbox.
    """
    recipe = open_harness(name).layer()
    if recipe is None:
        click.echo(f"{name} needs nothing inside the sandbox")
        return

    async def work() -> str:
        provider = open_provider("local")
        await provider.build_image(image, lambda line: click.echo(line, err=True))
        layer = await provider.build_layer(recipe, image, lambda line: click.echo(line, err=True))
        return f"{name} {layer.version} ({layer.digest[:12]})"

    click.echo(anyio.run(work))


def _row(name: str) -> dict[str, Any]:
    harness = open_harness(name)
    recipe = harness.layer()
    return {
        "name": harness.name,
        "uses_model": harness.uses_model,
        "npm": list(recipe.npm) if recipe else [],
        "node": (recipe.node if recipe else None) or "",
        "check": list(recipe.check) if recipe else [],
    }
