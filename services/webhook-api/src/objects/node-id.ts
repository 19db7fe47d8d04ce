/**
 * Global node ids (https://docs.github.com/graphql/guides/using-global-node-ids) in the form that GitHub Enterprise Server writes: base64 of
 * the type's name behind its length, and the number. Made of nothing else, so the same thing has the same one for ever.
 */
export function nodeId(type: 'Bot' | 'Organization' | 'Repository' | 'User', id: number): string {
  return Buffer.from(`0${type.length}:${type}${id}`).toString('base64');
}
