/**
 * Signs the public config map `cluster-info` with every bootstrap token that allows signing, so that holders of the
 * token can trust it. Source: upstream's bootstrap signer; RFC 7515 with a detached payload.
 */
import { createHmac } from "node:crypto";
import type { ConfigMap, Secret } from "#api/core/v1.ts";
import { reflect } from "#client/reflector.ts";
import { found, type RestClient } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { StatusError } from "#meta/status-error.ts";
import { signingToken, tokenEnd, tokenSecrets, waitMaxMs } from "./bootstrap-tokens.ts";
import type { Controller } from "./controller.ts";

const mapName = "cluster-info";
const contentKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";

/**
 * `kubeconfig` is what is published where there is no config map yet at the start: a cluster, and no user. By whom:
 * `publisher`, as the signer may only change the map.
 */
export const bootstrapSignerController =
  (publisher: RestClient, kubeconfig: string): Controller =>
  async ({ client, reader, clock, signal, log, domain }) => {
    const secrets = new Map<string, Secret>();
    const maps = `/api/v1/namespaces/${domain.rename("kube-public")}/configmaps`;
    const path = `${maps}/${mapName}`;
    let areSecretsKnown = false;
    let isPublished = false;
    const queue = new WorkQueue({
      clock,
      workersMax: 1,
      work: sign,
      failed: (configMap, err) =>
        log.warn({ configMap, err }, "could not sign the cluster's information; trying again"),
    });
    signal.addEventListener("abort", () => queue.close(), { once: true });

    async function sign(): Promise<void> {
      if (!isPublished) {
        await publish();
        isPublished = true;
      }
      if (!areSecretsKnown) return;
      const map = await found(client.get<ConfigMap>(path));
      const content = map?.data?.[contentKey];
      if (map?.data === undefined || content === undefined) return;
      const data = Object.fromEntries(Object.entries(map.data).filter(([key]) => !key.startsWith(signaturePrefix)));
      const now = clock.now();
      let next = Infinity;
      for (const secret of secrets.values()) {
        const token = signingToken(secret);
        const end = tokenEnd(secret) ?? Infinity;
        if (token === undefined || end <= now) continue;
        next = Math.min(next, end);
        data[signaturePrefix + token.id] = detachedSignature(content, token.id, token.token);
      }
      if (next < Infinity) queue.addAfter(mapName, Math.min(next - now, waitMaxMs));
      const isSame =
        Object.keys(data).length === Object.keys(map.data).length &&
        Object.entries(data).every(([key, value]) => map.data?.[key] === value);
      if (!isSame) await found(client.update<ConfigMap>(path, { ...map, data }));
    }

    async function publish(): Promise<void> {
      try {
        await publisher.create<ConfigMap>(maps, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: mapName },
          data: { [contentKey]: kubeconfig },
        });
      } catch (error) {
        if (!(error instanceof StatusError) || error.status.code !== 409) throw error;
      }
    }

    const failed = (err: unknown): void => log.warn({ err }, "could not follow what is signed; starting over");
    queue.add(mapName);
    await Promise.all([
      reflect<Secret>({
        client: reader,
        clock,
        signal,
        failed,
        ...tokenSecrets(domain),
        replaced(list) {
          secrets.clear();
          for (const secret of list) secrets.set(secret.metadata.name ?? "", secret);
          areSecretsKnown = true;
          queue.add(mapName);
        },
        changed(type, secret) {
          if (type === "DELETED") secrets.delete(secret.metadata.name ?? "");
          else secrets.set(secret.metadata.name ?? "", secret);
          queue.add(mapName);
        },
      }),
      reflect({
        client: reader,
        clock,
        signal,
        failed,
        path: maps,
        fieldSelector: `metadata.name=${mapName}`,
        replaced: () => queue.add(mapName),
        changed: () => queue.add(mapName),
      }),
    ]);
  };

/** Header and signature of a compact JWS, its payload left out. The key is the whole token. */
export function detachedSignature(payload: string, id: string, token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: id })).toString("base64url");
  const signed = `${header}.${Buffer.from(payload).toString("base64url")}`;
  return `${header}..${createHmac("sha256", token).update(signed).digest("base64url")}`;
}
