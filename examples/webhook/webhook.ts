/** A webhook: a server that answers AdmissionReviews. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "binnacle/client";
import { MutatingWebhookConfiguration } from "binnacle/client/kinds";

/** The part of a review that is used here. */
interface Review {
  readonly request: {
    readonly uid: string;
    readonly object: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
    readonly userInfo: { readonly username: string };
  };
}

/** Returns the answer to a request: a refusal, or a patch. */
function decide({ uid, object, userInfo }: Review["request"]): object {
  const annotations = object.metadata.annotations ?? {};
  if (annotations["example.com/owner"] === undefined) {
    return { uid, allowed: false, status: { code: 403, message: "say who owns it: annotate example.com/owner" } };
  }
  const patch = [{ op: "add", path: "/metadata/annotations/example.com~1created-by", value: userInfo.username }];
  return { uid, allowed: true, patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface Running {
  readonly server: Server;
  readonly url: string;
  /** The authority of its certificate, which the API server needs. */
  readonly ca: string;
}

/** Starts the webhook on a free port of an address. */
export async function startWebhook(address = "127.0.0.1"): Promise<Running> {
  const { key, cert } = makeCertificate(address);
  const server = createServer({ key, cert }, (request, answer) => {
    void readBody(request).then((text) => {
      const review = JSON.parse(text) as Review;
      answer.writeHead(200, { "content-type": "application/json" });
      answer.end(JSON.stringify({ ...review, request: undefined, response: decide(review.request) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `https://${address}:${port}/`, ca: cert };
}

/** Tells the API server to ask the webhook about labelled ConfigMaps. */
export async function register(cluster: Cluster, { url, ca }: Running): Promise<void> {
  await cluster.kind(MutatingWebhookConfiguration).apply({
    metadata: { name: "owners.example.com" },
    webhooks: [
      {
        name: "owners.example.com",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        // Writes are refused while the webhook does not answer; "Ignore" lets them pass.
        failurePolicy: "Fail",
        timeoutSeconds: 5,
        clientConfig: { url, caBundle: Buffer.from(ca).toString("base64") },
        objectSelector: { matchLabels: { checked: "yes" } },
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
      },
    ],
  });
}

/** Makes a key, and a certificate that is its own authority. */
function makeCertificate(address: string): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "webhook-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const about = ["-subj", "/CN=webhook", "-addext", `subjectAltName=IP:${address}`, "-days", "30"];
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    execFileSync("openssl", ["req", ...kind, ...about, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
