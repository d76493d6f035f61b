"""Which certificate authorities a connection is held against."""

import ssl

import pytest

from openclaw.net.tls import authorities_besides

NOTHING = ssl.get_default_verify_paths()._replace(cafile="", capath="")
A_FILE = NOTHING._replace(cafile="/some/cert.pem")
A_FOLDER = NOTHING._replace(capath="/some/certs")


def test_a_python_without_authorities_takes_those_of_macos() -> None:
    assert authorities_besides(NOTHING, {}, "darwin") == "/etc/ssl/cert.pem"


@pytest.mark.parametrize(
    ("paths", "env", "platform"),
    [
        (A_FILE, {}, "darwin"),
        (A_FOLDER, {}, "darwin"),
        (NOTHING, {"SSL_CERT_FILE": "/mine/that/is/gone.pem"}, "darwin"),
        (NOTHING, {"SSL_CERT_DIR": "/mine/that/is/gone"}, "darwin"),
        (NOTHING, {}, "linux"),
        (NOTHING, {}, "win32"),
    ],
)
def test_whoever_has_or_names_authorities_gets_no_others(
    paths: ssl.DefaultVerifyPaths, env: dict[str, str], platform: str
) -> None:
    assert authorities_besides(paths, env, platform) is None
