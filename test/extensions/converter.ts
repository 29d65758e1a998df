/**
 * A conversion webhook as a process, with HTTPS and faults. Versions `v1` have `spec.host` and `spec.port`, versions
 * `v2` have `spec.address`. The annotation `converter` of an object selects a fault.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { fakeAuthority } from "#authn/fake-authority.ts";

interface Converted {
  apiVersion: string;
  kind: string;
  metadata: Record<string, unknown> & { annotations?: Record<string, string>; labels?: Record<string, string> };
  spec?: { host?: string; port?: string; address?: string; text?: string; unknown?: number };
}

interface Review {
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: Converted[] };
}

interface Response {
  uid: string;
  result: { status: string; message?: string };
  convertedObjects: unknown[];
}

/** The running webhook. */
export interface Converter {
  /** The `webhook` of the conversion settings of definitions. */
  readonly webhook: object;
  stop(): Promise<void>;
}

export async function startConverter(): Promise<Converter> {
  const authority = await fakeAuthority("converters");
  const { certificate, key } = await authority.issue({ commonName: "converter", usage: "server" });
  const child: ChildProcess = spawn(
    process.execPath,
    ["--conditions=source", "--disable-warning=ExperimentalWarning", fileURLToPath(import.meta.url)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  child.stdin?.end(JSON.stringify({ cert: certificate, key }));
  const [port] = (await once(child.stdout!, "data")) as [Buffer];
  const caBundle = Buffer.from(authority.certificate).toString("base64");
  return {
    webhook: {
      clientConfig: { url: `https://127.0.0.1:${port.toString().trim()}/convert`, caBundle },
      conversionReviewVersions: ["v1"],
    },
    async stop() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** Returns the object in another version, as the webhook converts it without a fault. */
export function convert(object: Converted, apiVersion: string): Converted {
  const { host, port, address, ...rest } = object.spec ?? {};
  const [newHost, newPort] = (address ?? "").split(":");
  const isOld = apiVersion.endsWith("/v1");
  const spec = isOld
    ? { ...rest, host: host ?? newHost!, port: port ?? newPort! }
    : { ...rest, address: address ?? `${host}:${port}` };
  return { ...object, apiVersion, spec };
}

/** The faults by name: in an object, and below in the whole answer. */
const objectMistakes: Readonly<Record<string, (object: Converted) => unknown>> = {
  version: (object) => ({ ...object, apiVersion: "other.example.com/v9" }),
  kind: (object) => ({ ...object, kind: "Other" }),
  name: (object) => ({ ...object, metadata: { ...object.metadata, name: "other" } }),
  uid: (object) => ({ ...object, metadata: { ...object.metadata, uid: "other" } }),
  nothing: ({ metadata: _gone, ...rest }) => rest,
  null: () => null,
  labels: (object) => ({ ...object, metadata: { ...object.metadata, labels: { converted: "yes" } } }),
  "bad-labels": (object) => ({ ...object, metadata: { ...object.metadata, labels: { "a b": "c" } } }),
  others: (object) => ({ ...object, metadata: { ...object.metadata, finalizers: ["a/b"], resourceVersion: "1" } }),
  unknown: (object) => ({ ...object, spec: { ...object.spec, unknown: 1 } }),
};
const answerMistakes: Readonly<Record<string, (response: Response) => unknown>> = {
  failed: (response) => ({ ...response, result: { status: "Failed", message: "I do not want to" } }),
  silent: (response) => ({ ...response, result: { status: "Failure" } }),
  "other-uid": (response) => ({ ...response, uid: "other" }),
  fewer: (response) => ({ ...response, convertedObjects: [] }),
  none: () => undefined,
};

async function answer(body: string): Promise<{ code: number; text: string; location?: string }> {
  const { apiVersion, request } = JSON.parse(body) as Review;
  const mistake = request.objects[0]?.metadata.annotations?.["converter"] ?? "";
  if (mistake === "code") return { code: 500, text: "broken" };
  if (mistake === "garbage") return { code: 200, text: "<html>all is well</html>" };
  if (mistake === "redirect") return { code: 307, text: "", location: "/elsewhere" };
  const response: Response = {
    uid: request.uid,
    result: { status: "Success" },
    convertedObjects: request.objects.map((object) => {
      const converted = convert(object, request.desiredAPIVersion);
      const own = objectMistakes[object.metadata.annotations?.["converter"] ?? ""];
      return own === undefined ? converted : own(converted);
    }),
  };
  const reply = (answerMistakes[mistake] ?? ((whole: Response): unknown => whole))(response);
  return { code: 200, text: JSON.stringify({ kind: "ConversionReview", apiVersion, response: reply }) };
}

async function run(): Promise<void> {
  const { cert, key } = JSON.parse(await text(process.stdin)) as { cert: string; key: string };
  const server = https.createServer({ cert, key }, (request, response) => {
    void (async () => {
      const { code, text: reply, location } = await answer(await text(request));
      response.writeHead(code, location === undefined ? {} : { location }).end(reply);
    })();
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`); // a TCP server's
  });
}

if (import.meta.main) await run();
