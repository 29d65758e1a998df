/**
 * Flow schemas and priority levels every cluster has: made where they are missing, and kept as suggested while the
 * server has the say. Mandatory ones always are what they have to be. Source: upstream's
 * `registry/flowcontrol/ensurer`.
 */
import { autoUpdateAnnotation, bootstrapFlowControl, mandatoryNames } from "#api/bootstrap-flow-control.ts";
import { parseBool } from "#api/go-bool.ts";
import { found, type RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { isSame } from "./bootstrap-policy.ts";

const manager = "api-priority-and-fairness-config-producer-v1";

/** Brings the store in line. Rejects with the first failure after everything was tried. */
export async function reconcileFlowControl(client: RestClient, domain: ApiDomain): Promise<void> {
  const { levels, schemas } = bootstrapFlowControl(domain);
  const root = `/apis/${domain.rename("flowcontrol.apiserver.k8s.io")}/v1`;
  const annotation = domain.rename(autoUpdateAnnotation);
  const collections = [
    { path: `${root}/prioritylevelconfigurations`, wanted: levels },
    { path: `${root}/flowschemas`, wanted: schemas },
  ];
  const settled = await Promise.all(
    collections.map(async ({ path, wanted }) => {
      const { items } = await client.list(path);
      const present = new Map(items.map((object) => [object.metadata.name ?? "", object]));
      const names = new Set(wanted.map(({ metadata }) => metadata.name));
      const unknown = items.filter((one) => !names.has(one.metadata.name) && readMark(one, annotation) === true);
      return Promise.allSettled([
        ...wanted.map((object) => settle(client, path, { object, present, annotation })),
        ...unknown.map((object) => forget(client, path, object)),
      ]);
    }),
  );
  for (const result of settled.flat()) if (result.status === "rejected") throw result.reason;
}

interface Wanted {
  readonly object: Unstructured;
  readonly present: ReadonlyMap<string, Unstructured>;
  readonly annotation: string;
}

async function settle(client: RestClient, path: string, { object, present, annotation }: Wanted): Promise<void> {
  const { name = "" } = object.metadata;
  const before = present.get(name);
  if (before === undefined) {
    await client.create(`${path}?fieldManager=${manager}`, object);
    return;
  }
  const mark = readMark(before, annotation);
  const isOurs = mandatoryNames.includes(name) || (mark ?? before.metadata.generation === 1);
  const spec = isOurs ? withShares(object["spec"], before) : before["spec"];
  if (mark === isOurs && isSame(spec, before["spec"])) return;
  const { metadata } = before;
  const marked =
    mark === isOurs
      ? metadata
      : { ...metadata, annotations: { ...metadata.annotations, [annotation]: String(isOurs) } };
  const next = { ...object, metadata: marked, spec };
  await tolerant(client.update(`${path}/${encodeURIComponent(name)}?fieldManager=${manager}`, next));
}

/** Whether the server has the say; `undefined` when the annotation says neither. */
function readMark({ metadata }: Unstructured, annotation: string): boolean | undefined {
  const mark = parseBool(metadata.annotations?.[annotation] ?? "");
  return typeof mark === "boolean" ? mark : undefined;
}

/** Shares of the exempt level are the administrator's. */
function withShares(spec: unknown, before: Unstructured): unknown {
  const { exempt } = (before["spec"] ?? {}) as { readonly exempt?: object | null }; // by its schema
  return before.metadata.name === "exempt" && exempt !== undefined && exempt !== null
    ? { ...(spec as object), exempt }
    : spec;
}

/** An object of a release before this one. */
async function forget(client: RestClient, path: string, { metadata }: Unstructured): Promise<void> {
  const { name = "", uid, resourceVersion } = metadata;
  await tolerant(
    found(client.delete(`${path}/${encodeURIComponent(name)}`, { preconditions: { uid, resourceVersion } })),
  );
}

/** Somebody else wrote meanwhile: the next round looks again. */
async function tolerant(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 409) throw error;
  }
}
