/**
 * Sets the condition `Dangling` of flow schemas: whether their priority level is missing. Source: upstream's
 * `util/flowcontrol` controller.
 */
import type { FlowSchema, FlowSchemaCondition, PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import { reflect } from "#client/reflector.ts";
import { found } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timestamp } from "#meta/time.ts";
import type { ControllerEnvironment } from "./controller.ts";

const manager = "api-priority-and-fairness-config-consumer-v1";

/** Whether the schema has this condition; its time does not matter. */
const says = (schema: FlowSchema, { type, status, reason, message }: FlowSchemaCondition): boolean =>
  schema.status.conditions?.some(
    (one) => one.type === type && one.status === status && one.reason === reason && one.message === message,
  ) === true;

/** Of the server itself, which reads and writes as one user. */
export const flowSchemaStatusController = async ({
  client,
  clock,
  domain,
  log,
  signal,
}: Omit<ControllerEnvironment, "reader">): Promise<void> => {
  const apiVersion = `${domain.rename("flowcontrol.apiserver.k8s.io")}/v1`;
  const path = `/apis/${apiVersion}/flowschemas`;
  const schemas = new Map<string, FlowSchema>();
  const levels = new Set<string>();
  const heard = { levels: false };

  const work = async (name: string): Promise<void> => {
    const schema = schemas.get(name);
    if (schema === undefined || !heard.levels) return;
    const level = schema.spec.priorityLevelConfiguration.name;
    const isThere = levels.has(level);
    const condition = {
      type: "Dangling",
      status: isThere ? "False" : "True",
      lastTransitionTime: timestamp(clock.now()),
      reason: isThere ? "Found" : "NotFound",
      message: `This FlowSchema references the PriorityLevelConfiguration object named ${goQuote(level)} ${
        isThere ? "and it exists" : "but there is no such object"
      }`,
    };
    if (says(schema, condition)) return;
    const applied = { apiVersion, kind: "FlowSchema", metadata: { name }, status: { conditions: [condition] } };
    await found(client.apply<FlowSchema>(`${path}/${encodeURIComponent(name)}/status`, manager, applied));
  };

  const queue = new WorkQueue({
    clock,
    workersMax: 2,
    work,
    failed: (schema, error) =>
      log.warn({ schema, err: error }, "could not write the status of a flow schema; trying again"),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });

  const lookAtAll = (): void => {
    for (const name of schemas.keys()) queue.add(name);
  };
  const follow = <T extends ApiObject>(
    resource: string,
    replaced: (names: ReadonlyMap<string, T>) => void,
    changed: (name: string, object: T | undefined) => void,
  ) =>
    reflect<T>({
      client,
      clock,
      signal,
      path: `/apis/${apiVersion}/${resource}`,
      replaced: (objects) => replaced(new Map(objects.map((object) => [object.metadata.name ?? "", object]))),
      changed: (type, object) => changed(object.metadata.name ?? "", type === "DELETED" ? undefined : object),
      failed: (error) => log.warn({ err: error }, `could not follow ${resource}; starting over`),
    });
  await Promise.all([
    follow<PriorityLevelConfiguration>(
      "prioritylevelconfigurations",
      (all) => {
        levels.clear();
        for (const name of all.keys()) levels.add(name);
        heard.levels = true;
        lookAtAll();
      },
      (name, object) => {
        if (levels.has(name) === (object !== undefined)) return;
        if (object === undefined) levels.delete(name);
        else levels.add(name);
        lookAtAll();
      },
    ),
    follow<FlowSchema>(
      "flowschemas",
      (all) => {
        schemas.clear();
        for (const [name, object] of all) schemas.set(name, object);
        lookAtAll();
      },
      (name, object) => {
        if (object === undefined) schemas.delete(name);
        else {
          schemas.set(name, object);
          queue.add(name);
        }
      },
    ),
  ]);
};
