/**
 * The way in which an edit is written. Fields that are set are applied, and the server names those that belong to others.
 * Server-side apply cannot take fields of others away, so an edit that does so replaces the object, if nobody has changed
 * it since it was read.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { type Api, ApiFailure } from "./api.ts";
import { appliedPart, changedFields, consoleManager } from "./edit-changes.ts";

export interface OwnedField {
  readonly field: string;
  readonly by: string;
}

export interface Plan {
  readonly method: "PATCH" | "PUT";
  readonly body: Unstructured;
  /** Whether an apply takes fields from others. It then names the version that was reviewed, and is refused for another. */
  readonly isForced: boolean;
  /** The object as the server would make it. */
  readonly result: Unstructured;
  /** The fields that are taken from other managers. */
  readonly conflicts: readonly OwnedField[];
}

/** Asks the server what would become of an edit. `undefined` when it changes nothing. Rejects with `ApiFailure`. */
export async function planOf(
  api: Api,
  path: string,
  before: Unstructured,
  edited: Unstructured,
): Promise<Plan | undefined> {
  const after = withSameIdentity(before, edited);
  const changes = changedFields(before, after);
  if (changes.length === 0) return undefined;
  if (changes.some(({ isRemoved }) => isRemoved)) {
    const { managedFields: _, ...metadata } = after.metadata;
    const plan = { method: "PUT", body: { ...after, metadata }, isForced: false } as const;
    const conflicts = changes.flatMap(({ path: field, managers }) => managers.map((by) => ({ field, by })));
    return { ...plan, conflicts, result: await write(api, path, plan, true) };
  }
  const part = appliedPart(after, changes);
  const conflicts = await conflictsOf(api, path, part);
  const isForced = conflicts.length > 0;
  const { resourceVersion } = before.metadata;
  // Without force, the server itself refuses to take what became another's since the review.
  const body = isForced
    ? { ...part, metadata: { ...part.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) } }
    : part;
  const plan = { method: "PATCH", body, isForced } as const;
  // An earlier write of the console, which has replaced an object, is nobody else's.
  const ofOthers = conflicts.filter(({ by }) => !by.startsWith(`${consoleManager} `) && by !== consoleManager);
  return { ...plan, conflicts: ofOthers, result: await write(api, path, plan, true) };
}

/** Returns the edited object with the identity of the one before. Throws for one that is meant to be another. */
function withSameIdentity(before: Unstructured, edited: Unstructured): Unstructured {
  const { name, namespace, uid, resourceVersion, managedFields } = before.metadata;
  for (const [what, one, other] of [
    ["apiVersion", before.apiVersion, edited.apiVersion],
    ["kind", before.kind, edited.kind],
    ["name", name, edited.metadata.name],
    ["namespace", namespace, edited.metadata.namespace],
  ]) {
    if (one !== other) throw new Error(`the ${what} of an object cannot be changed: it is ${one}`);
  }
  const own = { uid, resourceVersion, managedFields };
  const kept = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...edited, metadata: { ...edited.metadata, ...kept } };
}

/** Asks the server which fields belong to others, or to an earlier write of the console. */
async function conflictsOf(api: Api, path: string, body: Unstructured): Promise<readonly OwnedField[]> {
  try {
    await api.json({
      method: "PATCH",
      path: `${path}?fieldManager=${consoleManager}&dryRun=All`,
      contentType: applyType,
      body: JSON.stringify(body),
    });
    return [];
  } catch (error) {
    const causes = error instanceof ApiFailure && error.code === 409 ? (error.status.details?.causes ?? []) : [];
    const conflicts = causes
      .filter(({ reason }) => reason === "FieldManagerConflict")
      .map(({ field = "", message = "" }) => ({ field: field.replace(/^\./, ""), by: managerOf(message) }));
    if (conflicts.length === 0) throw error;
    return conflicts;
  }
}

/** Returns the manager of a message: `conflict with "helm" using apps/v1`. */
function managerOf(message: string): string {
  const [, name, rest = ""] = /^conflict with ("(?:[^"\\]|\\.)*")(.*)$/s.exec(message) ?? [];
  if (name === undefined) return message;
  try {
    return `${String(JSON.parse(name))}${rest}`;
  } catch {
    return message;
  }
}

const applyType = "application/apply-patch+yaml";

/** Writes an edit, or only asks what would become of it. Only the fields of others are taken that the review has named. */
export function write(
  api: Api,
  path: string,
  { method, body, isForced }: Pick<Plan, "method" | "body" | "isForced">,
  isDry: boolean,
) {
  const query = `fieldManager=${consoleManager}${isForced ? "&force=true" : ""}${isDry ? "&dryRun=All" : ""}`;
  return api.json<Unstructured>({
    method,
    path: `${path}?${query}`,
    contentType: method === "PATCH" ? applyType : "application/json",
    body: JSON.stringify(body),
  });
}
