/**
 * The history of objects in a served version of their kind: the versions of one object, newest first, and the other
 * requests of these paths: `restore` (`restore-object.ts`), collections (`collection-history.ts`) and the state at a time
 * (`state-at.ts`). It is not part of upstream's API. `docs/history.md` describes the answers.
 */
import { badRequest, methodUnknown, notFound, resourceNotFound, StatusError } from "#meta/status-error.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { Yielder } from "#std/cooperative.ts";
import type { KeyVersions, KeyVersion } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import { CollectionHistories } from "./collection-history.ts";
import { factsOf, itemText } from "./history-items.ts";
import { historyReply, limitOf, startOf } from "./history-page.ts";
import { findVersion, type HistoryOptions, noVersions, type HistoryTarget, readVersions } from "./history-versions.ts";
import { restoreObject } from "./restore-object.ts";
import { stateAt } from "./state-at.ts";

const asIs = { isNamed: false, showsPrevious: false };

/** Answers the paths below `historyPrefix`. Permission for the verb has been checked. */
export function objectHistory(options: HistoryOptions): (request: HandledRequest) => Promise<Reply> {
  const collections = new CollectionHistories(options);
  return async (request) => {
    const target = targetOf(options, request);
    request.seats?.slow();
    if (request.info.verb === "restore") return restoreObject(options, request, target);
    if (request.query.has("at")) return stateAt(options, request, target);
    return target.name === "" ? collections.answer(request, target) : listVersions(options, request, target);
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
  // A collection may be that of all namespaces.
  if (name === "" ? namespace !== "" && !definition.namespaced : definition.namespaced !== (namespace !== "")) {
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
    const isCreation = version.replaces === 0;
    const event = { ...version, isCreation, previous: isCreation ? undefined : read.versions[i + 1]?.entry };
    items.push(itemText(parts, object, event, asIs, factsOf(object, event)));
    if (yielder.isDue) await yielder.pause();
  }
  const following = versions[limit];
  const next = following === undefined ? lastPage.next : following.revision + 1;
  return historyReply("ObjectHistory", { ...lastPage, next, items, revision: parts.cache.revision });
}
