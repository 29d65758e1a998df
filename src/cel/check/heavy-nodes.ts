/**
 * Finds the parts of a large tree that are large themselves, so that work on it can be done in pieces, the parts first.
 */
import { childrenOf, type Expression } from "../ast.ts";

/** The ids of nodes with more than so many nodes below them. */
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
