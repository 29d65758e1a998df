/**
 * Removes the protection finalizer of an object that is being deleted once it has no users. Users are looked up only
 * while such an object waits. Source: upstream's PVC and PV protection controllers.
 */
import { reflect } from "#client/reflector.ts";
import type { RestClient } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";

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
const workers = 4;

export const protectionController =
  <T extends ApiObject>(protection: Protection<NoInfer<T>>): Controller =>
  async (environment) => {
    const { reader, clock, signal, log, domain } = environment;
    const { what, path } = protection;
    const finalizer = domain.rename(protection.finalizer);
    const queue = new WorkQueue({
      clock,
      workersMax: workers,
      work: async (key) => {
        const [namespace = "", name = ""] = key.split("/");
        const isDone = await release(environment, protection, finalizer, protection.pathOf(namespace, name));
        if (!isDone) queue.addAfter(key, lookAgainMs);
      },
      failed: (key, error) => log.warn({ [what]: key, err: error }, `could not release a ${what}; trying again`),
    });
    signal.addEventListener("abort", () => queue.close(), { once: true });
    const look = (object: ApiObject): void => {
      const { namespace = "", name } = object.metadata;
      if (waits(object, finalizer)) queue.add(`${namespace}/${name}`);
    };
    await reflect({
      client: reader,
      clock,
      signal,
      path,
      replaced: (objects) => objects.forEach(look),
      changed: (type, object) => {
        if (type !== "DELETED") look(object);
      },
      failed: (error) => log.warn({ err: error }, `could not follow ${what}s; starting over`),
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
