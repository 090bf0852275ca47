"""A network and a view of the file system of its own, in which Google's hosts are this machine."""

import contextlib
import fcntl
import os
import socket
import ssl
import struct
import subprocess

# Each program that the line needs does one thing here, so that what is not allowed is found without a guess.
ENTER = ("unshare", "--net", "--mount", "--map-root-user")
CHECKS = {"a network of its own and a mount": (*ENTER, "mount", "--bind", "/etc/hosts", "/etc/hosts"),
          "a certificate": ("openssl", "version")}

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h


def reason_to_skip():
    """Why no namespace can be entered on this machine, as a str; None if it can."""
    for what, command in CHECKS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"{what} cannot be had: {error.strerror}: {command[0]}"
        if done.returncode:
            return f"{what} cannot be had: {' '.join(done.stderr.split())}"
    return None


def raise_loopback():
    """Makes 127.0.0.1 reachable, which it is not in a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def resolve_here(hosts, folder):
    """Makes names of hosts lead to this machine; `folder` is where a new /etc/hosts is written."""
    with open("/etc/hosts", encoding="utf-8") as file:
        known = file.read()
    path = os.path.join(folder, "hosts")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"127.0.0.1 {' '.join(hosts)}\n{known}")
    subprocess.run(["mount", "--bind", path, "/etc/hosts"], check=True)


def make_certificate(hosts, certificate):
    """Makes a certificate for hosts, signed by itself, at the path `certificate`; returns an ssl.SSLContext with it."""
    key = f"{certificate}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=tests", "-addext", f"subjectAltName={','.join(f'DNS:{host}' for host in hosts)}",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with contextlib.suppress(OSError):
        os.remove(key)
    return context
