/**
 * Reads the proxies of `--egress-selector-config-file`. Source of rules and messages: the answers of kube-apiserver.
 * Loaded only with that flag.
 */
import { existsSync } from "node:fs";
import { createSecureContext } from "node:tls";
import {
  ConfigError,
  type Decoded,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";
import { httpTunnel, type OpenTunnel } from "#egress/proxy-tunnel.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { duplicate, type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { readAuthorities, readGivenPair } from "../credentials.ts";
import { orStartError, readGiven } from "../given-files.ts";
import type { Egress } from "./ways.ts";

const tlsConfig = { caBundle: textValue, clientKey: textValue, clientCert: textValue };
const tcp = { url: textValue, tlsConfig: struct(tlsConfig) };
const transport = { tcp: struct(tcp), uds: struct({ udsName: textValue }) };
const connection = { proxyProtocol: textValue, transport: struct(transport) };
const configuration = {
  egressSelections: listOf(struct({ name: textValue, connection: struct(connection) })),
};
type Connection = Decoded<typeof connection>;
type Transport = Decoded<typeof transport>;

const names = ["cluster", "controlplane", "etcd"] as const;
const protocols = ["Direct", "HTTPConnect", "GRPC"];

/** Reads the file. Throws `StartError`. */
export function readEgress(file: string, domain: ApiDomain): Egress {
  const text = readGiven(file);
  return orStartError(`${file}: `, () => {
    const group = domain.rename("apiserver.k8s.io");
    const { egressSelections = [] } = readDocument(text, {
      kind: "EgressSelectorConfiguration",
      apiVersions: [`${group}/v1beta1`, `${group}/v1alpha1`],
      fields: configuration,
    });
    const at = FieldPath.of("service", "connection");
    const selections = egressSelections.map(({ name = "", connection: of = {} }) => ({ name: canonical(name), of }));
    refuseWith([...selections.flatMap(({ of }) => checkConnection(of, at)), ...checkNames(selections, at)]);
    const tunnels = new Map(selections.map(({ name, of }) => [name, tunnelOf(name, of)]));
    const [cluster, controlPlane, etcd] = names.map((name) => tunnels.get(name));
    return { cluster, controlPlane, hasEtcdProxy: etcd !== undefined };
  });
}

/** Returns the name in lower case; `master` is the older name of the control plane. */
const canonical = (name: string): string => (name.toLowerCase() === "master" ? "controlplane" : name.toLowerCase());

function checkNames(selections: readonly { readonly name: string }[], at: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return selections.flatMap(({ name }, i) => {
    const errors = seen.has(name) ? [duplicate(at.index(i), name)] : [];
    seen.add(name);
    return names.some((known) => known === name) ? errors : [...errors, notSupported(at, name, names)];
  });
}

function checkConnection({ proxyProtocol = "", transport: by }: Connection, at: FieldPath): FieldError[] {
  const field = at.child("transport");
  switch (proxyProtocol) {
    case "Direct":
      return by === undefined ? [] : [invalid(field, "direct", "Transport config should be absent for direct connect")];
    case "HTTPConnect":
      return by === undefined ? [required(field, "transport must be set for HTTPConnect")] : checkTransport(by, at);
    case "GRPC":
      throw new ConfigError("the protocol GRPC is not supported here: use Direct or HTTPConnect");
    default:
      return [notSupported(at.child("protocol"), proxyProtocol, protocols)];
  }
}

function checkTransport({ tcp: byTcp, uds }: Transport, at: FieldPath): FieldError[] {
  if (byTcp !== undefined && uds !== undefined)
    return [invalid(at.child("tcp"), byTcp, "TCP and UDS cannot both be set")];
  if (uds !== undefined) {
    return (uds.udsName ?? "") === ""
      ? [invalid(at.child("udsName"), "nil", "UDSName should be present for UDS connections")]
      : [];
  }
  return byTcp === undefined ? [required(at.child("tcp"), "One of TCP or UDS must be set")] : checkTcp(byTcp, at);
}

function checkTcp({ url = "", tlsConfig: tls }: Decoded<typeof tcp>, at: FieldPath): FieldError[] {
  const field = at.child("tlsConfig");
  if (url.startsWith("http://")) {
    return tls === undefined ? [] : [invalid(field, "nil", "TLSConfig config should not be present when using HTTP")];
  }
  if (!url.startsWith("https://")) {
    return [invalid(at.child("url"), url, "supported connection protocols are http:// and https://")];
  }
  return tls === undefined ? [required(field, "TLSConfig must be present when using HTTPS")] : checkTls(tls, field);
}

function checkTls({ caBundle = "", clientCert = "", clientKey = "" }: Decoded<typeof tlsConfig>, at: FieldPath) {
  const errors: FieldError[] = [];
  const mustExist = (name: string, file: string, what: string): void => {
    if (file !== "" && !existsSync(file)) errors.push(invalid(at.child(name), file, `${what} does not exist`));
  };
  mustExist("caBundle", caBundle, "TLS config ca bundle");
  if (clientCert === "") errors.push(invalid(at.child("clientCert"), "nil", "Using TLS requires clientCert"));
  mustExist("clientCert", clientCert, "TLS client cert");
  if (clientKey === "") errors.push(invalid(at.child("clientKey"), "nil", "Using TLS requires requires clientKey"));
  mustExist("clientKey", clientKey, "TLS client key");
  return errors;
}

/** Returns how a checked connection is made; `undefined` for a direct one. */
function tunnelOf(name: string, { transport: by }: Connection): OpenTunnel | undefined {
  if (by === undefined) return undefined;
  const socketPath = by.uds?.udsName;
  if (socketPath !== undefined) return httpTunnel({ socketPath });
  const { url: text = "", tlsConfig: tls } = by.tcp ?? {};
  const url = URL.parse(text);
  if (url === null) throw new ConfigError(`egressSelection ${JSON.stringify(name)}: ${text} is no URL`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const address = { host, port: Number(url.port) || (tls === undefined ? 80 : 443) };
  if (tls === undefined) return httpTunnel({ address });
  const { caBundle = "", clientCert = "", clientKey = "" } = tls;
  const { certificate: cert, key } = readGivenPair(clientCert, clientKey);
  const trust = caBundle === "" ? {} : { ca: readAuthorities(caBundle), allowPartialTrustChain: true };
  const secureContext = createSecureContext({ cert, key, ...trust, minVersion: "TLSv1.2" });
  return httpTunnel({ address, tls: { secureContext } });
}
