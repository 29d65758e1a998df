/**
 * Signs the public config map `cluster-info` with every bootstrap token that allows signing, so that holders of the
 * token can trust it. Source: upstream's bootstrap signer; RFC 7515 with a detached payload.
 */
import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ConfigMap, Secret } from "#api/core/v1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import { signingToken, tokenEnd, tokenSecrets, waitMaxMs } from "./token-secrets.ts";
import type { Controller } from "../controller.ts";
import { ignoreCodes } from "../ignore-codes.ts";
import { follow, openInformer, workQueue } from "../reconcile.ts";

const mapName = "cluster-info";
const contentKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";

/**
 * Makes the controller. It publishes `kubeconfig`, a cluster without a user, if there is no config map at the start.
 * The client `publisher` does this, as the signer itself may only change the map.
 */
export const bootstrapSignerController =
  (publisher: RestClient, kubeconfig: string): Controller =>
  async (environment) => {
    const { client, clock, domain } = environment;
    const secrets = openInformer<Secret>(environment, { what: "what is signed", ...tokenSecrets(domain) });
    const maps = `/api/v1/namespaces/${domain.rename("kube-public")}/configmaps`;
    const path = `${maps}/${mapName}`;
    let isPublished = false;
    const queue = workQueue(environment, {
      name: "bootstrap_signer_queue",
      workersMax: 1,
      work: sign,
      logKey: "configMap",
      failure: "could not sign the cluster's information; trying again",
    });

    async function sign(): Promise<void> {
      if (!isPublished) {
        await publish();
        isPublished = true;
      }
      await secrets.synced;
      const map = await ignoreNotFound(client.get<ConfigMap>(path));
      const content = map?.data?.[contentKey];
      if (map?.data === undefined || content === undefined) return;
      const now = clock.now();
      const { signatures, next } = signContent(content, secrets.list(), now);
      const unsigned = Object.entries(map.data).filter(([key]) => !key.startsWith(signaturePrefix));
      const data = { ...Object.fromEntries(unsigned), ...signatures };
      if (next < Infinity) queue.addAfter(mapName, Math.min(next - now, waitMaxMs));
      if (!isDeepStrictEqual(data, map.data)) await ignoreNotFound(client.update<ConfigMap>(path, { ...map, data }));
    }

    async function publish(): Promise<void> {
      const data = { [contentKey]: kubeconfig };
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: mapName }, data };
      await ignoreCodes([409], publisher.create<ConfigMap>(maps, map));
    }

    queue.add(mapName);
    secrets.subscribe(() => queue.add(mapName));
    await follow(environment, {
      what: "what is signed",
      path: maps,
      fieldSelector: `metadata.name=${mapName}`,
      replaced: () => queue.add(mapName),
      changed: () => queue.add(mapName),
    });
  };

interface Signed {
  readonly signatures: Readonly<Record<string, string>>;
  /** The time at which the first of the tokens ends, in milliseconds since the epoch. */
  readonly next: number;
}

/** Returns the signatures of a content with all valid tokens, by key. */
function signContent(content: string, secrets: Iterable<Secret>, nowMs: number): Signed {
  const signatures: Record<string, string> = {};
  let next = Infinity;
  for (const secret of secrets) {
    const token = signingToken(secret);
    const end = tokenEnd(secret) ?? Infinity;
    if (token === undefined || end <= nowMs) continue;
    next = Math.min(next, end);
    signatures[signaturePrefix + token.id] = detachedSignature(content, token.id, token.token);
  }
  return { signatures, next };
}

/** Returns header and signature of a compact JWS, without its payload. The key is the whole token. */
function detachedSignature(payload: string, id: string, token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: id })).toString("base64url");
  const signed = `${header}.${Buffer.from(payload).toString("base64url")}`;
  return `${header}..${createHmac("sha256", token).update(signed).digest("base64url")}`;
}
