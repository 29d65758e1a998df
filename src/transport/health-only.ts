/** A plain HTTP server that says it is well, and nothing else: it stands where a program waits for another to be up. */
import { createServer } from "node:http";

/** Listens until the process ends. Rejects when the port cannot be had. */
export async function openHealthOnly(host: string, port: number): Promise<void> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"health":"true"}');
  });
  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(port, host, done);
  });
}
