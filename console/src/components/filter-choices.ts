import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { api, client, type Schemas } from '../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../app/session.tsx'
import { nameOfPerson } from '../format/person.ts'

/** A value that completes a field. */
export interface FilterChoice {
  value: string
  label: string
  description?: string
}

/** Finds the values that contain a text. */
export type FindChoices = (text: string) => Promise<FilterChoice[]>

export type ChoiceSource =
  | 'model'
  | 'provider'
  | 'key'
  | 'key_hash'
  | 'member'
  | 'workspace'
  | 'end_user'
  | 'tag'
  | 'time'
  | 'audit_actor'
  | 'audit_action'
  | 'audit_record'

const limit = 8
const recentRequests = 100
const recentEntries = 300
const staleTime = 60_000

const q = (text: string) => (text === '' ? {} : { q: text })

const findModels: FindChoices = async (text) => {
  const query = { ...q(text), limit, output_modalities: 'all' }
  const { data } = await client.GET('/models', { params: { query } })
  const models = (data as { data?: { id: string; name: string }[] } | undefined)?.data ?? []
  return models.map(({ id, name }) => ({ value: id, label: id, description: name }))
}

const findProviders: FindChoices = async (text) => {
  const { data } = await client.GET('/providers')
  return keepMatching(
    (data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: slug, description: name })),
    text,
  )
}

const findKeys: FindChoices = async (text) => {
  const { data } = await client.GET('/keys', { params: { query: q(text) } })
  const names = new Map((data?.data ?? []).map(({ name, label }) => [name, label]))
  return [...names].slice(0, limit).map(([name, label]) => ({ value: name, label: name, description: label }))
}

/** Keys one by one: two can have the same name. */
const findKeyHashes: FindChoices = async (text) => {
  const { data } = await client.GET('/keys', { params: { query: q(text) } })
  const keys = (data?.data ?? []).slice(0, limit)
  return keys.map(({ hash, name, label }) => ({ value: hash, label: name, description: label }))
}

const findMembers: FindChoices = async (text) => {
  const query = { ...q(text), limit }
  const { data } = await client.GET('/organization/members', { params: { query } })
  return (data?.data ?? []).map((member) => ({
    value: member.id,
    label: nameOfPerson(member),
    ...(member.email !== '' && { description: member.email }),
  }))
}

const findWorkspaces: FindChoices = async (text) => {
  const query = { ...q(text), limit }
  const { data } = await client.GET('/workspaces', { params: { query } })
  return (data?.data ?? []).map(({ id, name, slug }) => ({ value: id, label: name, description: slug }))
}

const findEndUsers: FindChoices = async (text) => {
  const query = { ...q(text), limit }
  const { data } = await client.GET('/end-users', { params: { query } })
  return (data?.data ?? []).map(({ id }) => ({ value: id, label: id }))
}

/** Kinds whose id is that of their entries in the audit log. */
const auditedKinds = ['key', 'member', 'workspace', 'guardrail']

const findAuditedRecords: FindChoices = async (text) => {
  if (text === '') return []
  const { data } = await client.GET('/search', { params: { query: { q: text, limit } } })
  return (data?.data ?? [])
    .filter(({ kind }) => auditedKinds.includes(kind))
    .map(({ id, name, kind }) => ({ value: id, label: name, description: kind }))
}

/** The tags of recent requests. */
function createTagFinder(queries: QueryClient): FindChoices {
  return async (text) => {
    const params = { query: { limit: recentRequests } }
    const { data } = await queries.fetchQuery({
      ...api.queryOptions('get', '/generations', { params }),
      staleTime,
    })
    return keepMatching(toChoices(data.flatMap(({ tags }) => tags)), text)
  }
}

type AuditEntry = Schemas['AuditEntry']

/** What recent entries of the audit log have. */
function createAuditFinder(
  queries: QueryClient,
  read: (entries: AuditEntry[]) => FilterChoice[],
): FindChoices {
  return async (text) => {
    const params = { query: { limit: recentEntries } }
    const { data } = await queries.fetchQuery({
      ...api.queryOptions('get', '/audit', { params }),
      staleTime,
    })
    return keepMatching(read(data), text)
  }
}

/** Members and keys that acted, by name. */
function listActors(entries: AuditEntry[]): FilterChoice[] {
  const actors = new Map<string, FilterChoice>()
  for (const { id, name, type } of entries.map(({ actor }) => actor))
    if (id !== null && name !== null) actors.set(id, { value: id, label: name, description: type })
  return [...actors.values()]
}

function toChoices(values: string[]): FilterChoice[] {
  return [...new Set(values)].sort().map((value) => ({ value, label: value }))
}

const times: FilterChoice[] = [
  { value: '1h', label: '1h', description: 'An hour ago' },
  { value: '24h', label: '24h', description: 'A day ago' },
  { value: '7d', label: '7d', description: 'A week ago' },
  { value: 'today', label: 'today', description: 'Midnight' },
  { value: 'yesterday', label: 'yesterday', description: 'Midnight of the day before' },
]

const findTimes: FindChoices = async (text) => keepMatching(times, text)

export function keepMatching(choices: FilterChoice[], text: string): FilterChoice[] {
  const typed = text.toLowerCase()
  const matches = ({ label, description = '' }: FilterChoice) =>
    label.toLowerCase().includes(typed) || description.toLowerCase().includes(typed)
  return choices.filter(matches).slice(0, limit)
}

/** What can be listed; a source is absent if the role may not read it. */
export function useFilterChoices(): Partial<Record<ChoiceSource, FindChoices>> {
  const session = useSession()
  const queries = useQueryClient()
  return {
    time: findTimes,
    ...(mayDo(session, 'models:read') && { model: findModels, provider: findProviders }),
    ...(mayDo(session, 'keys:read') && { key: findKeys, key_hash: findKeyHashes }),
    ...(mayDo(session, 'members:read') && { member: findMembers }),
    ...(mayDo(session, 'workspaces:read') && { workspace: findWorkspaces }),
    ...(mayDo(session, 'generations:read') && { tag: createTagFinder(queries) }),
    ...(mayDoEverywhere(session, 'activity:read') && { end_user: findEndUsers }),
    ...(mayDoEverywhere(session, 'audit:read') && {
      audit_actor: createAuditFinder(queries, listActors),
      audit_action: createAuditFinder(queries, (entries) => toChoices(entries.map(({ action }) => action))),
      audit_record: findAuditedRecords,
    }),
  }
}
