/**
 * The API domain of a cluster: the end of the names of its groups, `k8s.io` or the name that a server of Binnacle has
 * instead. It is found once, from the list of groups, and only when a group of that domain is used.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import { ApiError } from "../api-error.ts";
import type { RestClient } from "../rest-client.ts";

/** The part of the answer of `/apis` that is read here. */
interface GroupList {
  readonly groups: readonly { readonly name: string }[];
}

interface Found {
  readonly domain: string;
  readonly groups: ReadonlySet<string>;
}

/** Beginnings of the names of built-in groups. Other software has groups with some of them too, hence the majority. */
const builtIn =
  /^(?:admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates|coordination|discovery|events|networking|node|rbac\.authorization|scheduling|storage)\.(.+)$/;

const suffix = ".k8s.io";

export class DomainFinder {
  readonly #rest: RestClient;
  #found: Promise<Found> | undefined;

  constructor(rest: RestClient) {
    this.#rest = rest;
  }

  /** Returns the domain: `k8s.io` or, for example, `platform.io`. */
  async domain(): Promise<string> {
    return (await this.#find()).domain;
  }

  /**
   * Returns the name of a group in the cluster. Groups of other domains keep their name and cause no request, and so do
   * groups that the cluster serves under it: definitions of custom resources are not renamed.
   */
  groupOf(group: string): MaybePromise<string> {
    if (!group.endsWith(suffix)) return group;
    return this.#find().then(({ domain, groups }) =>
      groups.has(group) ? group : `${group.slice(0, 1 - suffix.length)}${domain}`,
    );
  }

  #find(): Promise<Found> {
    this.#found ??= this.#ask().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #ask(): Promise<Found> {
    const names = await this.#names();
    const counts = new Map<string, number>();
    for (const name of names) {
      const domain = builtIn.exec(name)?.[1];
      if (domain !== undefined) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    }
    const [domain = "k8s.io"] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [];
    return { domain, groups: new Set(names) };
  }

  async #names(): Promise<readonly string[]> {
    try {
      const { groups } = await this.#rest.call<GroupList>({ method: "GET", path: "/apis" });
      return groups.map(({ name }) => name);
    } catch (error) {
      // Every user may see the list, unless an administrator took this right away. The usual names are a guess then.
      if (error instanceof ApiError && error.code === 403) return [];
      throw error;
    }
  }
}
