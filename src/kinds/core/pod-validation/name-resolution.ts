/** Validates DNS settings and host aliases of pods. */
import type { HostAlias, PodSpec } from "#api/core/v1.ts";
import { goTexts, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain, ipAddress, searchDomain } from "#meta/names.ts";
import { checkName, checkNames, type Errors } from "../../checks.ts";
import type { PodRules } from "./rules.ts";

const serversMax = 3;
const searchesMax = 32;
const searchLengthMax = 2048;

/** Checks the DNS settings; `path` is the path of the spec. */
export function checkDns(
  { dnsPolicy, dnsConfig }: PodSpec,
  { allowsAnySearch }: Pick<PodRules, "allowsAnySearch">,
  path: FieldPath,
  errors: Errors,
): void {
  const at = path.child("dnsConfig");
  const isNone = dnsPolicy === "None";
  if (dnsConfig === undefined) {
    if (isNone) errors.push(required(at, "must provide `dnsConfig` when `dnsPolicy` is None"));
    return;
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig;
  const serversAt = at.child("nameservers");
  if (isNone && nameservers.length === 0) {
    errors.push(required(serversAt, "must provide at least one DNS nameserver when `dnsPolicy` is None"));
    return;
  }
  if (nameservers.length > serversMax) {
    errors.push(invalid(serversAt, goTexts(nameservers), `must not have more than ${serversMax} nameservers`));
  }
  checkNames(nameservers, ipAddress, serversAt, errors);
  const searchesAt = at.child("searches");
  if (searches.length > searchesMax) {
    errors.push(invalid(searchesAt, goTexts(searches), `must not have more than ${searchesMax} search paths`));
  }
  if (Buffer.byteLength(searches.join(" ")) > searchLengthMax) {
    const detail = `must not have more than ${searchLengthMax} characters (including spaces) in the search list`;
    errors.push(invalid(searchesAt, goTexts(searches), detail));
  }
  for (const [i, search] of searches.entries()) {
    if (allowsAnySearch && search === ".") continue;
    const name = search.endsWith(".") ? search.slice(0, -1) : search;
    checkName(name, allowsAnySearch ? searchDomain : dns1123Subdomain, searchesAt.index(i), errors);
  }
  for (const [i, { name = "" }] of options.entries()) {
    if (name === "") errors.push(required(at.child("options").index(i), "must not be empty"));
  }
}

export function checkHostAliases(aliases: readonly HostAlias[] = [], path: FieldPath, errors: Errors): void {
  for (const [i, { ip, hostnames = [] }] of aliases.entries()) {
    const at = path.index(i);
    checkName(ip, ipAddress, at.child("ip"), errors);
    checkNames(hostnames, dns1123Subdomain, at.child("hostnames"), errors);
  }
}
