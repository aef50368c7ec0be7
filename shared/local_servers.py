"""Model servers at home that speak OpenAI's protocol: their names as providers, and where they listen."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

Kind = Literal["ollama", "lmstudio", "llama", "vllm"]
HOSTED = (  # ends of the names of hosts that serve OpenAI's protocol to anybody with a key
    "openai.com", "openai.azure.com", "azure.com", "googleapis.com", "amazonaws.com", "anthropic.com", "x.ai",
    "openrouter.ai", "groq.com", "cerebras.ai", "together.xyz", "together.ai", "fireworks.ai", "mistral.ai",
    "deepseek.com", "deepinfra.com", "perplexity.ai", "nvidia.com", "sambanova.ai", "hyperbolic.xyz", "novita.ai",
    "huggingface.co", "replicate.com", "cohere.com", "cohere.ai", "moonshot.ai", "moonshot.cn", "aliyuncs.com",
    "bigmodel.cn", "z.ai", "minimax.io", "siliconflow.com", "siliconflow.cn", "yandex.net", "yandexcloud.net",
    "sber.ru", "ollama.com", "vercel.sh", "cloudflare.com", "githubcopilot.com", "github.com",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A kind of model server: the provider that names it, its usual port, the variable of another address."""

    kind: Kind
    title: str
    port: int
    variable: str
    is_port_common: bool = False

    @property
    def url(self) -> str:
        """The address that the server has unless somebody changed it."""
        return f"http://127.0.0.1:{self.port}"


SERVERS: dict[str, LocalServer] = {
    server.kind: server
    for server in (
        LocalServer("ollama", "Ollama", 11434, "OLLAMA_HOST"),
        LocalServer("lmstudio", "LM Studio", 1234, "MAAS_LMSTUDIO_URL"),
        LocalServer("llama", "llama-server", 8080, "MAAS_LLAMA_URL", is_port_common=True),
        LocalServer("vllm", "vLLM", 8000, "MAAS_VLLM_URL", is_port_common=True),
    )
}


def address_of(server: LocalServer, configured: str | None) -> str:
    """Return the URL of a server, without `/v1`. Raises ValueError for a text that is no address.

    Ollama's variable may be a host, a port or both, and may be the address that Ollama listens on: 0.0.0.0.
    """
    text = (configured or "").strip().rstrip("/").removesuffix("/v1").rstrip("/")
    if not text:
        return server.url
    has_scheme = "://" in text
    parts = urlsplit(text if has_scheme else f"http://{text}")
    if parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
        raise ValueError(f"{configured!r} is not an address; it looks like {server.url}")
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    host = f"[{host}]" if ":" in host else host
    port = parts.port or (None if has_scheme else server.port)
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def is_own(base_url: str | None) -> bool:
    """Whether a base URL is that of a server of one's own: neither unset nor a known vendor's."""
    if not base_url:
        return False
    host = (urlsplit(base_url).hostname or "").lower().rstrip(".")
    return not any(host == vendor or host.endswith(f".{vendor}") for vendor in HOSTED)


def kind_of(base_url: str) -> Kind | None:
    """Return the kind of an own server as far as its port tells it; 8000 and 8080 are everybody's."""
    port = urlsplit(base_url).port
    return next((server.kind for server in SERVERS.values() if server.port == port and not server.is_port_common), None)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
