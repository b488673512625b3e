"""The workspace behind the simulated Slack: channels, messages, and what each method does to them. No HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watchdog.ports import Clock
from watchdog.simulated.slack_rules import LARGEST_PAGE, LISTED, TEXT_KEPT, refusal, shown, texts_of

Body = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(slots=True)
class FakeChannel:
    """A channel of the workspace."""

    id: str
    name: str
    member: bool = True
    archived: bool = False
    private: bool = False


@dataclass(slots=True)
class FakeMessage:
    """A message as it stands now; ``edits`` holds what it said before, oldest first."""

    channel: str
    ts: str
    text: str
    attachments: list[dict[str, Any]]
    blocks: list[dict[str, Any]]
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: dict[str, Any] | None = None
    file: str = ""
    edits: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Everything that a reader sees, markup undone."""
        rich = [*texts_of(self.blocks), *texts_of([item.get("blocks", item) for item in self.attachments])]
        return "\n".join(shown(text) for text in (self.text, *rich))


class Refused(Exception):  # noqa: N818  # an answer, not a mistake
    """The call is answered with ``ok: false`` and this code."""


class Workspace:
    """Channels and their messages. Methods raise Refused with Slack's error code."""

    def __init__(self, clock: Clock, channels: Iterable[FakeChannel]) -> None:
        self.clock = clock
        self.channels = {channel.id: channel for channel in channels}
        self.messages: list[FakeMessage] = []
        self.users: dict[str, str] = {}
        """User IDs by e-mail address."""
        self.edit_window: float | None = None
        """Seconds for which a message may be edited; None: for ever."""
        self.uploads: dict[str, str] = {}
        """What has been uploaded, by file ID."""
        self.on_message: Callable[[FakeMessage], None] | None = None
        """Called with every message that was posted or edited."""
        self._serial = 0
        self.methods: Mapping[str, Callable[[Body], Answer]] = {
            "auth.test": self._auth_test,
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
            "conversations.info": self._info,
            "conversations.list": self._list,
            "conversations.replies": self._replies,
            "files.completeUploadExternal": self._complete_upload,
            "files.getUploadURLExternal": self._start_upload,
            "users.lookupByEmail": self._look_up,
        }

    def delete(self, ts: str) -> None:
        """Delete a message, as a person may."""
        self.messages = [message for message in self.messages if message.ts != ts]

    def parents(self) -> list[FakeMessage]:
        """Return the messages that are no replies, oldest first."""
        return [message for message in self.messages if message.thread_ts is None]

    def thread(self, ts: str) -> list[FakeMessage]:
        """Return the replies below a message, oldest first."""
        return [message for message in self.messages if message.thread_ts == ts]

    def transcript(self) -> str:
        """Return what Slack would show, as text: channels, messages, threads."""
        lines: list[str] = []
        for channel in self.channels.values():
            lines.append(f"#{channel.name}")
            for parent in self.parents():
                if parent.channel == channel.id:
                    lines += _drawn(parent, "  ")
                    lines += [line for reply in self.thread(parent.ts) for line in _drawn(reply, "    ↳ ")]
        return "\n".join(lines)

    def hook(self, body: Body) -> None:
        """Post through the incoming webhook, which belongs to the first channel."""
        self._add(self._message(next(iter(self.channels)), body))

    def _auth_test(self, _: Body) -> Answer:
        return {"team": "Simulated", "user": "watchdog", "bot_id": "B0SIM", "team_id": "T0SIM"}

    def _post(self, body: Body) -> Answer:
        channel = self._channel(str(body.get("channel", "")), by_name=True)
        problem = refusal(body)
        if problem:
            raise Refused(problem)
        thread = body.get("thread_ts")
        if thread and not any(message.ts == thread for message in self.messages):
            raise Refused("thread_not_found")
        message = self._message(channel.id, body)
        message.thread_ts = thread or None
        message.broadcast = bool(thread and body.get("reply_broadcast"))
        self._add(message)
        return {"channel": channel.id, "ts": message.ts, "message": _public(message, metadata=True)}

    def _update(self, body: Body) -> Answer:
        channel = self._channel(str(body.get("channel", "")), by_name=False)
        message = self._find(channel.id, str(body.get("ts", "")))
        if self.edit_window is not None and self.clock() - float(message.ts) > self.edit_window:
            raise Refused("edit_window_closed")
        problem = refusal(body, update=True)
        if problem:
            raise Refused(problem)
        message.edits.append(message.words)
        message.text = body.get("text") or ""
        message.blocks = list(body.get("blocks") or [])
        message.attachments = list(body.get("attachments", message.attachments) or [])
        message.metadata = body.get("metadata", message.metadata)
        self._tell(message)
        return {"channel": channel.id, "ts": message.ts, "text": message.text}

    def _history(self, body: Body) -> Answer:
        channel = self._channel(str(body.get("channel", "")), by_name=False)
        found = [m for m in self.messages if m.channel == channel.id and (m.thread_ts is None or m.broadcast)]
        return _page(list(reversed(found)), body)

    def _list(self, body: Body) -> Answer:
        """List channels by type, in pages; private ones only where the app is a member."""
        kinds, limit, cursor = types_of(body), int(body.get("limit", 100)), str(body.get("cursor", ""))
        if not kinds or set(kinds) - set(LISTED):
            raise Refused("invalid_types")
        if not 1 <= limit <= LARGEST_PAGE:
            raise Refused("invalid_limit")
        hidden = str(body.get("exclude_archived", "0")) in ("1", "true", "True")
        shown = [channel for channel in self.channels.values() if not (hidden and channel.archived)]
        shown = [c for c in shown if ("private_channel" if c.private else "public_channel") in kinds]
        shown = [channel for channel in shown if channel.member or not channel.private]
        if cursor and not cursor.isdigit():
            raise Refused("invalid_cursor")
        start = int(cursor or 0)
        more = str(start + limit) if start + limit < len(shown) else ""
        page = [_described(channel) for channel in shown[start : start + limit]]
        return {"channels": page, "response_metadata": {"next_cursor": more}}

    def _info(self, body: Body) -> Answer:
        """Tell of a channel by its ID; a private one only where the app is a member."""
        channel = self.channels.get(str(body.get("channel", "")))
        if channel is None or (channel.private and not channel.member):
            raise Refused("channel_not_found")
        return {"channel": _described(channel)}

    def _replies(self, body: Body) -> Answer:
        channel = self._channel(str(body.get("channel", "")), by_name=False)
        parent = self._find(channel.id, str(body.get("ts", "")), missing="thread_not_found")
        return _page([parent, *self.thread(parent.ts)], body)

    def _look_up(self, body: Body) -> Answer:
        user = self.users.get(str(body.get("email", "")))
        if user is None:
            raise Refused("users_not_found")
        return {"user": {"id": user}}

    def _complete_upload(self, body: Body) -> Answer:
        channel = self._channel(str(body.get("channel_id", "")), by_name=False)
        files = body.get("files") or []
        files = json.loads(files) if isinstance(files, str) else files
        if not files or any(item.get("id") not in self.uploads for item in files):
            raise Refused("file_not_found")
        for item in files:
            message = self._message(channel.id, {"text": str(body.get("initial_comment") or "")})
            message.thread_ts = body.get("thread_ts")
            message.file = str(item.get("title") or item["id"])
            self._add(message)
        return {"files": [{"id": item["id"]} for item in files]}

    def _start_upload(self, body: Body) -> Answer:
        """The address is a path here; the fake puts its own host before it."""
        if not body.get("filename") or int(body.get("length") or 0) <= 0:
            raise Refused("invalid_arguments")
        self._serial += 1
        file = f"F0SIM{self._serial:04d}"
        return {"file_id": file, "upload_url": f"/upload/{file}"}

    def _channel(self, given: str, *, by_name: bool) -> FakeChannel:
        named = {f"#{c.name}": c for c in self.channels.values()} | {c.name: c for c in self.channels.values()}
        channel = self.channels.get(given) or (named.get(given) if by_name else None)
        if channel is None:
            raise Refused("channel_not_found")
        if not channel.member:
            raise Refused("not_in_channel")
        if channel.archived:
            raise Refused("is_archived")
        return channel

    def _find(self, channel: str, ts: str, missing: str = "message_not_found") -> FakeMessage:
        found = next((m for m in self.messages if m.channel == channel and m.ts == ts), None)
        if found is None:
            raise Refused(missing)
        return found

    def _message(self, channel: str, body: Body) -> FakeMessage:
        self._serial += 1
        return FakeMessage(
            channel=channel,
            ts=f"{int(self.clock())}.{self._serial:06d}",
            text=str(body.get("text") or "")[:TEXT_KEPT],
            attachments=list(body.get("attachments") or []),
            blocks=list(body.get("blocks") or []),
            metadata=body.get("metadata"),
        )

    def _add(self, message: FakeMessage) -> None:
        self.messages.append(message)
        self._tell(message)

    def _tell(self, message: FakeMessage) -> None:
        if self.on_message is not None:
            self.on_message(message)


