import { client } from '../../api/client.ts'
import type { BulkResult } from './bulk-results.tsx'
import { type NewKeyDraft, toKeyBody } from './key-draft.ts'
import type { KeyRow } from './key-table-text.ts'
import type { NewKey } from './new-key-secret.tsx'
import { assignGuardrail, createKeyGuardrail, saveRates } from './save-rules.ts'

/** A key whose rules could not be saved exists nevertheless, so its secret is returned with the errors. */
export async function createKey(draft: NewKeyDraft): Promise<NewKey> {
  const { data } = await client.POST('/keys', { body: toKeyBody(draft) })
  if (!data) throw new Error('The server returned no key.')
  const { name, hash, workspace_id: workspaceId } = data.data
  const key = { name, hash, workspaceId }
  const problems: unknown[] = []
  const attempt = async (act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      problems.push(error)
    }
  }
  await attempt(async () => {
    const id = isRestricted(draft) ? await createKeyGuardrail(key, draft) : draft.guardrailId
    if (id !== null) await assignGuardrail(id, [hash])
  })
  await attempt(() => saveRates(key, [], draft.rates))
  return { name, hash, secret: data.key, problems }
}

/** Creates one key after another. What fails is in its row, and the others are created. */
export async function createKeys(draft: NewKeyDraft, rows: readonly KeyRow[]): Promise<BulkResult[]> {
  const owners = await findOwners(rows.flatMap(({ owner }) => owner ?? []))
  const results: BulkResult[] = []
  // All keys share the guardrail of the first one.
  let guardrailId = draft.guardrailId
  for (const row of rows) {
    try {
      const ownerId = row.owner === null ? draft.ownerId : owners.get(row.owner)
      if (ownerId === undefined) throw new Error(`There is no member ${row.owner}.`)
      const own = { ...mergeRow(draft, row), ownerId, guardrailId }
      const created = await createKey(guardrailId === null ? own : { ...own, models: [], providers: [] })
      if (isRestricted(draft) && guardrailId === null) guardrailId = await findGuardrail(created.hash)
      results.push({ name: row.name, key: created, error: created.problems[0] ?? null })
    } catch (error) {
      results.push({ name: row.name, key: null, error })
    }
  }
  return results
}

function isRestricted({ models, providers }: NewKeyDraft): boolean {
  return models.length + providers.length > 0
}

function mergeRow(draft: NewKeyDraft, row: KeyRow): NewKeyDraft {
  return {
    ...draft,
    name: row.name,
    ...(row.limit !== null && { limit: row.limit }),
    ...(row.limitReset !== null && { limit_reset: row.limitReset }),
    ...(row.tier !== null && { tier: row.tier }),
    ...(row.expires !== null && { lastDay: row.expires }),
  }
}

async function findGuardrail(hash: string): Promise<string | null> {
  const { data } = await client.GET('/keys/{hash}/policy', { params: { path: { hash } } })
  return data?.data.layers.find(({ layer }) => layer === 'key')?.guardrail_id ?? null
}

/** The ids of members by their address. */
async function findOwners(emails: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const email of new Set(emails)) {
    const { data } = await client.GET('/organization/members', {
      params: { query: { q: email, limit: 100 } },
    })
    const member = data?.data.find((one) => one.email.toLowerCase() === email.toLowerCase())
    if (member) found.set(email, member.id)
  }
  return found
}
