/** StorageVersion: the versions in which each server stores objects. */
import type { ServerStorageVersion, StorageVersion, StorageVersionCondition } from "#api/apiserverinternal/v1alpha1.ts";
import { type FieldError, goTexts, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import {
  dns1035Label,
  dns1123Subdomain,
  emptyMessage,
  formMessage,
  type NameCheck,
  qualifiedName,
} from "#meta/names.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { checkName, checkNames, checkUnique, type Errors } from "../checks.ts";
import type { KindBehaviour } from "../generic.ts";

export function storageVersions(): KindBehaviour<StorageVersion> {
  return {
    columns: [
      nameColumn,
      text(
        "CommonEncodingVersion",
        "Version that all servers write, if they agree.",
        ({ status }) => status.commonEncodingVersion || "<unset>",
      ),
      text("StorageVersions", "Version that each server writes.", versionsText),
      ageColumn,
    ],
    strategy: { subresources: { status: { validateUpdate: validateStatus } } },
  };
}

function versionsText({ status: { storageVersions = [] } }: StorageVersion): string {
  const all = storageVersions.map(({ apiServerID = "", encodingVersion = "" }) => `${apiServerID}=${encodingVersion}`);
  return firstOf(all, 3, "<unset>");
}

const statusPath = FieldPath.of("status");

function validateStatus({ status }: StorageVersion): FieldError[] {
  const { storageVersions = [], commonEncodingVersion, conditions = [] } = status;
  const errors: Errors = [];
  const servers = new Set<string>();
  for (const [at, entry] of storageVersions.entries()) {
    const { apiServerID = "" } = entry;
    const path = statusPath.child("storageVersions").index(at);
    if (checkUnique(apiServerID, servers, path.child("apiServerID"), errors)) checkEntry(entry, path, errors);
  }
  checkCommonVersion(storageVersions, commonEncodingVersion, errors);
  checkConditions(conditions, errors);
  return errors;
}

function checkEntry(entry: ServerStorageVersion, path: FieldPath, errors: Errors): void {
  const { apiServerID = "", encodingVersion = "", decodableVersions, servedVersions = [] } = entry;
  const decodable = decodableVersions ?? [];
  const versions = path.child("decodableVersions");
  checkName(apiServerID, dns1123Subdomain, path.child("apiServerID"), errors);
  checkName(encodingVersion, apiVersionProblems, path.child("encodingVersion"), errors);
  checkNames(decodable, apiVersionProblems, versions, errors);
  if (!decodable.includes(encodingVersion)) {
    const message = `decodableVersions must include encodingVersion ${encodingVersion}`;
    errors.push(invalid(versions, goTexts(decodableVersions), message)); // upstream: the list as Go prints it
  }
  for (const [at, version] of servedVersions.entries()) {
    const where = path.child("servedVersions").index(at);
    checkName(version, apiVersionProblems, where, errors);
    if (decodable.includes(version)) continue;
    const all = `decodableVersions : [${decodable.join(" ")}]`;
    errors.push(invalid(where, version, `individual served version : ${version} must be included in ${all}`));
  }
}

const apiVersionForm = formMessage(
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  "[a-z]([-a-z0-9]*[a-z0-9])?",
  "my-name",
  "abc-123",
);

/** Returns the errors in the text of an `apiVersion`. */
function apiVersionProblems(version: string): string[] {
  const parts = version.split("/");
  if (parts.length > 2)
    return [`${apiVersionForm} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`];
  const [name = "", group] = parts.reverse();
  return [
    ...(group === undefined ? [] : partProblems("prefix", group, dns1123Subdomain)),
    ...partProblems("version", name, dns1035Label),
  ];
}

function partProblems(part: string, text: string, check: NameCheck): string[] {
  const problems = text === "" ? [emptyMessage] : check(text);
  return problems.map((message) => `${part} part: ${message}`);
}

function checkCommonVersion(
  entries: readonly ServerStorageVersion[],
  common: string | undefined,
  errors: Errors,
): void {
  const [actual, ...different] = new Set(entries.map(({ encodingVersion = "" }) => encodingVersion));
  const wanted = different.length === 0 ? actual : undefined;
  if (common === wanted) return;
  let message = `the ${common === undefined ? "" : "actual "}common encoding version is ${wanted}`;
  if (wanted === undefined) {
    message =
      "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
  }
  errors.push(invalid(statusPath.child("commonEncodingVersion"), common, message));
}

function checkConditions(conditions: readonly StorageVersionCondition[], errors: Errors): void {
  const seen = new Map<string, number>();
  for (const [at, { type, status, reason, message = "" }] of conditions.entries()) {
    const path = statusPath.index(at);
    const first = seen.get(type);
    if (first === undefined) seen.set(type, at);
    else {
      const text = `the type of the condition is not unique, it also appears in conditions[${first}]`;
      errors.push(invalid(path.child("type"), type, text));
    }
    checkName(type, qualifiedName, path.child("type"), errors);
    checkName(status, qualifiedName, path.child("status"), errors);
    if (reason === "") errors.push(required(path.child("reason"), "reason cannot be empty"));
    if (message === "") errors.push(required(path.child("message"), "message cannot be empty"));
  }
}
