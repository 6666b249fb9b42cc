"""What else this machine offers: hardware virtualisation that really works, a container engine, model keys."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from ale.sandbox.finding import Finding

_PATIENCE = 3.0
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")


def host_findings(environ: Mapping[str, str]) -> list[Finding]:
    """None of these is needed by the local provider."""
    return [kvm(), docker(environ), keys(environ)]


def kvm(root: Path = Path("/")) -> Finding:
    """A device node alone proves nothing: paravirtual KVM has one too, and runs no ordinary guest kernel."""
    name, purpose = "KVM", "virtual machines"
    if not (root / "dev/kvm").exists():
        return Finding(name, purpose, False, "there is no /dev/kvm", "enable virtualisation in the firmware or host")
    if not os.access(root / "dev/kvm", os.R_OK | os.W_OK):
        return Finding(
            name, purpose, False, "/dev/kvm may not be opened", "as root: adduser $USER kvm; then log in again"
        )
    if (root / "sys/module/kvm_pvm").exists():
        return Finding(name, purpose, False, "/dev/kvm is paravirtual (kvm_pvm) and boots no ordinary kernel")
    flags = (root / "proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    if not {"vmx", "svm"} & set(flags):
        return Finding(name, purpose, False, "the processor offers neither vmx nor svm here")
    return Finding(name, purpose, True, "/dev/kvm opens, and the processor offers virtualisation")


def docker(environ: Mapping[str, str]) -> Finding:
    """Whether an engine answers on its Unix socket."""
    name, purpose = "Docker engine", "containers"
    address = environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    path = address.removeprefix("unix://")
    if not address.startswith("unix://"):
        return Finding(name, purpose, False, f"DOCKER_HOST is {address}, which was not tried")
    if not Path(path).exists():
        return Finding(name, purpose, False, f"there is no {path}", "as root: apt-get install docker.io")
    connection = http.client.HTTPConnection("localhost")
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(_PATIENCE)
            channel.connect(path)
            connection.sock = channel
            connection.request("GET", "/version")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return Finding(name, purpose, False, f"{path} does not answer: {error}", "as root: systemctl start docker")
    return Finding(name, purpose, status == 200, f"{path} answered with status {status}")


def keys(environ: Mapping[str, str]) -> Finding:
    """Names only: a value is never read, let alone shown."""
    found = [name for name in _KEYS if environ.get(name)]
    why = f"set: {', '.join(found)}" if found else f"none of {', '.join(_KEYS)} is set; scripted models need none"
    return Finding("model keys", "real models", bool(found), why)
