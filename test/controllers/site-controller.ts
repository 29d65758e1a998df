/**
 * A controller as users write them, on a public client library: informers with caches, a work queue, a finalizer, a
 * dependent ConfigMap by server-side apply, and status conditions through the subresource. `Site`s become ConfigMaps
 * with one page per path, and are registered in a system outside the cluster.
 */
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  type Informer,
  type KubeConfig,
  KubernetesObjectApi,
  type KubernetesObject,
  makeInformer,
  type ObjectCache,
  PatchStrategy,
  setHeaderOptions,
  type V1Condition,
  type V1ConfigMap,
  type V1CustomResourceDefinition,
} from "@kubernetes/client-node";

export const group = "web.example.com";
const version = "v1";
const plural = "sites";
export const finalizer = `${group}/registered`;
export const manager = "site-controller";
const managedBy = "app.kubernetes.io/managed-by";

interface Site extends KubernetesObject {
  readonly spec: { readonly title: string; readonly paths?: readonly string[]; readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly pages?: number;
    readonly conditions?: readonly V1Condition[];
  };
}

export const siteDefinition: V1CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural, singular: "site", kind: "Site", listKind: "SiteList" },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                required: ["title"],
                properties: {
                  title: { type: "string", minLength: 1 },
                  paths: { type: "array", items: { type: "string" }, x_kubernetes_list_type: "set" },
                  replicas: { type: "integer", _default: 1, minimum: 0 },
                },
              },
              status: {
                type: "object",
                properties: {
                  observedGeneration: { type: "integer", format: "int64" },
                  pages: { type: "integer" },
                  conditions: {
                    type: "array",
                    x_kubernetes_list_type: "map",
                    x_kubernetes_list_map_keys: ["type"],
                    items: {
                      type: "object",
                      required: ["type", "status"],
                      properties: {
                        type: { type: "string" },
                        status: { type: "string", _enum: ["True", "False", "Unknown"] },
                        reason: { type: "string" },
                        message: { type: "string" },
                        observedGeneration: { type: "integer", format: "int64" },
                        lastTransitionTime: { type: "string", format: "date-time" },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

type Watched<T extends KubernetesObject> = Informer<T> & ObjectCache<T>;

export class SiteController {
  /** The titles of the sites in the outside system, by `namespace/name`. */
  readonly registered = new Map<string, string>();
  /** The number of times that an informer connected. */
  connections = 0;
  /** The errors after which work was repeated. */
  readonly failures: string[] = [];
  readonly #core: CoreV1Api;
  readonly #custom: CustomObjectsApi;
  readonly #objects: KubernetesObjectApi;
  readonly #sites: Watched<Site>;
  readonly #maps: Watched<V1ConfigMap>;
  readonly #waiting = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #work: Promise<void> = Promise.resolve();
  #stopped = true;

  constructor(config: KubeConfig) {
    this.#core = config.makeApiClient(CoreV1Api);
    this.#custom = config.makeApiClient(CustomObjectsApi);
    this.#objects = KubernetesObjectApi.makeApiClient(config);
    this.#sites = makeInformer<Site>(config, `/apis/${group}/${version}/${plural}`, () =>
      this.#custom.listCustomObjectForAllNamespaces({ group, version, plural }),
    );
    const labelSelector = `${managedBy}=${manager}`;
    this.#maps = makeInformer<V1ConfigMap>(
      config,
      "/api/v1/configmaps",
      () => this.#core.listConfigMapForAllNamespaces({ labelSelector }),
      labelSelector,
    );
    this.#sites.on("change", (site) => this.#enqueue(site.metadata?.namespace, site.metadata?.name));
    this.#maps.on("change", (map) => {
      const owner = map.metadata?.ownerReferences?.find((reference) => reference.kind === "Site");
      if (owner !== undefined) this.#enqueue(map.metadata?.namespace, owner.name);
    });
    for (const informer of [this.#sites, this.#maps]) {
      informer.on("connect", () => {
        this.connections += 1;
      });
      // The examples of the library do the same: after a failure, its user has to connect again.
      informer.on("error", (error: unknown) => this.#retry(error, () => void informer.start()));
    }
  }

  async start(): Promise<void> {
    this.#stopped = false;
    await Promise.all([this.#sites.start(), this.#maps.start()]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([this.#sites.stop(), this.#maps.stop()]);
    await this.#work;
  }

  #retry(error: unknown, action: () => void): void {
    if (this.#stopped) return;
    this.failures.push(error instanceof Error ? error.message : String(error));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, 50);
    this.#timers.add(timer);
  }

  /** Adds a key to the queue, unless it waits there already. Keys are processed one at a time. */
  #enqueue(namespace = "", name = ""): void {
    const key = `${namespace}/${name}`;
    if (this.#stopped || this.#waiting.has(key)) return;
    this.#waiting.add(key);
    this.#work = this.#work.then(async () => {
      this.#waiting.delete(key);
      if (this.#stopped) return;
      try {
        await this.#reconcile(namespace, name);
      } catch (error) {
        this.#retry(error, () => this.#enqueue(namespace, name));
      }
    });
  }

  async #reconcile(namespace: string, name: string): Promise<void> {
    const site = this.#sites.get(name, namespace);
    if (site === undefined) return;
    const finalizers = site.metadata?.finalizers ?? [];
    if (site.metadata?.deletionTimestamp !== undefined) {
      if (!finalizers.includes(finalizer)) return;
      await unlessGone(this.#core.deleteNamespacedConfigMap({ namespace, name: `${name}-pages` }));
      this.registered.delete(`${namespace}/${name}`);
      const rest = finalizers.filter((other) => other !== finalizer);
      await unlessGone(this.#patchFinalizers(site, rest));
      return;
    }
    if (!finalizers.includes(finalizer)) {
      // The informer delivers this change again.
      await this.#patchFinalizers(site, [...finalizers, finalizer]);
      return;
    }
    this.registered.set(`${namespace}/${name}`, site.spec.title);
    const map = await this.#applyMap(site);
    await this.#patchStatus(site, Object.keys(map.data ?? {}).length);
  }

  /** Sends a merge patch with the version of the object, so that no other finalizer is lost. */
  async #patchFinalizers(site: Site, finalizers: readonly string[]): Promise<void> {
    const { namespace = "", name = "", resourceVersion } = site.metadata ?? {};
    await this.#custom.patchNamespacedCustomObject(
      { group, version, plural, namespace, name, body: { metadata: { finalizers, resourceVersion } } },
      setHeaderOptions("Content-Type", PatchStrategy.MergePatch),
    );
  }

  #applyMap(site: Site): Promise<V1ConfigMap> {
    const { namespace = "", name = "", uid = "" } = site.metadata ?? {};
    const paths = site.spec.paths ?? ["/"];
    const map: V1ConfigMap = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: `${name}-pages`,
        namespace,
        labels: { [managedBy]: manager },
        ownerReferences: [{ apiVersion: `${group}/${version}`, kind: "Site", name, uid, controller: true }],
      },
      data: Object.fromEntries(
        paths.map((path) => [`page${path.replaceAll("/", ".")}`, `<h1>${site.spec.title}</h1>`]),
      ),
    };
    return this.#objects.patch(map, undefined, undefined, manager, true, PatchStrategy.ServerSideApply);
  }

  async #patchStatus(site: Site, pages: number): Promise<void> {
    const { namespace = "", name = "", generation = 0 } = site.metadata ?? {};
    const before = site.status?.conditions?.find((condition) => condition.type === "Ready");
    if (site.status?.observedGeneration === generation && site.status.pages === pages && before !== undefined) return;
    const condition = {
      type: "Ready",
      status: pages > 0 ? "True" : "False",
      reason: pages > 0 ? "Published" : "NoPages",
      message: `${pages} pages`,
      observedGeneration: generation,
    };
    const lastTransitionTime =
      before?.status === condition.status ? before.lastTransitionTime : new Date().toISOString().replace(/\.\d+/, "");
    const status = {
      observedGeneration: generation,
      pages,
      conditions: [{ ...condition, lastTransitionTime }],
    };
    await this.#custom.patchNamespacedCustomObjectStatus(
      { group, version, plural, namespace, name, fieldManager: manager, body: { status } },
      setHeaderOptions("Content-Type", PatchStrategy.MergePatch),
    );
  }
}

/** Waits for work, and ignores that the object is deleted already. */
async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ApiException) || error.code !== 404) throw error;
  }
}
