/** Watch events as bytes: one encoder per form a client may negotiate. */
import type { ApiDomain } from "#meta/api-domain.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { type Status, wrongView } from "#meta/status-error.ts";
import { layoutOf } from "#registry/stored-object.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Negotiated } from "./negotiation.ts";
import { metaApiVersion, tableRequest, typeName } from "./object-reply.ts";
import type { Scope } from "./scope.ts";
import { partialText, tableText } from "./table.ts";
import type { FrameEncoder } from "./watch-stream.ts";

const end = Buffer.from("}\n");
const starts = new Map<string, Buffer>(
  ["ADDED", "MODIFIED", "DELETED"].map((type) => [type, Buffer.from(`{"type":"${type}","object":`)]),
);

/** The encoder for what the client negotiated. */
export function frameEncoder(scope: Scope, negotiated: Negotiated): FrameEncoder {
  const { definition, parts } = scope;
  const layout = layoutOf(definition);
  const text = objectText(scope, negotiated);
  if (text !== undefined) {
    const frame = (type: string, object: string): Buffer => Buffer.from(`{"type":"${type}","object":${object}}\n`);
    return {
      name: text.name,
      event: (type, entry, revision) => frame(type, text.of(at(scope, entry, revision))),
      bookmark: (revision, initialEnd) =>
        frame("BOOKMARK", text.bookmark(bookmarkOf(scope, revision, initialEnd ? text.list : undefined))),
      error: (status) => frame("ERROR", JSON.stringify(status)),
    };
  }
  return {
    name: layout.form,
    event(type, entry, revision) {
      const start = starts.get(type)!;
      const isCurrent = entry.revision === revision;
      const bytes = isCurrent
        ? parts.objects.servedBytes(definition, entry)
        : Buffer.from(`${JSON.stringify(at(scope, entry, revision))}\n`);
      const frame = Buffer.allocUnsafe(start.length + bytes.length - 1 + end.length);
      start.copy(frame);
      bytes.copy(frame, start.length, 0, bytes.length - 1);
      end.copy(frame, start.length + bytes.length - 1);
      return frame;
    },
    bookmark(revision, initialEnd) {
      const list = { kind: definition.listKind, apiVersion: layout.servedApiVersion };
      const isCustom = definition.origin === "custom";
      const object = bookmarkOf(scope, revision, initialEnd ? list : undefined, isCustom);
      return Buffer.from(`{"type":"BOOKMARK","object":${JSON.stringify(object)}}\n`);
    },
    error: (status) => errorFrame(status),
  };
}

function errorFrame(status: Status): Buffer {
  return Buffer.from(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`);
}

/** Object of an entry as an event at `revision` shows it. */
function at(scope: Scope, entry: Entry, revision: Revision): Unstructured {
  const object = scope.parts.objects.object(scope.definition, entry);
  if (entry.revision === revision) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** What the initial events are a list of. */
interface ListType {
  readonly kind: string;
  readonly apiVersion: string;
}

/**
 * `ended`: the bookmark ends the initial events, which were a list of this type. `isUntyped`: as upstream writes objects
 * it has no type for, without fields that have no value.
 */
function bookmarkOf(scope: Scope, revision: Revision, ended: ListType | undefined, isUntyped = false): Unstructured {
  const { definition, parts } = scope;
  return {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: {
      resourceVersion: String(revision),
      ...(isUntyped ? {} : { creationTimestamp: null }),
      ...(ended === undefined ? {} : { annotations: endAnnotations(parts.domain, ended, isUntyped) }),
    },
  };
}

/** Typed clients make the list they collected into from the second one, an empty list in base64. */
function endAnnotations(domain: ApiDomain, { kind, apiVersion }: ListType, isUntyped: boolean): Record<string, string> {
  const list = isUntyped ? { apiVersion, items: [], kind } : { kind, apiVersion, metadata: {}, items: null };
  const blueprint = `${JSON.stringify(list)}\n`;
  return {
    [domain.rename("k8s.io/initial-events-end")]: "true",
    [domain.rename("kubernetes.io/initial-events-list-blueprint")]: Buffer.from(blueprint).toString("base64"),
  };
}

interface ObjectText {
  /** Empty when texts depend on the stream. */
  readonly name: string;
  /** Type of the list of such objects; absent for Tables, which have no initial events that are a list. */
  readonly list?: ListType;
  of(object: Unstructured): string;
  bookmark(object: Unstructured): string;
}

/** How objects print when they are not sent as they are stored. */
function objectText(scope: Scope, negotiated: Negotiated): ObjectText | undefined {
  if (negotiated.transform === "Table") {
    const request = tableRequest(scope, negotiated);
    const { clock } = scope.parts;
    let isFirst = true;
    const of = (object: Unstructured): string => {
      const withColumns = isFirst;
      isFirst = false;
      const meta = { resourceVersion: object.metadata.resourceVersion ?? "" };
      return tableText({ ...request, nowMs: clock.now() }, meta, [object], withColumns);
    };
    return { name: "", of, bookmark: of };
  }
  if (negotiated.transform === "PartialObjectMetadataList") {
    throw wrongView(negotiated.transform, false, typeName(scope.definition, scope.definition.kind));
  }
  if (negotiated.transform === "PartialObjectMetadata") {
    const apiVersion = metaApiVersion(scope, negotiated);
    const of = (object: Unstructured): string => partialText(object, apiVersion);
    return { name: apiVersion, list: { kind: "PartialObjectMetadataList", apiVersion }, of, bookmark: of };
  }
  return undefined;
}
