/**
 * Creates the built-in flow schemas and priority levels, resets mandatory ones, and updates suggested ones unless users
 * took them over. Source: upstream's `registry/flowcontrol/ensurer`.
 */
import { isDeepStrictEqual } from "node:util";
import { autoUpdateAnnotation, bootstrapFlowControl, mandatoryNames } from "#api/bootstrap-flow-control.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/flowcontrol/v1.ts";
import { parseBool } from "#api/go-bool.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { ignoreCodes } from "./ignore-codes.ts";

const manager = "api-priority-and-fairness-config-producer-v1";

/** Reconciles the stored objects. Rejects with the first failure after everything was tried. */
export async function reconcileFlowControl(client: RestClient, domain: ApiDomain): Promise<void> {
  const { levels, schemas } = bootstrapFlowControl(domain);
  const root = `/apis/${domain.rename("flowcontrol.apiserver.k8s.io")}/v1`;
  const annotation = domain.rename(autoUpdateAnnotation);
  const results = await Promise.all([
    reconcile<PriorityLevelConfiguration>(client, {
      path: `${root}/prioritylevelconfigurations`,
      annotation,
      wanted: levels,
      keepShares: (wanted, { metadata, spec: { exempt } }) =>
        metadata.name === "exempt" && exempt !== undefined ? { ...wanted, exempt } : wanted,
    }),
    reconcile<FlowSchema>(client, { path: `${root}/flowschemas`, annotation, wanted: schemas }),
  ]);
  for (const result of results.flat()) if (result.status === "rejected") throw result.reason;
}

type Configuration = FlowSchema | PriorityLevelConfiguration;

interface Collection<T extends Configuration> {
  readonly path: string;
  readonly annotation: string;
  readonly wanted: readonly T[];
  /** Returns a spec with the present shares: those of the exempt level are the administrator's. */
  keepShares?(wanted: T["spec"], present: T): T["spec"];
}

async function reconcile<T extends Configuration>(
  client: RestClient,
  collection: Collection<T>,
): Promise<readonly PromiseSettledResult<void>[]> {
  const { path, annotation, wanted } = collection;
  const { items } = await client.list<T>(path);
  const present = new Map(items.map((object) => [object.metadata.name ?? "", object]));
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const unknown = items.filter((one) => !names.has(one.metadata.name) && readMark(one, annotation) === true);
  return Promise.allSettled([
    ...wanted.map((object) => reconcileOne(client, collection, object, present.get(object.metadata.name ?? ""))),
    ...unknown.map((object) => forget(client, path, object)),
  ]);
}

async function reconcileOne<T extends Configuration>(
  client: RestClient,
  { path, annotation, keepShares }: Collection<T>,
  object: T,
  before: T | undefined,
): Promise<void> {
  if (before === undefined) {
    // Another server may make it at the same time.
    await ignoreCodes([409], client.create<Configuration>(`${path}?fieldManager=${manager}`, object));
    return;
  }
  const { name = "" } = object.metadata;
  const mark = readMark(before, annotation);
  const isOurs = mandatoryNames.includes(name) || (mark ?? before.metadata.generation === 1);
  const spec = isOurs ? (keepShares?.(object.spec, before) ?? object.spec) : before.spec;
  if (mark === isOurs && isDeepStrictEqual(spec, before.spec)) return;
  const { metadata } = before;
  const marked =
    mark === isOurs
      ? metadata
      : { ...metadata, annotations: { ...metadata.annotations, [annotation]: String(isOurs) } };
  const next: T = { ...object, metadata: marked, spec };
  // A concurrent write is ignored; the next round checks again.
  await ignoreCodes([409], client.update<T>(`${path}/${encodeURIComponent(name)}?fieldManager=${manager}`, next));
}

/** Whether the server may update the spec; `undefined` when the annotation does not say. */
function readMark({ metadata }: ApiObject, annotation: string): boolean | undefined {
  const mark = parseBool(metadata.annotations?.[annotation] ?? "");
  return typeof mark === "boolean" ? mark : undefined;
}

/** Deletes an object that an earlier release made. */
async function forget(client: RestClient, path: string, { metadata }: ApiObject): Promise<void> {
  const { name = "", uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await ignoreCodes([404, 409], client.delete(`${path}/${encodeURIComponent(name)}`, { preconditions }));
}
