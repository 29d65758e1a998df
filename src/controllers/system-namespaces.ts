/** Creates the system namespaces. Source: upstream's system namespaces controller. */
import type { Namespace } from "#api/core/v1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { ignoreCodes } from "./ignore-codes.ts";

/** Returns the names of the system namespaces, in the API domain. */
function systemNamespaces(domain: ApiDomain): readonly string[] {
  return ["default", ...["kube-system", "kube-public", "kube-node-lease"].map((name) => domain.rename(name))];
}

/** Creates the system namespaces that are missing. */
export async function ensureSystemNamespaces(client: RestClient, domain: ApiDomain): Promise<void> {
  for (const name of systemNamespaces(domain)) {
    if ((await ignoreNotFound(client.get(`/api/v1/namespaces/${name}`))) !== undefined) continue;
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    // Another server may make it at the same time.
    await ignoreCodes([409], client.create<Namespace>("/api/v1/namespaces", object));
  }
}