def types_of(body: Body) -> list[str]:
    """Return the types of channels that a call of ``conversations.list`` asks for."""
    return [kind.strip() for kind in str(body.get("types", "public_channel")).split(",")]


def _described(channel: FakeChannel) -> Answer:
    states = {"is_private": channel.private, "is_archived": channel.archived, "is_member": channel.member}
    return {"id": channel.id, "name": channel.name, **states}


def _public(message: FakeMessage, *, metadata: bool) -> Answer:
    data = {"ts": message.ts, "text": message.text, "thread_ts": message.thread_ts}
    return {**data, "metadata": message.metadata} if metadata and message.metadata else data


def _page(messages: list[FakeMessage], body: Body) -> Answer:
    """Return the newest part that was asked for; metadata only on request."""
    oldest, limit = float(body.get("oldest", 0)), int(body.get("limit", 100))
    wanted = [message for message in messages if float(message.ts) >= oldest]
    metadata = str(body.get("include_all_metadata", "0")) in ("1", "true", "True")
    return {
        "messages": [_public(message, metadata=metadata) for message in wanted[:limit]],
        "has_more": len(wanted) > limit,
    }


def _drawn(message: FakeMessage, indent: str) -> list[str]:
    stamp = time.strftime("%H:%M", time.gmtime(float(message.ts)))
    marks = [f"edited {len(message.edits)}×"] if message.edits else []
    marks += ["also sent to the channel"] if message.broadcast else []
    marks += [f"file: {message.file}"] if message.file else []
    first, *rest = message.words.split("\n")
    head = f"{indent}[{stamp}] {first}" + (f"  ({', '.join(marks)})" if marks else "")
    return [head, *(" " * len(indent) + "        │ " + line for line in rest)]
