/**
 * A kubeconfig as plain data. Fields have the names that they have in files. Source: `clientcmd/api/v1` of upstream's
 * client library.
 */
import { dirname, resolve } from "node:path";

/** The content of one file, or of several that were merged. Names are keys. */
export interface Kubeconfig {
  /** The context that is used if none is asked for; empty if no file says. */
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
  /** The files that were read, in order of precedence. */
  readonly files: readonly string[];
  /** The files that were looked for and do not exist. */
  readonly missing: readonly string[];
}

interface Entry {
  /** The file of the entry. Relative paths in the entry begin at its folder. Absent: the current folder. */
  readonly origin?: string;
}

export interface ClusterEntry extends Entry {
  readonly server?: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "certificate-authority"?: string;
  /** PEM in base64. */
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
  readonly "disable-compression"?: boolean;
  readonly extensions?: readonly ExtensionEntry[];
}

export interface ContextEntry extends Entry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
  readonly extensions?: readonly ExtensionEntry[];
}

export interface UserEntry extends Entry {
  readonly "client-certificate"?: string;
  /** PEM in base64. */
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  /** PEM in base64. */
  readonly "client-key-data"?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly as?: string;
  readonly "as-uid"?: string;
  readonly "as-groups"?: readonly string[];
  readonly "as-user-extra"?: Readonly<Record<string, readonly string[]>>;
  readonly username?: string;
  readonly password?: string;
  /** The settings of a login that clients had built in; refused. */
  readonly "auth-provider"?: unknown;
  readonly exec?: ExecEntry;
  readonly extensions?: readonly ExtensionEntry[];
}

/** The settings of a credential plugin. */
export interface ExecEntry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name?: string; readonly value?: string }[];
  readonly apiVersion?: string;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: string;
}

interface ExtensionEntry {
  readonly name?: string;
  /** Any data of the program that it belongs to. */
  readonly extension?: unknown;
}

/** The error of a kubeconfig that cannot be used. The message is one line: file, entry, field, and what to do. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
  }
}

/** Returns the path of a file that an entry names, which begins at the folder of the entry's file. */
export const pathBeside = (origin: string | undefined, path: string): string =>
  resolve(origin === undefined ? "." : dirname(origin), path);

/** Returns the error of a field. `kind` is the kind of the entry, such as `user`. */
export function entryError(kind: string, name: string, origin: string | undefined, problem: string): KubeconfigError {
  return new KubeconfigError(`${origin === undefined ? "" : `${origin}: `}${kind} ${JSON.stringify(name)}: ${problem}`);
}
