/** `binnacle export`: writes the objects of a running server as YAML or JSON for `binnacle import`, page by page. */
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { encodeYaml } from "#codec/yaml.ts";
import { apiVersionOf, qualifiedResource } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { inPages, pagePath } from "#client/pages.ts";
import type { ObjectList, RestClient } from "#client/rest-client.ts";
import { connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { binnacleFlag, boolean, optional } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import { command, formFlag, namespaceFlag, selectorFlag } from "./command.ts";
import { collectionPath, discover, resourceNamed, type DiscoveredResource } from "./discovery.ts";
import { carriedResources, inOrder, portable } from "./portable-object.ts";
import { printWarnings } from "./print.ts";

const flags = {
  ...connectionFlags,
  namespace: namespaceFlag("Only objects in this namespace; default: everything."),
  selector: selectorFlag("Only objects with these labels, as kubectl takes it."),
  status: boolean(binnacleFlag("status"), false, "Keeps the status of objects."),
  output: formFlag(["yaml", "json"], "YAML documents, or a line of JSON for each object."),
  out: optional(binnacleFlag("out"), "file", "Writes into this new file, readable by you only, and not to stdout."),
};

const help = `Writes objects of a running server, also of a Kubernetes cluster, so that binnacle import and kubectl take them.

Usage: binnacle export [KIND]... [flags]

  KIND                            plural, singular or short name of a kind, also with .GROUP; default: all kinds
  -h, --help                      print this

What the server gave is left out: uids, versions, times, owners of fields, addresses of services. So is what every
cluster makes for itself: events, leases, tokens of service accounts, endpoints of controllers. A kind that
you may not list is left out with a warning, and the command then ends with 1. Secrets are written as they are.

Examples:
  binnacle export > everything.yaml
  binnacle export deploy svc -n shop --kubeconfig ~/.kube/config | binnacle import - --dry-run

`;

const pageLimit = 250;

interface Wanted {
  readonly namespace: string;
  readonly selector: string;
  readonly keepsStatus: boolean;
}

/** Prints objects, or writes them to a file. Rejects with `StartError`. */
export const exportObjects = command(flags, help, async (settings, rest) => {
  const { namespace = "", selector = "", status = false, output = "yaml", out } = settings;
  await withServer(await findServer(settings), async ({ rest: client }) => {
    const discovered = await discover(client, "preferred");
    printWarnings(discovered.missing.map((text) => `left out: ${text}`));
    const chosen = rest.map((word) => resourceNamed(discovered, word));
    const all = chosen.length > 0 ? inOrder([...new Set(chosen)]) : carriedResources(discovered.resources);
    const resources = all.filter(({ namespaced }) => namespaced || namespace === "");
    if (resources.length < chosen.length)
      throw new StartError("--namespace is for kinds whose objects are in namespaces");
    const write = writerOf(out);
    let count = 0;
    try {
      for (const resource of resources) {
        try {
          for await (const object of listForExport(client, resource, { namespace, selector, keepsStatus: status })) {
            await write.text(documentText(object, output === "json", count === 0));
            count++;
          }
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          printWarnings([`left out ${qualifiedResource(resource)}: ${error.said}`]);
          process.exitCode = 1;
        }
      }
    } finally {
      write.close();
    }
    process.stderr.write(`${count === 1 ? "1 object" : `${count} objects`} exported\n`);
  });
});

const documentText = (object: Unstructured, isJson: boolean, isFirst: boolean): string =>
  isJson ? `${JSON.stringify(object)}\n` : `${isFirst ? "" : "---\n"}${encodeYaml(object).toString()}`;

/** Yields the objects of a resource in a form that another server accepts. */
async function* listForExport(
  client: RestClient,
  resource: DiscoveredResource,
  { namespace, selector, keepsStatus }: Wanted,
): AsyncGenerator<Unstructured> {
  const { kind } = resource;
  const apiVersion = apiVersionOf(resource);
  const labels = selector === "" ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
  const path = collectionPath(resource, namespace) + labels;
  const read = (token: string): Promise<ObjectList<Unstructured>> =>
    client.exact({ method: "GET", path: pagePath(path, token, pageLimit) });
  for await (const item of inPages(read)) {
    // Items of typed lists have neither kind nor version.
    const object = portable({ ...item, apiVersion, kind }, resource, keepsStatus);
    if (object !== undefined) yield object;
  }
}

interface Writer {
  text(text: string): Promise<void>;
  close(): void;
}

function writerOf(out: string | undefined): Writer {
  if (out === undefined) {
    return {
      async text(text) {
        if (!process.stdout.write(text)) await once(process.stdout, "drain");
      },
      close: () => undefined,
    };
  }
  try {
    const file = openSync(out, "wx", 0o600);
    return { text: async (text) => writeFileSync(file, text), close: () => closeSync(file) };
  } catch (error) {
    throw new StartError(`cannot write ${out}: ${reasonOf(error)}`, { cause: error });
  }
}
