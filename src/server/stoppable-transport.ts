/** Transports that are stopped together: they take no more requests then, and tell when the last one is over. */
import type { Transport } from "#client/transport.ts";
import { serviceUnavailable } from "#meta/status-error.ts";

export interface StoppableTransports {
  /** The transport, to be used from now on in place of `inner`. */
  of(inner: Transport): Transport;
  /** Resolves when nothing is under way. Watches end by their own signals. */
  stop(): Promise<void>;
}

export function stoppableTransports(): StoppableTransports {
  const running = new Set<Promise<unknown>>();
  let isStopped = false;
  return {
    of: (inner) => ({
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
    }),
    async stop() {
      isStopped = true;
      await Promise.allSettled(running);
    },
  };
}
