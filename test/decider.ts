/**
 * A webhook for tests that decides about access or answers another review, with TLS, client certificates on request,
 * and every misbehaviour.
 */
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import { temporaryFolder } from "./harness.ts";

/** The spec of a SubjectAccessReview. */
interface AccessSpec {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly group?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: Readonly<Record<string, unknown>>;
  readonly nonResourceAttributes?: Readonly<Record<string, string>>;
}

/** A received review. */
export interface Question<Spec = AccessSpec> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Spec;
}

/**
 * The behaviour of the webhook: `silent` never answers, `redirect` redirects to a path that answers well, `broken`
 * answers a text.
 */
type Mode = "well" | "silent" | "redirect" | "broken";

export class Decider<Spec = AccessSpec> {
  readonly questions: Question<Spec>[] = [];
  /** The common names of the clients' certificates. */
  readonly clients = new Set<string>();
  mode: Mode = "well";
  /** Returns the status of a review. */
  answer: (spec: Spec) => object | Promise<object> = () => ({ allowed: false });
  readonly #server: https.Server;
  readonly #authority: FakeAuthority;
  readonly #client: { readonly certificate: string; readonly key: string };

  private constructor(
    authority: FakeAuthority,
    server: { readonly certificate: string; readonly key: string },
    client: { readonly certificate: string; readonly key: string },
  ) {
    this.#authority = authority;
    this.#client = client;
    this.#server = https.createServer(
      { cert: server.certificate, key: server.key, ca: authority.certificate, requestCert: true },
      (request, response) => void this.#reply(request).then((body) => this.#send(request, response, body)),
    );
  }

  static async open<Spec = AccessSpec>(): Promise<Decider<Spec>> {
    const authority = await fakeAuthority("deciders");
    const server = await authority.issue({ commonName: "decider", usage: "server" });
    const client = await authority.issue({ commonName: "apiserver", usage: "client" });
    const decider = new Decider<Spec>(authority, server, client);
    await new Promise<void>((resolve) => decider.#server.listen(0, "127.0.0.1", resolve));
    return decider;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // a TCP server has a port
    return `https://127.0.0.1:${port}/decide`;
  }

  /** Writes a kubeconfig for the webhook and returns its path. With another `ca`, clients do not trust the webhook. */
  kubeconfig({ ca = this.#authority.certificate, url = this.url } = {}): string {
    const data = (pem: string): string => Buffer.from(pem).toString("base64");
    const user = {
      "client-certificate-data": data(this.#client.certificate),
      "client-key-data": data(this.#client.key),
    };
    const file = join(temporaryFolder(), "decider.kubeconfig");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "decider", user: "apiserver" } }],
      clusters: [{ name: "decider", cluster: { server: url, "certificate-authority-data": data(ca) } }],
      users: [{ name: "apiserver", user }],
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  /** Forgets the received reviews. */
  reset(answer: Decider<Spec>["answer"], mode: Mode = "well"): void {
    this.questions.length = 0;
    this.answer = answer;
    this.mode = mode;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #reply(request: IncomingMessage): Promise<string> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const question = JSON.parse(Buffer.concat(pieces).toString()) as Question<Spec>;
    this.questions.push(question);
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    this.clients.add(String(subject?.CN));
    return JSON.stringify({ ...question, status: await this.answer(question.spec) });
  }

  #send(request: IncomingMessage, response: ServerResponse, body: string): void {
    if (this.mode === "silent") return;
    if (this.mode === "broken") response.writeHead(200).end("<html>all is well</html>");
    else if (this.mode === "redirect" && request.url === "/decide") {
      response.writeHead(307, { location: `${this.url}/elsewhere` }).end();
    } else response.writeHead(201, { "content-type": "application/json" }).end(body);
  }
}
