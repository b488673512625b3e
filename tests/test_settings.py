"""Settings and secrets from the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchdog.errors import UsageError
from watchdog.settings import EnvSecrets, Settings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RULES", "STORE", "LISTEN", "API_TOKEN", "LOG_FORMAT", "LOG_LEVEL"):
        monkeypatch.delenv(f"WATCHDOG_{name}", raising=False)


def test_settings_have_defaults() -> None:
    settings = Settings()
    assert settings.rules is None
    assert settings.api_token is None
    assert settings.store == "sqlite:////var/lib/watchdog/watchdog.db"
    assert (settings.listen, settings.log_format, settings.log_level) == ("127.0.0.1:9469", "text", "info")


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "rules": "/etc/watchdog",
        "store": "sqlite:///x.db",
        "listen": "[::]:80",
        "api_token": "t0ken",
        "log_format": "json",
        "log_level": "debug",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"WATCHDOG_{name.upper()}", value)
    settings = Settings()
    assert {name: getattr(settings, name) for name in values} == values
    assert "t0ken" not in repr(settings)
    assert "t0ken" not in str(settings)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_RULES", "")
    monkeypatch.setenv("WATCHDOG_LOG_LEVEL", "")
    assert (Settings().rules, Settings().log_level) == (None, "info")


@pytest.mark.parametrize(("name", "value"), [("LOG_FORMAT", "xml"), ("LOG_LEVEL", "loud")])
def test_a_wrong_value_names_the_variable_and_the_choices(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"WATCHDOG_{name}", value)
    with pytest.raises(UsageError, match=f'WATCHDOG_{name}="{value}" is not known; write one of .*, '):
        Settings()


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    return folder


def test_a_secret_is_found_by_variable_then_file_then_mount(tmp_path: Path, mounted: Path) -> None:
    environ: dict[str, str] = {}
    secrets = EnvSecrets(environ, mounted)
    assert secrets.find("KEY") is None
    (mounted / "KEY").write_text("from-mount\n")
    assert secrets.find("KEY") == "from-mount"
    file = tmp_path / "key"
    file.write_text(" from-file \n")
    environ["KEY_FILE"] = str(file)
    assert secrets.find("KEY") == "from-file"
    del environ["KEY_FILE"]
    environ["KEY"] = "from-variable "
    assert secrets.find("KEY") == "from-variable"


def test_a_rotated_secret_is_seen_at_the_next_call(mounted: Path) -> None:
    secrets = EnvSecrets({}, mounted)
    (mounted / "KEY").write_text("old-secret")
    assert secrets.find("KEY") == "old-secret"
    (mounted / "KEY").write_text("new-secret")
    assert secrets.find("KEY") == "new-secret"
    assert secrets.redact("old-secret and new-secret") == "[redacted] and [redacted]"


def test_the_real_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = EnvSecrets()
    monkeypatch.setenv("WATCHDOG_TEST_KEY", "abc")
    assert secrets.find("WATCHDOG_TEST_KEY") == "abc"


@pytest.mark.parametrize("where", ["variable", "file", "mount"])
def test_a_blank_secret_is_not_set(tmp_path: Path, mounted: Path, where: str) -> None:
    (tmp_path / "blank").write_text(" \n")
    environ = {"variable": {"KEY": " "}, "file": {"KEY_FILE": str(tmp_path / "blank")}, "mount": {}}[where]
    if where == "mount":
        (mounted / "KEY").write_text("\n")
    secrets = EnvSecrets(environ, mounted)
    assert secrets.find("KEY") is None
    assert secrets.redact("a b") == "a b"


def test_both_variables_are_refused_without_their_values(tmp_path: Path) -> None:
    secrets = EnvSecrets({"KEY": "s3cret", "KEY_FILE": str(tmp_path)})
    with pytest.raises(UsageError, match=r"^KEY and KEY_FILE are both set; remove one of them$"):
        secrets.find("KEY")


def test_a_file_that_cannot_be_read_names_its_variable(tmp_path: Path, mounted: Path) -> None:
    with pytest.raises(UsageError, match=r"^KEY_FILE: .*/gone cannot be read \(No such file"):
        EnvSecrets({"KEY_FILE": str(tmp_path / "gone")}).find("KEY")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"^KEY_FILE: .* is not text in UTF-8"):
        EnvSecrets({"KEY_FILE": str(tmp_path / "binary")}).find("KEY")
    (mounted / "KEY").mkdir()
    with pytest.raises(UsageError, match=r"^the secret KEY: .* cannot be read"):
        EnvSecrets({}, mounted).find("KEY")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+psycopg://bo:s3c:ret@db:5432/x", "postgresql+psycopg://bo:[redacted]@db:5432/x"),
        ("redis://:s3cret@h", "redis://:[redacted]@h"),
        ("https://h:8080/a@b sqlite:////var/x.db", "https://h:8080/a@b sqlite:////var/x.db"),
    ],
)
def test_passwords_of_urls_are_struck_out(text: str, shown: str) -> None:
    assert EnvSecrets({}).redact(text) == shown


def test_longer_secrets_are_struck_out_first_and_so_are_their_json_forms() -> None:
    secrets = EnvSecrets({"A": "key", "B": 'key-"quoted"'})
    secrets.find("A")
    secrets.find("B")
    secrets.find("A")
    assert secrets.redact('a key-"quoted" b') == "a [redacted] b"
    assert secrets.redact(json.dumps({"x": 'key-"quoted"'})) == '{"x": "[redacted]"}'


@pytest.mark.parametrize(("secret", "shown"), [("x", "text"), ("abcde", "text abcde"), ("abcdef", "text [redacted]")])
def test_what_is_too_short_to_be_a_secret_is_not_struck_out(secret: str, shown: str) -> None:
    secrets = EnvSecrets({"KEY": secret}, Path("/nonexistent"))
    assert secrets.find("KEY") == secret
    assert secrets.redact(f"text {secret}" if len(secret) > 1 else "text") == shown


def test_a_printed_form_holds_no_secret() -> None:
    settings = Settings(store="postgresql://me:hunter2-and-more@db/watchdog", api_token="a-token-of-the-tests")
    assert "hunter2-and-more" not in repr(settings)
    assert "me:[redacted]@db/watchdog" in repr(settings)
    assert "a-token-of-the-tests" not in repr(settings)


def test_secrets_have_another_version_once_one_that_was_asked_for_has_changed(tmp_path: Path) -> None:
    file, other = tmp_path / "key", tmp_path / "OTHER"
    file.write_text("first-key", encoding="utf-8")
    secrets = EnvSecrets({"KEY_FILE": str(file)}, tmp_path)
    assert secrets.find("KEY") == "first-key"
    first = secrets.version()
    other.write_text("nobody asks", encoding="utf-8")
    assert secrets.version() == first
    file.write_text("second-key", encoding="utf-8")
    second = secrets.version()
    assert second != first
    file.unlink()
    assert secrets.version() not in (first, second), "and it is no error"
    file.write_text("second-key", encoding="utf-8")
    assert secrets.version() == second
    assert secrets.redact("second-key") == "[redacted]"
