/**
 * Counts the watches that a write reaches, by kind, namespace or single object. Source: upstream's `watch_tracker`;
 * only selectors of a name (and of a pod's node) are distinguished.
 *
 * Hot path: a write of a kind without watches costs one look-up, others up to four.
 */
import type { RequestAttributes } from "#meta/request-attributes.ts";

/** The watches of a namespace or of the cluster: of all its objects, and of some by name. */
class WatchScope {
  all = 0;
  readonly names = new Map<string, number>();

  get isEmpty(): boolean {
    return this.all === 0 && this.names.size === 0;
  }

  add(name: string, by: 1 | -1): void {
    if (name === "") {
      this.all += by;
      return;
    }
    const count = (this.names.get(name) ?? 0) + by;
    if (count === 0) this.names.delete(name);
    else this.names.set(name, count);
  }

  seeing(name: string): number {
    return name === "" ? this.all : this.all + (this.names.get(name) ?? 0);
  }
}

interface Kind {
  readonly everywhere: WatchScope;
  readonly namespaces: Map<string, WatchScope>;
}

export class WatchCounts {
  readonly #kinds = new Map<string, Kind>();

  /** Counts a watch until the returned function is called, once. `url` has its selectors. */
  began(target: RequestAttributes, url: string): () => void {
    if (selectsNode(target, url)) return () => undefined;
    const { namespace, name } = target;
    this.#add(target, namespace, name, 1);
    return () => this.#add(target, namespace, name, -1);
  }

  /** Returns the number of watches that see a write. */
  seeing(target: RequestAttributes): number {
    const kind = this.#kinds.get(keyOf(target));
    if (kind === undefined) return 0;
    const { namespace, name } = target;
    const count = kind.everywhere.seeing(name);
    if (namespace === "") return count;
    return count + (kind.namespaces.get(namespace)?.seeing(name) ?? 0);
  }

  #add(target: RequestAttributes, namespace: string, name: string, by: 1 | -1): void {
    const key = keyOf(target);
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      kind = { everywhere: new WatchScope(), namespaces: new Map() };
      this.#kinds.set(key, kind);
    }
    const { everywhere, namespaces } = kind;
    const scope = namespace === "" ? everywhere : (namespaces.get(namespace) ?? new WatchScope());
    scope.add(name, by);
    if (namespace !== "") {
      if (scope.isEmpty) namespaces.delete(namespace);
      else namespaces.set(namespace, scope);
    }
    if (everywhere.isEmpty && namespaces.size === 0) this.#kinds.delete(key);
  }
}

const keyOf = ({ group, resource }: RequestAttributes): string => (group === "" ? resource : `${group}/${resource}`);

/** Whether a watch selects the pods of one node, as kubelets do: a write of a pod does not reach all of these. */
function selectsNode({ resource }: RequestAttributes, url: string): boolean {
  if (resource !== "pods" || !url.includes("spec.nodeName")) return false;
  const selector = new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("fieldSelector") ?? "";
  return /(?:^|,)spec\.nodeName==?[^=,]/.test(selector);
}
