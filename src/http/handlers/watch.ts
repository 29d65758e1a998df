/**
 * The watch of a collection. With `sendInitialEvents` (set by `listOptions` for watches from unset or 0) it starts with
 * the current objects and a bookmark; otherwise after the requested version.
 */
import type { Encoding } from "#codec/encoding.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Reply } from "../api-request.ts";
import { frameEncoders } from "../frames.ts";
import type { Allows } from "../negotiation.ts";
import type { ListOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { selectionOf } from "../selection.ts";
import { matching, WatchStream } from "../watch-stream.ts";

export async function watchCollection(scope: Scope, options: ListOptions): Promise<Reply> {
  const { request, parts, definition, store } = scope;
  const { cache } = parts;
  const { filter, name, namespace } = selectionOf(scope, options);
  const marksEnd = options.sendInitialEvents === true && options.allowWatchBookmarks;
  const negotiated = parts.negotiator.stream(request, marksEnd ? withoutTables(parts.transforms) : parts.transforms);
  const isSingle = name !== undefined && (namespace !== "" || !definition.namespaced);
  const prefix = isSingle ? store.key(namespace, name) : store.collection(namespace);

  const { resourceVersion, sendInitialEvents } = options;
  // Before anything is waited for: of many that come together none would be known for slow.
  if (sendInitialEvents === true && !isSingle) request.seats?.slow();
  const isFresh = resourceVersion === "";
  const revision = isFresh || resourceVersion === "0" ? 0 : store.parseVersion(resourceVersion);
  if (isFresh) await cache.fresh();
  let initial: readonly Entry[] = [];
  let after: Revision = revision;
  let initialEventsEnd: Revision | undefined;
  if (sendInitialEvents === true) {
    if (revision > cache.revision) await store.reach(resourceVersion);
    const range = isSingle ? cache.range(prefix, { limit: 1 }) : await store.all(namespace);
    const found = isSingle ? range.entries.filter(({ key }) => key === prefix) : range.entries;
    initial = filter === undefined ? found : await matching(found, filter, parts.clock);
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
  const encoder = frameEncoders(scope, negotiated);
  const events = (encoding: Encoding): WatchStream =>
    new WatchStream({
      cache,
      prefix,
      exact: isSingle,
      initial,
      after,
      filter,
      encoder: encoder(encoding),
      bookmarks: options.allowWatchBookmarks,
      initialEventsEnd,
      timeoutMs,
      clock: parts.clock,
      ...(definition.served === undefined ? {} : { served: definition.served }),
      observe: (count, bytes) => parts.observeWatch(definition, count, bytes),
    });
  // The writer takes the connection over for the one upgrade that gets here, to a WebSocket.
  return { code: request.upgrade === undefined ? 200 : 101, encoding: negotiated.encoding, events };
}

/** The bookmark that ends the initial events names their list, which Tables are not. */
const withoutTables =
  (allows: Allows): Allows =>
  (encoding, kind, group, version) =>
    kind !== "Table" && allows(encoding, kind, group, version);
