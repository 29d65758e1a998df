/**
 * The server's own certificates, keys and token: created at the first start, reused, and renewed when they expire or no
 * longer fit. What others rely on is never made anew in place of a lost file, unless the loss is accepted. Everything
 * happens in memory; `files` lists what to write afterwards.
 */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { certificateBlocks } from "#authn/certificate-authorities.ts";
import { reasonOf } from "#std/system-error.ts";
import { type CertificateTemplate, type KeyPair, keyPem, newKey, signCertificate } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import { readGiven } from "./given-files.ts";

export interface Credentials {
  /** The authority that signed `serving` and `admin`, as PEM. */
  readonly ca: KeyPair;
  readonly serving: KeyPair;
  /** The credentials of a client in the group `system:masters`. */
  readonly admin: KeyPair & { readonly token: string };
  /**
   * The client certificate for aggregated API servers. Its authority signs nothing else, so no other client can
   * impersonate this server.
   */
  readonly frontProxy: { readonly ca: KeyPair; readonly client: KeyPair };
  /** The key pair that signs service account tokens, as PEM. */
  readonly serviceAccount: { readonly privateKey: string; readonly publicKey: string };
  /** The new or renewed files: content by path below the data folder. Empty when everything could be reused. */
  readonly files: ReadonlyMap<string, string>;
  /** The message about a loss that was accepted. */
  readonly loss?: string;
}

/** The place that keeps credentials. */
export interface CredentialFiles {
  /** Returns the content of a file; `undefined` when it is not there. Throws `StartError` when it cannot be read. */
  read(path: string): string | undefined;
  /** Returns the name of a file in messages. */
  nameOf(path: string): string;
  /** The way to get lost files back, for the message: "restore a backup of the folder". */
  readonly remedy: string;
}

interface PlaneCredentialsWanted {
  /** The existing credentials; `undefined` makes all of them new. */
  readonly stored: CredentialFiles | undefined;
  /** Whether they were used before. If so, the files on which other programs rely must exist. */
  readonly isUsed: boolean;
  /** Whether this process writes the files. One that does not takes certificates until their end. */
  readonly isKeeper: boolean;
  /** Whether lost credentials are replaced by new ones. */
  readonly acceptLoss: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

export interface CredentialsWanted extends Omit<PlaneCredentialsWanted, "stored"> {
  /** The folder with existing credentials; `undefined` makes all of them new. */
  readonly folder: string | undefined;
  /** Names in the certificate, in addition to the names of every server. */
  readonly names: readonly string[];
}

const authorityName = "binnacle-ca";
const frontProxyAuthorityName = "binnacle-front-proxy-ca";
/** Common name of the certificate that the server presents to aggregated API servers. */
export const frontProxyName = "front-proxy-client";
const dayMs = 86_400_000;
const authorityDays = 3650;
const leafDays = 365;
/** A certificate is renewed when it expires in less than this time, in milliseconds. */
const renewBeforeMs = 30 * dayMs;
/** The time in milliseconds by which certificates are backdated, since clocks of clients may be a little slow. */
const backdateMs = 5 * 60_000;

/** The names under which programs on this machine, or inside a cluster, reach a server. */
const commonNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "127.0.0.1",
  "::1",
];

/** Reads existing credentials and creates missing ones. Throws `StartError` for unreadable, invalid or lost files. */
export async function prepareCredentials(options: CredentialsWanted): Promise<Credentials> {
  const { folder } = options;
  const wanted = { ...options, stored: folder === undefined ? undefined : filesOf(folder) };
  const loss = acceptedLoss(roots, wanted);
  const maker = new Maker(wanted);
  const authority = await maker.authority("ca", authorityName);
  const names = [...new Set([...commonNames, ...wanted.names])];
  const serving = await maker.leaf("apiserver", authority, {
    fits: (pair) => hasNames(pair, names),
    subject: { commonName: "binnacle", usage: "server", names },
  });
  const admin = await maker.leaf("admin", authority, {
    fits: () => true,
    subject: { commonName: "admin", organizations: ["system:masters"], usage: "client" },
  });
  const frontProxy = await frontProxyOf(maker);
  const token = maker.adminToken();
  const serviceAccount = maker.serviceAccountKeys();
  const lost = loss === undefined ? {} : { loss };
  return {
    ca: authority,
    serving,
    admin: { ...admin, token },
    frontProxy,
    serviceAccount,
    files: maker.files,
    ...lost,
  };
}

