"""Load `taskloom.toml` and the environment into a `Config`."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from taskloom.config.config import (
    DEFAULT_POOLS,
    FILE_NAME,
    CallableConfig,
    Config,
    ExecutorConfig,
    ModelConfig,
)
from taskloom.config.hints import suggest, unknown_keys
from taskloom.errors import ConfigError
from taskloom.session import read_rule

MODEL_VARIABLE: Final = "TASKLOOM_MODEL"
"""The environment variable that names the default model."""

FILE_BYTES_MAX: Final = 1_000_000
"""A larger file was not written by hand."""

_SCRIPT: Final = "script:"
_TARGET: Final = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_AT: Final = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)


def load_config(project: Path, *, environ: Mapping[str, str] | None = None) -> Config:
    """Return the configuration of a project; the defaults if it has no file.

    Raises:
        ConfigError: the file cannot be read or is not valid; the message names the key.
    """
    path = project / FILE_NAME
    document = _read(path)
    config = _convert(path, document)
    if "pools" not in document:
        (pool,) = DEFAULT_POOLS
        named = structs.replace(pool, pool_id=config.agents.default_worker_pool)
        config = structs.replace(config, pools=(named,))
    _check(path, config)
    variables = os.environ if environ is None else environ
    return structs.replace(config, model=_model(config.model, project, variables))


def resolve_script(project: Path, name: str) -> str:
    """Return a model's name; the path of a script is relative to the project."""
    if not name.startswith(_SCRIPT):
        return name
    path, mark, script = name.removeprefix(_SCRIPT).partition("#")
    return f"{_SCRIPT}{project.absolute() / path}{mark}{script}"


def _model(model: ModelConfig, project: Path, environ: Mapping[str, str]) -> ModelConfig:
    chosen = environ.get(MODEL_VARIABLE, "").strip()
    if not chosen:
        return structs.replace(model, name=resolve_script(project, model.name))
    if chosen.partition(":")[0] == model.name.partition(":")[0]:
        return structs.replace(model, name=chosen)
    # The address and the key of one provider must not be used with another.
    return ModelConfig(name=chosen, settings=model.settings)


def read_text(path: Path, bytes_max: int) -> str | None:
    """Return the text of a file; None if there is none.

    Raises:
        ConfigError: it cannot be read, is too long, or is not text.
    """
    try:
        if path.exists() and not path.is_file():  # Opening a pipe would block for ever.
            raise ConfigError(f"{path} cannot be read: it is not a file.", path=str(path))
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error
    if len(data) > bytes_max:
        raise ConfigError(
            f"{path} is longer than {bytes_max} bytes: is it the right file?", path=str(path)
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error.reason}.", path=str(path)) from error


def _read(path: Path) -> dict[str, Any]:
    text = read_text(path, FILE_BYTES_MAX)
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.", path=str(path)) from error


def _convert(path: Path, document: dict[str, Any]) -> Config:
    for key, hint in unknown_keys(document):
        raise ConfigError(f"{path}: unknown key `{key}`. {hint}", path=str(path), key=key)
    # One at a time, because msgspec's error does not name the key of a dict.
    executors = document.get("executors")
    if isinstance(executors, dict):
        for name, each in cast("dict[str, object]", executors).items():
            _as(path, each, ExecutorConfig, f"executors.{name}")
    return cast("Config", _as(path, document, Config, ""))


def _as(path: Path, value: object, kind: object, where: str) -> object:
    try:
        return msgspec.convert(value, cast("type[object]", kind))
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        reason, at = (found[1], found[2] or "") if found else (str(error), "")
        key = f"{where}{at}".lstrip(".")
        raise _wrong(path, key, f"is not valid: {reason[0].lower()}{reason[1:]}.") from error


def _check(path: Path, config: Config) -> None:
    """Check what one value alone cannot show."""
    if config.model.base_url and not _is_url(config.model.base_url):
        raise _wrong(
            path, "model.base_url", 'is not a URL; write one such as "http://localhost:8000/v1".'
        )
    _check_pools(path, config)
    _check_allow(path, config)
    for name, executor in config.executors.items():
        if isinstance(executor, CallableConfig) and not _TARGET.fullmatch(executor.target):
            raise _wrong(
                path,
                f"executors.{name}.target",
                f"must be `package.module:function`; got {executor.target!r}.",
            )


def _check_allow(path: Path, config: Config) -> None:
    for index, rule in enumerate(config.run.allow.run):
        where = f"run.allow.run[{index}]"
        try:
            read_rule(rule, where)
        except ConfigError as error:
            raise _wrong(path, where, error.message.removeprefix(f"{where}: ")) from error


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(whole) and text.isprintable() and " " not in text


def _check_pools(path: Path, config: Config) -> None:
    pools = [pool.pool_id for pool in config.pools]
    wanted = config.agents.default_worker_pool
    if pools and wanted not in pools:
        raise _wrong(
            path,
            "agents.default_worker_pool",
            f"is {wanted!r}, which is not a pool. {suggest(wanted, pools)}",
        )
    for pool_index, pool in enumerate(config.pools):
        for index, worker in enumerate(pool.workers):
            key = f"pools[{pool_index}].workers[{index}]"
            if bool(worker.agent) == bool(worker.executor):
                raise _wrong(
                    path, key, "needs either `agent`, the id of a definition, or `executor`."
                )
            if worker.executor and worker.executor not in config.executors:
                hint = suggest(worker.executor, config.executors)
                raise _wrong(
                    path,
                    f"{key}.executor",
                    f"is {worker.executor!r}, which is not an executor. {hint}",
                )


def _wrong(path: Path, key: str, reason: str) -> ConfigError:
    where = f"`{key}` " if key else ""
    return ConfigError(f"{path}: {where}{reason}", path=str(path), key=key)
