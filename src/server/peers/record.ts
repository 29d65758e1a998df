/**
 * The record by which a server is known to the other servers of its store: a value of the store that expires unless it is
 * written again.
 */
import { isIP } from "node:net";
import { isObject } from "#std/is-object.ts";
import type { Revision } from "#storage/log-store.ts";

/** The settings of which a store needs the same on all its servers, as far as servers can compare them. */
export interface SharedSettings {
  /** The issuers of service account tokens that are accepted; new tokens have the first one. */
  readonly issuers: readonly string[];
  /** The id of the key that signs these tokens, and the ids of those that verify them: digests of public keys. */
  readonly signingKey: string;
  readonly verificationKeys: readonly string[];
  /** The SHA-256 of the certificates of the authorities of clients. */
  readonly clientAuthorities: readonly string[];
  /** The ranges of service addresses, and of node ports as `30000-32767`. */
  readonly serviceRanges: readonly string[];
  readonly nodePorts: string;
  /** The rules of encryption, each with the names of its providers and keys. */
  readonly encryption: readonly EncryptionNames[];
  /** The kinds; left out by a version of the program that does not say them. */
  readonly kinds?: KindSettings;
}

/** The kinds of a server as its flags and its version make them. */
export interface KindSettings {
  /** The versions in which it stores objects, as `apps/v1` and `/v1`. */
  readonly stores: readonly string[];
  /** The versions that it knows, so that it reads objects that are stored in them. */
  readonly reads: readonly string[];
  /** The feature gates that are not as the version has them, as `Name=true`, and `--runtime-config` as `api/beta=true`. */
  readonly featureGates: readonly string[];
  readonly runtimeConfig: readonly string[];
}

export interface EncryptionNames {
  readonly resources: readonly string[];
  /** Type and key of each provider, such as `aescbc key1`. The first one writes, all read. */
  readonly providers: readonly string[];
}

/** A server as it describes itself. */
export interface ServerRecord {
  /** The name of the process, which no other has. */
  readonly id: string;
  /** The name of the machine. */
  readonly host: string;
  /** The address and the port by which others reach the server. */
  readonly address: string;
  readonly port: number;
  /** Whether the address is one of the endpoints of `default/kubernetes`. */
  readonly isEndpoint: boolean;
  /** The version of the program, and the time at which it was started. */
  readonly version: string;
  readonly started: string;
  readonly settings: SharedSettings;
  /** The revision of the first record; 0 in this one. */
  readonly since: Revision;
  /**
   * The revision up to which the server acts by the objects that decide about requests; 0 until it answers requests.
   */
  readonly applied: Revision;
  /** The revision for which it waits: others say at once what they have taken in. */
  readonly asks: Revision;
  /** Whether the server ends, and answers only the requests that it has. */
  readonly isStopping: boolean;
}

/** The record of another server, and the revision that wrote it. */
export interface PeerRecord extends ServerRecord {
  readonly revision: Revision;
}

/** The prefix of the keys of records, which are no keys of the API. */
export const recordPrefix = "/registry/binnacle/servers/";

/** The beginning of a record. A log may take values that begin as JSON for objects of the API. */
const beginning = "server ";

/** Returns the value of a record. */
export const recordBytes = (record: ServerRecord): Buffer => Buffer.from(beginning + JSON.stringify(record));

/** Reads a record; `undefined` for one of another form. */
export function readRecord(bytes: Buffer, revision: Revision): PeerRecord | undefined {
  const text = bytes.toString();
  if (!text.startsWith(beginning)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(beginning.length));
  } catch {
    return undefined;
  }
  if (!isObject(value) || !hasTypes(value, recordTypes) || !isObject(value["settings"])) return undefined;
  if (!hasTypes(value["settings"], settingTypes)) return undefined;
  return { ...(value as unknown as ServerRecord), revision }; // all members have their types
}

type IsOfType = (value: unknown) => boolean;

const isText: IsOfType = (value) => typeof value === "string";
const isFlag: IsOfType = (value) => typeof value === "boolean";
const isRevision: IsOfType = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isPort: IsOfType = (value) => isRevision(value) && Number(value) > 0 && Number(value) < 2 ** 16;
const areTexts: IsOfType = (value) => Array.isArray(value) && value.every(isText);

const recordTypes: Readonly<Record<string, IsOfType>> = {
  id: isText,
  host: isText,
  address: (value) => typeof value === "string" && isIP(value) !== 0,
  port: isPort,
  isEndpoint: isFlag,
  version: isText,
  started: isText,
  since: isRevision,
  applied: isRevision,
  asks: isRevision,
  isStopping: isFlag,
};

const settingTypes: Readonly<Record<string, IsOfType>> = {
  issuers: areTexts,
  signingKey: isText,
  verificationKeys: areTexts,
  clientAuthorities: areTexts,
  serviceRanges: areTexts,
  nodePorts: isText,
  encryption: (value) =>
    Array.isArray(value) &&
    value.every((rule) => isObject(rule) && areTexts(rule["resources"]) && areTexts(rule["providers"])),
  kinds: (value) => value === undefined || (isObject(value) && hasTypes(value, kindTypes)),
};

const kindTypes: Readonly<Record<string, IsOfType>> = {
  stores: areTexts,
  reads: areTexts,
  featureGates: areTexts,
  runtimeConfig: areTexts,
};

const hasTypes = (value: Readonly<Record<string, unknown>>, types: Readonly<Record<string, IsOfType>>): boolean =>
  Object.entries(types).every(([member, isOfType]) => isOfType(value[member]));

/** Returns the name of a server in messages. */
export const nameOf = ({ address, port, id }: Pick<ServerRecord, "address" | "port" | "id">): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port} (${id})`;
