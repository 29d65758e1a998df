/**
 * The address and credentials of a webhook, read from a kubeconfig such as that of
 * `--authentication-token-webhook-config-file`. Credentials that need another program are refused.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Outgoing, type OutgoingOptions, openOutgoing } from "./outgoing-https.ts";
import type { OpenTunnel } from "./proxy-tunnel.ts";
import type { WebhookCredentials } from "./webhook-client.ts";
import type { Clock } from "#std/clock.ts";
import {
  anyValue,
  booleanValue,
  ConfigError,
  type Decoded,
  listOf,
  readDocument,
  struct,
  textValue,
} from "#codec/config-document.ts";
import { reasonOf } from "#std/system-error.ts";

export interface WebhookConnection {
  readonly url: string;
  /** Headers with credentials; never print them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: Omit<OutgoingOptions, "clock">;
}

const cluster = struct({
  server: textValue,
  "certificate-authority": textValue,
  "certificate-authority-data": textValue,
  "tls-server-name": textValue,
  "insecure-skip-tls-verify": booleanValue,
  "proxy-url": textValue,
});
const user = {
  "client-certificate": textValue,
  "client-certificate-data": textValue,
  "client-key": textValue,
  "client-key-data": textValue,
  token: textValue,
  tokenFile: textValue,
  username: textValue,
  password: textValue,
  exec: anyValue,
  "auth-provider": anyValue,
  as: textValue,
};
type User = Decoded<typeof user>;
const kubeconfig = {
  kind: "Config",
  apiVersions: ["v1"],
  fields: {
    "current-context": textValue,
    clusters: listOf(struct({ name: textValue, cluster })),
    users: listOf(struct({ name: textValue, user: struct(user) })),
    contexts: listOf(struct({ name: textValue, context: struct({ cluster: textValue, user: textValue }) })),
  },
  lenient: true,
};

/**
 * Reads `file` and the files that it names, relative to its folder. Throws `ConfigError` with a message that begins
 * with `file`.
 */
export function readWebhookConnection(file: string): WebhookConnection {
  return withFileName(file, () => connectionOf(readText(file), dirname(file)));
}

function withFileName<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Reads the credentials of a kubeconfig's users, whose names are hosts: `name.namespace.svc`, `*.example.com`,
 * `hook.example.com:8443`. Throws `ConfigError`.
 */
export function readWebhookUsers(file: string): ReadonlyMap<string, WebhookCredentials> {
  const folder = dirname(file);
  return withFileName(file, () => {
    const { users = [] } = readDocument(readText(file), kubeconfig);
    return new Map(
      users.map(({ name = "", user: shown = {} }) => {
        const { cert, key } = certificateOf(shown, folder);
        checkPem(undefined, cert, key);
        const trust = { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
        return [name, { headers: credentialsOf(shown, folder), trust }];
      }),
    );
  });
}

/** Opens a connection to the webhook, through a proxy if there is a `tunnel`, for `askWebhook`. */
export const openWebhook = (
  { url, headers, trust }: WebhookConnection,
  clock: Clock,
  tunnel?: OpenTunnel,
): Pick<WebhookConnection, "url" | "headers"> & { readonly outgoing: Outgoing } => ({
  url,
  headers,
  outgoing: openOutgoing({ ...trust, clock, tunnel }),
});

function connectionOf(text: string, folder: string): WebhookConnection {
  const config = readDocument(text, kubeconfig);
  const current = config["current-context"] ?? "";
  if (current === "") throw new ConfigError("current-context: must be set");
  const context = config.contexts?.find(({ name }) => name === current)?.context;
  if (context === undefined) throw new ConfigError(`contexts: there is none with the name ${JSON.stringify(current)}`);
  const cluster = config.clusters?.find(({ name }) => name === context.cluster)?.cluster;
  if (cluster === undefined) {
    throw new ConfigError(`clusters: there is none with the name ${JSON.stringify(context.cluster ?? "")}`);
  }
  const who = context.user ?? "";
  const shown = who === "" ? {} : config.users?.find(({ name }) => name === who)?.user;
  if (shown === undefined) throw new ConfigError(`users: there is none with the name ${JSON.stringify(who)}`);
  const ca = pemOf(
    folder,
    cluster["certificate-authority-data"],
    cluster["certificate-authority"],
    "certificate-authority",
  );
  const { cert, key } = certificateOf(shown, folder);
  checkPem(ca, cert, key);
  const serverName = cluster["tls-server-name"];
  const insecure = cluster["insecure-skip-tls-verify"] === true;
  if (insecure && ca !== undefined) {
    throw new ConfigError("insecure-skip-tls-verify: must not be set together with a certificate authority");
  }
  if ((cluster["proxy-url"] ?? "") !== "") throw new ConfigError("proxy-url: proxies are not supported");
  return {
    url: serverUrl(cluster.server ?? ""),
    headers: credentialsOf(shown, folder),
    trust: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(serverName === undefined || serverName === "" ? {} : { serverName }),
      ...(insecure ? { insecure } : {}),
    },
  };
}

function pemOf(folder: string, data: string | undefined, path: string | undefined, field: string): string | undefined {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64").toString();
  return path === undefined || path === "" ? undefined : readNamed(resolve(folder, path), field);
}

const certificateOf = (
  shown: User,
  folder: string,
): { readonly cert: string | undefined; readonly key: string | undefined } => ({
  cert: pemOf(folder, shown["client-certificate-data"], shown["client-certificate"], "client-certificate"),
  key: pemOf(folder, shown["client-key-data"], shown["client-key"], "client-key"),
});

function serverUrl(server: string): string {
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`server: must be an http or https URL, not ${JSON.stringify(server)}`);
  }
  if (url.username !== "" || url.password !== "") throw new ConfigError("server: must not contain a user or password");
  return server;
}

function credentialsOf(shown: User, folder: string): Readonly<Record<string, string>> {
  for (const field of ["exec", "auth-provider"] as const) {
    if (shown[field] !== undefined && shown[field] !== null) {
      throw new ConfigError(`${field}: credentials of other programs are not supported`);
    }
  }
  if ((shown.as ?? "") !== "") throw new ConfigError("as: impersonation is not supported");
  const { username = "", password = "", tokenFile = "" } = shown;
  const token = tokenFile === "" ? (shown.token ?? "") : readNamed(resolve(folder, tokenFile), "tokenFile").trim();
  if (token !== "") {
    if (!/^[\x21-\x7e]+$/.test(token)) throw new ConfigError("token: must be one word of visible ASCII characters");
    return { authorization: `Bearer ${token}` };
  }
  return username === "" && password === ""
    ? {}
    : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
}

function checkPem(ca: string | undefined, cert: string | undefined, key: string | undefined): void {
  const parse = (field: string, read: () => void): void => {
    try {
      read();
    } catch (error) {
      throw new ConfigError(`${field}: not in PEM form`, { cause: error });
    }
  };
  if (ca !== undefined) parse("certificate-authority", () => new X509Certificate(ca));
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("client-certificate and client-key must be given together");
  }
  if (cert !== undefined && key !== undefined) {
    parse("client-certificate", () => new X509Certificate(cert));
    parse("client-key", () => createPrivateKey(key));
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

function readNamed(file: string, field: string): string {
  try {
    return readText(file);
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(`${field}: ${file} ${error.message}`, { cause: error });
    throw error;
  }
}
