/** The action that the words of a command name: `VERB KIND[/NAME]` or `VERB /PATH`. */
import type { Attributes } from "#authz/authorizer.ts";
import { ApiError } from "#client/api-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { StartError } from "#std/start-error.ts";
import type { OpenCluster } from "../open-cluster.ts";
import { printWarnings } from "../print.ts";

interface AskedWords {
  /** The words of the command line after its flags. */
  readonly rest: readonly string[];
  readonly subresource: string;
  /** Whether all namespaces are meant at once. */
  readonly isEverywhere: boolean;
  /** The command, for messages. */
  readonly command: string;
}

const nobody: UserInfo = { name: "", groups: [] };

/** Reads the words. Rejects with `StartError`. */
export async function askedAction(cluster: OpenCluster, words: AskedWords): Promise<Attributes> {
  const { rest, subresource, isEverywhere, command } = words;
  const [verb = "", what = "", second, ...more] = rest;
  if (verb === "" || what === "" || more.length > 0) {
    throw new StartError(`${command} takes a verb and a kind: binnacle ${command} VERB KIND[/NAME], or VERB /PATH`);
  }
  const none = { version: "", namespace: "", subresource: "", name: "", group: "", resource: "", user: nobody };
  if (what.startsWith("/")) {
    if (second !== undefined || subresource !== "") throw new StartError("a path has no name and no subresource");
    return { ...none, isResourceRequest: false, path: what, verb };
  }
  const [kind = "", name = second ?? "", ...others] = what.split("/");
  if (others.length > 0 || (second !== undefined && name !== second)) {
    throw new StartError("name the object once: KIND/NAME or KIND NAME");
  }
  const { group, resource, namespaced } = await meantResource(cluster, kind);
  const namespace = namespaced && !isEverywhere ? cluster.namespace : "";
  return { ...none, isResourceRequest: true, path: "", verb, group, resource, subresource, name, namespace };
}

/** The part of a resource that rules name. */
interface MeantResource {
  readonly group: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

/** Returns the resource that is meant. One that the server does not have can be in rules, so it is asked about as written. */
export async function meantResource(cluster: OpenCluster, word: string): Promise<MeantResource> {
  if (word === "*") return { group: "*", resource: "*", namespaced: true };
  try {
    return await cluster.resource(word);
  } catch (error) {
    if (!(error instanceof StartError || error instanceof ApiError)) throw error;
    printWarnings([error.message]);
    const [resource = "", ...rest] = word.toLowerCase().split(".");
    return { group: rest.join("."), resource, namespaced: true };
  }
}
