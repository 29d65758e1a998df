/** Composes the handlers of a server. Stands in until the real composition lands: only the server's own paths answer. */
import { resourceNotFound, StatusError } from "#meta/status-error.ts";
import type { AssembleConfig, Assembled } from "./assemble-config.ts";

export function assemble(config: AssembleConfig): Promise<Assembled> {
  return Promise.resolve({
    async handle(request) {
      try {
        const reply = await config.endpoints(request);
        if (reply !== undefined) return reply;
        throw resourceNotFound();
      } catch (error) {
        const { status } = error instanceof StatusError ? error : resourceNotFound();
        return { code: status.code, bytes: Buffer.from(JSON.stringify(status)), contentType: "application/json" };
      }
    },
    serves: () => false,
    close: () => Promise.resolve(),
  });
}
