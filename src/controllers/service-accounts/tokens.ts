/**
 * Adds a token to Secrets of the token type, and deletes them when their account is deleted or replaced. Source:
 * upstream's tokens controller.
 */
import type { Secret, ServiceAccount } from "#api/core/v1.ts";
import { keyOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { objectPath } from "../paths.ts";
import { follow, openInformer, workQueue } from "../reconcile.ts";

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
    const accountOf = ({ metadata: { annotations } }: Secret): string => annotations?.[names.account] ?? "";
    const secrets = openInformer<Secret>(environment, {
      what: "Secrets of tokens",
      path: "/api/v1/secrets",
      fieldSelector: `type=${names.type}`,
      trim: ({ data: _, metadata: { managedFields: __, ...metadata } }) => ({ metadata }),
      index: { account: (secret) => [`${secret.metadata.namespace}/${accountOf(secret)}`] },
    });
    /** The accounts of Secrets that are gone: the accounts may still name the Secrets, and these names are removed. */
    const gone = new Map<string, string>();
    const queue = workQueue(environment, {
      name: "serviceaccount_tokens_secret",
      workersMax: 4,
      work: async (key) => {
        const secret = secrets.get(key);
        const account = secret === undefined ? gone.get(key) : accountOf(secret);
        if (account === undefined || account === "") return;
        const isThere = await reconcile(environment, options, names, key, account);
        if (!isThere) gone.delete(key);
      },
      logKey: "secret",
      failure: "could not fill the Secret of a token; trying again",
    });
    secrets.subscribe(({ type, object }) => {
      const key = keyOf(object);
      const account = accountOf(object);
      if (type !== "deleted") gone.delete(key);
      else if (account !== "") gone.set(key, account);
      queue.add(key);
    });
    await follow<ServiceAccount>(environment, {
      what: "Secrets of tokens",
      path: "/api/v1/serviceaccounts",
      replaced() {
        for (const secret of secrets.list()) queue.add(keyOf(secret));
      },
      changed(type, { metadata: { namespace, name } }) {
        if (type === "MODIFIED") return;
        for (const secret of secrets.by("account", `${namespace}/${name}`)) queue.add(keyOf(secret));
      },
    });
  };

/** Processes a Secret; returns false when it does not exist any more. */
async function reconcile(
  environment: ControllerEnvironment,
  { sign, rootCertificates }: ServiceAccountTokensOptions,
  names: Names,
  key: string,
  accountName: string,
): Promise<boolean> {
  const { client } = environment;
  const [namespace = "", name = ""] = key.split("/");
  const path = objectPath("/api/v1/secrets", key);
  const accountPath = objectPath("/api/v1/serviceaccounts", { namespace, name: accountName });
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
