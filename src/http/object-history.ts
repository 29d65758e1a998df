/**
 * The history of one object: its versions in a served version of its kind, newest first, and `restore`
 * (`restore-object.ts`). It is not part of upstream's API. `docs/history.md` describes the answers.
 */
import type { ManagedFieldsEntry, Unstructured } from "#meta/object-meta.ts";
import { badRequest, methodUnknown, notFound, resourceNotFound, StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { isObject } from "#std/is-object.ts";
import { Yielder } from "#std/cooperative.ts";
import type { Revision } from "#storage/log-store.ts";
import type { KeyVersions, KeyVersion } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import { findVersion, type HistoryOptions, noVersions, type HistoryTarget, readVersions } from "./history-versions.ts";
import { restoreObject } from "./restore-object.ts";
import type { HandlerParts } from "./scope.ts";

const limitDefault = 50;
const limitMax = 500;

/** Answers the paths below `historyPrefix`. Permission for the verb has been checked. */
export function objectHistory(options: HistoryOptions): (request: HandledRequest) => Promise<Reply> {
  return async (request) => {
    const object = targetOf(options, request);
    request.seats?.slow();
    return request.info.verb === "restore"
      ? restoreObject(options, request, object)
      : listVersions(options, request, object);
  };
}

function targetOf({ table, stores }: HistoryOptions, { info }: HandledRequest): HistoryTarget {
  const { group, version, resource, name } = info;
  const definition = table().find(group, version, resource);
  if (definition === undefined) throw noDefinition(group, version, resource, name);
  const isNamespaceItself = group === "" && resource === "namespaces";
  // Invariant: the request was authorized as one about a namespace that lies in itself.
  if (isNamespaceItself && info.namespace !== name) throw resourceNotFound();
  const namespace = isNamespaceItself ? "" : info.namespace;
  if (!definition.stored) throw methodUnknown();
  if (definition.namespaced !== (namespace !== "")) {
    const scope = definition.namespaced ? "in a namespace" : "in no namespace";
    throw badRequest(`objects of ${qualifiedResource(definition)} are ${scope}`);
  }
  const store = stores.of(definition);
  return { definition, store, namespace, name, key: store.key(namespace, name) };
}

function noDefinition(group: string, version: string, resource: string, name: string): StatusError {
  const what = qualifiedResource({ group, resource });
  const message = `${what} are not served in version ${version}: without their definition their history cannot be read`;
  return new StatusError({ ...notFound({ group, resource }, name).status, message });
}

async function listVersions(options: HistoryOptions, request: HandledRequest, object: HistoryTarget): Promise<Reply> {
  const { query } = request;
  await options.parts.cache.fresh();
  const wanted = query.get("resourceVersion") ?? "";
  if (wanted !== "") {
    const match = await findVersion(options, request, object, object.store.parseVersion(wanted));
    return document(options, request, object, {
      versions: [match.version, ...match.older],
      limit: 1,
      lastPage: { ...match.lastPage, next: 0 },
    });
  }
  const limit = limitOf(query.get("limit") ?? "");
  const before = startOf(query.get("continue") ?? "");
  // One more version is read, which shows what the last one changed.
  const { versions, lastPage } = await readVersions(options, request, object, before, limit + 1);
  if (versions.length === 0 && before === undefined) throw noVersions(object, lastPage);
  return document(options, request, object, { versions, limit, lastPage });
}

/** Versions, newest first, of which `limit` are shown. */
interface Page {
  readonly versions: readonly KeyVersion[];
  readonly limit: number;
  readonly lastPage: KeyVersions;
}

/** Answers with the first `limit` versions; the version after them shows what the last one changed. */
async function document(
  { parts }: HistoryOptions,
  request: HandledRequest,
  object: HistoryTarget,
  { versions, limit, lastPage }: Page,
): Promise<Reply> {
  const { store } = object;
  const shown = versions.slice(0, limit);
  const read = {
    versions,
    conversions: await store.convertWithWebhook(
      versions.flatMap(({ entry }) => entry ?? []),
      request,
    ),
  };
  const yielder = new Yielder(parts.clock);
  const items: string[] = [];
  for (const [i, version] of shown.entries()) {
    // Objects are read through `read`, which keeps the results of a conversion webhook referenced.
    items.push(itemText(parts, object, version, read.versions[i + 1]));
    if (yielder.isDue) await yielder.pause();
  }
  const following = versions[limit];
  const next = following === undefined ? lastPage.next : following.revision + 1;
  const metadata = {
    resourceVersion: String(parts.cache.revision),
    ...(next === 0 ? {} : { continue: Buffer.from(`v1:${next}`).toString("base64url") }),
  };
  const since = {
    resourceVersion: String(lastPage.since),
    ...(lastPage.sinceMs === undefined ? {} : { time: timestampOf(lastPage.sinceMs) }),
  };
  const head = `{"kind":"ObjectHistory","apiVersion":"binnacle/v1","metadata":${JSON.stringify(metadata)},"since":${JSON.stringify(since)}`;
  return {
    code: 200,
    contentType: "application/json",
    compressible: true,
    bytes: Buffer.from(`${head},"items":[${items.join(",")}]}\n`),
  };
}

/** Returns one version as JSON. If the object cannot be read any more, a `problem` takes its place. */
function itemText(
  { objects }: HandlerParts,
  { store, definition }: HistoryTarget,
  version: KeyVersion,
  older: KeyVersion | undefined,
): string {
  const read = (one: KeyVersion | undefined): Unstructured | undefined => one?.entry && store.object(one.entry);
  let json = "";
  let object: Unstructured | undefined;
  let previous: Unstructured | undefined;
  let problem: string | undefined;
  try {
    if (version.replaces !== 0) previous = read(older);
    object = read(version);
    if (version.entry !== undefined) json = objects.servedBytes(definition, version.entry).toString().trimEnd();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    problem = error.status.message;
  }
  const writer = writerOf(object, previous);
  const facts = {
    resourceVersion: String(version.revision),
    event: version.entry === undefined ? "deleted" : version.replaces === 0 ? "created" : "updated",
    uid: (object ?? previous)?.metadata.uid,
    ...timeOf(version, object, writer),
    manager: writer?.entry.manager,
    operation: writer?.entry.operation,
    problem,
  };
  const text = JSON.stringify(facts);
  return json === "" ? text : `${text.slice(0, -1)},"object":${json}}`;
}

/** Returns the time at which a version was written, from the most exact source, and the name of the source. */
function timeOf(
  { writtenAt, replaces }: KeyVersion,
  object: Unstructured | undefined,
  writer: Writer | undefined,
): { readonly time?: string; readonly timeSource?: string } {
  const { creationTimestamp } = object?.metadata ?? {};
  if (replaces === 0 && typeof creationTimestamp === "string") {
    return { time: creationTimestamp, timeSource: "creationTimestamp" };
  }
  const time = writer?.gained === true ? writer.entry.time : undefined;
  if (time !== undefined) return { time, timeSource: "managedFields" };
  return writtenAt === undefined ? {} : { time: timestampOf(writtenAt), timeSource: "log" };
}

interface Writer {
  readonly entry: ManagedFieldsEntry;
  /**
   * Whether the entry has more fields than before, or others. A manager that only lost some may have lost them to
   * another one.
   */
  readonly gained: boolean;
}

/** Returns the newest of the entries that this version changed; of equally old ones, one that gained fields. */
function writerOf(object: Unstructured | undefined, previous: Unstructured | undefined): Writer | undefined {
  const before = previous?.metadata.managedFields ?? [];
  let writer: Writer | undefined;
  for (const entry of object?.metadata.managedFields ?? []) {
    if (before.some((other) => jsonEquals(other, entry))) continue;
    const gained = !before.some((other) => isSameManager(other, entry) && covers(other.fieldsV1, entry.fieldsV1));
    if (writer === undefined || isLater({ entry, gained }, writer)) writer = { entry, gained };
  }
  return writer;
}

function isLater(one: Writer, other: Writer): boolean {
  if (one.gained !== other.gained) return one.gained;
  return (one.entry.time ?? "") >= (other.entry.time ?? "");
}

const isSameManager = (one: ManagedFieldsEntry, other: ManagedFieldsEntry): boolean =>
  one.manager === other.manager && one.operation === other.operation && one.subresource === other.subresource;

/** Whether a set of fields, as managedFields write it, has all that another one has. */
function covers(fields: unknown, others: unknown): boolean {
  if (!isObject(others)) return true;
  if (!isObject(fields)) return Object.keys(others).length === 0;
  return Object.entries(others).every(([name, inner]) => Object.hasOwn(fields, name) && covers(fields[name], inner));
}

function limitOf(text: string): number {
  if (text === "") return limitDefault;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw badRequest(`limit: ${JSON.stringify(text)} must be a number from 1 on`);
  return Math.min(limit, limitMax);
}

function startOf(token: string): Revision | undefined {
  if (token === "") return undefined;
  const match = /^v1:(\d{1,15})$/.exec(Buffer.from(token, "base64url").toString());
  if (match === null) throw badRequest("the continue parameter is not one that this server gave");
  return Number(match[1]);
}
