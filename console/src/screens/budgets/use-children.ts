import { api, client } from '../../api/client.ts'
import { useCursorPages } from '../../api/use-cursor-pages.ts'

const pageSize = 50

export function childrenOptions(parent: string) {
  return api.queryOptions('get', '/budgets', { params: { query: { parent, limit: pageSize } } })
}

/** Reads the children of a node, in pages. */
export function useChildren(parent: string) {
  return useCursorPages(childrenOptions(parent), (position, signal) =>
    client.GET('/budgets', { params: { query: { parent, limit: pageSize, ...position } }, signal }),
  )
}
