/**
 * The cluster that a command works with: calls whose warnings are printed, the resources that the server has, and the
 * namespace that is meant. It can be any server with the API of Kubernetes.
 */
import { apiVersionOf, parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ignoreNotFound, jsonBody, type RestClient } from "#client/rest-client.ts";
import type { ClientRequest } from "#client/transport.ts";
import { type CalledServer, connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { type Settings } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { namespaceFlag } from "./command.ts";
import {
  collectionPath,
  discover,
  type Discovered,
  type DiscoveredResource,
  pathPart,
  resourceNamed,
} from "./discovery.ts";
import { printWarnings } from "./print.ts";

/** Flags of commands that work with a cluster. */
export const clusterFlags = {
  ...connectionFlags,
  namespace: namespaceFlag("The namespace that is meant; default: the kubeconfig's, or default."),
};

type ClusterSettings = Settings<typeof clusterFlags>;

/** Opens the cluster to which the flags lead, and closes it when the work is done. Rejects with `StartError`. */
export async function withCluster<T>(
  settings: ClusterSettings,
  work: (cluster: OpenCluster) => Promise<T>,
): Promise<T> {
  const connection = await findServer(settings);
  /** The printed warnings: a server repeats one with each answer that it is about. */
  const warnings = new Set<string>();
  const warned = (texts: readonly string[]): void => {
    printWarnings(texts.filter((text) => !warnings.has(text)));
    for (const text of texts) warnings.add(text);
  };
  const open = (server: CalledServer) => new OpenCluster(server, connection.namespace, settings.namespace);
  return withServer(connection, (server) => work(open(server)), { warned });
}

interface ClusterCall extends Pick<ClientRequest, "method" | "path" | "accept" | "contentType"> {
  /** The value that is sent as JSON. */
  readonly body?: unknown;
}

/** The path and the resource of one object. */
export interface ObjectAddress {
  readonly resource: DiscoveredResource;
  /** The namespace; empty for objects outside of namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
}

export class OpenCluster {
  readonly rest: RestClient;
  /** The address of the server, for messages. */
  readonly url: string;
  /** The namespace of what names none. */
  readonly namespace: string;
  /** Whether the namespace is on the command line. */
  readonly isNamespaceGiven: boolean;
  #discovered: Promise<Discovered> | undefined;

  /** `initial` is the namespace of the kubeconfig, and `given` that of the command line. */
  constructor({ rest, url }: CalledServer, initial: string, given: string | undefined) {
    this.rest = rest;
    this.url = url;
    this.namespace = given ?? initial;
    this.isNamespaceGiven = given !== undefined;
  }

  /** Sends a request and returns the value of the answer. Rejects as `CalledServer.rest` does. */
  call<T>({ body, contentType, ...request }: ClusterCall): Promise<T> {
    return this.rest.exact<T>({ ...request, ...(body === undefined ? {} : jsonBody(body, contentType)) });
  }

  /** Returns the object at a path; `undefined` if there is none. */
  find<T>(path: string): Promise<T | undefined> {
    return ignoreNotFound(this.call<T>({ method: "GET", path }));
  }

  /** Returns the resources of all versions. They are read once. */
  discovered(): Promise<Discovered> {
    return (this.#discovered ??= discover(this.rest, "all"));
  }

  /** Returns the resource that a word names, as `resourceNamed` explains. */
  async resource(word: string): Promise<DiscoveredResource> {
    return resourceNamed(await this.discovered(), word);
  }

  /** Returns the resource of an object. Rejects with `StartError`, which names the group that may be meant. */
  async resourceOf({ apiVersion = "", kind = "" }: Unstructured): Promise<DiscoveredResource> {
    const { resources, missing } = await this.discovered();
    const found = resources.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
    if (found !== undefined) return found;
    const group = parseApiVersion(apiVersion)?.group ?? "";
    const near = resources.find((one) => one.kind === kind && isSameButDomain(one.group, group));
    const down = missing.length === 0 ? "" : ` (not asked: ${missing.join("; ")})`;
    const meant =
      near === undefined
        ? "binnacle api-resources lists the kinds that it has"
        : `it has ${kind} in ${apiVersionOf(near)}, so write that as the apiVersion`;
    throw new StartError(`the server has no kind ${kind} in ${apiVersion}: ${meant}${down}`);
  }

  /** Returns the address of an object of a file. */
  async addressOf(object: Unstructured): Promise<ObjectAddress> {
    const { name = "", namespace = this.namespace } = object.metadata;
    return this.address(await this.resourceOf(object), name, namespace);
  }

  /** Returns the address of an object. Throws `NoName`. */
  address(resource: DiscoveredResource, name: string, namespace = this.namespace): ObjectAddress {
    const own = resource.namespaced ? namespace : "";
    return { resource, namespace: own, name, path: `${collectionPath(resource, own)}/${pathPart(name)}` };
  }

  /** Returns the full name of a built-in group on this server, such as `rbac.authorization.platform.io`. */
  async groupOf(beginning: string): Promise<string> {
    const { resources } = await this.discovered();
    const groups = resources.map(({ group }) => group).filter((group) => group.startsWith(`${beginning}.`));
    const found = groups.find((group) => group === `${beginning}.k8s.io`) ?? groups[0];
    if (found === undefined) throw new StartError(`the server has no group ${beginning}`);
    return found;
  }
}

/** Whether two groups differ in their domain alone, as `apps.k8s.io` and `apps.platform.io` would. */
function isSameButDomain(one: string, other: string): boolean {
  const bare = (group: string): string => group.split(".").slice(0, -2).join(".");
  return one !== other && bare(one) !== "" && bare(one) === bare(other);
}

/** Returns how an object is named in output, as kubectl does: `configmap/a`, `deployment.apps/web`. */
export const shownName = ({ singular, group }: DiscoveredResource, name: string): string =>
  printable(`${singular}${group === "" ? "" : `.${group}`}/${name}`);
