import { client, type Schemas } from '../../api/client.ts'
import { mayDo, mayDoIn, type Session } from '../../app/session.tsx'
import type { ApiKey } from './key-fields.ts'
import { isOwnLimit, type RateDraft, toRateDraft } from './rate-draft.ts'

/** The guardrail of a key, and whether no other key or member has it. */
export interface KeyGuardrail {
  guardrail: Schemas['Guardrail']
  isOwn: boolean
}

export interface KeyRules {
  rates: RateDraft[]
  /** Null if it has none. */
  guardrail: KeyGuardrail | null
}

/** Loads what the key form shows besides the key, as far as the person may change it. */
export function keyRulesOptions(session: Session, { hash, workspace_id }: ApiKey) {
  return {
    queryKey: ['key-rules', hash],
    queryFn: async (): Promise<KeyRules> => ({
      rates: mayDo(session, 'budgets:write') ? await loadRates(hash) : [],
      guardrail: mayDoIn(session, workspace_id, 'guardrails:write') ? await loadGuardrail(hash) : null,
    }),
    // A form that is opened again begins with what is stored.
    gcTime: 0,
  }
}

async function loadRates(hash: string): Promise<RateDraft[]> {
  const query = { key_hash: hash, source: 'limit' as const, limit: 100 }
  const { data } = await client.GET('/limits', { params: { query } })
  return (data?.data ?? []).filter(isOwnLimit).map(toRateDraft)
}

async function loadGuardrail(hash: string): Promise<KeyGuardrail | null> {
  const { data: policy } = await client.GET('/keys/{hash}/policy', { params: { path: { hash } } })
  const id = policy?.data.layers.find(({ layer }) => layer === 'key')?.guardrail_id
  if (!id) return null
  const path = { id }
  const [guardrail, keys, members] = await Promise.all([
    client.GET('/guardrails/{id}', { params: { path } }),
    client.GET('/guardrails/{id}/assignments/keys', { params: { path, query: { limit: 1 } } }),
    client.GET('/guardrails/{id}/assignments/members', { params: { path, query: { limit: 1 } } }),
  ])
  if (!guardrail.data) return null
  const isOwn = keys.data?.total_count === 1 && members.data?.total_count === 0
  return { guardrail: guardrail.data.data, isOwn }
}
