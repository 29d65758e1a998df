/**
 * Finds the parts of a large tree that are large themselves, so that they can be processed in pieces before the tree.
 */
import { childrenOf, type Expression } from "../ast.ts";

/** Returns the ids of the nodes whose subtree, themselves included, has more than `nodesMax` nodes. */
export function heavyNodes(ast: Expression, nodesMax: number): ReadonlySet<number> {
  const heavy = new Set<number>();
  const count = (node: Expression): number => {
    let nodes = 1;
    for (const part of childrenOf(node)) nodes += count(part);
    if (nodes > nodesMax) heavy.add(node.id);
    return nodes;
  };
  count(ast);
  return heavy;
}
