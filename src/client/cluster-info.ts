/**
 * Verifies the config map `cluster-info`, from which a machine that joins a cluster learns its address and authority.
 * Anybody can read and forge it on the way; whoever has a bootstrap token that signed it can trust it. Source: upstream's
 * bootstrap signer; RFC 7515 with a detached payload.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isObject } from "#std/is-object.ts";

/** The error of information that nobody should trust, or of a token that is none. The message holds no secret. */
export class ClusterInfoError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ClusterInfoError";
  }
}

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const signaturePrefix = "jws-kubeconfig-";

/**
 * Returns the kubeconfig in the data of the config map, if the token has signed it. The algorithm must be HS256, whatever
 * the signature says of itself; its key is the whole token, or its secret alone, as controllers of Kubernetes sign.
 * `token` is `id.secret`. Throws `ClusterInfoError`.
 */
export function verifyClusterInfo(data: Readonly<Record<string, string>>, token: string): string {
  const [, id, secret] = tokenForm.exec(token) ?? [];
  if (id === undefined || secret === undefined) {
    throw new ClusterInfoError("a bootstrap token has the form id.secret, such as abcdef.0123456789abcdef");
  }
  const { kubeconfig } = data;
  if (typeof kubeconfig !== "string") throw new ClusterInfoError("cluster-info has no kubeconfig");
  const jws = data[signaturePrefix + id];
  if (typeof jws !== "string") {
    throw new ClusterInfoError(
      `token ${id} has not signed cluster-info: it may have ended, or lack usage-bootstrap-signing`,
    );
  }
  const [header = "", payload, signature = "", ...more] = jws.split(".");
  if (payload !== "" || more.length > 0) throw new ClusterInfoError(`the signature of token ${id} is no detached JWS`);
  checkHeader(header, id);
  const content = `${header}.${Buffer.from(kubeconfig).toString("base64url")}`;
  const found = Buffer.from(signature, "base64url");
  const isBy = (key: string): boolean => {
    const expected = createHmac("sha256", key).update(content).digest();
    return found.length === expected.length && timingSafeEqual(found, expected);
  };
  if (!isBy(token) && !isBy(secret)) {
    throw new ClusterInfoError(
      `the signature of token ${id} is wrong: cluster-info, or the token, is not the real one`,
    );
  }
  return kubeconfig;
}

function checkHeader(text: string, id: string): void {
  let header: unknown;
  try {
    header = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    header = undefined;
  }
  if (!isObject(header)) throw new ClusterInfoError(`the signature of token ${id} has no header`);
  const { alg, kid = id, crit } = header;
  if (alg !== "HS256") throw new ClusterInfoError(`the signature of token ${id} must have the algorithm HS256`);
  if (kid !== id) throw new ClusterInfoError(`the signature of token ${id} says that it is that of another token`);
  if (crit !== undefined)
    throw new ClusterInfoError(`the signature of token ${id} needs extensions, which are not known`);
}
