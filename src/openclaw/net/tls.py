"""TLS settings of one client: verification, extra certificate authorities, client certificates.

Refuses files it cannot load with the path in the message. The default context is made once for the authorities that the environment
names: reading the system's certificates takes tens of milliseconds.
"""

import contextlib
import os
import ssl
import sys
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from openclaw.errors import ConnectError

# Apple's own list: every macOS has it.
_MACOS_AUTHORITIES = "/etc/ssl/cert.pem"


class TlsOptions(msgspec.Struct, frozen=True):
    """Paths are to PEM files. `ca_cert` adds to the system's authorities; `client_key` may be inside `client_cert`."""

    verify: bool = True
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""


def make_context(options: TlsOptions) -> ssl.SSLContext:
    """A context for `options`. Raises ConnectError when a file cannot be used."""
    if options != TlsOptions():
        return _build(options)
    return _default_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _default_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    """OpenSSL itself reads both variables; here they tell one context from another."""
    return _build(TlsOptions())


def _build(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if (found := authorities_besides(ssl.get_default_verify_paths(), os.environ)) is not None:
        # Without them nothing is trusted, and each handshake says so.
        with contextlib.suppress(OSError, ssl.SSLError):
            context.load_verify_locations(cafile=found)
    context.set_alpn_protocols(["http/1.1"])
    if not options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.ca_cert:
        try:
            context.load_verify_locations(cafile=options.ca_cert)
        except (OSError, ssl.SSLError) as error:
            raise ConnectError(
                f"The certificate authority file {options.ca_cert} cannot be loaded: {_reason(error)}.",
                hint="It has to be a PEM file.",
            ) from None
    if options.client_cert:
        try:
            context.load_cert_chain(options.client_cert, options.client_key or None, password="")
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConnectError(
                f"The client certificate {options.client_cert} cannot be loaded: {_reason(error)}.",
                hint="Give PEM files, the key without a passphrase.",
            ) from None
    return context


def authorities_besides(
    paths: ssl.DefaultVerifyPaths, env: Mapping[str, str], platform: str = sys.platform
) -> str | None:
    """The file of the system's authorities where Python was installed without any.

    The Python of python.org knows none on macOS until somebody has run its "Install Certificates". Whoever names authorities in the
    environment gets no others.
    """
    if platform != "darwin" or paths.cafile or paths.capath or env.get("SSL_CERT_FILE") or env.get("SSL_CERT_DIR"):
        return None
    return _MACOS_AUTHORITIES


def describe(error: ssl.SSLError, origin: str) -> ConnectError:
    """One sentence for a failed handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectError(
            f"The TLS certificate of {origin} is not trusted: {error.verify_message.rstrip('.')}.",
            hint="Name its authority in `caCert`, or set `sslVerify: false` for a server you control.",
        )
    return ConnectError(f"The TLS handshake with {origin} failed: {_reason(error)}.")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return str(error.reason or "not valid PEM").lower().replace("_", " ")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "not valid PEM"
