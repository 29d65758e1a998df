/** A transport that can be stopped: takes no more requests then, and tells when the last one is over. */
import type { Transport } from "#client/transport.ts";
import { serviceUnavailable } from "#meta/status-error.ts";

export interface StoppableTransport extends Transport {
  /** Resolves when nothing is under way. Watches end by their own signals. */
  stop(): Promise<void>;
}

export function stoppableTransport(inner: Transport): StoppableTransport {
  const running = new Set<Promise<unknown>>();
  let isStopped = false;
  return {
    async request(request) {
      if (isStopped) throw serviceUnavailable("the server is shutting down");
      const answer = inner.request(request);
      running.add(answer);
      try {
        return await answer;
      } finally {
        running.delete(answer);
      }
    },
    stream(request, onLine) {
      if (isStopped) return Promise.reject(serviceUnavailable("the server is shutting down"));
      return inner.stream(request, onLine);
    },
    async stop() {
      isStopped = true;
      await Promise.allSettled(running);
    },
  };
}
