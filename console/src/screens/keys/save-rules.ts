import { client } from '../../api/client.ts'
import type { KeyDraft } from './key-draft.ts'
import { diffRates, type RateDraft, toLimitBody } from './rate-draft.ts'

export interface NamedKey {
  hash: string
  name: string
  workspaceId: string
}

/** Saves the rate limits of a key. */
export async function saveRates(
  key: Pick<NamedKey, 'hash' | 'name'>,
  before: readonly RateDraft[],
  after: readonly RateDraft[],
): Promise<void> {
  const { removed, added, changed } = diffRates(before, after)
  for (const rate of added) await client.POST('/limits', { body: toLimitBody(rate, key) })
  for (const { id, amount } of changed)
    if (id !== null && amount !== null)
      await client.PATCH('/limits/{id}', { params: { path: { id } }, body: { amount } })
  for (const { id } of removed)
    if (id !== null) await client.DELETE('/limits/{id}', { params: { path: { id } } })
}

/** The rules of a guardrail that allows only these models and providers; an empty list allows all. */
export function toAllowed({ models, providers }: Pick<KeyDraft, 'models' | 'providers'>) {
  return {
    allowed_models: models.length > 0 ? models : null,
    allowed_providers: providers.length > 0 ? providers : null,
  }
}

/** Creates a guardrail for one key, and returns its id. */
export async function createKeyGuardrail(
  { name, hash, workspaceId }: NamedKey,
  allowed: Pick<KeyDraft, 'models' | 'providers'>,
): Promise<string> {
  const { data } = await client.POST('/guardrails', {
    body: {
      // Names are unique in a workspace, those of keys are not.
      name: `Rules of ${name.slice(0, 150)} (${hash.slice(0, 8)})`,
      workspace_id: workspaceId,
      ...toAllowed(allowed),
    },
  })
  if (!data) throw new Error('The server returned no guardrail.')
  return data.data.id
}

export async function assignGuardrail(id: string, key_hashes: string[]): Promise<void> {
  await client.POST('/guardrails/{id}/assignments/keys', { params: { path: { id } }, body: { key_hashes } })
}
