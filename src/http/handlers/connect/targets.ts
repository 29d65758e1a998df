/**
 * The addresses that pods, services and nodes name: of the kubelet of a node, and of the target of a proxy. Source:
 * upstream's strategies of pods, services and nodes, and its `kubelet/client`.
 */
import type { EndpointAddress, Node, Pod, PodSpec } from "#api/core/v1.ts";
import type { ServiceAddress } from "#egress/service-address.ts";
import { addressNotAllowed } from "#egress/proxyable-address.ts";
import { goQuote } from "#meta/field-error.ts";
import { badRequest, notFound, serviceUnavailable, showingValues, unclassified } from "#meta/status-error.ts";
import type { Random } from "#std/random.ts";
import type { NodeAccess, PeerSort } from "../../node-access.ts";

/** The other end of a proxied connection. */
export interface ProxyTarget {
  readonly address: ServiceAddress;
  readonly peer: PeerSort;
}

const usualKubeletPort = 10_250;
const httpPort = 80;

/** Returns the address of a node's kubelet. Throws an error about `missing` when there is no such node. */
export function kubeletAddress(access: NodeAccess, name: string, missing: "pods" | "nodes"): ServiceAddress {
  const node = access.find("nodes", "", name);
  // Upstream names the resource of the request in place of the node.
  if (node === undefined) {
    const error = notFound({ group: "", resource: missing }, name);
    throw missing === "pods" ? showingValues(error) : error;
  }
  const host = preferredAddress(node, access.preferredAddressTypes);
  return { host, port: node.status?.daemonEndpoints?.kubeletEndpoint?.Port || usualKubeletPort };
}

function preferredAddress({ status }: Node, types: readonly string[]): string {
  const addresses = status?.addresses ?? [];
  for (const type of types) {
    const chosen = addresses.find((address) => address.type === type);
    if (chosen !== undefined) return chosen.address;
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
  throw unclassified(`no preferred addresses found; known addresses: [${known}]`);
}

interface TargetName {
  /** Empty unless the request names it. */
  readonly scheme: string;
  readonly name: string;
  /** A number or a name; empty unless the request names it. */
  readonly port: string;
}

/** Reads `name`, `name:port` or `scheme:name:port`; `undefined` for anything else. */
export function targetName(text: string): TargetName | undefined {
  const parts = text.split(":");
  if (parts.length > 3) return undefined;
  const [scheme, name, port] =
    parts.length === 3 ? (parts as [string, string, string]) : (["", parts[0] ?? "", parts[1] ?? ""] as const);
  if (name === "" || (scheme !== "" && scheme !== "http" && scheme !== "https")) return undefined;
  return { scheme, name, port };
}

const peerOf = (scheme: string): PeerSort => (scheme === "https" ? "target with TLS" : "target");

/** Returns the number of a port. Upstream breaks off the connection for any other text. */
function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port > 0 && port < 65_536) return port;
  throw badRequest(`invalid port ${goQuote(text)}`);
}

/** Returns the target of a proxy to a pod: its first address, and the first port that it names or the one asked for. */
export function podTarget(access: NodeAccess, { status, spec }: Partial<Pod>, wanted: TargetName): ProxyTarget {
  const host = status?.podIPs?.[0]?.ip ?? status?.podIP ?? "";
  if (!access.isProxyable(host)) throw badRequest(addressNotAllowed);
  const port = wanted.port === "" ? firstPort(spec) : portNumber(wanted.port);
  return { address: { host, port }, peer: peerOf(wanted.scheme) };
}

const firstPort = (spec: PodSpec | undefined): number =>
  spec?.containers?.find(({ ports = [] }) => (ports?.length ?? 0) > 0)?.ports?.[0]?.containerPort ?? httpPort;

/** Returns the target of a proxy to a service: one of its endpoints that is a pod. */
export function serviceTarget(
  access: NodeAccess,
  { namespace, id, random }: { readonly namespace: string; readonly id: string; readonly random: Random },
): ProxyTarget {
  const wanted = targetName(id);
  if (wanted === undefined) throw badRequest(`invalid service request ${goQuote(id)}`);
  const { name } = wanted;
  const portName = namedPort(access, namespace, wanted);
  const endpoints = access.find("endpoints", namespace, name);
  if (endpoints === undefined) throw notFound({ group: "", resource: "services" }, name);
  const found = (endpoints.subsets ?? []).flatMap(({ addresses, ports }) => {
    const port = ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    return (addresses ?? []).flatMap((one) => (isOfPod(access, namespace, one) ? [{ host: one.ip, port }] : []));
  });
  const address = found[Math.floor(random.next() * found.length)];
  if (address === undefined) throw serviceUnavailable(`no endpoints available for service ${goQuote(id)}`);
  return { address, peer: peerOf(wanted.scheme) };
}

/** Returns the name of the service's port; a port that is asked for by number is one of the service. */
function namedPort(access: NodeAccess, namespace: string, { name, port }: TargetName): string {
  if (!/^\d+$/.test(port)) return port;
  const service = access.find("services", namespace, name);
  if (service === undefined) throw notFound({ group: "", resource: "services" }, name);
  const chosen = service.spec.ports?.find((one) => one.port === Number(port));
  if (chosen === undefined) throw serviceUnavailable(`no service port ${port} found for service ${goQuote(name)}`);
  return chosen.name ?? "";
}

/** Whether an address is that of a pod of the namespace, so that endpoints open no way to other addresses. */
function isOfPod(access: NodeAccess, namespace: string, { ip, targetRef }: EndpointAddress): boolean {
  if (targetRef?.kind !== "Pod" || (targetRef.namespace ?? namespace) !== namespace) return false;
  const pod = access.find("pods", namespace, targetRef.name ?? "");
  const isItsOwn = pod?.status?.podIPs?.some((one) => one.ip === ip) === true || pod?.status?.podIP === ip;
  return isItsOwn && access.isProxyable(ip);
}

/** Returns the target of a proxy to a node: its kubelet, or another port of the node. */
export async function nodeTarget(access: NodeAccess, id: string): Promise<ProxyTarget> {
  const wanted = targetName(id);
  if (wanted === undefined) throw badRequest(`invalid node request ${goQuote(id)}`);
  const kubelet = kubeletAddress(access, wanted.name, "nodes");
  const problem = await access.hostProblem(kubelet.host);
  if (problem !== undefined) throw badRequest(problem);
  if (wanted.port === "" || wanted.port === String(kubelet.port)) return { address: kubelet, peer: "proxied kubelet" };
  return { address: { host: kubelet.host, port: portNumber(wanted.port) }, peer: peerOf(wanted.scheme) };
}
