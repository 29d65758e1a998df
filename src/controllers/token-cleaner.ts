/** Deletes expired bootstrap tokens. Source: upstream's token cleaner. */
import type { Secret } from "#api/core/v1.ts";
import { reflect } from "#client/reflector.ts";
import { found } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { tokenEnd, tokenSecrets, waitMaxMs } from "./bootstrap-tokens.ts";
import type { Controller } from "./controller.ts";

const workers = 2;

export const tokenCleanerController: Controller = async ({ client, reader, clock, signal, log, domain }) => {
  const { path, fieldSelector } = tokenSecrets(domain);
  const queue = new WorkQueue({
    clock,
    workersMax: workers,
    work: async (name) => {
      const secret = await found(client.get<Secret>(`${path}/${name}`));
      if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return;
      const end = tokenEnd(secret);
      if (end === undefined) return;
      const restMs = end - clock.now();
      if (restMs > 0) return queue.addAfter(name, Math.min(restMs, waitMaxMs));
      const { uid, resourceVersion } = secret.metadata;
      await found(client.delete(`${path}/${name}`, { preconditions: { uid, resourceVersion } }));
    },
    failed: (secret, err) => log.warn({ secret, err }, "could not delete a bootstrap token; trying again"),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });
  const look = (secret: Secret): void => {
    if (tokenEnd(secret) !== undefined) queue.add(secret.metadata.name ?? "");
  };
  await reflect<Secret>({
    client: reader,
    clock,
    signal,
    path,
    fieldSelector,
    replaced: (secrets) => secrets.forEach(look),
    changed: (type, secret) => {
      if (type !== "DELETED") look(secret);
    },
    failed: (err) => log.warn({ err }, "could not follow bootstrap tokens; starting over"),
  });
};
