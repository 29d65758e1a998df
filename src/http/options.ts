/**
 * Query parameters of each verb as typed options, with validation. Source: upstream's parameter codec and the
 * validation of `metav1` options; the specification wins with 400 where upstream answers 422 (SEM-14, SEM-15, SEM-17,
 * SEM-20).
 */
import type { DeleteOptions } from "#api/meta/v1.ts";
import type { FieldValidation } from "#codec/object.ts";
import { type ApiDomain, metaGroup } from "#meta/api-domain.ts";
import { type FieldError, forbidden, goQuote, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { badRequest, invalidObject } from "#meta/status-error.ts";
import { validateFieldManager } from "#meta/validate-object-meta.ts";
import { checkDeleteOptions, type CheckedDeleteOptions, dryRunOf } from "#registry/delete-options.ts";
import { type Int64, int64Of, nearestNumber } from "#std/int64.ts";
import { queryFlag } from "./request-info.ts";

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Only patches have it. */
  readonly force: boolean | undefined;
}

/** Reads a boolean parameter; `undefined` when it is absent. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  return query.has(name) ? queryFlag(query.get(name)) : undefined;
}

function integer(query: URLSearchParams, name: string): Int64 | undefined {
  const value = query.get(name);
  return value === null ? undefined : parseInteger(value);
}

/** Reads a limit; all values above the largest are equal to it. */
function limitOf(query: URLSearchParams, name: string): number | undefined {
  const value = integer(query, name);
  return value === undefined ? undefined : nearestNumber(value);
}

