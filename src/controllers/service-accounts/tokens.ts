/**
 * Adds a token to Secrets of the token type, and deletes them when their account is deleted or replaced. Source:
 * upstream's tokens controller.
 */
import type { Secret, ServiceAccount } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { follow, workQueue } from "../reconcile.ts";

export interface TokenParties {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  /** The name of the Secret. */
  readonly secret: string;
}

interface ServiceAccountTokensOptions {
  /** Signs a token that is valid while Secret and account exist. */
  sign(parties: TokenParties): Promise<string>;
  /** The root certificates, as PEM; empty for none. */
  readonly rootCertificates: string;
}

interface Names {
  readonly type: string;
  readonly account: string;
  readonly uid: string;
}

const namesIn = ({ rename }: ApiDomain): Names => ({
  type: rename("kubernetes.io/service-account-token"),
  account: rename("kubernetes.io/service-account.name"),
  uid: rename("kubernetes.io/service-account.uid"),
});

export const serviceAccountTokensController =
  (options: ServiceAccountTokensOptions): Controller =>
  async (environment) => {
    const names = namesIn(environment.domain);
    const byAccount = new SecretsByAccount();
    /** Existing Secrets; other known Secrets still have to be removed from their accounts. */
    const present = new Set<string>();
    const queue = workQueue(environment, {
      name: "serviceaccount_tokens_secret",
      workersMax: 4,
      work: async (key) => {
        const account = byAccount.accountOf(key);
        if (account === undefined) return;
        const isThere = await reconcile(environment, options, names, key, account);
        // A Secret that was created again meanwhile stays known.
        if (!isThere && !present.has(key)) byAccount.forget(key);
      },
      logKey: "secret",
      failure: "could not fill the Secret of a token; trying again",
    });
    const seen = (secret: Secret): void => {
      const { namespace = "", name = "", annotations } = secret.metadata;
      const account = annotations?.[names.account] ?? "";
      if (account === "") return;
      const key = `${namespace}/${name}`;
      byAccount.set(key, `${namespace}/${account}`);
      present.add(key);
      queue.add(key);
    };
    const secrets = follow<Secret>(environment, {
      what: "Secrets of tokens",
      path: "/api/v1/secrets",
      fieldSelector: `type=${names.type}`,
      replaced(list) {
        // This finds Secrets that were deleted while nothing was watched.
        for (const secret of byAccount.secrets()) queue.add(secret);
        present.clear();
        list.forEach(seen);
      },
      changed(type, secret) {
        if (type !== "DELETED") return seen(secret);
        const key = `${secret.metadata.namespace}/${secret.metadata.name}`;
        present.delete(key);
        // The account may still name the Secret; the name is removed there first.
        queue.add(key);
      },
    });
    const accounts = follow<ServiceAccount>(environment, {
      what: "Secrets of tokens",
      path: "/api/v1/serviceaccounts",
      replaced() {
        for (const secret of byAccount.secrets()) queue.add(secret);
      },
      changed(type, { metadata: { namespace, name } }) {
        if (type === "MODIFIED") return;
        for (const secret of byAccount.secretsOf(`${namespace}/${name}`)) queue.add(secret);
      },
    });
    await Promise.all([secrets, accounts]);
  };

/** The account that each Secret names, both as `namespace/name`, and the Secrets of each account. */
class SecretsByAccount {
  readonly #accounts = new Map<string, string>();
  readonly #secrets = new Map<string, Set<string>>();

  set(secret: string, account: string): void {
    if (this.#accounts.get(secret) === account) return;
    this.forget(secret);
    this.#accounts.set(secret, account);
    const secrets = this.#secrets.get(account);
    if (secrets === undefined) this.#secrets.set(account, new Set([secret]));
    else secrets.add(secret);
  }

  forget(secret: string): void {
    const account = this.#accounts.get(secret);
    if (account === undefined) return;
    this.#accounts.delete(secret);
    const secrets = this.#secrets.get(account);
    secrets?.delete(secret);
    if (secrets?.size === 0) this.#secrets.delete(account);
  }

  accountOf(secret: string): string | undefined {
    return this.#accounts.get(secret);
  }

  secretsOf(account: string): Iterable<string> {
    return this.#secrets.get(account) ?? [];
  }

  secrets(): Iterable<string> {
    return this.#accounts.keys();
  }
}

/** Processes a Secret; returns false when it does not exist any more. */
async function reconcile(
  environment: ControllerEnvironment,
  { sign, rootCertificates }: ServiceAccountTokensOptions,
  names: Names,
  key: string,
  accountKey: string,
): Promise<boolean> {
  const { client } = environment;
  const [namespace = "", name = ""] = key.split("/");
  const accountName = accountKey.slice(namespace.length + 1);
  const path = `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const accountPath = `/api/v1/namespaces/${namespace}/serviceaccounts/${encodeURIComponent(accountName)}`;
  const secret = await ignoreNotFound(client.get<Secret>(path));
  // Users write the name of the account; a name with slashes is that of no account.
  const account = accountName.includes("/") ? undefined : await ignoreNotFound(client.get<ServiceAccount>(accountPath));
  if (secret === undefined || secret.type !== names.type) {
    if (account !== undefined) await forget(environment, accountPath, account, name);
    return false;
  }
  const { metadata, data = {} } = secret;
  if (metadata.annotations?.[names.account] !== accountName || metadata.deletionTimestamp !== undefined) return true;
  const { uid = "" } = account?.metadata ?? {};
  const wantedUid = metadata.annotations[names.uid] ?? "";
  if (account === undefined || (wantedUid !== "" && wantedUid !== uid)) {
    await removeSecret(environment, path, secret);
    return true;
  }
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const isMissing = (field: string): boolean => (data[field] ?? "") === "";
  const wanted: Record<string, string> = { ...data };
  if (rootCertificates !== "") wanted["ca.crt"] = encode(rootCertificates);
  if (isMissing("namespace")) wanted["namespace"] = encode(namespace);
  if (isMissing("token")) {
    wanted["token"] = encode(await sign({ namespace, account: { name: accountName, uid }, secret: name }));
  }
  const isSame = wantedUid === uid && Object.entries(wanted).every(([field, value]) => data[field] === value);
  if (isSame) return true;
  const annotations = { ...metadata.annotations, [names.uid]: uid };
  await ignoreNotFound(
    client.update<Secret>(path, { ...secret, metadata: { ...metadata, annotations }, data: wanted }),
  );
  return true;
}

async function removeSecret({ client }: ControllerEnvironment, path: string, { metadata }: Secret): Promise<void> {
  const { uid, resourceVersion } = metadata;
  await ignoreNotFound(client.delete(path, { preconditions: { uid, resourceVersion } }));
}

/** Removes a deleted Secret from the account's list. */
async function forget(
  { client }: ControllerEnvironment,
  path: string,
  account: ServiceAccount,
  name: string,
): Promise<void> {
  const secrets = account.secrets ?? [];
  const rest = secrets.filter((reference) => reference.name !== name);
  if (rest.length === secrets.length) return;
  const { secrets: _secrets, ...others } = account;
  await ignoreNotFound(client.update<ServiceAccount>(path, rest.length === 0 ? others : { ...others, secrets: rest }));
}
