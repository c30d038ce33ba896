"""Whether new contracts can read what old ones wrote: fields keep number, name and type, topics keep their message."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet

from aico_memory.contracts.registry import FILES
from aico_memory.contracts.v1 import options_pb2


def current_descriptors() -> FileDescriptorSet:
    """The descriptors of the contracts as they stand, in a stable order."""
    found = FileDescriptorSet()
    for file in sorted(FILES, key=lambda each: each.name):
        file.CopyToProto(found.file.add())
    return found


def incompatibilities(old: FileDescriptorSet, new: FileDescriptorSet) -> list[str]:
    """What of `old` does not stand unchanged in `new`, one sentence each; additions are fine."""
    return [*_messages(old, new), *_enums(old, new)]


def _messages(old: FileDescriptorSet, new: FileDescriptorSet) -> Iterator[str]:
    after = dict(_walk(new))
    for name, message in _walk(old):
        if name not in after:
            yield f"message {name} is gone"
            continue
        fields = {field.number: field for field in after[name].field}
        for field in message.field:
            successor = fields.get(field.number)
            if successor is None:
                yield f"field {name}.{field.name} ({field.number}) is gone"
            elif _shape(field) != _shape(successor):
                yield f"field {name}.{field.name} ({field.number}) changed its name, type or label"
        was, now = (each.options.Extensions[options_pb2.topic] for each in (message, after[name]))
        # An answer where there was none is an addition: who asks for none gets none.
        if (was.name, was.delivery) != (now.name, now.delivery) or was.reply not in ("", now.reply):
            yield f"message {name} changed its topic {was.name!r}: give the topic a new version instead"


def _enums(old: FileDescriptorSet, new: FileDescriptorSet) -> Iterator[str]:
    after = {(file.package, enum.name): enum for file in new.file for enum in file.enum_type}
    for file in old.file:
        for enum in file.enum_type:
            successor = after.get((file.package, enum.name), EnumDescriptorProto())
            values = {(value.name, value.number) for value in successor.value}
            for value in enum.value:
                if (value.name, value.number) not in values:
                    yield f"enum value {enum.name}.{value.name} ({value.number}) is gone"


def _walk(files: FileDescriptorSet) -> Iterator[tuple[str, DescriptorProto]]:
    def inside(prefix: str, messages: Iterator[DescriptorProto]) -> Iterator[tuple[str, DescriptorProto]]:
        for message in messages:
            name = f"{prefix}.{message.name}"
            yield name, message
            yield from inside(name, iter(message.nested_type))

    for file in files.file:
        yield from inside(file.package, iter(file.message_type))


def _shape(field: FieldDescriptorProto) -> tuple[object, ...]:
    return tuple(getattr(field, part) for part in ("name", "type", "label", "type_name", "proto3_optional"))
