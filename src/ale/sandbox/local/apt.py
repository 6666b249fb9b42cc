"""This machine's own apt configuration, as far as it leads to the distribution's archive."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ale.errors import SandboxUnavailable

_CONFIG_TO_KEEP = re.compile(
    r"^Acquire::(http|https|ftp|mirror|Retries|ForceIPv4|ForceIPv6|Check-Valid-Until|Check-Date|Languages)\b",
    re.IGNORECASE,
)
"""How the archive is reached: proxies, their exceptions, certificates, and how old its index may be."""


@dataclass(frozen=True)
class AptSources:
    """suite: code name of the distribution's release. deb822, one_line: the entries word for word, in either format."""

    suite: str
    deb822: str
    one_line: str
    options: str

    def of(self, suite: str | None) -> AptSources:
        """The same archives' entries for another release of the distribution, such as `trixie` on a bookworm machine:
        `bookworm-updates` becomes `trixie-updates`. None: this machine's own release."""
        if suite is None or suite == self.suite:
            return self
        release = re.compile(rf"\b{re.escape(self.suite)}\b")
        return replace(
            self, suite=suite, deb822=release.sub(suite, self.deb822), one_line=release.sub(suite, self.one_line)
        )


def own_sources(root: Path = Path("/")) -> AptSources:
    """The entries of this machine's apt sources that are the distribution's own; third-party archives are left out.

    Raises SandboxUnavailable when there are none.
    """
    release = _os_release(root / "etc/os-release")
    suite, distribution = release.get("VERSION_CODENAME", ""), release.get("ID", "")
    origins = _known_origins()
    stanzas = [
        stanza.strip("\n")
        for text in _texts(sorted((root / "etc/apt/sources.list.d").glob("*.sources")))
        for stanza in re.split(r"\n[ \t]*\n", text)
        if _stanza_is_own(stanza, distribution, origins)
    ]
    lines = [
        line.strip()
        for text in _texts([root / "etc/apt/sources.list", *sorted((root / "etc/apt/sources.list.d").glob("*.list"))])
        for line in text.splitlines()
        if _line_is_own(line, distribution, origins)
    ]
    if not suite or not (stanzas or lines):
        raise SandboxUnavailable(
            "images are built from Debian or Ubuntu packages, but this machine's apt sources name no archive of its "
            "own distribution; build on such a machine"
        )
    return AptSources(suite, "\n\n".join(stanzas), "\n".join(lines), _options())


def unknown_packages(names: Iterable[str]) -> list[str]:
    """Which of these no index of this machine names; none when it has no index, as before an `apt-get update`."""
    if not _known_origins():
        return []
    return sorted(set(names) - set(_apt("apt-cache", "pkgnames").split()))


def host_suite(root: Path = Path("/")) -> str:
    """Code name of this machine's release. Raises SandboxUnavailable when it has none."""
    suite = _os_release(root / "etc/os-release").get("VERSION_CODENAME", "")
    if not suite:
        raise SandboxUnavailable("images are built from Debian or Ubuntu packages; this machine is neither")
    return suite


def _texts(paths: list[Path]) -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()]


def _os_release(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    pairs = (line.partition("=") for line in path.read_text(encoding="utf-8").splitlines())
    return {key: value.strip("\"'") for key, _, value in pairs if key}


def _known_origins() -> dict[tuple[str, str], str]:
    """(address, suite) → who publishes it, of the archives whose index this machine has."""
    done = _apt("apt-get", "indextargets", "--format", "$(SITE)\t$(RELEASE)\t$(ORIGIN)", "Created-By: Packages")
    origins: dict[tuple[str, str], str] = {}
    for line in done.splitlines():
        site, release, origin = [*line.split("\t"), "", ""][:3]
        if origin and not origin.startswith("$("):
            origins[site.rstrip("/"), release.rstrip("/")] = origin.lower()
    return origins


def _options() -> str:
    lines = _apt("apt-config", "dump", "--format", '%f "%v";%n', "Acquire").splitlines()
    return "".join(f"{line}\n" for line in lines if _CONFIG_TO_KEEP.match(line) and not line.endswith(' "";'))


def _apt(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except FileNotFoundError:
        raise SandboxUnavailable(f"{command[0]} is missing: images are built on Debian or Ubuntu machines") from None
    if done.returncode != 0:
        raise SandboxUnavailable(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _stanza_is_own(stanza: str, distribution: str, origins: dict[tuple[str, str], str]) -> bool:
    fields = {
        match[1].lower(): match[2].split()
        for match in re.finditer(
            r"^([A-Za-z-]+):[ \t]*((?:.|\n[ \t])*)", re.sub(r"(?m)^#.*\n?", "", stanza), re.MULTILINE
        )
    }
    if "deb" not in fields.get("types", []) or fields.get("enabled", ["yes"])[0].lower() in ("no", "false", "0"):
        return False
    signed = " ".join(fields.get("signed-by", []))
    return any(
        _is_own(uri, suite, signed, distribution, origins)
        for uri in fields.get("uris", [])
        for suite in fields.get("suites", [])
    )


def _line_is_own(line: str, distribution: str, origins: dict[tuple[str, str], str]) -> bool:
    match = re.match(r"^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)", line)
    if not match:
        return False
    signed = re.search(r"signed-by=(\S+)", match[1] or "")
    return _is_own(match[2], match[3], signed[1] if signed else "", distribution, origins)


def _is_own(uri: str, suite: str, signed: str, distribution: str, origins: dict[tuple[str, str], str]) -> bool:
    """Who publishes it says its index; before the first `apt-get update`, the keyring that it must be signed with."""
    origin = origins.get((uri.rstrip("/"), suite.rstrip("/")))
    if origin is not None:
        return origin == distribution
    return not signed or f"{distribution}-archive-" in signed
