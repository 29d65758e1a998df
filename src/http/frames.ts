/** Watch events as bytes: one encoder per view and encoding. */
import type { Encoding } from "#codec/encoding.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import { madeContent, schemaOf, StoredContent } from "./contents.ts";
import type { Negotiated } from "./negotiation.ts";
import type { Scope } from "./scope.ts";
import { type EventView, type ListType, viewOf } from "./views.ts";
import type { FrameEncoder } from "./watch-stream.ts";

/** The encoders for the view that the client negotiated. Throws as `viewOf`. */
export function frameEncoders(scope: Scope, negotiated: Negotiated): (encoding: Encoding) => FrameEncoder {
  const view = viewOf(scope, negotiated).events();
  return (encoding) => frameEncoder(scope, view, encoding);
}

function frameEncoder(scope: Scope, view: EventView, encoding: Encoding): FrameEncoder {
  const { form, isPlain, list } = view;
  const { parts, definition } = scope;
  const schema = isPlain ? schemaOf(definition) : undefined;
  const frame = (type: string, value: object): Buffer => encoding.frame(type, madeContent(value, schema));
  return {
    // Forms of one name are shared; most are JSON, so these need no name of their own.
    name: encoding.sendsStored || form === "" ? form : `${encoding.stream} ${form}`,
    isText: encoding.isText,
    event(type, entry, revision) {
      if (isPlain && entry.revision === revision) {
        return encoding.frame(type, new StoredContent(parts.objects, definition, entry));
      }
      return frame(type, view.object(at(scope, entry, revision)));
    },
    bookmark(revision, initialEnd) {
      const object = bookmarkOf(scope, revision, initialEnd ? list : undefined, isPlain && definition.untyped);
      return frame("BOOKMARK", view.object(object));
    },
    error: (status) => encoding.frame("ERROR", madeContent(status)),
  };
}

/** Object of an entry as an event at `revision` shows it. */
function at(scope: Scope, entry: Entry, revision: Revision): Unstructured {
  const object = scope.parts.objects.object(scope.definition, entry);
  if (entry.revision === revision) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
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
