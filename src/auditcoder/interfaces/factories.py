"""Opens the model and the sandbox that the user names."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from auditcoder.domain.errors import ModelMisconfigured
from auditcoder.domain.values import whole
from auditcoder.interfaces.settings import ProviderSettings, Settings
from auditcoder.lifecycle.ports import Model, Sandbox

Say = Callable[[str], None]

EMBEDDED = "embedded"
_KEY_NAME = re.compile(r"(^|_)API_KEY$|^HF_TOKEN$")
"""Environment variables from which providers' libraries read keys."""


def open_model(
    address: str,
    settings: Settings,
    say: Say,
    environment: Mapping[str, str] = os.environ,
    *,
    at_once: int = 1,
) -> Model:
    """Open the model that `address` names: `embedded`, `manual:FOLDER` or `provider:name`.

    `at_once` is the number of runs that will use the embedded model at the same time.
    """
    provider, _, name = address.partition(":")
    if provider == EMBEDDED:
        return _embedded(name, say, at_once)
    if not name or name != whole(name):  # a name that is not UTF-8 cannot be recorded
        raise ModelMisconfigured(
            "model.unknown",
            f"{address!r} is not the address of a model",
            "give provider:name, such as openai:gpt-4o or ollama:qwen3, or `embedded`,"
            " or manual:FOLDER",
        )
    if provider == "manual":
        from auditcoder.adapters.models.manual import ManualModel

        return ManualModel(Path(name), say=say)
    return _provider(
        provider, name, settings.providers.get(provider, ProviderSettings()), environment
    )


def _embedded(name: str, say: Say, at_once: int) -> Model:
    from auditcoder.adapters.models import weights
    from auditcoder.adapters.models.embedded import EmbeddedModel, import_engine
    from auditcoder.interfaces.progress import show_download

    known = weights.QWEN
    if name not in {"", known.name}:
        raise ModelMisconfigured(
            "model.unknown",
            f"no embedded model {name!r}",
            f"the only one is {known.name}: `--model embedded`",
        )
    import_engine()  # before the download: without it, the weights are of no use
    folder = weights.folder()
    if weights.find(known, folder) is None:
        say(f"downloading the embedded model's weights once, {known.size / 1e9:.1f} GB")
    with show_download(say) as report:
        path = weights.pull(known, folder, report)
    return EmbeddedModel(path, at_once=at_once)


def _provider(
    provider: str, name: str, settings: ProviderSettings, environment: Mapping[str, str]
) -> Model:
    from auditcoder.adapters.models.provider import Endpoint, ProviderModel
    from auditcoder.adapters.models.rate_limited import RateLimitedModel
    from auditcoder.adapters.models.secret import Secret

    variable = settings.key_env or f"{provider.upper().replace('-', '_')}_API_KEY"
    key = environment.get(variable) or settings.key
    endpoint = Endpoint(
        provider=provider,
        name=name,
        base_url=settings.base_url,
        seconds=settings.seconds,
        parallel=settings.parallel,
        price=settings.price,
        constrains=settings.constrains,
        max_tokens=settings.max_tokens,
    )
    model = ProviderModel(endpoint, Secret(key), _secrets(environment))
    return RateLimitedModel(model, settings.parallel, settings.per_minute)


def _secrets(environment: Mapping[str, str]) -> list[str]:
    """Return the providers' keys in the environment: a library may use one we did not name."""
    return [value for name, value in environment.items() if _KEY_NAME.search(name)]


def open_sandbox(
    settings: Settings, say: Say, environment: Mapping[str, str] = os.environ
) -> Sandbox:
    """Open the strongest sandbox that this machine offers."""
    from auditcoder.adapters.sandboxes import isolation

    return isolation.open_sandbox(
        settings.packages,
        accept_bare=environment.get("AUDITCODER_SANDBOX") == "bare",
        say=say,
    )
