import { findMembers } from '../../account/members.ts'
import type { Gateway } from '../../gateway.ts'
import type { Row } from './rows.ts'
import { keysOf, workspaceNames } from './store.ts'

/** What an id is shown as, and what is added beside it. */
type Named = Map<string, { name: string; extra?: Record<string, string> }>

export interface Names {
  /** Titles of apps, by address. */
  titles: ReadonlyMap<string, string>
}

type Find = (gateway: Gateway, organizationId: string, ids: string[], names: Names) => Promise<Named>

const finders: Record<string, Find> = {
  api_key_id: async ({ db }, organizationId, ids) => {
    const keys = await keysOf(db, organizationId, { ids: ids.map(Number) })
    return new Map(keys.map(({ id, name }) => [String(id), { name }]))
  },
  workspace: async ({ db }, organizationId, ids) => {
    const found = await workspaceNames(db, organizationId, ids)
    return new Map(found.map(({ id, name }) => [id, { name }]))
  },
  user: async ({ db }, organizationId, ids) => {
    const members = ids.length === 0 ? [] : await findMembers(db, organizationId, ids)
    return new Map(
      members.map(({ id, email, first_name, last_name }) => {
        const name = [first_name, last_name].filter(Boolean).join(' ') || email
        return [id, { name, extra: { user_email: email } }]
      }),
    )
  },
  app: async (_gateway, _organizationId, ids, { titles }) =>
    new Map(ids.map((url) => [url, { name: titles.get(url) || url }])),
}

/** The dimensions of each row under their names. An id whose record is gone stands for itself. */
export async function namedValues(
  gateway: Gateway,
  organizationId: string,
  dimensions: readonly string[],
  rows: readonly Row[],
  names: Names,
): Promise<Record<string, string | null>[]> {
  const shown = rows.map((): Record<string, string | null> => ({}))
  for (const [place, dimension] of dimensions.entries()) {
    const ids = [...new Set(rows.flatMap(({ values }) => values[place] ?? []))]
    const named = await finders[dimension]?.(gateway, organizationId, ids, names)
    for (const [index, { values }] of rows.entries()) {
      const id = values[place] ?? null
      const found = id === null ? undefined : named?.get(id)
      Object.assign(shown[index] ?? {}, { [dimension]: found?.name ?? id, ...found?.extra })
      if (dimension === 'user' && !found) Object.assign(shown[index] ?? {}, { user_email: null })
    }
  }
  return shown
}
