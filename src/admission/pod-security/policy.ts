/**
 * The policy of a namespace: a standard for each mode, from labels. The server's defaults fill in what labels leave
 * out.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";

export type SecurityLevel = "privileged" | "baseline" | "restricted";
export type Mode = "enforce" | "audit" | "warn";

const levels: readonly string[] = ["privileged", "baseline", "restricted"] satisfies readonly SecurityLevel[];
export const modes: readonly Mode[] = ["enforce", "audit", "warn"];

/** A level of the standards in the version of a release. */
export interface Standard {
  readonly level: SecurityLevel;
  /** `latest` or `v1.8`. */
  readonly version: string;
  /** The minor version; infinite for the latest one. */
  readonly minor: number;
}

export type SecurityPolicy = Readonly<Record<Mode, Standard>>;

export interface ReadPolicy {
  readonly policy: SecurityPolicy;
  /** Whether the policy forbids nothing in any mode, and its labels have no errors. */
  readonly isPrivileged: boolean;
  /**
   * Errors of labels that cannot be read; such a label counts as the strictest value for `enforce`, and as the laxest
   * one for other modes.
   */
  readonly errors: readonly FieldError[];
}

export const privilegedLatest: Standard = {
  level: "privileged",
  version: "latest",
  minor: Number.POSITIVE_INFINITY,
};

export const standardText = ({ level, version }: Standard): string => `${level}:${version}`;

/** The rank of a level by how much it forbids; 0 forbids nothing. */
export const strictness = ({ level }: Standard): number => levels.indexOf(level);

export const isPrivileged = ({ level }: Standard): boolean => level === "privileged";

export const isSameStandard = (one: Standard, other: Standard): boolean =>
  one === other || (one.level === other.level && one.version === other.version);

/** The error about a text that is no level. */
export const levelMessage = `must be one of ${levels.join(", ")}`;
export const versionMessage = 'must be "latest" or "v1.x"';

export const readLevel = (text: string): SecurityLevel | undefined =>
  levels.includes(text) ? (text as SecurityLevel) : undefined; // of the list

const minorMax = 2n ** 63n - 1n;

/** Returns the minor version; `undefined` for a text that is no version. */
export function readVersion(text: string): number | undefined {
  if (text === "latest") return Number.POSITIVE_INFINITY;
  const digits = /^v1\.(0|[1-9]\d{0,18})$/.exec(text)?.[1];
  return digits === undefined || BigInt(digits) > minorMax ? undefined : Number(digits);
}

type Labels = Readonly<Record<string, string>>;

/** Reads policies from labels of namespaces. */
export class PolicyLabels {
  readonly #names: Readonly<Record<Mode, { readonly level: string; readonly version: string }>>;
  readonly #defaults: ReadPolicy;

  constructor(domain: ApiDomain, defaults: SecurityPolicy) {
    const names = (mode: Mode): { readonly level: string; readonly version: string } => {
      const level = domain.rename(`pod-security.kubernetes.io/${mode}`);
      return { level, version: `${level}-version` };
    };
    this.#names = { enforce: names("enforce"), audit: names("audit"), warn: names("warn") };
    this.#defaults = readPolicy(defaults, []);
  }

  /** Reads the policy of a namespace. Hot path: called for every write of a pod. Most namespaces have no such label. */
  read(labels: Labels | undefined): ReadPolicy {
    return labels === undefined || !this.#hasAny(labels) ? this.#defaults : this.#read(labels);
  }

  /** Whether a label sets the mode. */
  names(labels: Labels, mode: Mode): boolean {
    const { level, version } = this.#names[mode];
    return labels[level] !== undefined || labels[version] !== undefined;
  }

  #hasAny(labels: Labels): boolean {
    return this.names(labels, "enforce") || this.names(labels, "audit") || this.names(labels, "warn");
  }

  #read(labels: Labels): ReadPolicy {
    const errors: FieldError[] = [];
    const [enforce, audit, warn] = modes.map((mode) => this.#standard(labels, mode, errors)) as [
      Standard,
      Standard,
      Standard,
    ]; // as many as modes
    const names = this.#names;
    const isEnforced = readLevel(labels[names.enforce.level] ?? "") !== undefined;
    // Upstream: a namespace that enforces a level also warns about it in controllers.
    const isRaised = isEnforced && labels[names.warn.level] === undefined && strictness(enforce) > strictness(warn);
    const { version, minor } = labels[names.warn.version] === undefined ? enforce : warn;
    const raised = isRaised ? { level: enforce.level, version, minor } : warn;
    return readPolicy({ enforce, audit, warn: raised }, errors);
  }

  #standard(labels: Labels, mode: Mode, errors: FieldError[]): Standard {
    const names = this.#names[mode];
    const defaultPolicy = this.#defaults.policy[mode];
    let { level, version, minor } = defaultPolicy;
    const levelText = labels[names.level];
    if (levelText !== undefined) {
      const read = readLevel(levelText);
      if (read === undefined) errors.push(labelError(names.level, levelText, levelMessage));
      level = read ?? (mode === "enforce" ? "restricted" : "privileged");
    }
    const versionText = labels[names.version];
    if (versionText !== undefined) {
      const read = readVersion(versionText);
      if (read === undefined) errors.push(labelError(names.version, versionText, versionMessage));
      minor = read ?? Number.POSITIVE_INFINITY;
      version = read === undefined ? "latest" : versionText;
    }
    return { level, version, minor };
  }
}

const readPolicy = (policy: SecurityPolicy, errors: readonly FieldError[]): ReadPolicy => ({
  policy,
  errors,
  isPrivileged: errors.length === 0 && modes.every((mode) => isPrivileged(policy[mode])),
});

const labelError = (name: string, value: string, message: string): FieldError =>
  invalid(FieldPath.of("metadata", "labels").key(name), value, message);
