"""Whose certificates are believed: the same for a model's service and for a page of the web."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mewcode.core.errors import ConfigError

if TYPE_CHECKING:
    import ssl


def trust_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The system's trust store, with a company's CA from ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` added. Made
    anew each time, which takes some twenty milliseconds.

    Raises `ConfigError` where what these name cannot be read.
    """
    import ssl  # heavy, as is truststore: a local model is reached without either

    import truststore

    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    cafile = environ.get("SSL_CERT_FILE")
    capath = environ.get("SSL_CERT_DIR")
    if cafile or capath:
        try:
            context.load_verify_locations(cafile=cafile or None, capath=capath or None)
        except OSError as error:
            raise ConfigError(
                f"the certificates in {cafile or capath} cannot be read: {error.strerror or error}",
                "Correct or unset SSL_CERT_FILE and SSL_CERT_DIR.",
            ) from error
    return context
