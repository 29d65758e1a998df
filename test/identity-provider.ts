/**
 * An OpenID Connect provider for tests, as a separate process: https with a private authority, discovery document and
 * keys, and every misbehaviour on request. It signs nothing, since tests have the keys.
 */
import { spawn } from "node:child_process";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The behaviour of the provider from now on. */
interface ProviderState {
  /** The issuer in its document; by default its own URL. */
  readonly issuer?: string;
  readonly keys?: readonly object[];
  /** The behaviour: `redirect` redirects to `/elsewhere/…`, where everything is correct. */
  readonly mode?: "well" | "silent" | "redirect" | "broken";
}

interface ProviderProcess {
  readonly url: string;
  /** Changes the answers. Resolves with the number of requests so far. */
  set(state: ProviderState): Promise<number>;
  stop(): Promise<void>;
}

interface Started {
  readonly port: number;
}

/** Starts the provider. `cert` and `key` are PEM. */
export async function spawnProvider(cert: string, key: string): Promise<ProviderProcess> {
  const child = spawn(process.execPath, ["--conditions=source", fileURLToPath(import.meta.url)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.(line));
  const say = (message: object): Promise<string> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      child.stdin.write(`${JSON.stringify(message)}\n`);
    });
  const { port } = JSON.parse(await say({ cert, key })) as Started;
  return {
    url: `https://127.0.0.1:${port}`,
    set: async (state) => Number(await say(state)),
    async stop() {
      child.stdin.end();
      child.kill();
      await ended;
    },
  };
}

/** Runs the provider itself. Its first line of input is the certificate, each further line a state. */
async function run(): Promise<void> {
  let state: ProviderState = {};
  let requests = 0;
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const server = https.createServer(JSON.parse((await lines.next()).value as string) as https.ServerOptions);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's address
  server.on("request", (request, response) => {
    requests += 1;
    const path = request.url ?? "";
    const send = (body: object): void => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (state.mode === "silent") return;
    if (state.mode === "broken") response.writeHead(500).end("Internal Server Error");
    else if (state.mode === "redirect" && !path.startsWith("/elsewhere/")) {
      response.writeHead(302, { location: `${url}/elsewhere${path}` }).end();
    } else if (path.endsWith("/.well-known/openid-configuration")) {
      send({ issuer: state.issuer ?? url, jwks_uri: `${url}/keys`, response_types_supported: ["id_token"] });
    } else if (path.endsWith("/keys")) send({ keys: state.keys ?? [] });
    else response.writeHead(404).end();
  });
  process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`);
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    state = { ...state, ...(JSON.parse(line.value) as ProviderState) };
    process.stdout.write(`${requests}\n`);
  }
  process.exit(0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run();
