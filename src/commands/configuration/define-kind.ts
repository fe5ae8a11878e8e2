import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { listAtOnce, listRecords } from './client.ts'
import type { Kind, KindContext, Reference } from './kind.ts'

type Optional = 'nameField' | 'idField' | 'references' | 'secrets' | 'omitted' | 'parts' | 'place' | 'list'

/** A kind with the usual list, ids and names. */
export function defineKind(kind: Omit<Kind, Optional> & Partial<Pick<Kind, Optional>>): Kind {
  const { path, place = 'organization' } = kind
  const list = place === 'workspace' ? listByWorkspace(path) : listPages(path)
  return {
    list,
    nameField: 'name',
    idField: 'id',
    references: [],
    secrets: [],
    omitted: [],
    parts: [],
    ...kind,
    place,
  }
}

export function listPages(
  path: string,
  isListed: (record: JsonObject) => boolean = () => true,
): Kind['list'] {
  return async ({ api }) => (await listRecords(api, path)).filter(isListed)
}

export function listWhole(path: string): Kind['list'] {
  return ({ api }) => listAtOnce(api, path)
}

export function listByWorkspace(path: string, query: Record<string, string> = {}): Kind['list'] {
  return async (context) => {
    const lists: JsonObject[][] = []
    for (const { id } of context.records('Workspace'))
      lists.push(await listRecords(context.api, path, { ...query, workspace_id: id }))
    return lists.flat()
  }
}

export const workspaceRef = (field: string, apiField = 'workspace_id'): Reference => ({
  field,
  apiField,
  kind: 'Workspace',
})

export const memberRef = (field: string, apiField: string): Reference => ({ field, apiField, kind: 'Member' })

export const keyRef = (field: string, apiField: string): Reference => ({ field, apiField, kind: 'Key' })

/** The texts of a list. */
export function asNames(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((item) => asString(item) ?? []) : []
}

/** What has to be added to a list and removed from it. */
export function compareNames(wanted: readonly string[], current: readonly string[]) {
  return {
    added: wanted.filter((name) => !current.includes(name)),
    removed: current.filter((name) => !wanted.includes(name)),
  }
}

export function idsOf(
  context: KindContext,
  kind: 'Key' | 'Member' | 'Workspace',
  names: readonly string[],
  workspace: string | null,
): string[] {
  return names.map((name) => context.idOf(kind, name, workspace))
}
