/**
 * Copies of whole stores, for commands: opens data folders, backups and etcds with the layout of their API domain and the
 * encryption of their servers.
 */
import { join } from "node:path";
import { apiDomain } from "#meta/api-domain.ts";
import { machineClock } from "#std/clock.ts";
import { makeFolder } from "#std/folder.ts";
import { systemRandom } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import {
  copyToEtcd,
  copyToFolder,
  type CopyCipher,
  type CopyProgress,
  type CopyReport,
  type EtcdAddress,
  EtcdConnection,
  type EtcdLayout,
  type EtcdKeyspace,
  verificationOf,
  writeBackup,
} from "#storage/copy.ts";
import { packedForm } from "#storage/packed-value.ts";
import { openVerification, type StoreToVerify, type Verification } from "#storage/verify.ts";
import { insertRevision, withoutRevision } from "#storage/versioned-value.ts";
import { readMarker } from "./data-folder.ts";
import { generalFlags } from "./general-flags.ts";
import { allKinds } from "./served-kinds.ts";
import { asStartError, domainRecordKey } from "./store.ts";
import { etcdPaths, foreignReader } from "./store/etcd-layout.ts";
import type { EncryptionFile } from "./verify-store.ts";

/** The domain of a store without a record: kube-apiserver wrote it. */
const upstreamDomain = "k8s.io";

/** Its timers keep the process alive while members cannot be reached. */
const clock = machineClock(true);

interface CopyOptions {
  readonly encryption: EncryptionFile | undefined;
  readonly progress: CopyProgress;
}

/** Fills an etcd with a data folder or a backup. Rejects with `StartError`. */
export function fillEtcd(
  from: StoreToVerify,
  to: EtcdAddress,
  options: CopyOptions & { readonly burns: boolean },
): Promise<CopyReport> {
  return withStartErrors(async (opened) => {
    const source = opened(openVerification(from));
    const domain = await domainOf(source);
    const connection = opened(await connect(to));
    const recorded = domainFrom(await connection.valueOf(domainRecordKey)) ?? domain;
    if (recorded !== domain)
      throw new StartError(`the store belongs to API domain ${domain}, and etcd has one of ${recorded}`);
    return copyToEtcd({
      ...options,
      source,
      sourceName: "dataDir" in from ? from.dataDir : from.backupFile,
      target: connection.withLayout(layoutOf(domain)),
      cipher: await cipherOf(options.encryption, domain, opened),
      clock,
    });
  });
}

/** Makes the store of a data folder from an etcd. Rejects with `StartError`. */
export function fillFolder(from: EtcdAddress, dataDir: string, options: CopyOptions): Promise<CopyReport> {
  return withStartErrors(async (opened) => {
    const source = await openSource(from, opened);
    const { domain } = source;
    const marker = readMarker(dataDir);
    if (marker !== undefined && marker.apiDomain !== domain)
      throw new StartError(
        `data folder ${dataDir} belongs to API domain ${marker.apiDomain}, and the etcd to ${domain}`,
      );
    return copyToFolder({ ...(await backupOptions(source, options, opened)), dataDir });
  });
}

/** Writes a backup of an etcd, whose servers may go on. Rejects with `StartError`. */
export function backUpEtcd(from: EtcdAddress, file: string, options: CopyOptions): Promise<CopyReport> {
  return withStartErrors(async (opened) => {
    const source = await openSource(from, opened);
    const rollback = makeFolder(join(file, ".."));
    try {
      return await writeBackup({ ...(await backupOptions(source, options, opened)), file });
    } catch (error) {
      rollback();
      throw error;
    }
  });
}

/** Opens an etcd for `verifyStore`, which closes it. Rejects with `StartError`. */
export async function verifyEtcd(address: EtcdAddress): Promise<Verification> {
  try {
    const connection = await connect(address);
    try {
      const side = connection.withLayout(layoutOf(await domainIn(connection)));
      return { ...(await verificationOf(side)), close: () => connection.close() };
    } catch (error) {
      connection.close();
      throw error;
    }
  } catch (error) {
    throw asStartError(error);
  }
}

interface OpenSource {
  readonly side: EtcdKeyspace;
  readonly domain: string;
}

async function openSource(address: EtcdAddress, opened: Opened): Promise<OpenSource> {
  const connection = opened(await connect(address));
  const domain = await domainIn(connection);
  const side = connection.withLayout(layoutOf(domain));
  const { entries } = await side.range({ key: side.keys.copy });
  if (entries.length > 0)
    throw new StartError(`the copy into etcd at ${side.name} is not complete: run it again first`);
  return { side, domain };
}

async function backupOptions({ side, domain }: OpenSource, { encryption, progress }: CopyOptions, opened: Opened) {
  return {
    source: side,
    cipher: await cipherOf(encryption, domain, opened),
    record: { key: domainRecordKey, value: withoutRevision(Buffer.from(domain)) },
    clock,
    progress,
  };
}

interface Closable {
  close(): void;
}

/** Notes something that is closed in the end. */
type Opened = <T extends Closable>(part: T) => T;

async function withStartErrors<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const parts: Closable[] = [];
  try {
    return await work((part) => {
      parts.push(part);
      return part;
    });
  } catch (error) {
    throw asStartError(error);
  } finally {
    for (const part of parts.toReversed()) part.close();
  }
}

const connect = (address: EtcdAddress): Promise<EtcdConnection> =>
  EtcdConnection.open(address, { clock, random: systemRandom });

const domainIn = async (connection: EtcdConnection): Promise<string> =>
  domainFrom(await connection.valueOf(domainRecordKey)) ?? upstreamDomain;

/** Returns the name in the record of a store. Throws `StartError` for a text that is no name of a domain. */
function domainFrom(record: Buffer | undefined): string | undefined {
  return (
    record &&
    generalFlags.apiDomain.check(
      record.toString(),
      () => new StartError(`${domainRecordKey} is damaged: ${JSON.stringify(record.toString())} is no API domain`),
    )
  );
}

/** Returns the API domain of a folder or a backup. */
async function domainOf(source: Verification): Promise<string> {
  let domain: string | undefined;
  await source.read(
    ({ key, revision, value }) => {
      if (key === domainRecordKey) domain = domainFrom(insertRevision(value, revision));
    },
    () => undefined,
  );
  if (domain === undefined) throw new StartError("the store does not say its API domain, as all stores do");
  return domain;
}

function layoutOf(name: string): EtcdLayout {
  const domain = apiDomain(name);
  const { definitions } = allKinds(domain).table;
  return {
    paths: etcdPaths(definitions, domain),
    readForeign: foreignReader(definitions, domain),
    serverLeases: `/registry/${domain.rename("coordination.k8s.io")}/leases/kube-system/apiserver-`,
  };
}

async function cipherOf(encryption: EncryptionFile | undefined, domain: string, opened: Opened): Promise<CopyCipher> {
  const { openStoredValues, plainCipher } = await import("./encryption/stored-values.ts");
  if (encryption === undefined) return plainCipher;
  return opened(await openStoredValues({ ...encryption, domain: apiDomain(domain), form: packedForm })).cipher;
}
