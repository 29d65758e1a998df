/**
 * The options of a plane: those of the server, without what says who its users are, what they may do, and what the server
 * shows to others. A plane has identities of its own, and its administrator is not that of the server.
 */
import { admissionFlags } from "../admission/flags.ts";
import { aggregationFlags } from "../aggregation/flags.ts";
import { externalAuthenticationFlags } from "../authentication/external-flags.ts";
import { authenticationFlags } from "../authentication/flags.ts";
import { authorizationFlags } from "../authorization/flags.ts";
import { controllerFlags } from "../controllers/flags.ts";
import { nodeFlags } from "../nodes/flags.ts";
import type { ServerOptions } from "../options.ts";
import type { PlanePlace } from "./plane-storage.ts";

/** Returns the options of the plane that accepts tokens of these issuers, and gives out those of the first. */
export function planeOptions(
  options: ServerOptions,
  issuers: readonly string[],
  { etcd }: Pick<PlanePlace, "etcd">,
): ServerOptions {
  return {
    ...options,
    ...defaultsOf(authenticationFlags),
    ...defaultsOf(externalAuthenticationFlags),
    ...defaultsOf(authorizationFlags),
    ...defaultsOf(aggregationFlags),
    ...defaultsOf(nodeFlags),
    ...signerDefaults(),
    // An answer does not tell whether there is a plane of a guessed name.
    anonymousAuth: false,
    enableBootstrapTokenAuth: options.enableBootstrapTokenAuth,
    serviceAccountIssuer: issuers,
    // Tokens that name another issuer stay valid.
    apiAudiences: issuers,
    serviceAccountMaxTokenExpirationMs: options.serviceAccountMaxTokenExpirationMs,
    // A file of settings may hold credentials for webhooks, which a plane could have sent to its own.
    admissionControlConfigFile: admissionFlags.admissionControlConfigFile.default,
    // The key of the port would verify tokens.
    tlsPrivateKeyFile: undefined,
    tlsCertFile: undefined,
    clientCaFile: undefined,
    requestheaderClientCaFile: undefined,
    rootCaFile: undefined,
    // The URLs have the names under which clients reach the server.
    externalHostname: undefined,
    auditPolicyFile: undefined,
    leaderElect: etcd !== undefined && options.leaderElect,
    etcdServers: etcd === undefined ? [] : options.etcdServers,
    etcdPrefix: etcd?.prefix ?? options.etcdPrefix,
    // The server compacts the etcd of all planes.
    etcdCompactionIntervalMs: 0,
  };
}

type Defaults<Table> = { readonly [Key in keyof Table]: Table[Key] extends { readonly default: infer T } ? T : never };

/** Returns the defaults of a table of flags. */
const defaultsOf = <Table extends Readonly<Record<string, { readonly default: unknown }>>>(
  table: Table,
): Defaults<Table> =>
  Object.fromEntries(Object.entries(table).map(([key, flag]) => [key, flag.default])) as Defaults<Table>; // one for each key

/** Returns the defaults of the flags that name signers of certificates and tokens. */
function signerDefaults(): Partial<ServerOptions> {
  const signers = Object.entries(controllerFlags).filter(([key]) => key.startsWith("clusterSigning"));
  return defaultsOf(Object.fromEntries(signers.filter(([key]) => key.endsWith("File"))));
}
