/** Asks a member of etcd now and again for the size of its database. */
import type { Clock } from "#std/clock.ts";

import type { EtcdClient } from "./client.ts";

const answerMs = 5000;

/**
 * Begins to ask, every `everyMs` (0: never), and calls back with the bytes, or with `undefined` when there is no answer.
 * Returns a function that ends it.
 */
export function pollSize(
  client: EtcdClient,
  clock: Clock,
  everyMs: number,
  sized: (bytes: number | undefined) => void,
): () => void {
  let isStopped = everyMs <= 0;
  let cancel = (): void => undefined;
  const answered = (bytes: number | undefined): void => {
    if (isStopped) return;
    sized(bytes);
    cancel = clock.after(everyMs, ask);
  };
  const ask = (): void => {
    client.status({ timeoutMs: answerMs }).then(
      ({ dbBytes }) => answered(dbBytes),
      () => answered(undefined),
    );
  };
  if (!isStopped) ask();
  return () => {
    isStopped = true;
    cancel();
  };
}
