/** Tells which services select each pod, and which changes affect their endpoints. */
import type { Pod, Service } from "#api/core/v1.ts";
import { keyOf, type SharedInformer } from "../shared-informer.ts";
import type { SharedInformers } from "../shared-informers.ts";

export class Selections {
  readonly #services: SharedInformer<Service>;
  readonly #pods: SharedInformer<Pod>;
  /** Whether some service has selected pods. */
  #followsPods = false;

  constructor({ services, pods }: Pick<SharedInformers, "services" | "pods">) {
    this.#services = services;
    this.#pods = pods;
  }

  /**
   * Calls the listener with the key of a service that is new, changed or deleted, or whose pods are. Pods are read once
   * a service selects some.
   */
  listen(listener: (key: string) => void): void {
    this.#services.listen((before, after) => {
      const service = after ?? before!; // one of them is there
      if (!this.#followsPods && selects(service)) {
        this.#followsPods = true;
        this.#pods.listen((podBefore, podAfter) => this.#podChanged(podBefore, podAfter, listener));
      }
      listener(keyOf(service));
    });
  }

  /** Resolves when services, and pods if any are selected, have been read. */
  async synced(): Promise<void> {
    await this.#services.synced;
    if (this.#followsPods) await this.#pods.synced;
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get(namespace, name);
  }

  /** Returns the pods that a service selects, in an order that stays. */
  podsOf(service: Service): Pod[] {
    const matches = matcher(service);
    return [...this.#pods.in(service.metadata.namespace ?? "")]
      .filter(matches)
      .sort((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined, listener: (key: string) => void): void {
    const pod = after ?? before!; // one of them is there
    if (before !== undefined && after !== undefined && facts(before) === facts(after)) return;
    for (const service of this.#services.in(pod.metadata.namespace ?? "")) {
      if (!selects(service)) continue;
      const matches = matcher(service);
      if ((before !== undefined && matches(before)) || (after !== undefined && matches(after)))
        listener(keyOf(service));
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
