"""Recordings to words, by an OpenAI-compatible `/audio/transcriptions` endpoint that the operator named (`media.audio.transcription`).

Owns that one exchange. Raises MediaError, in words that name neither the key nor the address; never tries twice, since a recording is large
and somebody waits.
"""

import secrets
from collections.abc import Mapping

import msgspec

from openclaw.agent.attachments import Attachment
from openclaw.errors import ConnectError, DeadlineError, MediaError, OpenClawError
from openclaw.media import clean_type
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules
from openclaw.security.egress import Rules

# Hours of speech are less than this.
ANSWER_BYTES = 4 * 1024 * 1024
# The operator names the endpoint: it is often on this machine or in the house, without TLS.
_RULES = Rules(allow_loopback=True, allow_private=True, allow_plain_http=True)
# Endpoints tell the format by the name's suffix.
_SUFFIXES = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/flac": "flac",
}


class _Transcript(msgspec.Struct):
    text: str


class Transcriber(msgspec.Struct, frozen=True):
    """`base_url` is what stands before `/audio/transcriptions`. `timeout` is seconds for one recording; `environ` names the proxies."""

    base_url: str
    model: str
    api_key: str = ""
    language: str = ""
    timeout: float = 120.0
    environ: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Transcriber({self.model!r})"

    async def __call__(self, recording: Attachment) -> str:
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        url = f"{self.base_url.rstrip('/')}/audio/transcriptions"
        proxies = ProxyRules.from_environment(self.environ)
        async with HttpClient(ClientOptions(rules=_RULES, proxies=proxies)) as client:
            try:
                answer = await client.fetch(
                    "POST",
                    url,
                    headers=headers,
                    body=self._form(recording, boundary),
                    timeout=self.timeout,
                    limit=ANSWER_BYTES,
                )
            except DeadlineError as error:
                raise MediaError(f"the transcription endpoint took longer than {self.timeout:g} seconds.") from error
            except ConnectError as error:
                raise MediaError("the transcription endpoint cannot be reached.", hint=str(error)) from error
            except OpenClawError as error:
                raise MediaError(
                    f"the transcription endpoint could not be used ({type(error).__name__}).", hint=str(error)
                ) from error
        if answer.status != 200:
            raise MediaError(f"the transcription endpoint answered with HTTP {answer.status}.")
        try:
            words = msgspec.json.decode(answer.body, type=_Transcript).text.strip()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise MediaError("the transcription endpoint answered with something that is no transcript.") from None
        if not words:
            raise MediaError("the transcription endpoint heard no words in it.")
        return words

    def _form(self, recording: Attachment, boundary: str) -> bytes:
        kind = clean_type(recording.mime_type)
        fields = {"model": self.model, "response_format": "json"}
        if self.language:
            fields["language"] = self.language
        head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        )
        head += (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="recording.{_SUFFIXES.get(kind, "bin")}"\r\n'
            f"Content-Type: {kind}\r\n\r\n"
        )
        return b"".join((head.encode(), recording.data, f"\r\n--{boundary}--\r\n".encode()))
