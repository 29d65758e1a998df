/** The controllers a server runs, by their upstream names, and how `--controllers` selects them. */
import type { RestClient } from "#client/rest-client.ts";
import type { Controller } from "#controllers/controller.ts";
import { namespaceController } from "#controllers/namespace.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";

const controllers: readonly (readonly [name: string, controller: Controller])[] = [
  ["namespace-controller", namespaceController],
];

export interface ControllersOptions {
  readonly client: RestClient;
  readonly clock: Clock;
  readonly domain: ApiDomain;
  readonly log: Log;
  /** Values of `--controllers`: `*`, a name, or `-` and a name. Empty: all. */
  readonly selected: readonly string[];
}

/** Starts the selected controllers. The returned function ends them. */
export function startControllers({ selected, log, ...environment }: ControllersOptions): () => Promise<void> {
  const stop = new AbortController();
  const running = controllers
    .filter(([name]) => isSelected(name, selected))
    .map(([name, controller]) => {
      const controllerLog = {
        warn: (fields: object, message: string) => log.warn({ controller: name, ...fields }, message),
      };
      return controller({ ...environment, log: controllerLog, signal: stop.signal });
    });
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

/** Upstream accepts names with and without the ending. */
function isSelected(name: string, selected: readonly string[]): boolean {
  const names = [name, name.replace(/-controller$/, "")];
  if (names.some((text) => selected.includes(`-${text}`))) return false;
  return selected.length === 0 || selected.includes("*") || names.some((text) => selected.includes(text));
}
