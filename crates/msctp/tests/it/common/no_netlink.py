"""Runs a command in a sandbox that refuses netlink sockets, as systemd's RestrictAddressFamilies=AF_INET AF_INET6 does.

A seccomp filter lets socket(AF_NETLINK, ...) fail with EAFNOSUPPORT, and getifaddrs of libc with it. The environment
variable REFUSE_TOO has the number of another family to refuse.
"""

import ctypes
import os
import platform
import struct
import sys

AF_NETLINK, EAFNOSUPPORT = 16, 97
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x0005_0000 | EAFNOSUPPORT, 0x7FFF_0000
SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]


def step(code, k, yes=0, no=0):
    return struct.pack("=HBBI", code, yes, no, k)


program = b"".join([
    step(LOAD, 0),  # the number of the system call
    step(JUMP_EQUAL, SOCKET, 0, 4),
    step(LOAD, 16),  # its first argument
    step(JUMP_EQUAL, AF_NETLINK, 1, 0),
    step(JUMP_EQUAL, int(os.environ.get("REFUSE_TOO", AF_NETLINK)), 0, 1),
    step(RETURN, REFUSE),
    step(RETURN, ALLOW),
])
steps = ctypes.create_string_buffer(program, len(program))


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
given = Program(len(program) // 8, ctypes.addressof(steps))
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(given)):
    sys.exit(f"no seccomp filter: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
