/**
 * The vendor part of API names. Tables and code use Kubernetes' names. The domain is applied once, when tables are
 * loaded and strategies are built; names that many requests need are made once (`perDomain`).
 */

export interface ApiDomain {
  /** `k8s.io` for Kubernetes' own names, otherwise a DNS name such as `platform.io`. */
  readonly name: string;
  /** The first part of the names of system namespaces: `kube` or, for `platform.io`, `platform`. */
  readonly prefix: string;
  /** Replaces Kubernetes' names inside `text` by this domain's: groups, label and annotation prefixes, schema names. */
  readonly rename: (text: string) => string;
}

/** The domain with Kubernetes' own names. */
export const kubernetesDomain: ApiDomain = { name: "k8s.io", prefix: "kube", rename: (text) => text };

/**
 * Returns the domain called `name`. Its first label names the system namespaces (`platform.io` gives
 * `platform-system`).
 */
export function apiDomain(name: string): ApiDomain {
  if (name === "k8s.io") return kubernetesDomain;
  const prefix = name.split(".")[0] ?? name;
  const reversed = name.split(".").reverse().join(".");
  return {
    name,
    prefix,
    rename: (text) =>
      text
        .replaceAll("kubernetes.io", name)
        .replaceAll("k8s.io", name)
        .replaceAll("io.k8s.", `${reversed}.`)
        .replace(/\bkube-(system|public|node-lease)\b/g, `${prefix}-$1`),
  };
}

/**
 * Returns Kubernetes' name of a group: `authorization.k8s.io` for `authorization.platform.io`. Groups without the name of
 * the domain are returned unchanged.
 */
export const kubernetesGroup = (domain: ApiDomain, group: string): string =>
  group.endsWith(`.${domain.name}`) ? `${group.slice(0, -domain.name.length)}k8s.io` : group;

/** Returns a function that calls `make` once for each domain, for names that are needed while requests are served. */
export function perDomain<T>(make: (domain: ApiDomain) => T): (domain: ApiDomain) => T {
  const byDomain = new WeakMap<ApiDomain, T>();
  return (domain) => {
    let result = byDomain.get(domain);
    if (result === undefined) byDomain.set(domain, (result = make(domain)));
    return result;
  };
}

/** The group of options, of tables and of partial metadata. */
export const metaGroup = perDomain(({ rename }) => rename("meta.k8s.io"));
