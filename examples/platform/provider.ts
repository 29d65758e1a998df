/** An identity provider for tests: it says where its key is, and signs tokens for whoever the test names. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Provider {
  readonly url: string;
  /** The path of the authority of its certificate. */
  readonly caFile: string;
  /** Returns a token of a user, for an hour. */
  tokenOf(email: string, groups: readonly string[]): string;
  close(): void;
}

export async function startProvider(audience: string): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), "provider-"));
  const [keyFile, caFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const about = ["-subj", "/CN=provider", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...kind, ...about, "-keyout", keyFile, "-out", caFile], { stdio: "ignore" });

  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const server = createServer({ key: readFileSync(keyFile), cert: readFileSync(caFile) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answers: Readonly<Record<string, object>> = {
    "/.well-known/openid-configuration": { issuer: url, jwks_uri: `${url}/keys` },
    "/keys": { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" }] },
  };
  server.on("request", (request, answer) => {
    const found = answers[request.url ?? ""];
    answer.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify(found ?? {}));
  });
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    url,
    caFile,
    tokenOf(email, groups) {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: url, aud: audience, sub: email, email, groups, iat: now, exp: now + 3600 };
      const text = `${encode({ alg: "RS256", kid: "one" })}.${encode(claims)}`;
      return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`;
    },
    close() {
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
