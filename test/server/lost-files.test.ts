/** Tests that a start notices missing files of its data folder, names them, and does not create new ones. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startServer } from "#server/start-server.ts";
import { silentLog } from "#std/log.ts";
import { backup, restore } from "#commands/backup.ts";
import { domains, temporaryFolder } from "../harness.ts";

/**
 * Starts a server on a folder, with or without the lost files, and stops it. Returns the values that clients could have
 * seen.
 */
async function run(dataDir: string, settings: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer({ dataDir, securePort: 0, ...settings }, { log: silentLog });
  const { certificate, token } = server.admin;
  await server.close();
  return { ca: server.ca, certificate, token };
}

const refusal = (...files: string[]) => ({
  name: "StartError",
  message: new RegExp(`^${files.join("[^;]*")}[^;]*; .*restore a backup.*--accept-data-loss$`),
});

const isStoreFile = (name: string): boolean => name.startsWith("store.");

function loseStore(folder: string): void {
  const files = readdirSync(folder).filter(isStoreFile);
  assert.ok(files.length >= 2, files.join(" "));
  for (const name of files) rmSync(join(folder, name));
}

for (const apiDomain of domains) {
  test(`${apiDomain}: a folder whose store is gone as a whole is refused, and nothing is made in it`, async () => {
    const folder = temporaryFolder();
    const first = await run(folder, { apiDomain });
    loseStore(folder);
    const lost = refusal(join(folder, "store\\.db"), join(folder, "store\\.head"));
    await assert.rejects(run(folder, { apiDomain }), lost);
    await assert.rejects(run(folder, { apiDomain }), lost, "a second start is no other");
    await assert.rejects(backup([join(folder, "copy"), `--data-dir=${folder}`]), lost);
    assert.deepEqual(
      readdirSync(folder).filter((name) => /^store\.(?:db|head)/.test(name)),
      [],
    );
    // A server in memory does not need the file.
    assert.equal((await run(folder, { apiDomain, storage: "memory" })).ca, first.ca);
    await assert.rejects(run(folder, { apiDomain }), lost);
    await run(folder, { apiDomain, acceptDataLoss: true });
    assert.equal((await run(folder, { apiDomain })).token, first.token);
  });
}

test("a loss of the whole store that is accepted leaves no revision to be used twice", async () => {
  const folder = temporaryFolder();
  await run(folder);
  loseStore(folder);
  const server = await startServer({ dataDir: folder, securePort: 0, acceptDataLoss: true }, { log: silentLog });
  try {
    const marker = JSON.parse(readFileSync(join(folder, "binnacle.json"), "utf8")) as object;
    assert.deepEqual(marker, { formatVersion: 1, apiDomain: "platform.io", holds: ["credentials", "store"] });
    const head = readFileSync(join(folder, "store.head"));
    assert.ok(head.readDoubleLE(48) >= 1_000_000_000, "revisions go on far ahead");
  } finally {
    await server.close();
  }
});

test("a lost authority, key of tokens or administrator's token is refused by name", async () => {
  const folder = temporaryFolder();
  const first = await run(folder);
  for (const name of ["ca.key", "ca.crt", "sa.key", "admin.token", "front-proxy-ca.key", "front-proxy-ca.crt"]) {
    const file = join(folder, "pki", name);
    const content = readFileSync(file);
    rmSync(file);
    await assert.rejects(run(folder), refusal(file.replaceAll(".", "\\."), "missing"));
    writeFileSync(file, "");
    await assert.rejects(run(folder), refusal(file.replaceAll(".", "\\."), "empty"));
    writeFileSync(file, content);
  }
  for (const name of ["sa.pub", "admin.crt", "admin.key", "apiserver.crt"]) rmSync(join(folder, "pki", name));
  rmSync(join(folder, "admin.kubeconfig"));
  const second = await run(folder);
  assert.deepEqual([second.ca, second.token], [first.ca, first.token], "what is made of them is made again");
  assert.notEqual(second.certificate, first.certificate);
  rmSync(join(folder, "pki/ca.key"));
  const third = await run(folder, { acceptDataLoss: true });
  assert.notEqual(third.ca, first.ca);
  assert.equal((await run(folder)).ca, third.ca);
  // The folder is a copy without some files.
  rmSync(join(folder, "pki"), { recursive: true });
  await assert.rejects(run(folder), refusal(join(folder, "pki/ca\\.key")));
});

test("first starts and restored backups go on as before", async () => {
  const [folder, restored, memory] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  await run(folder);
  const copy = join(memory, "copy");
  await backup([copy, `--data-dir=${folder}`]);
  await restore([copy, `--data-dir=${restored}`]);
  await run(restored);
  // A restore into the same folder keeps the credentials of the folder.
  loseStore(folder);
  await restore([copy, `--data-dir=${folder}`]);
  const again = await run(folder);
  assert.equal((await run(folder)).ca, again.ca);

  const kept = await run(memory, { storage: "memory" });
  assert.equal((await run(memory)).ca, kept.ca, "the first start of a store in a folder of a server in memory");
  loseStore(memory);
  await assert.rejects(run(memory), refusal(join(memory, "store\\.db")));

  rmSync(join(folder, "binnacle.json"));
  assert.equal((await run(folder)).ca, again.ca, "a folder whose marker is gone counts as a new one");
});
