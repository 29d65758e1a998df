/** Reads objects for controllers whose role permits list but not get. */
import type { RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { escapeFieldValue } from "#meta/selector.ts";

/** Returns the object of a name in a collection; `undefined` if there is none. `collection` has no query. */
export async function findListed<T extends ApiObject = ApiObject>(
  client: RestClient,
  collection: string,
  name: string,
): Promise<T | undefined> {
  const selector = encodeURIComponent(`metadata.name=${escapeFieldValue(name)}`);
  const { items } = await client.list<T>(`${collection}?fieldSelector=${selector}`);
  return items[0];
}
