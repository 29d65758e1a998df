/** StorageVersion and StorageVersionMigration: the versions in which objects are stored, and their migration. */
import type { ServerStorageVersion, StorageVersion, StorageVersionCondition } from "#api/apiserverinternal/v1alpha1.ts";
import type { StorageVersionMigration } from "#api/storagemigration/v1alpha1.ts";
import { duplicate, type FieldError, goTexts, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1035Label, dns1123Subdomain, emptyMessage, formMessage, qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
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
  const errors: FieldError[] = [];
  const servers = new Set<string>();
  for (const [at, entry] of storageVersions.entries()) {
    const { apiServerID = "" } = entry;
    const path = statusPath.child("storageVersions").index(at);
    if (servers.has(apiServerID)) errors.push(duplicate(path.child("apiServerID"), apiServerID));
    else addAll(errors, validateEntry(entry, path));
    servers.add(apiServerID);
  }
  return [
    ...errors,
    ...validateCommonVersion(storageVersions, commonEncodingVersion),
    ...validateConditions(conditions),
  ];
}

function validateEntry(entry: ServerStorageVersion, path: FieldPath): FieldError[] {
  const { apiServerID = "", encodingVersion = "", decodableVersions, servedVersions = [] } = entry;
  const decodable = decodableVersions ?? [];
  const wrong = (where: FieldPath, value: unknown, messages: readonly string[]): FieldError[] =>
    messages.map((message) => invalid(where, value, message));
  const versions = path.child("decodableVersions");
  return [
    ...wrong(path.child("apiServerID"), apiServerID, dns1123Subdomain(apiServerID)),
    ...wrong(path.child("encodingVersion"), encodingVersion, apiVersionProblems(encodingVersion)),
    ...decodable.flatMap((version, at) => wrong(versions.index(at), version, apiVersionProblems(version))),
    ...(decodable.includes(encodingVersion)
      ? []
      : [
          invalid(
            versions,
            goTexts(decodableVersions), // upstream: the list as Go prints it
            `decodableVersions must include encodingVersion ${encodingVersion}`,
          ),
        ]),
    ...servedVersions.flatMap((version, at) => {
      const where = path.child("servedVersions").index(at);
      const shown = decodable.join(" ");
      return [
        ...wrong(where, version, apiVersionProblems(version)),
        ...(decodable.includes(version)
          ? []
          : [
              invalid(
                where,
                version,
                `individual served version : ${version} must be included in decodableVersions : [${shown}]`,
              ),
            ]),
      ];
    }),
  ];
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
  const name = parts.pop() ?? "";
  const [group] = parts;
  const problems: string[] = [];
  if (group === "") problems.push(`prefix part: ${emptyMessage}`);
  else if (group !== undefined)
    addAll(
      problems,
      dns1123Subdomain(group).map((message) => `prefix part: ${message}`),
    );
  if (name === "") problems.push(`version part: ${emptyMessage}`);
  else
    addAll(
      problems,
      dns1035Label(name).map((message) => `version part: ${message}`),
    );
  return problems;
}

function validateCommonVersion(entries: readonly ServerStorageVersion[], common: string | undefined): FieldError[] {
  const path = statusPath.child("commonEncodingVersion");
  const [actual, ...different] = new Set(entries.map(({ encodingVersion = "" }) => encodingVersion));
  if (actual === undefined || different.length > 0) {
    return common === undefined
      ? []
      : [
          invalid(
            path,
            common,
            "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet",
          ),
        ];
  }
  if (common === undefined) return [invalid(path, common, `the common encoding version is ${actual}`)];
  return common === actual ? [] : [invalid(path, common, `the actual common encoding version is ${actual}`)];
}

function validateConditions(conditions: readonly StorageVersionCondition[]): FieldError[] {
  const seen = new Map<string, number>();
  return conditions.flatMap(({ type, status, reason, message = "" }, at) => {
    const path = statusPath.index(at);
    const first = seen.get(type);
    if (first === undefined) seen.set(type, at);
    const texts = Object.entries({ type, status });
    return [
      ...(first === undefined
        ? []
        : [
            invalid(
              path.child("type"),
              type,
              `the type of the condition is not unique, it also appears in conditions[${first}]`,
            ),
          ]),
      ...texts.flatMap(([field, value]) =>
        qualifiedName(value).map((problem) => invalid(path.child(field), value, problem)),
      ),
      ...(reason === "" ? [required(path.child("reason"), "reason cannot be empty")] : []),
      ...(message === "" ? [required(path.child("message"), "message cannot be empty")] : []),
    ];
  });
}

export function storageVersionMigrations(): KindBehaviour<StorageVersionMigration> {
  return {
    columns: [
      { ...nameColumn, format: "" },
      text("Resource", "Resource whose objects are moved.", ({ spec: { resource } }) =>
        [resource.resource ?? "", resource.version ?? "", resource.group ?? ""].join("."),
      ),
    ],
  };
}