/** The credentials of a plane, a control plane without a port: it has no certificate of its own, and signs none for clients. */
export interface PlaneCredentials extends Pick<Credentials, "frontProxy" | "serviceAccount" | "files"> {
  readonly adminToken: string;
}

/** Does the same as `prepareCredentials` for a plane. */
export async function preparePlaneCredentials(wanted: PlaneCredentialsWanted): Promise<PlaneCredentials> {
  acceptedLoss(
    roots.filter(({ key }) => key !== "pki/ca.key"),
    wanted,
  );
  const maker = new Maker(wanted);
  return {
    frontProxy: await frontProxyOf(maker),
    adminToken: maker.adminToken(),
    serviceAccount: maker.serviceAccountKeys(),
    files: maker.files,
  };
}

async function frontProxyOf(maker: Maker): Promise<Credentials["frontProxy"]> {
  const ca = await maker.authority("front-proxy-ca", frontProxyAuthorityName);
  const client = await maker.leaf(frontProxyName, ca, {
    fits: () => true,
    subject: { commonName: frontProxyName, usage: "client" },
    authorityName: frontProxyAuthorityName,
  });
  return { ca, client };
}

/** Returns the message about a loss that was accepted, if there is one. Throws `StartError` for a loss that was not. */
function acceptedLoss(required: readonly Root[], wanted: PlaneCredentialsWanted): string | undefined {
  const loss = lostFiles(required, wanted);
  if (loss === undefined || wanted.acceptLoss) return loss;
  const wayOn = "or go on with new ones by one start with --accept-data-loss";
  throw new StartError(`${loss}; put it back, ${wanted.stored?.remedy}, ${wayOn}`);
}

/** A key on which other programs rely. All other credentials can be made again from such keys. */
interface Root {
  readonly key: string;
  /** The certificate of the key, which other programs know. */
  readonly certificate?: string;
  /** The consequence of a lost key, for the error message. */
  readonly lost: string;
}

const roots: readonly Root[] = [
  {
    key: "pki/ca.key",
    certificate: "pki/ca.crt",
    lost: "clients would trust the server no longer, and every certificate that it issued would be void",
  },
  {
    key: "pki/front-proxy-ca.key",
    certificate: "pki/front-proxy-ca.crt",
    lost: "aggregated API servers would trust the server no longer",
  },
  { key: "pki/sa.key", lost: "every token of a service account would be void" },
  { key: "pki/admin.token", lost: "the administrator's token would be void" },
];

