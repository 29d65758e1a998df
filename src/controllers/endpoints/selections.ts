/** Tells which services select each pod, and which changes affect their endpoints. */
import type { Pod, Service } from "#api/core/v1.ts";
import { type InformerEvent, keyOf, statesOf } from "#client/informer.ts";
import type { SharedInformers } from "../shared-informers.ts";

export class Selections {
  readonly #informers: SharedInformers;
  /** Whether some service has selected pods. */
  #followsPods = false;

  constructor(informers: SharedInformers) {
    this.#informers = informers;
  }

  /**
   * Calls the listener with the key of a service that is new, changed or deleted, or whose pods are. Pods are read once
   * a service selects some.
   */
  listen(listener: (key: string) => void): void {
    this.#informers.services.subscribe(({ object: service }) => {
      if (!this.#followsPods && selects(service)) {
        this.#followsPods = true;
        this.#informers.pods.subscribe((event) => this.#podChanged(event, listener));
      }
      listener(keyOf(service));
    });
  }

  /** Resolves when services, and pods if any are selected, have been read. */
  async synced(): Promise<void> {
    await this.#informers.services.synced;
    if (this.#followsPods) await this.#informers.pods.synced;
  }

  service(key: string): Service | undefined {
    return this.#informers.services.get(key);
  }

  /** Returns the pods that a service selects, in an order that stays. */
  podsOf(service: Service): Pod[] {
    return this.#informers.pods
      .in(service.metadata.namespace ?? "")
      .filter(matcher(service))
      .sort((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  }

  #podChanged(event: InformerEvent<Pod>, listener: (key: string) => void): void {
    if (event.type === "changed" && facts(event.previous) === facts(event.object)) return;
    for (const service of this.#informers.services.in(event.object.metadata.namespace ?? "")) {
      if (selects(service) && statesOf(event).some(matcher(service))) listener(keyOf(service));
    }
  }
}

/** Whether a controller maintains the endpoints of a service. */
export const selects = ({ spec }: Service): boolean =>
  spec.type !== "ExternalName" && spec.selector !== undefined && Object.keys(spec.selector).length > 0;

function matcher({ spec: { selector } }: Service): (pod: Pod) => boolean {
  const wanted = Object.entries(selector ?? {});
  return ({ metadata: { labels } }) => wanted.every(([key, value]) => labels?.[key] === value);
}

/** Returns the facts on which endpoints depend, as a text. */
function facts({ metadata, spec, status }: Pod): string {
  const { uid, labels, deletionTimestamp } = metadata;
  const { nodeName, hostname, subdomain, containers, initContainers } = spec;
  const { phase, podIP, podIPs, conditions } = status;
  return JSON.stringify([
    [uid, labels, deletionTimestamp],
    [nodeName, hostname, subdomain, containers, initContainers],
    [phase, podIP, podIPs, conditions?.find(({ type }) => type === "Ready")],
  ]);
}
