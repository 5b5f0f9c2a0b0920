"""Runs a program under the system call rules of a systemd unit: sandbox.py UNIT COMMAND...

Reads SystemCallFilter=, RestrictAddressFamilies= and MemoryDenyWriteExecute= and installs a seccomp filter like
systemd's (systemd.exec(5)), for machines on which systemd is not the first process. Calls that are not allowed fail
with EPERM, as with SystemCallErrorNumber=EPERM. Needs python3-seccomp and systemd-analyze.
"""

import errno
import mmap
import os
import socket
import subprocess
import sys

import seccomp


def settings(unit: str, name: str) -> list[str]:
    """The values of a setting, one for each of its lines."""
    with open(unit, encoding="utf-8") as lines:
        pairs = [line.strip().partition("=") for line in lines if not line.startswith("#")]
    return [value for key, _, value in pairs if key == name]


def expand(name: str) -> set[str]:
    """The system calls of a group such as @system-service; any other name stands for itself."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True,
                          text=True).stdout
    names = [line.strip() for line in text.splitlines()[1:]]
    return set().union(*(expand(name) for name in names if name and not name.startswith("#")))


def allowed(unit: str) -> set[str]:
    """The allowed system calls, added and removed line by line as systemd does."""
    calls: set[str] = expand("@default")
    for value in settings(unit, "SystemCallFilter"):
        named = set().union(*(expand(name) for name in value.lstrip("~").split()))
        calls = calls - named if value.startswith("~") else calls | named
    return calls


def install(unit: str) -> None:
    refuse = seccomp.ERRNO(errno.EPERM)
    rules = seccomp.SyscallFilter(refuse)
    not_executable = seccomp.Arg(2, seccomp.MASKED_EQ, mmap.PROT_EXEC, 0)
    not_writable = seccomp.Arg(2, seccomp.MASKED_EQ, mmap.PROT_WRITE, 0)
    for name in allowed(unit):
        try:
            if name == "socket":
                for family in settings(unit, "RestrictAddressFamilies")[0].split():
                    rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(0, seccomp.EQ, int(getattr(socket, family))))
            elif name == "mmap":  # writable or executable, not both
                rules.add_rule(seccomp.ALLOW, name, not_executable)
                rules.add_rule(seccomp.ALLOW, name, not_writable)
            elif name in ("mprotect", "pkey_mprotect"):  # nothing becomes executable
                rules.add_rule(seccomp.ALLOW, name, not_executable)
            else:
                rules.add_rule(seccomp.ALLOW, name)
        except (OSError, RuntimeError):
            pass  # the call does not exist on this architecture
    rules.load()


if __name__ == "__main__":
    install(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
