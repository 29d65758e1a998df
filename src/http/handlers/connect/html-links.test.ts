/** Links of proxied pages. What is expected was compared with pages that kube-apiserver 1.32 had proxied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync, gzipSync, deflateRawSync, deflateSync, inflateRawSync, inflateSync } from "node:zlib";
import type { ForwardedAnswer } from "#egress/forwarding.ts";
import { HtmlLinks, isPage, rewritePage } from "./html-links.ts";

const base = { host: "api:6443", target: "10.0.0.5:8080", prefix: "/p/proxy" };

function rewrite(page: string, pieceLength = page.length): string {
  const links = new HtmlLinks(base);
  const bytes = Buffer.from(page);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceLength) out.push(links.take(bytes.subarray(at, at + pieceLength)));
  return Buffer.concat([...out, links.end()]).toString();
}

/** Expects that exactly the links that begin with `/@` or contain `/@` behind the own host get the prefix. */
function check(page: string): void {
  const wanted = page.replaceAll("/@", "/p/proxy/");
  const given = page.replaceAll("/@", "/");
  for (const pieceLength of [given.length, 1, 3]) assert.equal(rewrite(given, pieceLength), wanted);
}

test("links with a path lead through the proxy, in every attribute that holds one", () => {
  for (const page of [
    '<a href="/@x">y</a>',
    "<A HREF=/@x>",
    "<a href='/@x\"&amp;y' title=ü>",
    '<img src=/@y/><img src="/@y"/>',
    '<link rel=x href="/@l" checked><base href="/@b"><form action="/@f"><input src="/@i" formaction="/@f">',
    '<object data="/@d" classid="/@c" codebase="/@c" usemap="/@u"><video src="/@v" poster="/@p">',
    '<html manifest="/@m"><body background="/@b"><q cite="/@q"><iframe src="/@i" longdesc="/@l"></iframe>',
    '<a\n href\n=\n"/@n"\n><a/href="/@x"><a =foo b="" href="/@x" href="/@y">',
    '<a href=" /@x"><a href="/@"><a href="/@p/proxyfoo">',
    '<a href="http://api:6443/@x"><a href="//api:6443/@x"><a href="HTTPS://u@api:6443/@x?q#f">',
  ]) {
    check(page);
  }
});

test("links to the target lead to this server", () => {
  assert.equal(
    rewrite('<a href="http://10.0.0.5:8080/x?y"><a href="//10.0.0.5/x">'),
    '<a href="/p/proxy/x?y"><a href="//10.0.0.5/x">',
  );
});

test("other links, other attributes, and what is no tag stay as they are", () => {
  for (const page of [
    '<a href="rel?x#y"><a href=""><a href="#f"><a href="?q"><a href="../x"><a href="mailto:a@b"><a href=":foo">',
    '<a href="https://other/q"><a href="//other/q"><a href="///x"><a href="http://api:6443"><a href="http://api:644/x">',
    '<a href="/p/proxy/x"><a href="/p/proxy"><a href="/p/proxy?x">',
    '<table background="/t"><img srcset="/a 1x"><a ping="/p" title="/t"><svg><a xlink:href="/x"></svg>',
    'a < b && c <3 <> </> <! ></a href="/x">',
    '<!DOCTYPE html "/x"><![CDATA[<a href="/x">]]><?php <a href="/x"> ?>',
    '<plaintext><a href="/x"></plaintext><a href="/x">',
  ]) {
    check(page);
  }
});

test("comments and the content of scripts and the like have no links, and end where they end", () => {
  for (const page of [
    '<!-- <a href="/x"> --><a href="/@x"><!-- x --!><a href="/@x"><!-- --! > <a href="/x">-->',
    '<!--><a href="/@x"><!---><a href="/@x"><!----><a href="/@x"><!-x><a href="/@x">',
    '<script src="/@s.js">var a = "<a href=/x>"; </scriptx></script><a href="/@z">',
    '<style><a href="/x"></STYLE ><a href="/@z"><title></titl><a href="/x"></title/><a href="/@z">',
    '<textarea><a href="/x"></textarea><noscript><a href="/x"></noscript><xmp><a href="/x"></xmp><a href="/@z">',
    '<iframe src="/@i">x<a href="/x"></iframe><a href="/@z">',
  ]) {
    check(page);
  }
});

test("a page that ends inside a tag, and a tag without end, come as they were", () => {
  for (const page of ["<", "</", "<!", "<!-", "<!--", '<a href="/x"', '<a href="/x', "<a", "<a href", "<a href="])
    check(page);
  const long = `<a href="${"/x".repeat(20_000)}`;
  assert.equal(rewrite(long, 1000), long);
  const links = new HtmlLinks(base);
  // No more of it is kept than a tag may have.
  assert.ok(links.take(Buffer.from(long)).length >= long.length - 16 * 1024);
  assert.equal(rewrite("<".repeat(100_000)), "<".repeat(100_000));
});

const answer = (headers: Record<string, string>, bytes: Buffer, code = 200): ForwardedAnswer => ({
  code,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
  body: (async function* () {
    for (const byte of bytes) yield Buffer.from([byte]);
  })(),
  destroy: () => undefined,
});

test("a tag that comes byte by byte ends where it ends", () => {
  const tag = `<a ${"x ".repeat(8000)}href='>"/x' href="/y" z=/w/>`;
  assert.ok(rewrite(tag, 1) === tag.replace('"/y"', '"/p/proxy/y"'));
});

test("compressed pages stay compressed", async () => {
  const page = Buffer.from('<a href="/x">');
  const read = async (encoding: string, bytes: Buffer): Promise<Buffer> => {
    const headers = { "content-type": "text/html", "content-encoding": encoding, "content-length": "9" };
    const changed = rewritePage(answer(headers, bytes), base);
    assert.equal(changed.headers["content-length"], undefined);
    return Buffer.concat(await Array.fromAsync(changed.body));
  };
  const wanted = '<a href="/p/proxy/x">';
  assert.equal(gunzipSync(await read("gzip", gzipSync(page))).toString(), wanted);
  assert.equal(inflateSync(await read("deflate", deflateSync(page))).toString(), wanted);
  assert.equal(inflateRawSync(await read("deflate", deflateRawSync(page))).toString(), wanted);
  assert.equal((await read("gzip", Buffer.alloc(0))).length, 0);
  await assert.rejects(read("gzip", page));
  await assert.rejects(read("gzip", gzipSync(page).subarray(0, 20)));
});

test("only whole pages in a known encoding are changed", () => {
  const is = (headers: Record<string, string>, code = 200): boolean => isPage(answer(headers, Buffer.alloc(0), code));
  assert.ok(is({ "content-type": "text/html" }, 404));
  assert.ok(is({ "content-type": "Text/HTML; charset=utf-8", "content-encoding": "gzip" }));
  assert.ok(!is({ "content-type": "text/html", "content-encoding": "br" }));
  assert.ok(!is({ "content-type": "text/html" }, 206));
  assert.ok(!is({ "content-type": "text/html", location: "/x" }));
  assert.ok(!is({ "content-type": "application/xhtml+xml" }));
  assert.ok(!is({}));
});
