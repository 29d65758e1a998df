/**
 * Writes that name versions of other keys: of the Lease under which a leader writes, of the namespace of a new object.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { RequestContext, Requirements } from "#meta/request-context.ts";
import { serviceUnavailable } from "#meta/status-error.ts";
import { during } from "#std/tracer.ts";
import type { KeyCondition } from "#storage/log-store.ts";
import type { RemoveOptions, WriteResult } from "#storage/watch-cache.ts";

/**
 * Returns the condition that a namespace is as it is now. Throws a `StatusError` when nothing can be created in it; this is
 * admission's check, made once more with the version that the write names.
 */
export type NamespaceCondition = () => KeyCondition;

type Write = (conditions: RemoveOptions) => Promise<WriteResult>;

const noConditions: RemoveOptions = {};

/** The parts of a request's context that a write needs. */
type Writer = Pick<RequestContext, "requires" | "span">;

/**
 * Writes while the requirements of the request hold, and in the namespace as it is. Both are asked for again when one of
 * them did not hold: a leader may have renewed its Lease meanwhile, and a namespace its status. Rejects with a
 * `StatusError` when the request may not write any more.
 */
export function writeWhile(
  writer: Writer | undefined,
  write: Write,
  namespace?: NamespaceCondition,
): Promise<WriteResult> {
  const span = writer?.span;
  return span === undefined
    ? writeOn(writer?.requires, write, namespace)
    : (during(span.start("Commit"), () => writeOn(writer?.requires, write, namespace)) as Promise<WriteResult>); // as it is
}

function writeOn(
  requires: Requirements | undefined,
  write: Write,
  namespace: NamespaceCondition | undefined,
): Promise<WriteResult> {
  if (requires === undefined && namespace === undefined) return write(noConditions);
  return writeConditionally(requires, write, namespace);
}

async function writeConditionally(
  requires: Requirements | undefined,
  write: Write,
  namespace: NamespaceCondition | undefined,
): Promise<WriteResult> {
  for (let before: readonly KeyCondition[] | undefined; ; ) {
    const ofRequest = requires === undefined ? [] : await requires(before !== undefined);
    if (ofRequest === undefined) throw serviceUnavailable("the writer no longer leads");
    const conditions = namespace === undefined ? ofRequest : [...ofRequest, namespace()];
    if (before !== undefined && jsonEquals(before, conditions)) {
      throw serviceUnavailable("another writer changed the Lease or the namespace that the write depends on");
    }
    const result = await write({ requires: conditions });
    if (result.ok || result.failed !== "requires") return result;
    before = conditions;
  }
}
