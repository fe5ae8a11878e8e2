import { useQuery } from '@tanstack/react-query'
import { callOf } from '../../../api/call.ts'
import { api } from '../../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { useWorkspace } from '../../../app/workspace.tsx'

const pollMs = 3000
const dayMs = 86_400_000
/** The provider that needs no credential. */
const sandbox = 'sandbox'

/** The first models for text that the caller can use. */
export const textModelsOptions = api.queryOptions('get', '/models/user', {
  params: { query: { output_modalities: 'text', limit: 100 } },
})

/** Reads the progress of the organization, for the checklist. */
export function useProgress() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const inWorkspace = workspaceId === null ? {} : { workspace_id: workspaceId }
  const canReadProviders = mayDo(session, 'catalogue:read')
  const canReadByok = mayDo(session, 'byok:read')
  const canInvite = mayDoEverywhere(session, 'members:write')
  const providersOptions = api.queryOptions('get', '/catalogue/providers', {
    params: { query: { limit: 100 } },
  })
  const byokOptions = api.queryOptions('get', '/byok', { params: { query: { limit: 100, ...inWorkspace } } })
  const keysOptions = api.queryOptions('get', '/keys', { params: { query: inWorkspace } })
  const requestsOptions = api.queryOptions('post', '/analytics/query', { body: lastYear() })
  const membersOptions = api.queryOptions('get', '/organization/members', { params: { query: { limit: 2 } } })
  const invitationsOptions = api.queryOptions('get', '/organization/invitations', {
    params: { query: { limit: 1 } },
  })

  const modelsOptions = { ...textModelsOptions, enabled: canReadByok && mayDo(session, 'models:read') }
  const providers = useQuery({ ...providersOptions, enabled: canReadProviders })
  const byok = useQuery({ ...byokOptions, enabled: canReadByok })
  const models = useQuery(modelsOptions)
  const keys = useQuery({ ...keysOptions, enabled: mayDo(session, 'keys:read') })
  const requests = useQuery({
    ...requestsOptions,
    enabled: mayDo(session, 'activity:read'),
    refetchInterval: (query) =>
      Number(query.state.data?.data.data[0]?.request_count ?? 0) > 0 ? false : pollMs,
  })
  const members = useQuery({ ...membersOptions, enabled: canInvite })
  const invitations = useQuery({ ...invitationsOptions, enabled: canInvite })

  const all = [
    { query: providers, options: providersOptions },
    { query: byok, options: byokOptions },
    { query: models, options: modelsOptions },
    { query: keys, options: keysOptions },
    { query: requests, options: requestsOptions },
    { query: members, options: membersOptions },
    { query: invitations, options: invitationsOptions },
  ]
  return {
    isLoading: all.some(({ query }) => query.isLoading),
    error: all.find(({ query }) => query.error)?.query.error ?? null,
    calls: all.filter(({ query }) => query.isFetched).map(({ options }) => callOf(options)),
    installed: (providers.data?.data ?? [])
      .filter(({ enabled, slug }) => enabled && slug !== sandbox)
      .map(({ slug, in_force }) => in_force?.name ?? slug),
    byok: byok.data?.data ?? [],
    /** The first models that can be called, without those of the sandbox. */
    models: (models.data?.data ?? []).map(({ id }) => id).filter((id) => !id.startsWith(`${sandbox}/`)),
    keys: keys.data?.data ?? [],
    requestCount: Number(requests.data?.data.data[0]?.request_count ?? 0),
    members: members.data?.total_count ?? 1,
    invitations: invitations.data?.total_count ?? 0,
  }
}

export type Progress = ReturnType<typeof useProgress>

/** The same for a whole day, so that it is one query. */
function lastYear() {
  const tomorrow = (Math.floor(Date.now() / dayMs) + 1) * dayMs
  return {
    metrics: ['request_count' as const],
    dimensions: [],
    filters: [],
    limit: 1,
    time_range: {
      start: new Date(tomorrow - 365 * dayMs).toISOString(),
      end: new Date(tomorrow).toISOString(),
    },
  }
}
