"""The app manifest asks for what the code uses, and for nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from watchdog.receivers.slack.trial import OPTIONAL
from watchdog.simulated.slack_rules import LISTED, SCOPE_OF

DOCS = Path(__file__).parents[3] / "docs"
FOR_PUBLIC_CHANNELS = "chat:write.public"
"""Changes where chat:write may post; no method asks for it."""
WITH_OTHERS = {"users:read"}
"""Slack grants users:read.email only together with it."""
USED = {"chat:write", *(scope for any_of in OPTIONAL for scope in any_of)}


@pytest.fixture(scope="module")
def manifest() -> Any:
    return yaml.safe_load((DOCS / "slack-app-manifest.yaml").read_text(encoding="utf-8"))


def test_the_manifest_asks_for_the_scopes_that_the_code_uses_and_no_others(manifest: Any) -> None:
    scopes = manifest["oauth_config"]["scopes"]
    assert set(scopes) == {"bot"}
    assert sorted(scopes["bot"]) == sorted(USED | WITH_OTHERS | {FOR_PUBLIC_CHANNELS})


def test_every_method_that_the_receiver_calls_is_covered(manifest: Any) -> None:
    sources = (DOCS.parent / "watchdog" / "receivers" / "slack").rglob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    called = {method for method in SCOPE_OF if f'"{method}"' in text}
    assert {"chat.postMessage", "chat.update", "conversations.history", "users.lookupByEmail"} <= called
    granted = set(manifest["oauth_config"]["scopes"]["bot"])
    assert {method for method in called if not SCOPE_OF[method] & granted} == set()
    assert set(LISTED.values()) <= granted


def test_nothing_is_on_that_watchdog_does_not_use(manifest: Any) -> None:
    settings = manifest["settings"]
    assert settings == {"socket_mode_enabled": False, "org_deploy_enabled": False, "token_rotation_enabled": False}
    assert set(manifest["features"]) == {"bot_user"}


def test_the_page_on_slack_names_every_scope_and_the_manifest(manifest: Any) -> None:
    page = (DOCS / "receivers" / "slack.md").read_text(encoding="utf-8")
    assert "](../slack-app-manifest.yaml)" in page
    named = set(re.findall(r"`([a-z]+:[a-z.:]+)`", page))
    assert set(manifest["oauth_config"]["scopes"]["bot"]) <= named
