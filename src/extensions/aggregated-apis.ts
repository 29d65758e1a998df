/**
 * The group versions of other servers: those of APIService objects that name a service. They take precedence over kinds
 * of this server, as upstream.
 */
import type { APIService, APIServiceCondition } from "#api/apiregistration/v1.ts";

/** A group version of another server. */
export interface AggregatedApi {
  /** The name of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** Authorities of the server's certificate, as PEM; `undefined` for the machine's authorities. */
  readonly ca: string | undefined;
  readonly insecure: boolean;
  /** Whether its last check passed. */
  readonly isAvailable: boolean;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

const httpsPort = 443;

export class AggregatedApis {
  readonly #byName = new Map<string, AggregatedApi>();
  readonly #byVersion = new Map<string, AggregatedApi>();
  readonly #ownGroup: string;
  readonly #changed: (name: string) => void;

  /**
   * `ownGroup` is the group of APIServices: no APIService can take it over, because it could not be deleted afterwards.
   * `changed` is called for every change and removal of an API of another server.
   */
  constructor(ownGroup: string, changed: (name: string) => void) {
    this.#ownGroup = ownGroup;
    this.#changed = changed;
  }

  get size(): number {
    return this.#byName.size;
  }

  all(): Iterable<AggregatedApi> {
    return this.#byName.values();
  }

  findByName(name: string): AggregatedApi | undefined {
    return this.#byName.get(name);
  }

  find(group: string, version: string): AggregatedApi | undefined {
    return this.#byVersion.get(`${version}.${group}`);
  }

  clear(): void {
    const names = [...this.#byName.keys()];
    this.#byName.clear();
    this.#byVersion.clear();
    for (const name of names) this.#changed(name);
  }

  /** Sets the current object of a name; `undefined` when it was deleted. */
  set(name: string, object: APIService | undefined): void {
    const before = this.#byName.get(name);
    const isOwn = object?.spec.group === this.#ownGroup;
    const api = object === undefined || isOwn ? undefined : aggregatedApi(name, object);
    if (before === undefined && api === undefined) return;
    if (before !== undefined) this.#byVersion.delete(`${before.version}.${before.group}`);
    if (api === undefined) this.#byName.delete(name);
    else {
      this.#byName.set(name, api);
      this.#byVersion.set(`${api.version}.${api.group}`, api);
    }
    this.#changed(name);
  }
}

/** Returns the API; `undefined` when this server answers for it. */
function aggregatedApi(name: string, { spec, status }: APIService): AggregatedApi | undefined {
  const { service, group = "", version = "", caBundle = "", insecureSkipTLSVerify, ...priorities } = spec;
  // The core group always belongs to this server.
  if (service === undefined || group === "") return undefined;
  return {
    name,
    group,
    version,
    service: { namespace: service.namespace ?? "", name: service.name ?? "", port: service.port ?? httpsPort },
    ca: caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString(),
    insecure: insecureSkipTLSVerify === true,
    isAvailable: availableCondition(status?.conditions)?.status === "True",
    groupPriority: priorities.groupPriorityMinimum,
    versionPriority: priorities.versionPriority,
  };
}

/** Returns the condition about the availability of the API. */
const availableCondition = (conditions: readonly APIServiceCondition[] = []): APIServiceCondition | undefined =>
  conditions.find(({ type }) => type === "Available");
