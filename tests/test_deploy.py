"""What the gateway is deployed with: the image, compose, Kubernetes. Their schemas are `make lint`'s and `make check-deploy`'s."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.version import __version__
from parts.processes import HANG_GUARD

ROOT = Path(__file__).parent.parent
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
# The user of the image, and of the pod.
USER = 10001
PORT = 28789


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile, an instruction a row."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = [line.partition(" ") for line in re.sub(r"\\\n\s*", "", text).splitlines() if line]
    return [(word, rest) for word, _, rest in rows]


def all_of(kind: str) -> list[str]:
    return [rest for word, rest in instructions() if word == kind]


def last_stage() -> list[tuple[str, str]]:
    rows = instructions()
    return rows[max(index for index, (word, _) in enumerate(rows) if word == "FROM") :]


def manifests() -> list[dict[str, Any]]:
    documents = (yaml.safe_load_all(file.read_text(encoding="utf-8")) for file in MANIFESTS)
    return [one for file in documents for one in file if not one["apiVersion"].startswith("kustomize")]


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (one for one in manifests() if one["kind"] == kind)
    return found


def test_the_image_is_built_in_one_stage_and_run_in_another_by_a_user_without_rights() -> None:
    assert len(all_of("FROM")) == 2
    words = [word for word, _ in last_stage()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert dict(last_stage())["USER"] == f"{USER}:{USER}"
    assert dict(last_stage())["EXPOSE"] == str(PORT)
    assert dict(last_stage())["HEALTHCHECK"].endswith('CMD ["openclaw", "gateway", "status"]')


def test_the_image_installs_what_is_pinned_with_its_hash_and_nothing_else() -> None:
    installs = [part for row in all_of("RUN") for part in row.split("&&") if " install " in part and "pip" in part]
    assert len(installs) == 3
    assert [part for part in installs if "--require-hashes" not in part and "--no-index" not in part] == []


def test_everything_that_is_copied_into_the_image_is_there_and_not_kept_out() -> None:
    admitted = [
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    ]
    copied = [source for row in all_of("COPY") if not row.startswith("--from") for source in row.split()[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert sorted(copied) == sorted(admitted)


def test_the_config_of_the_image_and_of_the_pod_load_and_open_the_port(tmp_path: Path) -> None:
    image = (ROOT / "deploy" / "openclaw.json").read_text(encoding="utf-8")
    for text in (image, of_kind("ConfigMap")["data"]["openclaw.json"]):
        (tmp_path / "openclaw.json").write_text(text, encoding="utf-8")
        env = {"OPENCLAW_HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(tmp_path / "openclaw.json")}
        assert load_config(Paths.from_env(env), env).root.gateway.bind == "lan"


def test_every_manifest_is_applied() -> None:
    listed = yaml.safe_load((ROOT / "deploy/kubernetes/kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    assert sorted(listed) == [file.name for file in MANIFESTS if file.name != "kustomization.yaml"]


def test_the_pod_keeps_the_restricted_rules_of_its_namespace() -> None:
    pod = of_kind("StatefulSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == USER
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["image"] == f"openclaw-host:{__version__}"
    probes = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert probes == {"startup": "/health", "liveness": "/health", "readiness": "/ready"}
    # What is read-only needs a place for the control socket, and one for the state.
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/etc/openclaw", "/tmp"}


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


@pytest.mark.parametrize("name", ["gateway", "gateway-1", "gateway-2", "tables"])
def test_the_gateways_of_compose_have_no_more_rights_than_the_pod(name: str) -> None:
    gateway = services()[name]
    assert (gateway["read_only"], gateway["cap_drop"], gateway["security_opt"]) == (
        *(True, ["ALL"]),
        ["no-new-privileges:true"],
    )


def test_the_gateway_alone_is_started_without_a_file_that_is_not_in_the_repository() -> None:
    """Older releases of compose read the `env_file` of every service, also of those that are not started."""
    assert [file for one in services().values() for file in one.get("env_file", []) if file["required"]] == []
    alone = services()["gateway"]
    assert "secrets" not in alone
    files = [source for source, _, _ in (one.partition(":") for one in alone["volumes"]) if source.startswith(".")]
    assert [(name, (ROOT / name).is_file()) for name in files] == [("./deploy/openclaw.json", True)]


def test_one_port_is_open_on_loopback_by_the_gateway_that_is_alone_or_by_the_proxy() -> None:
    open_ports = {name: one["ports"] for name, one in services().items() if "ports" in one}
    assert open_ports == {name: [f"127.0.0.1:{PORT}:{PORT}"] for name in ("gateway", "proxy")}
    assert {name: one.get("profiles", []) for name, one in services().items()} == {
        "gateway": [],
        "postgres": ["postgres", "fleet"],
        "collector": ["telemetry", "fleet"],
        **{name: ["fleet"] for name in ("gateway-1", "gateway-2", "tables", "proxy")},
    }


def test_the_fleet_of_compose_is_what_the_page_starts_and_its_parts_find_each_other(tmp_path: Path) -> None:
    parts = services()
    page = (ROOT / "docs/how-to/run-in-a-container.md").read_text(encoding="utf-8")
    # Started by the proxy's name alone, so that the gateway without a profile stays away: it must need all others.
    assert "docker compose --profile fleet up -d proxy" in page

    def needed(name: str) -> set[str]:
        return {name}.union(*(needed(one) for one in parts[name].get("depends_on", [])))

    assert needed("proxy") == {"proxy", "gateway-1", "gateway-2", "tables", "postgres", "collector"}
    state = [volume.partition(":")[0] for name in ("gateway-1", "gateway-2") for volume in parts[name]["volumes"][:1]]
    assert len(set(state)) == 2

    text = (ROOT / "deploy/fleet.json").read_text(encoding="utf-8")
    named = set(re.findall(r"\$\{(\w+)\}|secret://env/(\w+)", text))
    wanted = {one or other for one, other in named}
    assert wanted == {"OPENCLAW_GATEWAY_TOKEN", "DATABASE_PASSWORD", "OPENCLAW_TOKEN_KEY"}
    assert [name for name in wanted if name not in page] == []
    (tmp_path / "openclaw.json").write_text(text, encoding="utf-8")
    env = {"OPENCLAW_HOME": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(tmp_path / "openclaw.json")}
    root = load_config(Paths.from_env(env), env | dict.fromkeys(wanted, "a" * 64)).root
    assert (root.gateway.bind, root.session.store) == ("lan", "postgres")
    assert f"@postgres:5432/{parts['postgres']['environment']['POSTGRES_DB']}" in text
    assert "http://collector:4318" in text
    proxied = re.findall(
        r"^\s+server (\S+) (\S+)$", (ROOT / "deploy/haproxy.cfg").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert proxied == [(name, f"{name}:{PORT}") for name in ("gateway-1", "gateway-2")]
    installed = (ROOT / "requirements/image.lock").read_text(encoding="utf-8")
    assert [name for name in ("asyncpg==", "opentelemetry-sdk==") if name not in installed] == []


@pytest.mark.full
def test_haproxy_takes_its_config() -> None:
    program = shutil.which("haproxy", path=f"{os.defpath}:/usr/sbin:/usr/bin")
    assert program is not None, "apt-get install haproxy"
    done = subprocess.run(
        [program, "-c", "-f", str(ROOT / "deploy/haproxy.cfg")], capture_output=True, text=True, timeout=HANG_GUARD
    )
    assert done.returncode == 0, done.stderr
    # Outside of compose nobody knows the gateways by their names; nothing else is to be complained of.
    told = [line for line in done.stderr.splitlines() if "[WARNING]" in line or "[ALERT]" in line]
    assert [line for line in told if "could not resolve address" not in line] == []
