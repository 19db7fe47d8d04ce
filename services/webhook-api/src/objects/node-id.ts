/**
 * Global node ids (https://docs.github.com/graphql/guides/using-global-node-ids) in GitHub Enterprise Server's form: base64 of the type's name,
 * preceded by its length, and the number. They depend on nothing else, so a thing keeps its id for ever.
 */
export function nodeId(type: 'Bot' | 'Organization' | 'Repository' | 'User', id: number): string {
  return Buffer.from(`0${type.length}:${type}${id}`).toString('base64');
}
