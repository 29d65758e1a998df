/**
 * Encodes discovery documents in protobuf, in the API's envelope. The messages are few and small, so their field
 * numbers are written by hand. Field numbers: upstream's `generated.proto` of `meta/v1` and `apidiscovery`; plain
 * fields are written even if they are empty, as upstream does.
 */
import type { Encoding } from "#codec/encoding.ts";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { writeEnvelope } from "#codec/protobuf-envelope.ts";
import { ProtobufWriter } from "#codec/protobuf-writer.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { GroupDiscovery, groupDiscoveryList } from "./aggregated.ts";
import type { ResourceDiscovery } from "./resource-discovery.ts";
import type { ApiGroup, ApiResource, apiGroup, apiGroupList, apiResourceList, apiVersions } from "./legacy.ts";

export type DiscoveryDocument = ReturnType<
  typeof apiVersions | typeof apiGroupList | typeof apiGroup | typeof apiResourceList | typeof groupDiscoveryList
>;

/** Protobuf as an encoding of discovery documents, for which there are neither lists nor watches. */
export const discoveryProtobuf: Encoding = {
  ...protobufBodies,
  sendsStored: false,
  hasJsonFrames: false,
  object: ({ value }) => encodeDiscovery(value as DiscoveryDocument), // callers encode no other values
  list: none,
  frame: none,
};

function none(): never {
  throw new Error("discovery has neither lists nor watches");
}

/** Encodes the document in its envelope. */
function encodeDiscovery(document: DiscoveryDocument): Buffer {
  // The members are read as texts only.
  const { apiVersion = "", kind = "" } = document as { apiVersion?: string; kind?: string };
  const writer = new ProtobufWriter();
  writeEnvelope(writer, apiVersion, kind, () => writeFields(writer, body(document)));
  return writer.finish();
}

/** Writes one field of a message. */
type Field = (writer: ProtobufWriter) => void;

/** Writes the fields in reverse order, since the writer writes messages from their end. */
function writeFields(writer: ProtobufWriter, fields: readonly Field[]): void {
  for (const write of fields.toReversed()) write(writer);
}

function body(document: DiscoveryDocument): Field[] {
  switch (document.kind) {
    case "APIVersions":
      return [
        ...texts(1, document.versions),
        ...document.serverAddressByClientCIDRs.map((of) =>
          message(2, [text(1, of.clientCIDR), text(2, of.serverAddress)]),
        ),
      ];
    case "APIGroupList":
      return document.groups.map((group) => message(1, groupBody(group)));
    case "APIResourceList":
      return [text(1, document.groupVersion), ...document.resources.map((of) => message(2, resourceBody(of)))];
    case "APIGroupDiscoveryList":
      return [
        message(1, [text(1, ""), text(2, ""), text(3, "")]),
        ...document.items.map((item) => message(2, groupDiscoveryBody(item))),
      ];
    default:
      return groupBody(document);
  }
}

function groupBody({ name, versions, preferredVersion }: ApiGroup): Field[] {
  const names = (of: typeof preferredVersion): Field[] => [text(1, of.groupVersion), text(2, of.version)];
  return [text(1, name), ...versions.map((of) => message(2, names(of))), message(3, names(preferredVersion))];
}

function resourceBody(resource: ApiResource): Field[] {
  return [
    text(1, resource.name),
    varint(2, resource.namespaced ? 1 : 0),
    text(3, resource.kind),
    message(4, texts(1, resource.verbs)),
    ...texts(5, resource.shortNames),
    text(6, resource.singularName),
    ...texts(7, resource.categories),
    text(8, resource.group ?? ""),
    text(9, resource.version ?? ""),
    text(10, resource.storageVersionHash ?? ""),
  ];
}

function groupDiscoveryBody({ metadata, versions }: GroupDiscovery): Field[] {
  return [
    message(1, [
      text(1, metadata.name ?? ""),
      ...[2, 3, 4, 5, 6].map((number) => text(number, "")),
      varint(7, 0),
      message(8, []),
    ]),
    ...versions.map(({ version, resources, freshness }) =>
      message(2, [
        text(1, version),
        ...(resources ?? []).map((of) => message(2, resourceDiscoveryBody(of))),
        text(3, freshness),
      ]),
    ),
  ];
}

function resourceDiscoveryBody(resource: ResourceDiscovery): Field[] {
  return [
    text(1, resource.resource),
    kindOf(resource.responseKind),
    text(3, resource.scope),
    text(4, resource.singularResource),
    ...texts(5, resource.verbs),
    ...texts(6, resource.shortNames),
    ...texts(7, resource.categories),
    ...(resource.subresources ?? []).map((part) =>
      message(8, [text(1, part.subresource), kindOf(part.responseKind), ...texts(4, part.verbs)]),
    ),
  ];
}

function kindOf({ group, version, kind }: GroupVersionKind): Field {
  return message(2, [text(1, group), text(2, version), text(3, kind)]);
}

const text =
  (number: number, value: string): Field =>
  (writer) =>
    writer.text(number, value);

const texts = (number: number, values: readonly string[] = []): Field[] => values.map((value) => text(number, value));

const varint =
  (number: number, value: number): Field =>
  (writer) =>
    writer.varint(number, value);

const message =
  (number: number, fields: readonly Field[]): Field =>
  (writer) =>
    writer.message(number, () => writeFields(writer, fields));
