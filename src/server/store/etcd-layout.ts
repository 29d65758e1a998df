/**
 * The layout of kube-apiserver's data in etcd, so that this server can take over such an etcd and give it back: the paths
 * of built-in resources, and the values that kube-apiserver wrote.
 */
import { decodeJson } from "#codec/json.ts";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { readEnvelope } from "#codec/protobuf-envelope.ts";
import { type ApiDomain, kubernetesGroup } from "#meta/api-domain.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { toStoredForm } from "#registry/stored-object.ts";
import { ByteBudget } from "#schema/json-values.ts";
import { isObject } from "#std/is-object.ts";
import { definitionFromOld, isOldDefinition } from "./old-definitions.ts";

/** The paths that are not the name of the resource. Source: upstream's registries. */
const otherPaths: ReadonlyMap<string, string> = new Map([
  ["/replicationcontrollers", "controllers"],
  ["/endpoints", "services/endpoints"],
  ["/nodes", "minions"],
  ["/services", "services/specs"],
  ["networking.k8s.io/ingresses", "ingress"],
  ["apiextensions.k8s.io/customresourcedefinitions", "apiextensions.k8s.io/customresourcedefinitions"],
  ["apiregistration.k8s.io/apiservices", "apiregistration.k8s.io/apiservices"],
]);

/** Returns the paths of built-in resources in etcd by the group and resource of their keys. */
export function etcdPaths(builtIn: readonly ResourceDefinition[], domain: ApiDomain): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { group, resource, storage } of builtIn) {
    const path = otherPaths.get(`${kubernetesGroup(domain, group)}/${resource}`) ?? storage.resource;
    paths.set(`${storage.group === "" ? "core" : storage.group}/${storage.resource}`, domain.rename(path));
  }
  return paths;
}

/** Returns a function that turns values of kube-apiserver into stored objects of ours. It throws the reason. */
export function foreignReader(
  builtIn: readonly ResourceDefinition[],
  domain: ApiDomain,
): (key: string, bytes: Buffer) => Buffer {
  const paths = etcdPaths(builtIn, domain);
  return (key, bytes) => {
    const object = bytes[0] === openBrace ? readJson(bytes) : readProtobuf(builtIn, bytes);
    const [group = "", resource = ""] = key.split("/").slice(2);
    // Custom resources are stored in any of their versions.
    if (!paths.has(`${group}/${resource}`)) return toStoredForm(object);
    const current = isOldDefinition(object) ? definitionFromOld(object) : object;
    const { apiVersion = "", kind = "" } = current;
    return toStoredForm(current, definitionOf(builtIn, apiVersion, kind));
  };
}

const openBrace = 0x7b;

function definitionOf(builtIn: readonly ResourceDefinition[], apiVersion: string, kind: string): ResourceDefinition {
  const definition = builtIn.find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  if (definition === undefined) throw new Error(`objects of kind ${kind} in version ${apiVersion} cannot be read`);
  return definition;
}

function readJson(bytes: Buffer): Unstructured {
  const { value } = decodeJson(bytes);
  if (!isObject(value) || !isObject(value["metadata"])) throw new Error("the stored value is no object");
  return value as unknown as Unstructured; // it has metadata
}

const unbounded = (): ByteBudget => new ByteBudget(Number.POSITIVE_INFINITY, () => new Error("there is no bound"));

function readProtobuf(builtIn: readonly ResourceDefinition[], bytes: Buffer): Unstructured {
  const { apiVersion, kind } = readEnvelope(bytes);
  const definition = definitionOf(builtIn, apiVersion, kind);
  const encoding = protobufBodies;
  const body = { bytes, encoding, gvk: definition, fieldValidation: "Ignore", room: unbounded } as const;
  return { ...definition.decoder.decodeBody(body).object, kind, apiVersion };
}
