import { client } from '../api/client.ts'
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

export type ChoiceSource = 'model' | 'provider' | 'key' | 'member' | 'workspace' | 'end_user' | 'tag' | 'time'

const limit = 8
const recentRequests = 100

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

/** The tags of recent requests. */
const findTags: FindChoices = async (text) => {
  const { data } = await client.GET('/generations', { params: { query: { limit: recentRequests } } })
  const tags = new Set((data?.data ?? []).flatMap((request) => request.tags))
  return keepMatching(
    [...tags].sort().map((tag) => ({ value: tag, label: tag })),
    text,
  )
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
  return {
    time: findTimes,
    ...(mayDo(session, 'models:read') && { model: findModels, provider: findProviders }),
    ...(mayDo(session, 'keys:read') && { key: findKeys }),
    ...(mayDo(session, 'members:read') && { member: findMembers }),
    ...(mayDo(session, 'workspaces:read') && { workspace: findWorkspaces }),
    ...(mayDo(session, 'generations:read') && { tag: findTags }),
    ...(mayDoEverywhere(session, 'activity:read') && { end_user: findEndUsers }),
  }
}
