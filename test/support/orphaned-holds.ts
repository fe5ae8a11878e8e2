import { zeroUsage } from '../../src/formats/call/usage.ts'
import type { Checkpoint, Draft } from '../../src/ledger/draft.ts'
import { meterSubjects } from '../../src/ledger/meter-subjects.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import type { TestServer } from './harness.ts'

/** The amount held, and whether for a BYOK request. */
export interface OrphanedHoldOptions {
  isByok?: boolean
  amount?: bigint
  byok?: bigint
}

/**
 * The hold of a request whose process is gone, with so many output tokens in its checkpoint; null: without a
 * checkpoint. It costs 1 USD a million prompt tokens, of which there are 10, and 4 a million output tokens.
 */
export async function createOrphanedHold(
  { gateway, own, clock }: TestServer,
  tokens: number | null,
  { isByok = false, amount = 1_000_000n, byok = 0n }: OrphanedHoldOptions = {},
): Promise<{ id: string; cost: number }> {
  const key = await gateway.db
    .selectFrom('api_keys')
    .selectAll()
    .where('kind', '=', 'inference')
    .where('organization_id', '=', own.organization.id)
    .executeTakeFirstOrThrow()
  const draft = buildDraft(key, new Date(clock.now()).toISOString(), isByok)
  const { id, user_id, created_at } = draft.generation
  await gateway.ledger.admit({
    op: 'admit',
    request: {
      ...{ id, day: created_at.slice(0, 10), limits: [], free: null, amount, byok },
      subjects: [
        meterSubjects.organization(key.organization_id),
        meterSubjects.workspace(key.workspace_id),
        meterSubjects.key(key.id),
        ...(user_id ? [meterSubjects.member(key.workspace_id, user_id)] : []),
      ],
    },
    organizationId: key.organization_id,
    owner: 'node_gone',
    expiresAt: '2999-01-01T00:00:00.000Z',
    draft,
  })
  await gateway.ledger.flush()
  if (tokens === null) return { id, cost: 0 }
  const checkpoint = JSON.stringify(buildCheckpoint(draft, tokens))
  await gateway.db.updateTable('holds').set({ checkpoint }).where('id', '=', id).execute()
  return { id, cost: 10_000 + 4000 * tokens }
}

function buildCheckpoint({ initialTarget }: Draft, tokens: number): Checkpoint {
  return {
    place: initialTarget,
    reply: {
      usage: { ...zeroUsage, input: 10, output: tokens },
      ...{ complete: true, characters: 4 * tokens, finished: false, failed: false },
    },
    tier: null,
    firstTokenMs: 5,
    attempts: '[]',
  }
}

interface Key {
  id: number
  organization_id: string
  workspace_id: string
  creator_user_id: string | null
}

function buildDraft(key: Key, createdAt: string, isByok: boolean): Draft {
  const place = { model: 'test/chat', provider: 'one-chat', endpoint: 'one-chat', upstream_dialect: 'chat' }
  const pricing = { prompt: '0.000001', completion: '0.000004' }
  return {
    generation: {
      id: newId('gen'),
      organization_id: key.organization_id,
      workspace_id: key.workspace_id,
      key_id: key.id,
      user_id: key.creator_user_id,
      created_at: createdAt,
      requested_model: 'test/chat',
      dialect: 'chat',
      streamed: 1,
      preset_id: null,
      session_id: 'session-1',
      region: 'global',
      app_url: null,
      app_title: null,
      external_user: 'somebody',
      api_type: 'completions',
      user_agent: null,
      request_id: null,
      input_images: 0,
      tags: 'project=apollo',
    },
    initialTarget: { ...place, is_byok: isByok ? 1 : 0, pricing },
    promptTokens: 10,
    byokFee: 0.05,
  }
}
