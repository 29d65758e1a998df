/**
 * Removes the protection finalizer of an object that is being deleted once it has no users. Users are looked up only
 * while such an object waits. Source: upstream's PVC and PV protection controllers.
 */
import type { RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { reconcile } from "./reconcile.ts";

/** `T` is the type of what is protected. */
export interface Protection<T extends ApiObject> {
  /** With Kubernetes' names. */
  readonly finalizer: string;
  /** The protected kind, for logs: `claim`. */
  readonly what: string;
  /** Path of all of them. */
  readonly path: string;
  /** Path of one. */
  pathOf(namespace: string, name: string): string;
  isUsed(object: T, client: RestClient): Promise<boolean> | boolean;
}

/** How long an object in use waits for the next look. */
const lookAgainMs = 1000;

export const protectionController =
  <T extends ApiObject>(protection: Protection<NoInfer<T>>): Controller =>
  (environment) => {
    const { what, path } = protection;
    const finalizer = environment.domain.rename(protection.finalizer);
    return reconcile(environment, {
      path,
      what: `${what}s`,
      logKey: what,
      failure: `could not release a ${what}; trying again`,
      workersMax: 4,
      keyOf: (object) =>
        waits(object, finalizer) ? `${object.metadata.namespace ?? ""}/${object.metadata.name}` : undefined,
      async work(key, queue) {
        const [namespace = "", name = ""] = key.split("/");
        const isDone = await release(environment, protection, finalizer, protection.pathOf(namespace, name));
        if (!isDone) queue.addAfter(key, lookAgainMs);
      },
    });
  };

const waits = ({ metadata }: ApiObject, finalizer: string): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;

/** Whether the object needs no more looks. */
async function release<T extends ApiObject>(
  { client }: ControllerEnvironment,
  protection: Protection<T>,
  finalizer: string,
  path: string,
): Promise<boolean> {
  try {
    const object = await client.get<T>(path);
    if (!waits(object, finalizer)) return true;
    if (await protection.isUsed(object, client)) return false;
    const finalizers = object.metadata.finalizers?.filter((text) => text !== finalizer) ?? [];
    await client.update<ApiObject>(path, { ...object, metadata: { ...object.metadata, finalizers } });
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return true;
    // A concurrent write: try again.
    if (error instanceof StatusError && error.status.code === 409) return false;
    throw error;
  }
}