/** Parses like Go's `strconv.ParseInt`, with its messages; throws `badRequest`. */
function parseInteger(text: string): Int64 {
  if (!/^[+-]?[0-9]+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  const value = BigInt(text);
  if (value > 9223372036854775807n || value < -9223372036854775808n) {
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: value out of range`);
  }
  return int64Of(value);
}

const matches = ["Exact", "NotOlderThan"];

/**
 * Reads the options of list, watch and deletecollection. `watches`: the path asks to watch. `streamsLists`: whether
 * watches may ask for the current objects (`WatchList`). Throws 400 for options that cannot be read, 422 for options
 * that are not allowed.
 */
export function listOptions(
  query: URLSearchParams,
  { domain, streamsLists }: { readonly domain: ApiDomain; readonly streamsLists: boolean },
  watches = false,
): ListOptions {
  const queryOptions: ListOptions = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    watch: watches || (flag(query, "watch") ?? false),
    allowWatchBookmarks: flag(query, "allowWatchBookmarks") ?? false,
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    timeoutSeconds: limitOf(query, "timeoutSeconds"),
    limit: Math.max(0, limitOf(query, "limit") ?? 0),
    continue: query.get("continue") ?? "",
    sendInitialEvents: flag(query, "sendInitialEvents"),
  };
  const options = queryOptions.watch ? withInitialEvents(queryOptions) : queryOptions;
  const errors = options.watch ? watchErrors(streamsLists ? options : queryOptions, streamsLists) : listErrors(options);
  if (errors.length > 0) {
    throw invalidObject({ group: metaGroup(domain), kind: "ListOptions" }, "", errors);
  }
  return options;
}

function listErrors(options: ListOptions): FieldError[] {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  const errors: FieldError[] = [];
  if (resourceVersionMatch !== "") {
    if (!matches.includes(resourceVersionMatch)) {
      if (resourceVersion === "")
        throw badRequest("resourceVersionMatch is forbidden unless resourceVersion is provided");
      errors.push(notSupported(FieldPath.of("resourceVersionMatch"), resourceVersionMatch, [...matches, ""]));
    } else if (options.continue !== "") {
      throw badRequest("resourceVersionMatch is forbidden when continue is provided");
    } else if (resourceVersion === "") {
      throw badRequest("resourceVersionMatch is forbidden unless resourceVersion is provided");
    } else if (resourceVersionMatch === "Exact" && resourceVersion === "0") {
      throw badRequest('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (sendInitialEvents !== undefined) {
    errors.push(forbidden(FieldPath.of("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
  }
  if (errors.length === 0 && options.continue !== "" && !["", "0"].includes(resourceVersion)) {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  return errors;
}

/**
 * Completes the options of a watch that starts with the current objects: it is a streaming list, which ends its list
 * with a bookmark.
 */
function withInitialEvents(options: ListOptions): ListOptions {
  const { resourceVersion, resourceVersionMatch, sendInitialEvents } = options;
  if (sendInitialEvents !== undefined || resourceVersionMatch !== "") return options;
  if (resourceVersion !== "" && resourceVersion !== "0") return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
}

function watchErrors(options: ListOptions, streamsLists: boolean): FieldError[] {
  const { resourceVersionMatch, sendInitialEvents } = options;
  const field = FieldPath.of("resourceVersionMatch");
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && resourceVersionMatch !== "NotOlderThan") {
    errors.push(forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (sendInitialEvents !== undefined && !streamsLists) {
    const detail = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    errors.push(forbidden(FieldPath.of("sendInitialEvents"), detail));
  }
  if (resourceVersionMatch === "") return errors;
  if (sendInitialEvents === undefined) {
    errors.push(forbidden(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (resourceVersionMatch !== "NotOlderThan") {
    errors.push(notSupported(field, resourceVersionMatch, ["NotOlderThan"]));
  }
  if (options.continue !== "") {
    errors.push(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

const levels: readonly string[] = ["", "Ignore", "Strict", "Warn"];
const managerPath = FieldPath.of("fieldManager");

/**
 * Reads the options of create, update and patch; `kind` is `CreateOptions`, `UpdateOptions` or `PatchOptions`.
 * `earlier` are errors to report first.
 */
export function writeOptions(
  query: URLSearchParams,
  kind: string,
  domain: ApiDomain,
  earlier: readonly FieldError[] = [],
): WriteOptions {
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const dryRun = dryRunOf(query.getAll("dryRun"));
  const errors: FieldError[] = [...earlier];
  if (!dryRun.ok) errors.push(dryRun.error);
  validateFieldManager(fieldManager, managerPath, errors);
  if (!levels.includes(fieldValidation))
    errors.push(notSupported(FieldPath.of("fieldValidation"), fieldValidation, levels));
  if (errors.length > 0) throw invalidObject({ group: metaGroup(domain), kind }, "", errors);
  return {
    dryRun: dryRun.ok && dryRun.value,
    fieldManager,
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation), // checked above
    force: flag(query, "force"),
  };
}

/** Options in the form in which webhooks receive them. */
export type SentOptions = Readonly<Record<string, unknown>>;

/** Returns the options of writes without parameters, made once. */
export function plainOptions(domain: ApiDomain): Readonly<Record<"CREATE" | "UPDATE", SentOptions>> {
  const apiVersion = `${metaGroup(domain)}/v1`;
  return { CREATE: { kind: "CreateOptions", apiVersion }, UPDATE: { kind: "UpdateOptions", apiVersion } };
}

/** Adds the parameters of the client to `plain`, without defaults. */
export function sentWriteOptions(query: URLSearchParams, plain: SentOptions): SentOptions {
  if (query.size === 0) return plain;
  const options: Record<string, unknown> = { ...plain };
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  if (dryRun.length > 0) options["dryRun"] = dryRun;
  for (const name of ["fieldManager", "fieldValidation"]) {
    const value = query.get(name) ?? "";
    if (value !== "") options[name] = value;
  }
  return options;
}

/** Reads the options of an apply, which must name the field manager. */
export function applyOptions(query: URLSearchParams, domain: ApiDomain): WriteOptions {
  return writeOptions(query, "PatchOptions", domain, (query.get("fieldManager") ?? "") === "" ? [noManager] : []);
}

const noManager = required(managerPath, "is required for apply patch");

/** Makes the options of a delete in the form in which webhooks receive them. */
export function sentDeleteOptions(
  options: CheckedDeleteOptions,
  gracePeriodSeconds: Int64 | undefined,
  domain: ApiDomain,
): SentOptions {
  const { preconditions, orphanDependents, propagationPolicy, dryRun, ignoreStoreReadError } = options;
  return {
    kind: "DeleteOptions",
    apiVersion: `${metaGroup(domain)}/v1`,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(ignoreStoreReadError ? { ignoreStoreReadErrorWithClusterBreakingPotential: true } : {}),
  };
}

/** Reads the options of delete and deletecollection, from the body when there is one, else from the query. */
export function deleteOptions(
  query: URLSearchParams,
  body: DeleteOptions | undefined,
  { domain, forcedDeletion }: { readonly domain: ApiDomain; readonly forcedDeletion: boolean },
): CheckedDeleteOptions {
  return checkDeleteOptions(body ?? queryDeleteOptions(query), domain, forcedDeletion);
}

function queryDeleteOptions(query: URLSearchParams): DeleteOptions {
  const grace = integer(query, "gracePeriodSeconds");
  const orphan = flag(query, "orphanDependents");
  const policy = query.get("propagationPolicy");
  const ignore = flag(query, "ignoreStoreReadErrorWithClusterBreakingPotential");
  return {
    dryRun: query.getAll("dryRun"),
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(orphan === undefined ? {} : { orphanDependents: orphan }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(ignore === undefined ? {} : { ignoreStoreReadErrorWithClusterBreakingPotential: ignore }),
    ...queryPreconditions(query),
  };
}

/** Returns the preconditions that a query names. Source: upstream's `Convert_url_Values_To_v1_DeleteOptions`. */
function queryPreconditions(query: URLSearchParams): Pick<DeleteOptions, "preconditions"> {
  const uid = query.get("uid") ?? "";
  const resourceVersion = query.get("resourceVersion") ?? "";
  if (uid === "" && resourceVersion === "") return {};
  return {
    preconditions: { ...(uid === "" ? {} : { uid }), ...(resourceVersion === "" ? {} : { resourceVersion }) },
  };
}
