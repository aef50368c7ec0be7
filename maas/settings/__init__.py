"""All settings of ours, read from the environment and `.env`; a file for each subject."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_type_hints

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings

from maas.plugins import load_parts
from maas.settings.access import AccessSettings
from maas.settings.answers import AnswerSettings
from maas.settings.assistants import AssistantSettings
from maas.settings.budgets import BudgetSettings
from maas.settings.database import DatabaseSettings
from maas.settings.diagnostics import DiagnosticsSettings
from maas.settings.embeddings import EmbeddingSettings
from maas.settings.engine import EngineSettings
from maas.settings.http import HttpSettings
from maas.settings.images import ImageSettings
from maas.settings.models import ModelSettings
from maas.settings.page import PageSettings
from maas.settings.passthrough import PassthroughSettings
from maas.settings.plugins import PluginSettings
from maas.settings.profiles import PROFILES, ProfileName, choose_profile
from maas.settings.providers import ProviderSettings
from maas.settings.quotas import QuotaSettings
from maas.settings.uploads import UploadSettings
from maas.settings.webhooks import WebhookSettings
from shared.errors import MaasError, problems_of
from shared.log import hide

AnySettings = TypeVar("AnySettings", bound=BaseSettings)
OfPlugin = TypeVar("OfPlugin", bound=PluginSettings)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings by subject; times are in seconds unless the name says otherwise."""

    database: DatabaseSettings
    access: AccessSettings
    http: HttpSettings
    page: PageSettings
    uploads: UploadSettings
    providers: ProviderSettings
    passthrough: PassthroughSettings
    models: ModelSettings
    answers: AnswerSettings
    budgets: BudgetSettings
    embeddings: EmbeddingSettings
    images: ImageSettings
    assistants: AssistantSettings
    engine: EngineSettings
    quotas: QuotaSettings
    webhooks: WebhookSettings
    diagnostics: DiagnosticsSettings
    _of_plugins: dict[type[PluginSettings], PluginSettings] = field(default_factory=dict)

    @property
    def profile(self) -> ProfileName:
        """The profile that is set; `auto` stands for that of the model that answers."""
        if self.models.model_profile != "auto":
            return self.models.model_profile
        return choose_profile(self.models.responder_model or self.models.model, self.providers.openai_base_url)

    @property
    def engine_settings(self) -> dict[str, str]:
        """What functions in the database read, as orchestrators write it there."""
        most = "" if self.engine.max_in_flight is None else str(self.engine.max_in_flight)
        own = {"blocking_scope": self.engine.blocking_scope, "timezone": self.engine.timezone, "max_in_flight": most}
        return own | {name: str(value) for name, value in self.quotas}

    def of(self, kind: type[OfPlugin]) -> OfPlugin:
        """Return the settings of a plugin. Raises MaasError('bad_setting')."""
        if kind not in self._of_plugins:
            self._of_plugins[kind] = _read(kind, {})
        found = self._of_plugins[kind]
        assert isinstance(found, kind)
        return found

    def named(self, name: str) -> Any:
        """Return the value of a setting, ours or of a plugin that is on."""
        if name in _SUBJECT_OF:
            return getattr(getattr(self, _SUBJECT_OF[name]), name)
        kinds = (kind for kind in load_parts("settings") if name in kind.model_fields)
        return getattr(self.of(next(kinds)), name)

    def replace(self, **values: object) -> Settings:
        """Return settings in which some of ours, by their names, have these values, which are not checked."""
        changed: dict[str, dict[str, object]] = {}
        for name, value in values.items():
            changed.setdefault(_SUBJECT_OF[name], {})[name] = value
        copies = {subject: getattr(self, subject).model_copy(update=own) for subject, own in changed.items()}
        return replace(self, **copies)

    def without(self, names: Collection[str]) -> Settings:
        """Return settings in which those of these names, of plugins too, are None."""
        ours = self.replace(**{name: None for name in names if name in _SUBJECT_OF})
        of_plugins = {
            kind: one.model_copy(update={name: None for name in names if name in kind.model_fields})
            for kind, one in self._of_plugins.items()
        }
        return replace(ours, _of_plugins=of_plugins)


SUBJECTS: Mapping[str, type[BaseSettings]] = {
    name: kind for name, kind in get_type_hints(Settings).items() if name != "_of_plugins"
}
_SUBJECT_OF = {name: subject for subject, kind in SUBJECTS.items() for name in kind.model_fields}


def load_settings(**overrides: object) -> Settings:
    """Read the settings, and register their secrets to be masked in logs. Raises MaasError: bad_setting, bad_plugin.

    `overrides` go before the environment, each by the name of a setting, whatever its subject.
    """
    subjects = {name: _read(kind, overrides) for name, kind in SUBJECTS.items()}
    settings = Settings(**subjects)  # type: ignore[arg-type] # each is of the kind of its attribute
    _refuse_any_origin(settings)
    _apply_profile(settings)
    settings._of_plugins.update({kind: _read(kind, overrides) for kind in load_parts("settings")})
    for part in (*subjects.values(), *settings._of_plugins.values()):
        for value in dict(part).values():
            if isinstance(value, SecretStr):
                hide(value.get_secret_value())
            elif isinstance(value, str) and "://" in value:
                hide(value)
    return settings


def _refuse_any_origin(settings: Settings) -> None:
    if "*" in settings.http.cors_origins and settings.access.auth == "none":
        why = "with MAAS_AUTH=none every page in a browser here could read all memory; name the origins"
        raise MaasError("bad_setting", f"MAAS_CORS_ORIGINS: {why}")


def _apply_profile(settings: Settings) -> None:
    """Give what nobody has set the value of the profile; it stays out of `model_fields_set`."""
    for name, value in PROFILES[settings.profile].items():
        subject: BaseSettings = getattr(settings, _SUBJECT_OF[name])
        if name not in subject.model_fields_set:
            subject.__dict__[name] = value


def _read(kind: type[AnySettings], overrides: Mapping[str, object]) -> AnySettings:
    try:
        return kind(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = problems_of(error)[0]
        if not first.path:  # settings that contradict each other; the message names them
            raise MaasError("bad_setting", first.message) from error
        field = str(first.path[0])
        name = field if field.isupper() else f"MAAS_{field.upper()}"
        raise MaasError("bad_setting", f"{name}: {first.message}") from error
