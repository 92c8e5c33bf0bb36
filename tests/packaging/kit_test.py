"""The operator's kit in packaging/: its files fit the digd of this tree. scripts/test-kit runs the tools of others."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from live import DIGD, TIMEOUT_S, Daemon  # noqa: E402

KIT = ROOT / "packaging"
RULES = KIT / "prometheus/rules.yml"
DASHBOARD = KIT / "grafana/digd.json"
COMPOSE = KIT / "compose/compose.yaml"
SIDECAR = KIT / "kubernetes/sidecar.yaml"
DROP_IN = KIT / "systemd/tokens-and-tls.conf"
HELM = KIT / "helm/digd/templates/digd.yaml"


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Names of the metrics of a running digd, with the names of their labels."""
    daemon = Daemon(tmp_path_factory.mktemp("kit"))
    daemon.start()
    try:
        with urllib.request.urlopen(f"http://{daemon.address}/metrics", timeout=TIMEOUT_S) as answer:
            text = answer.read().decode()
    finally:
        daemon.process.terminate()
        daemon.process.wait(TIMEOUT_S)
    # A metric with a label by webhook has no series before there is one.
    found = {name: set() for name in re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? ", text, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


def expressions():
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield target["expr"]


def recorded_names():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


def test_every_metric_of_the_kit_exists_in_digd(metrics):
    used = set()
    for text in expressions():
        used |= set(re.findall(r"\b(?:digd|process)_[a-z_]+", re.sub(r"digd:[\w:]+", "", text)))
        for name in re.findall(r"\bdigd:[\w:]+", text):
            assert name in recorded_names()
    assert len(used) > 12
    assert used <= set(metrics)


def test_every_label_that_a_rule_selects_exists(metrics):
    for text in expressions():
        for name, selected in re.findall(r"(digd_[a-z_]+)\{([^}]*)\}", text):
            labels = set(re.findall(r"(\w+)\s*[=!]", selected)) - {"instance"}
            assert labels <= metrics[name], text


def test_the_dashboard_is_what_its_script_writes():
    written = subprocess.run([KIT / "grafana/make_dashboard.py"], capture_output=True, text=True, check=True).stdout
    assert DASHBOARD.read_text() == written


def test_panels_of_the_dashboard_do_not_overlap():
    taken = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken and place["x"] + place["w"] <= 24
        taken |= cells


def accepted(environment, folder):
    """Whether digd accepts these variables; files that they name are made."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("DIGD_")}
    tokens = folder / "tokens.toml"
    tokens.write_text('[[token]]\nname = "x"\nsha256 = "' + "0" * 64 + '"\nrights = ["read"]\n')
    replaced = {k: str(tokens) if k == "DIGD_TOKENS" else v for k, v in environment.items()}
    done = subprocess.run(
        [DIGD, "--check-config"], env={**clean, **replaced}, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    return done.returncode == 0, done.stdout + done.stderr


def test_digd_accepts_the_variables_of_compose(tmp_path):
    environment = yaml.safe_load(COMPOSE.read_text())["services"]["digd"]["environment"]
    fine, text = accepted(environment, tmp_path)
    assert fine, text
    assert 'hosts = ["digd:7344"]' in text and "/tokens.toml" in text


def test_digd_accepts_the_variables_of_the_sidecar(tmp_path):
    deployment = next(d for d in yaml.safe_load_all(SIDECAR.read_text()) if d["kind"] == "Deployment")
    digd = deployment["spec"]["template"]["spec"]["initContainers"][0]
    fine, text = accepted({v["name"]: v["value"] for v in digd["env"]}, tmp_path)
    assert fine, text
    assert 'unix_users = ["1000"]' in text


def test_digd_accepts_the_variables_of_the_drop_in(tmp_path):
    environment = dict(re.findall(r"^Environment=(\w+)=(.*)$", DROP_IN.read_text(), re.MULTILINE))
    assert "DIGD_TLS__KEY" in environment
    for name in ("DIGD_TLS__CERTIFICATE", "DIGD_TLS__KEY"):
        credential = environment[name].removeprefix("%d/")
        assert f"LoadCredential={credential}:" in DROP_IN.read_text()
        environment[name] = environment[name].replace("%d", str(tmp_path))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
        + ["-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"],
        check=True,
        capture_output=True,
    )
    fine, text = accepted(environment, tmp_path)
    assert fine, text


def test_digd_accepts_the_configuration_of_the_chart(tmp_path):
    lines = HELM.read_text().split("digd.toml: |\n", 1)[1].split("---", 1)[0].splitlines()
    text = "\n".join(line.strip() for line in lines if "{{-" not in line)
    text = text.replace("{{ $name }}", "digd").replace("{{ $full }}", "digd.agents")
    (tmp_path / "tokens.toml").write_text('[[token]]\nname = "x"\nsha256 = "' + "0" * 64 + '"\nrights = ["read"]\n')
    text = text.replace("/etc/digd/tokens/", f"{tmp_path}/").split("[tls]")[0]
    (tmp_path / "digd.toml").write_text(text)
    command = [DIGD, "--config", tmp_path / "digd.toml", "--check-config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
