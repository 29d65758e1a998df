/**
 * Maintains the ConfigMap `extension-apiserver-authentication`, which tells aggregated API servers which certificates
 * and headers to trust. Source: upstream's `clusterauthenticationtrust`.
 */
import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ConfigMap } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { Controller } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { follow, workQueue } from "./reconcile.ts";

const name = "extension-apiserver-authentication";
/** The time between two looks: authorities change in files, without a notification. */
const periodMs = 60_000;

/**
 * Makes the controller. `data` returns what this server trusts: other servers add theirs to the same ConfigMap. Other keys
 * are removed.
 */
export const extensionAuthenticationController =
  (data: () => Readonly<Record<string, string>>): Controller =>
  async (environment) => {
    const { client, domain } = environment;
    const namespace = domain.rename("kube-system");
    const collection = `/api/v1/namespaces/${namespace}/configmaps`;
    const manager = `?fieldManager=${domain.prefix}-apiserver`;
    const queue = workQueue(environment, {
      name: "extension_authentication",
      workersMax: 1,
      async work() {
        const wanted = data();
        const path = `${collection}/${name}`;
        const present = await ignoreNotFound(client.get<ConfigMap>(path));
        if (present === undefined) {
          const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: wanted };
          await ignoreCodes([409], client.create<ConfigMap>(collection + manager, object));
        } else {
          const next = together(present.data ?? {}, wanted, environment.clock.now());
          if (!isDeepStrictEqual(next, { ...present.data })) {
            await client.update<ConfigMap>(path + manager, { ...present, data: next });
          }
        }
        queue.addAfter(name, periodMs);
      },
      logKey: "configMap",
      failure: "a ConfigMap of the server was not written; trying again",
    });
    await follow(
      { ...environment, reader: client },
      {
        what: "the ConfigMap of the server",
        path: collection,
        fieldSelector: `metadata.name=${name}`,
        replaced: () => queue.add(name),
        changed: () => queue.add(name),
      },
    );
  };

type Content = Readonly<Record<string, string>>;

/** Returns what is there together with what this server trusts, without expired certificates and what cannot be read. */
function together(present: Content, wanted: Content, nowMs: number): Content {
  const next: Record<string, string> = {};
  for (const [key, own] of Object.entries(wanted)) {
    const there = present[key] ?? "";
    if (there === "") next[key] = own;
    else if (key.endsWith("-ca-file")) next[key] = bundleOf(there + own, nowMs);
    else next[key] = JSON.stringify([...new Set([...namesIn(there), ...namesIn(own)])]);
  }
  return next;
}

function namesIn(text: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((name) => typeof name === "string") ? list : [];
  } catch {
    return [];
  }
}

/** Returns the certificates of a bundle once each, as PEM. */
function bundleOf(text: string, nowMs: number): string {
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return [...new Set(certificates)]
    .filter((pem) => isValid(pem, nowMs))
    .map((pem) => `${pem}\n`)
    .join("");
}

function isValid(pem: string, nowMs: number): boolean {
  try {
    return new X509Certificate(pem).validToDate.getTime() > nowMs;
  } catch {
    return false;
  }
}
