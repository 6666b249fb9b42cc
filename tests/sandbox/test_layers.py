"""Harness layers: what is installed, from where, and what never gets into them."""

import shutil
from pathlib import Path

import anyio
import pytest

from ale.errors import HarnessError, SandboxUnavailable
from ale.sandbox import open_provider
from ale.sandbox.layers import LayerRecipe
from ale.sandbox.local.npm import npm_configuration
from ale.sandbox.local.state import State, read_json
from ale.sandbox.protocol import SandboxSpec

SMALL = LayerRecipe(name="small", npm=("semver@7.7.3",), node="24.19.0", check=("semver", "1.2.3"))
"""A pure-JavaScript package with one program and no dependencies."""


def test_digest_depends_on_the_recipe_and_the_image() -> None:
    assert SMALL.digest("a") == LayerRecipe(**vars(SMALL)).digest("a")
    assert SMALL.digest("a") != SMALL.digest("b")
    assert SMALL.digest("a") != LayerRecipe(name="small", npm=("semver@7.7.2",), node="24.19.0").digest("a")


def test_npm_settings_go_in_and_paths_of_this_host_stay_out(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text(
        "registry=https://npm.example/\n//npm.example/:_authToken=${TOKEN_OF_MINE}\n"
        "cafile=own-ca.pem\nprefix=/somewhere\ncache=/cache\n"
    )
    (tmp_path / "extra.pem").write_text("EXTRA")
    environ = {
        "HOME": str(tmp_path),
        "TOKEN_OF_MINE": "s3cret",
        "UNRELATED": "x",
        "https_proxy": "http://proxy.example",
        "npm_config_registry": "https://npm.example/",
        "npm_config_cache": "/cache",
        "NODE_EXTRA_CA_CERTS": str(tmp_path / "extra.pem"),
    }
    found = npm_configuration(environ, tmp_path)
    text = found.data["/run/build/npmrc"].decode()
    assert "registry=https://npm.example/" in text
    assert not any(word in text for word in ("cafile", "prefix", "cache"))
    assert found.env["TOKEN_OF_MINE"] == "s3cret"
    assert found.env["https_proxy"] == "http://proxy.example"
    assert "npm_config_registry" in found.env
    assert not {"UNRELATED", "npm_config_cache"} & set(found.env)
    assert b"EXTRA" in found.data["/run/build/ca.pem"]
    assert found.env["NODE_EXTRA_CA_CERTS"] == "/run/build/ca.pem"


@pytest.mark.sandbox
@pytest.mark.network
async def test_a_layer_brings_its_program_and_nothing_of_this_machines_configuration(
    base_image: str, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = "s3cret-of-this-host"
    home_npmrc = Path.home() / ".npmrc"
    npmrc = tmp_path / "npmrc"
    npmrc.write_text((home_npmrc.read_text() if home_npmrc.exists() else "") + f"\n//npm.invalid/:_authToken={mark}\n")
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(npmrc))
    provider = open_provider("local")
    image = await provider.image(base_image)
    folder = state.layers / SMALL.digest(image.content)
    shutil.rmtree(folder, ignore_errors=True)
    layer = await provider.build_layer(SMALL, base_image, print)
    assert layer.version == "1.2.3"
    assert await provider.build_layer(SMALL, base_image, print) == layer
    assert {path.name for path in (folder / "fs").iterdir()} == {"opt"}
    assert {path.name for path in (folder / "fs/opt/harness").iterdir()} == {"small"}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert mark.encode() not in path.read_bytes(), path
    machine = await provider.create(SandboxSpec("layer", base_image, layers=(layer.digest,)))
    try:
        session = machine.session("agent")
        assert (await session.run_command("semver 4.5.6; command -v semver node")).stdout.split() == [
            "4.5.6",
            "/opt/harness/small/bin/semver",
            "/opt/harness/node-24.19.0/bin/node",
        ]
        assert not (await session.run_command("touch /opt/harness/small/x", check=False)).success
    finally:
        await machine.destroy()
    (need,) = read_json(folder / "layer.json")["requires"]
    assert read_json(state.layers / need / "layer.json")["name"] == "node-24.19.0"


@pytest.mark.sandbox
async def test_versions_must_be_exact(base_image: str) -> None:
    for package in ("semver", "semver@latest", "semver@^7.0.0", "--option@1.0.0"):
        with pytest.raises(HarnessError, match="exact version"):
            await open_provider("local").build_layer(LayerRecipe("x", npm=(package,)), base_image, print)


@pytest.mark.sandbox
@pytest.mark.network
async def test_a_package_that_does_not_exist_leaves_nothing(base_image: str, state: State) -> None:
    before = sorted(path.name for path in state.layers.iterdir())
    with pytest.raises(HarnessError, match="npm install failed"):
        await open_provider("local").build_layer(
            LayerRecipe("gone", npm=("@ale-test/no-such-package@1.0.0",), node="24.19.0"), base_image, print
        )
    after = [path.name for path in state.layers.iterdir()]
    assert [name for name in after if name.startswith(".build-") and name not in before] == []


@pytest.mark.sandbox
async def test_a_check_that_fails_is_the_harness_fault(base_image: str) -> None:
    with anyio.fail_after(60), pytest.raises(HarnessError, match="does not run"):
        await open_provider("local").build_layer(LayerRecipe("broken", check=("false",)), base_image, print)


@pytest.mark.sandbox
async def test_a_layer_that_is_not_built_is_refused(base_image: str) -> None:
    with pytest.raises(SandboxUnavailable, match="is not built"):
        await open_provider("local").create(SandboxSpec("x", base_image, layers=("0" * 64,)))
