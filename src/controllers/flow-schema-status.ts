/**
 * Sets the condition `Dangling` of flow schemas: whether their priority level is missing. Source: upstream's
 * `util/flowcontrol` controller.
 */
import type { FlowSchema, FlowSchemaCondition } from "#api/flowcontrol/v1.ts";
import { keyOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { untilAborted } from "#std/abort.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { openInformer, workQueue } from "./reconcile.ts";

const manager = "api-priority-and-fairness-config-consumer-v1";

/** Whether the schema has this condition, at any time. */
const says = (schema: FlowSchema, { type, status, reason, message }: FlowSchemaCondition): boolean =>
  schema.status.conditions?.some(
    (one) => one.type === type && one.status === status && one.reason === reason && one.message === message,
  ) === true;

/** Makes the condition of a schema whose priority level has this name. */
const danglingCondition = (level: string, isThere: boolean, nowMs: number): FlowSchemaCondition => ({
  type: "Dangling",
  status: isThere ? "False" : "True",
  lastTransitionTime: timestampOf(nowMs),
  reason: isThere ? "Found" : "NotFound",
  message: `This FlowSchema references the PriorityLevelConfiguration object named ${goQuote(level)} ${
    isThere ? "and it exists" : "but there is no such object"
  }`,
});

/** Makes the controller. The server itself runs it, and reads and writes as one user. */
export const flowSchemaStatusController = async (environment: Omit<ControllerEnvironment, "reader">): Promise<void> => {
  const { client, clock, domain, signal } = environment;
  const apiVersion = `${domain.rename("flowcontrol.apiserver.k8s.io")}/v1`;
  const path = `/apis/${apiVersion}/flowschemas`;
  const source = { ...environment, reader: client };
  const schemas = openInformer<FlowSchema>(source, { what: "flowschemas", path });
  const levels = openInformer<ApiObject>(source, {
    what: "prioritylevelconfigurations",
    path: `/apis/${apiVersion}/prioritylevelconfigurations`,
    trim: ({ metadata: { managedFields: _, ...metadata } }) => ({ metadata }),
  });

  const work = async (name: string): Promise<void> => {
    await levels.synced;
    const schema = schemas.get(name);
    if (schema === undefined) return;
    const level = schema.spec.priorityLevelConfiguration.name;
    const condition = danglingCondition(level, levels.get(level) !== undefined, clock.now());
    if (says(schema, condition)) return;
    const applied = { apiVersion, kind: "FlowSchema", metadata: { name }, status: { conditions: [condition] } };
    await ignoreNotFound(client.apply<FlowSchema>(`${path}/${encodeURIComponent(name)}/status`, manager, applied));
  };

  const queue = workQueue(environment, {
    name: "priority_and_fairness_config_queue",
    workersMax: 2,
    work,
    logKey: "schema",
    failure: "could not write the status of a flow schema; trying again",
  });

  schemas.subscribe(({ object }) => queue.add(keyOf(object)));
  levels.subscribe(({ type }) => {
    if (type !== "changed") for (const schema of schemas.list()) queue.add(keyOf(schema));
  });
  await untilAborted(signal);
};
