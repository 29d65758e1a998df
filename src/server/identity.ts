/**
 * The identity of this server, which distinguishes it from other servers of its control plane. It is the name of the
 * identity Lease, and occurs in StorageVersions. It is the same at every start on one machine and port. Labels of metrics
 * have a hash of the machine's. Source: upstream's `APIServerID`.
 */
import { hash } from "node:crypto";
import { hostname } from "node:os";

/** The label value of identities: `kube-apiserver`, whatever the API domain. */
export const identityLabelValue = "kube-apiserver";

const idBytes = 16;
const base32 = "abcdefghijklmnopqrstuvwxyz234567";

/** The ports of servers whose identity is that of their machine, as upstream's. */
const usualPorts = new Set([443, 6443]);

/** Returns the identity of the server of this machine that listens on a port. */
export const serverIdAt = (port: number): string =>
  usualPorts.has(port) ? serverId() : serverId(`${hostname()}:${port}`);

/** Returns `apiserver-` and 26 characters, a hash of the machine's name and `identityLabelValue`. */
export function serverId(host = hostname()): string {
  const parts = [host, identityLabelValue].flatMap((part) => {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    return [length, bytes];
  });
  return `apiserver-${base32Of(hash("sha256", Buffer.concat(parts), "buffer").subarray(0, idBytes))}`;
}

/** Returns the hash that identifies this machine in labels of metrics. */
export const identityHash = (): string => `sha256:${hash("sha256", serverId())}`;

function base32Of(bytes: Buffer): string {
  let text = "";
  let bits = 0;
  let count = 0;
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    count += 8;
    for (; count >= 5; count -= 5) text += base32[(bits >> (count - 5)) & 31];
    bits &= (1 << count) - 1;
  }
  return count === 0 ? text : text + base32[(bits << (5 - count)) & 31];
}
