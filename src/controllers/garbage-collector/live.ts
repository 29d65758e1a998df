/** Live reads and writes of metadata. Every write names the version it is based on. */
import { ignoreNotFound, jsonBody, type RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { metadataTypes } from "../metadata-types.ts";
import { pathOf, type ServedResource } from "./served.ts";

export type Propagation = "Background" | "Foreground" | "Orphan";

export const foregroundFinalizer = "foregroundDeletion";
export const orphanFinalizer = "orphan";

export const deletesDependents = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer) === true;

export const orphansDependents = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && finalizers?.includes(orphanFinalizer) === true;

export class LiveObjects {
  readonly #client: RestClient;
  readonly #accept: string;

  constructor(client: RestClient, domain: ApiDomain) {
    this.#client = client;
    this.#accept = metadataTypes(domain).one;
  }

  /**
   * Reads an object; `undefined` when there is none. Also rejects with a 404 that does not name the object: then its
   * kind is not served at present, or another server answers, which proves nothing.
   */
  async get(of: ServedResource, namespace: string, name: string): Promise<ObjectMeta | undefined> {
    const path = pathOf(of, namespace, name);
    try {
      return (await this.#client.call<ApiObject>({ method: "GET", path, accept: this.#accept })).metadata;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404 && error.status.details?.name === name)
        return undefined;
      throw error;
    }
  }

  /** Deletes the object unless it has changed since; then it throws a conflict. Nothing happens when it is gone. */
  async remove(of: ServedResource, live: ObjectMeta, propagationPolicy: Propagation): Promise<void> {
    const { namespace = "", name = "", uid, resourceVersion } = live;
    const options = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy };
    const path = pathOf(of, namespace, name);
    await ignoreNotFound(this.#client.delete(path, { ...options, preconditions: { uid, resourceVersion } }));
  }

  /**
   * Replaces metadata fields unless the object has changed since; then it throws a conflict. Returns the new object;
   * `undefined` when it is gone.
   */
  async change(
    of: ServedResource,
    live: ObjectMeta,
    change: Partial<Pick<ObjectMeta, "finalizers" | "ownerReferences">>,
  ): Promise<ObjectMeta | undefined> {
    const { namespace = "", name = "", uid, resourceVersion } = live;
    const fields = Object.entries(change).map(([field, values]) => [field, values.length === 0 ? null : values]);
    const patch = { metadata: { uid, resourceVersion, ...Object.fromEntries(fields) } };
    const object = await ignoreNotFound(
      this.#client.call<ApiObject>({
        method: "PATCH",
        path: pathOf(of, namespace, name),
        ...jsonBody(patch, "application/merge-patch+json"),
        accept: this.#accept,
      }),
    );
    return object?.metadata;
  }

  /** Removes a finalizer; does nothing when it is not there. */
  async removeFinalizer(of: ServedResource, live: ObjectMeta, finalizer: string): Promise<void> {
    const { finalizers = [] } = live;
    if (!finalizers.includes(finalizer)) return;
    await this.change(of, live, { finalizers: finalizers.filter((one) => one !== finalizer) });
  }
}
