"""What is remembered of whether a model is there."""

import os
import socket
from pathlib import Path

from openclaw.acp import model_mark
from openclaw.acp.model_mark import has_model, note
from openclaw.config import plain_paths
from openclaw.control.listening import is_listening
from openclaw.models.vendors import OLLAMA_PORT, VENDORS


def test_what_was_found_is_known_until_the_config_or_a_key_changes(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENAI_API_KEY": "x"}
    config = tmp_path / ".openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text("{}")
    here = ("", "", "")
    assert has_model(env, *here) is None
    note(env, *here, is_there=True)
    assert has_model(env, *here) is True
    assert has_model(env, str(config), "", "") is True
    assert has_model(env, "", "work", "") is None
    assert has_model({"HOME": str(tmp_path)}, *here) is None
    os.utime(config, (1, 1))
    assert has_model(env, *here) is None
    note(env, *here, is_there=True)
    assert has_model(env, *here) is True
    note(env, *here, is_there=False)
    assert has_model(env, *here) is False


def test_a_home_without_a_config_or_a_key_has_no_model_and_nobody_has_to_look(tmp_path: Path) -> None:
    env, here = {"HOME": str(tmp_path)}, ("", "", "")
    assert has_model(env, *here) is False
    assert has_model(env | {"OPENAI_API_KEY": "x"}, *here) is None
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text("{}")
    assert has_model(env, *here) is None


def test_somebody_looks_again_where_a_gateway_or_an_ollama_may_have_a_model_by_now(tmp_path: Path) -> None:
    env, here = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}, ("", "", "")
    note(env, *here, is_there=False)
    assert has_model(env, *here) is False
    assert has_model(env | {"OLLAMA_HOST": "127.0.0.1:1"}, *here) is None
    place = Path(plain_paths.running_socket(env))
    place.parent.mkdir(parents=True)
    place.touch()
    assert has_model(env, *here) is None


def test_a_program_that_listens_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert is_listening(port)
    assert not is_listening(port)


def test_an_ollama_is_looked_for_where_the_models_look_for_it() -> None:
    assert model_mark.OLLAMA_PORT == OLLAMA_PORT
    assert VENDORS["ollama"].base_variable == "OLLAMA_HOST"


def test_a_mark_that_somebody_damaged_is_not_believed(tmp_path: Path) -> None:
    env, here = {"HOME": str(tmp_path), "OPENAI_API_KEY": "x"}, ("", "", "")
    note(env, *here, is_there=True)
    (mark,) = (tmp_path / ".openclaw" / "py" / "acp" / "models").iterdir()
    mark.write_bytes(mark.read_bytes() + b"x")
    assert has_model(env, *here) is None
