/**
 * The watch of a collection. With `sendInitialEvents` (set by `listOptions` for watches from unset or 0) it starts with
 * the current objects and a bookmark (while the gate `WatchList` is on); otherwise after the requested version.
 */
import type { Encoding } from "#codec/encoding.ts";
import { type ApiDomain, perDomain } from "#meta/api-domain.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { ConvertedObjects } from "#registry/stored-object.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Reply } from "../api-request.ts";
import { MadeContent, StoredContent } from "../object-reply.ts";
import type { Allows } from "../negotiation.ts";
import type { ListOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { selectionOf } from "../selection.ts";
import { type EventView, type InitialListType, viewOf } from "../views.ts";
import { type EventObjects, type FrameEncoder, filterEntries, WatchStream } from "../watch-stream.ts";

export async function watchCollection(scope: Scope, options: ListOptions): Promise<Reply> {
  const { request, parts, definition, store } = scope;
  const { cache } = parts;
  const { filter, matching, name, namespace } = selectionOf(scope, options);
  const marksEnd = options.sendInitialEvents === true && options.allowWatchBookmarks && parts.streamsLists;
  const negotiated = parts.negotiator.stream(request, marksEnd ? withoutTables(parts.transforms) : parts.transforms);
  const isSingle = name !== undefined && (namespace !== "" || !definition.namespaced);
  const prefix = isSingle ? store.key(namespace, name) : store.collection(namespace);

  const { resourceVersion, sendInitialEvents } = options;
  // This comes before anything is waited for: of many watches that come together none would be known for slow.
  if (sendInitialEvents === true && !isSingle) request.seats?.slow();
  const isFresh = resourceVersion === "";
  const revision = isFresh || resourceVersion === "0" ? 0 : store.parseVersion(resourceVersion);
  if (isFresh) await cache.fresh();
  let initial: readonly Entry[] = [];
  let conversions: ConvertedObjects;
  let after: Revision = revision;
  let initialEventsEnd: Revision | undefined;
  if (sendInitialEvents === true) {
    if (revision > cache.revision) await store.reach(resourceVersion);
    const range = isSingle ? cache.range(prefix, { limit: 1 }) : await store.all(namespace, matching);
    const selectedEntries = isSingle ? range.entries.filter(({ key }) => key === prefix) : range.entries;
    if (filter !== undefined) conversions = await store.convertWithWebhook(selectedEntries, scope.context);
    initial = filter === undefined ? selectedEntries : await filterEntries(selectedEntries, filter, parts.clock);
    after = range.revision;
    if (marksEnd) initialEventsEnd = range.revision;
  } else if (revision === 0) {
    after = cache.revision;
  }

  const { timeoutSeconds } = options;
  const timeoutMs =
    timeoutSeconds !== undefined && timeoutSeconds > 0
      ? timeoutSeconds * 1000
      : parts.minRequestTimeoutMs * (1 + parts.random.next());
  const view = viewOf(scope, negotiated).events();
  const isConverted = definition.conversion?.webhook !== undefined;
  const events = (encoding: Encoding): WatchStream =>
    new WatchStream({
      cache,
      prefix,
      exact: isSingle,
      initial,
      conversions,
      after,
      ...(after > cache.revision ? { reached: () => store.reach(String(after)) } : {}),
      filter,
      matching,
      encoder: frameEncoder(scope, view, encoding),
      ...(isConverted ? { convert: (entries) => store.convertWithWebhook(entries, scope.context) } : {}),
      bookmarks: options.allowWatchBookmarks,
      initialEventsEnd,
      timeoutMs,
      clock: parts.clock,
      endsOfService: [definition.custom?.endOfService, parts.endOfService].filter((signal) => signal !== undefined),
      observe: (count, bytes) => parts.observeWatch(definition, count, bytes),
    });
  // The writer takes the connection over for the one upgrade that gets here, to a WebSocket.
  return { code: request.upgrade === undefined ? 200 : 101, encoding: negotiated.encoding, events };
}

/**
 * Allows no Tables: the bookmark that ends the initial events names the type of their list, and Tables are no lists.
 */
const withoutTables =
  (allows: Allows): Allows =>
  (encoding, kind, group, version) =>
    kind !== "Table" && allows(encoding, kind, group, version);

/** Encodes watch events of one view in one encoding. */
function frameEncoder(scope: Scope, view: EventView, encoding: Encoding): FrameEncoder {
  const { form, isPlain, list } = view;
  const { parts, definition } = scope;
  const hasEmptyFields = !isPlain || servingRulesOf(definition).bookmarksHaveEmptyFields;
  const shown = isPlain ? definition : undefined;
  const frame = (type: string, value: object): Buffer => encoding.frame(type, new MadeContent(value, shown));
  const objects: EventObjects = {
    peekDecoded: (entry, revision) => (parts.objects.isDecoded(entry) ? at(scope, entry, revision) : undefined),
    object: (entry, revision) => at(scope, entry, revision),
  };
  return {
    ...(isPlain ? { objects } : {}),
    // Frames of the same name are shared; most are JSON, so JSON needs no name of its own.
    name: encoding.hasJsonFrames || form === "" ? form : `${encoding.stream} ${form}`,
    isText: encoding.isText,
    headBytes: encoding.frameHeadBytes ?? 0,
    event(type, entry, revision) {
      if (isPlain && entry.revision === revision) {
        return encoding.frame(type, new StoredContent(parts.objects, definition, entry));
      }
      return frame(type, view.object(at(scope, entry, revision)));
    },
    bookmark(revision, initialEnd) {
      const annotations =
        initialEnd && list !== undefined
          ? endAnnotations(parts.domain, blueprintOf(encoding, list, hasEmptyFields))
          : undefined;
      const object = bookmarkOf(definition, revision, annotations, hasEmptyFields);
      return frame("BOOKMARK", view.object(object));
    },
    error: (status) => encoding.frame("ERROR", new MadeContent(status)),
  };
}

/** Returns the object of an entry as an event at `revision` shows it. */
function at(scope: Scope, entry: Entry, revision: Revision): Unstructured {
  const object = scope.parts.objects.object(scope.definition, entry);
  if (entry.revision === revision) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** Makes a bookmark. With `hasEmptyFields` it has the fields that a Go struct writes without a value. */
function bookmarkOf(
  definition: ResourceDefinition,
  revision: Revision,
  annotations: Readonly<Record<string, string>> | undefined,
  hasEmptyFields: boolean,
): Unstructured {
  return {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: {
      resourceVersion: String(revision),
      ...(hasEmptyFields ? { creationTimestamp: null } : {}),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}

const endAnnotationNames = perDomain(({ rename }) => ({
  end: rename("k8s.io/initial-events-end"),
  list: rename("kubernetes.io/initial-events-list-blueprint"),
}));

/**
 * The annotations of the bookmark that ends the initial events. Typed clients make the list in which they collect the
 * objects from the second one, in base64.
 */
function endAnnotations(domain: ApiDomain, blueprint: Buffer): Record<string, string> {
  const names = endAnnotationNames(domain);
  return { [names.end]: "true", [names.list]: blueprint.toString("base64") };
}

/** Returns an empty list of the type that the initial events were, in the encoding of the watch. */
function blueprintOf(encoding: Encoding, { kind, apiVersion }: InitialListType, hasEmptyFields: boolean): Buffer {
  if (encoding.emptyList !== undefined) return encoding.emptyList(apiVersion, kind);
  const list = hasEmptyFields ? { kind, apiVersion, metadata: {}, items: null } : { apiVersion, items: [], kind };
  return Buffer.from(`${JSON.stringify(list)}\n`);
}
