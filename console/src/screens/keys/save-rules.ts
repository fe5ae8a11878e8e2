import { client } from '../../api/client.ts'
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

/** Creates a guardrail that allows these models only, and returns its id. */
export async function createModelGuardrail(
  { name, hash, workspaceId }: NamedKey,
  allowed_models: string[],
): Promise<string> {
  const { data } = await client.POST('/guardrails', {
    body: {
      // Names are unique in a workspace, those of keys are not.
      name: `Models of ${name.slice(0, 150)} (${hash.slice(0, 8)})`,
      workspace_id: workspaceId,
      allowed_models,
    },
  })
  if (!data) throw new Error('The server returned no guardrail.')
  return data.data.id
}

export async function assignGuardrail(id: string, key_hashes: string[]): Promise<void> {
  await client.POST('/guardrails/{id}/assignments/keys', { params: { path: { id } }, body: { key_hashes } })
}