/** Returns a message about the lost files; `undefined` when no file is lost. */
function lostFiles(required: readonly Root[], { stored, isUsed }: PlaneCredentialsWanted): string | undefined {
  if (stored === undefined) return undefined;
  const problems: string[] = [];
  for (const { key, certificate, lost } of required) {
    const files = certificate === undefined ? [key] : [key, certificate];
    const contents = files.map((file) => stored.read(file)?.trim());
    // An interrupted first start leaves a key without its certificate.
    const isRequired = isUsed || contents[1] !== undefined;
    for (const [index, content] of contents.entries()) {
      const isMissing = content === undefined && isRequired;
      if (!isMissing && content !== "") continue;
      const file = stored.nameOf(files[index]!);
      problems.push(`${file} is ${isMissing ? "missing" : "empty"}: with a new one ${lost}`);
    }
  }
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** A certificate that an authority signs: its content, and the check whether an existing one still fits. */
interface Leaf {
  fits(pair: KeyPair): boolean;
  readonly subject: Subject;
  /** The authority that signs the certificate; the server's own by default. */
  readonly authorityName?: string;
}

type Subject = Omit<CertificateTemplate, "publicKey" | "notBeforeMs" | "notAfterMs">;

/** The authority that signs a certificate. Without `key`, the certificate is self-signed. */
interface SigningAuthority {
  readonly commonName: string;
  readonly key?: KeyObject;
}

interface IssueOptions {
  readonly nowMs: number;
  readonly lifetimeMs: number;
  readonly random: Random;
  /** The key that is certified; by default a new one. */
  readonly key?: KeyObject | undefined;
}

/** Returns a new certificate with its key. */
async function issue(subject: Subject, authority: SigningAuthority, options: IssueOptions): Promise<KeyPair> {
  const { nowMs, lifetimeMs, random, key = newKey() } = options;
  const period = { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + lifetimeMs };
  const about = { ...subject, publicKey: createPublicKey(key), ...period };
  const issuer = { commonName: authority.commonName, key: authority.key ?? key };
  return { certificate: await signCertificate(about, issuer, random), key: keyPem(key) };
}

class Maker {
  /** The files to write: content by path below the data folder. */
  readonly files = new Map<string, string>();
  readonly #wanted: PlaneCredentialsWanted;

  constructor(wanted: PlaneCredentialsWanted) {
    this.#wanted = wanted;
  }

  async authority(name: string, commonName: string): Promise<KeyPair> {
    const old = this.#storedPair(name);
    if (old !== undefined && isFresh(old, this.#wanted)) return old;
    const subject: Subject = { commonName, usage: "authority" };
    return this.#keep(name, await this.#issue(subject, authorityDays, { commonName }, this.#loneKey(name)));
  }

  async leaf(name: string, authority: KeyPair, leaf: Leaf): Promise<KeyPair> {
    const { fits, subject, authorityName: commonName = authorityName } = leaf;
    const authorityKey = createPrivateKey(authority.key);
    const old = this.#storedPair(name);
    if (old !== undefined && isFresh(old, this.#wanted) && isIssuedBy(old, authorityKey) && fits(old)) return old;
    return this.#keep(name, await this.#issue(subject, leafDays, { commonName, key: authorityKey }));
  }

  adminToken(): string {
    const path = "pki/admin.token";
    const old = this.#read(path)?.trim() ?? "";
    if (old !== "") return old;
    const token = this.#wanted.random.bytes(32).toString("base64url");
    this.files.set(path, `${token}\n`);
    return token;
  }

  serviceAccountKeys(): Credentials["serviceAccount"] {
    const path = "pki/sa.key";
    const old = this.#read(path);
    const privateKey = old ?? keyPem(newKey());
    const publicKey = publicPem(path, privateKey);
    if (old === undefined) this.files.set(path, privateKey);
    if (this.#read("pki/sa.pub") !== publicKey) this.files.set("pki/sa.pub", publicKey);
    return { privateKey, publicKey };
  }

  /**
   * Returns the content of a file. An empty file counts as missing here; `lostFiles` has already checked for losses.
   */
  #read(path: string): string | undefined {
    const content = this.#wanted.stored?.read(path);
    return content?.trim() === "" ? undefined : content;
  }

  #storedPair(name: string): KeyPair | undefined {
    const certificate = this.#read(`pki/${name}.crt`);
    const key = this.#read(`pki/${name}.key`);
    return certificate === undefined || key === undefined ? undefined : checkPair(`pki/${name}`, { certificate, key });
  }

  /** Returns the key of an interrupted first start, which wrote the key but not its certificate. */
  #loneKey(name: string): KeyObject | undefined {
    const { isUsed, stored } = this.#wanted;
    const key = isUsed ? undefined : this.#read(`pki/${name}.key`);
    if (stored === undefined || key === undefined || this.#read(`pki/${name}.crt`) !== undefined) return undefined;
    return privateKeyOf(stored.nameOf(`pki/${name}.key`), key);
  }

  #keep(name: string, pair: KeyPair): KeyPair {
    // The key is written first: a certificate without its key counts as lost.
    this.files.set(`pki/${name}.key`, pair.key);
    this.files.set(`pki/${name}.crt`, pair.certificate);
    return pair;
  }

  #issue(subject: Subject, days: number, authority: SigningAuthority, key?: KeyObject): Promise<KeyPair> {
    const { clock, random } = this.#wanted;
    return issue(subject, authority, { nowMs: clock.now(), lifetimeMs: days * dayMs, random, key });
  }
}

const isIssuedBy = (pair: KeyPair, authorityKey: KeyObject): boolean =>
  new X509Certificate(pair.certificate).verify(createPublicKey(authorityKey));

interface ClientWanted {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly lifetimeMs: number;
}

/** Issues a certificate signed by the folder's own authority, which must exist. Throws `StartError`. */
export async function issueClientCertificate(
  folder: string,
  wanted: ClientWanted,
  clock: Clock,
  random: Random,
): Promise<KeyPair> {
  const [certificate, authorityKey] = [readPem(folder, "pki/ca.crt"), readPem(folder, "pki/ca.key")];
  if (certificate === undefined || authorityKey === undefined) {
    throw new StartError(`no authority in ${folder}: name the server's folder with --data-dir`);
  }
  checkPair(join(folder, "pki/ca"), { certificate, key: authorityKey });
  const { commonName, organizations, lifetimeMs } = wanted;
  const authorityEnds = new X509Certificate(certificate).validToDate;
  if (clock.now() + lifetimeMs > authorityEnds.getTime()) {
    throw new StartError(
      `the authority in ${folder} ends at ${authorityEnds.toISOString()}: choose a shorter duration`,
    );
  }
  const subject: Subject = { commonName, organizations, usage: "client" };
  const authority = { commonName: authorityName, key: createPrivateKey(authorityKey) };
  return issue(subject, authority, { nowMs: clock.now(), lifetimeMs, random });
}

/** Reads and checks a certificate and its key, both named by flags. Throws `StartError`. */
export function readGivenPair(certificateFile: string, keyFile: string): KeyPair {
  const certificate = readGiven(certificateFile);
  for (const block of certificateBlocks(certificate)) parseCertificate(certificateFile, block);
  return checkPair(certificateFile, { certificate, key: readGiven(keyFile) }, keyFile);
}

/** Reads a bundle of CA certificates given by a flag. Throws `StartError`. */
export function readAuthorities(file: string): string {
  const blocks = certificateBlocks(readGiven(file));
  if (blocks.length === 0) throw new StartError(`${file}: no certificate in it`);
  for (const block of blocks) parseCertificate(file, block);
  return blocks.map((block) => `${block}\n`).join("");
}

/** Returns the credentials in a folder. */
export const filesOf = (folder: string): CredentialFiles => ({
  read: (path) => readPem(folder, path),
  nameOf: (path) => join(folder, path),
  remedy: "restore a backup of the folder",
});

function readPem(folder: string, path: string): string | undefined {
  const file = join(folder, path);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

function parseCertificate(file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new StartError(`${file}: not a certificate in PEM form`, { cause: error });
  }
}

function checkPair(file: string, pair: KeyPair, keyFile = `${file}.key`): KeyPair {
  const certificate = parseCertificate(file, pair.certificate);
  if (!certificate.checkPrivateKey(privateKeyOf(keyFile, pair.key)))
    throw new StartError(`${keyFile}: not the key of ${file}`);
  return pair;
}

function privateKeyOf(file: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new StartError(`${file}: not a private key in PEM form`, { cause: error });
  }
}

function publicPem(file: string, privateKey: string): string {
  try {
    return createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
  } catch (error) {
    throw new StartError(`${file}: not a private key in PEM form`, { cause: error });
  }
}

function isFresh(pair: KeyPair, { clock, isKeeper }: Pick<CredentialsWanted, "clock" | "isKeeper">): boolean {
  const { validFromDate, validToDate } = new X509Certificate(pair.certificate);
  const neededMs = isKeeper ? renewBeforeMs : 0;
  return validFromDate.getTime() <= clock.now() && validToDate.getTime() - clock.now() > neededMs;
}

function hasNames(pair: KeyPair, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pair.certificate);
  const has = (name: string): boolean =>
    isIP(name) === 0
      ? (certificate.subjectAltName ?? "").split(", ").includes(`DNS:${name}`)
      : certificate.checkIP(name) !== undefined;
  return names.every(has);
}
