/** The controllers a server runs, by their upstream names, and how `--controllers` selects them. */
import type { RestClient } from "#client/rest-client.ts";
import { apiServicesController, type LocalVersions } from "#controllers/api-services.ts";
import type { Controller } from "#controllers/controller.ts";
import { claimAttributesClassController } from "#controllers/claim-attributes-class.ts";
import { claimProtectionController } from "#controllers/claim-protection.ts";
import { clusterRoleAggregationController } from "#controllers/cluster-role-aggregation.ts";
import { namespaceController } from "#controllers/namespace.ts";
import { volumeProtectionController } from "#controllers/volume-protection.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { controllerName } from "./controller-names.ts";

/** `attributesClasses` is the served version of volume attributes classes; empty when they are not served. */
const controllers = (attributesClasses: string): readonly (readonly [name: string, controller: Controller])[] => [
  ["clusterrole-aggregation-controller", clusterRoleAggregationController],
  ["namespace-controller", namespaceController],
  ["persistentvolume-protection-controller", volumeProtectionController],
  ["persistentvolumeclaim-protection-controller", claimProtectionController],
  ...(attributesClasses === ""
    ? []
    : ([["volumeattributesclass-controller", claimAttributesClassController(attributesClasses)]] as const)),
];

export interface ControllersOptions {
  readonly client: RestClient;
  readonly clock: Clock;
  readonly domain: ApiDomain;
  readonly log: Log;
  /** Values of `--controllers`: `*`, a name, or `-` and a name. Empty: all. */
  readonly selected: readonly string[];
  /** Served version of volume attributes classes; empty when they are not served. */
  readonly attributesClasses: string;
  readonly localVersions: LocalVersions;
}

/** Starts the selected controllers. The returned function ends them. */
export function startControllers({
  selected,
  log,
  attributesClasses,
  localVersions,
  ...environment
}: ControllersOptions): () => Promise<void> {
  const stop = new AbortController();
  const chosen = controllers(attributesClasses).filter(([name]) => isSelected(name, selected));
  // Upstream: part of the API server itself, so nobody can deselect it.
  const running = [...chosen, ["autoregister-controller", apiServicesController(localVersions)] as const].map(
    ([name, controller]) => {
      const controllerLog = {
        warn: (fields: object, message: string) => log.warn({ controller: name, ...fields }, message),
      };
      return controller({ ...environment, log: controllerLog, signal: stop.signal });
    },
  );
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

/** The first entry that names the controller decides, then `*`. */
function isSelected(name: string, selected: readonly string[]): boolean {
  for (const entry of selected) {
    if (controllerName(entry) === name) return true;
    if (entry.startsWith("-") && controllerName(entry.slice(1)) === name) return false;
  }
  return selected.length === 0 || selected.includes("*");
}
