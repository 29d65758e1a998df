/** Certificate requests for tests, and their objects in the API. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import https from "node:https";
import { type JsonName, Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from "@peculiar/x509";
import type { TestServer } from "./harness.ts";
import type { ObjectBody } from "./objects.ts";

interface NewRequest {
  /** The request as `spec.request` has it: base64 of PEM. */
  readonly request: string;
  /** The private key in PEM. */
  readonly key: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Makes a key, and a request for it. */
export async function newRequest(name: JsonName, dnsNames: readonly string[] = []): Promise<NewRequest> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const names = dnsNames.map((value) => ({ type: "dns", value }) as const);
  const extensions = names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)];
  const request = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm,
    extensions,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const key = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`;
  return { request: Buffer.from(request.toString("pem")).toString("base64"), key };
}

export const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** Returns a certificate request object; `spec` has its signer and usages. */
export const signingRequest = (name: string, spec: object): ObjectBody => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name },
  spec,
});

/** Returns an agent for connections with a client certificate. `cert` and `key` are PEM. */
export const certificateAgent = ({ ca }: TestServer, cert: string, key: string): https.Agent =>
  new https.Agent({ ca, cert, key, maxSockets: 1 });
