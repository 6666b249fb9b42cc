"""This machine's npm configuration, made available to one installation and left in no layer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PLACE = "/run/build"
_OF_THIS_HOST = re.compile(
    r"npm_config_(userconfig|globalconfig|prefix|cache|cafile|nodedir|tmp|init_module)", re.IGNORECASE
)
"""Settings that are paths of this machine."""

_PATH_LINES = re.compile(r"^\s*(cafile|prefix|cache|nodedir|tmp|globalconfig|userconfig)\s*=\s*(.*?)\s*$")

_CA_VARIABLES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
_CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
"""Of Debian and Ubuntu, the systems on which local sandboxes are built."""


@dataclass(frozen=True)
class NpmConfiguration:
    """env and data (path inside → content), for the one job."""

    env: Mapping[str, str]
    data: Mapping[str, bytes]


def npm_configuration(environ: Mapping[str, str] | None = None, etc: Path = Path("/etc")) -> NpmConfiguration:
    environ = os.environ if environ is None else environ
    home = Path(environ.get("HOME") or "/")
    given = environ.get("NPM_CONFIG_USERCONFIG") or environ.get("npm_config_userconfig")
    lines = _read(Path(given) if given else home / ".npmrc").decode("utf-8", errors="replace").splitlines()
    certificates = [_read(Path(path)) for path in _certificate_paths(environ, lines)]
    kept = [line for line in lines if not _PATH_LINES.match(line)]
    text = "\n".join(kept) + "\n"
    env = {
        "HOME": "/tmp/home",  # noqa: S108 - in the box, gone with it
        "NPM_CONFIG_USERCONFIG": f"{_PLACE}/npmrc",
        **{name: value for name, value in environ.items() if _passes(name)},
        # npm replaces ${NAME} in its configuration by the environment
        **{name: environ[name] for name in re.findall(r"\$\{(\w+)\}", text) if name in environ},
    }
    data = {f"{_PLACE}/npmrc": text.encode()}
    for name in ("resolv.conf", "hosts"):
        data[f"/etc/{name}"] = _read(etc / name)
    if any(certificates):
        data[f"{_PLACE}/ca.pem"] = b"\n".join(certificates)
        env |= dict.fromkeys(_CA_VARIABLES, f"{_PLACE}/ca.pem")
    return NpmConfiguration(env, data)


def _passes(name: str) -> bool:
    lower = name.lower()
    return lower.endswith("_proxy") or (lower.startswith("npm_config_") and not _OF_THIS_HOST.match(name))


def _certificate_paths(environ: Mapping[str, str], lines: list[str]) -> list[str]:
    named = [environ[name] for name in _CA_VARIABLES if environ.get(name)]
    named += [match[2] for line in lines if (match := _PATH_LINES.match(line)) and match[1] == "cafile"]
    return list(dict.fromkeys([*named, _CA_BUNDLE]))


def _read(path: Path) -> bytes:
    """Empty when it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
