/**
 * Discovery documents in protobuf, in the API's envelope. The messages are few and small, so each is written by hand.
 * Field numbers: upstream's `generated.proto` of `meta/v1` and `apidiscovery`; empty plain fields are written too, as
 * upstream does.
 */
import type { DiscoveryKind, GroupDiscovery, GroupDiscoveryList, ResourceDiscovery } from "./aggregated.ts";
import type { ApiGroup, ApiGroupList, ApiResource, ApiResourceList, ApiVersions, GroupVersionName } from "./legacy.ts";

export type DiscoveryDocument = ApiVersions | ApiGroupList | ApiGroup | ApiResourceList | GroupDiscoveryList;

/** The document in its envelope. */
export function encodeDiscovery(document: DiscoveryDocument): Buffer {
  const { apiVersion = "", kind = "" } = document as { apiVersion?: string; kind?: string }; // read as texts only
  const envelope = [
    message(1, [text(1, apiVersion), text(2, kind)]),
    message(2, body(document)),
    text(3, ""),
    text(4, ""),
  ];
  return Buffer.concat([magic, ...envelope]);
}

const magic = Buffer.from("k8s\0");

function body(document: DiscoveryDocument): Buffer[] {
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

function groupBody({ name, versions, preferredVersion }: ApiGroup): Buffer[] {
  const names = (of: GroupVersionName): Buffer[] => [text(1, of.groupVersion), text(2, of.version)];
  return [text(1, name), ...versions.map((of) => message(2, names(of))), message(3, names(preferredVersion))];
}

function resourceBody(resource: ApiResource): Buffer[] {
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

function groupDiscoveryBody({ metadata, versions }: GroupDiscovery): Buffer[] {
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
        ...resources.map((of) => message(2, resourceDiscoveryBody(of))),
        text(3, freshness),
      ]),
    ),
  ];
}

function resourceDiscoveryBody(resource: ResourceDiscovery): Buffer[] {
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

function kindOf({ group, version, kind }: DiscoveryKind): Buffer {
  return message(2, [text(1, group), text(2, version), text(3, kind)]);
}

function text(number: number, value: string): Buffer {
  return message(number, [Buffer.from(value)]);
}

function texts(number: number, values: readonly string[] = []): Buffer[] {
  return values.map((value) => text(number, value));
}

/** A field of length and bytes: a text, or a message given as its fields. */
function message(number: number, parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...base128(length)]), ...parts]);
}

function varint(number: number, value: number): Buffer {
  return Buffer.from([number << 3, ...base128(value)]);
}

function base128(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}
