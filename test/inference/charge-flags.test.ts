import { expect, test } from 'bun:test'
import { noTokens } from '../../src/call/usage.ts'
import type { ChargeFlag } from '../../src/db/schema.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { type Checkpoint, type Draft, writeDraft } from '../../src/ledger/draft.ts'
import type { Settle } from '../../src/ledger/engine.ts'
import { Node } from '../../src/ledger/recovery.ts'
import { subjects } from '../../src/ledger/subjects.ts'
import { newId } from '../../src/lib/ids.ts'
import type { UpstreamAnswer } from '../support/upstream.ts'
import { ask, type Bench, describeWithUpstreams } from './support.ts'

const text = 'four words of text!!'

function reply(usage: unknown): UpstreamAnswer {
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
  return { json: { id: 'chatcmpl-1', created: 1, model: 'm', choices, usage } }
}

/** 50 USD at the price of the model. */
const beyondTheHold = 12_500_000

const replies: Record<Exclude<ChargeFlag, 'interrupted'> | 'none', UpstreamAnswer> = {
  none: reply({ prompt_tokens: 10, completion_tokens: 4 }),
  capped: reply({ prompt_tokens: 10, completion_tokens: beyondTheHold }),
  implausible: reply({ prompt_tokens: 10, completion_tokens: Number.MAX_SAFE_INTEGER }),
  uncounted: reply(undefined),
}

const pricing = { prompt: '0.000001', completion: '0.000004' }

describeWithUpstreams('every kind of charge', (bench) => {
  const flags = [...Object.keys(replies), 'interrupted', 'interrupted beyond its hold']
  const cases = flags.flatMap((flag) => [[flag, false] as const, [flag, true] as const])

  test.each(cases)('I4 I6 %s (BYOK: %p): one number in record, usage and ledger', async (flag, isByok) => {
    const { server } = bench()
    const own = isByok ? await bringKey(bench()) : null
    try {
      const before = await usageOf(bench())
      const id = flag.startsWith('interrupted')
        ? await interrupt(bench(), isByok, flag === 'interrupted' ? 4 : beyondTheHold)
        : await complete(bench(), replies[flag as keyof typeof replies])
      const { body } = await server.call('GET', `/generation?id=${id}`)
      const after = await usageOf(bench())
      const charged = { usage: body.data.usage, byok_usage: body.data.upstream_inference_cost ?? 0 }
      expect(body.data.headgate.flag).toBe(flag === 'none' ? null : flag.split(' ')[0])
      expect(body.data.is_byok).toBe(isByok)
      expect(after.usage - before.usage).toBeCloseTo(charged.usage, 9)
      expect(after.byok_usage - before.byok_usage).toBeCloseTo(charged.byok_usage, 9)
      expect(charged[isByok ? 'byok_usage' : 'usage']).toBeGreaterThan(0)
      const { findings } = await checkLedger(server.gateway.db)
      expect(findings.flatMap(({ violations }) => violations)).toEqual([])
    } finally {
      if (own !== null) await server.call('DELETE', `/byok/${own}`)
    }
  })

  test.each([false, true])(
    'I5 the parts of a capped charge are no more than the whole (BYOK: %p)',
    async (isByok) => {
      const { server, first } = bench()
      const own = isByok ? await bringKey(bench()) : null
      try {
        first.script(replies.capped)
        const body = (await (await ask(bench(), 'chat', { model: 'test/chat', max_tokens: 10 })).json()) as {
          usage: { cost_details: Record<string, number> }
        }
        const details = body.usage.cost_details
        const parts =
          (details.upstream_inference_prompt_cost ?? 0) + (details.upstream_inference_completions_cost ?? 0)
        expect(parts).toBeGreaterThan(0)
        expect(parts).toBeLessThanOrEqual((details.upstream_inference_cost ?? 0) + 1e-12)
      } finally {
        if (own !== null) await server.call('DELETE', `/byok/${own}`)
      }
    },
  )
})

async function bringKey({ server }: Bench): Promise<string> {
  const body = { provider: 'one-chat', key: 'own-credential-0123456789', is_byok_only: true }
  return (await server.call('POST', '/byok', { body })).body.data.id
}

async function usageOf({ server }: Bench): Promise<{ usage: number; byok_usage: number }> {
  const { body } = await server.call('GET', '/key', { key: server.own.inferenceKey })
  return body.data
}

async function complete(bench: Bench, answer: UpstreamAnswer): Promise<string> {
  bench.first.script(answer)
  const response = await ask(bench, 'chat', { model: 'test/chat', max_tokens: 10 })
  await response.text()
  return response.headers.get('x-generation-id') ?? ''
}

/** A request whose process is gone, charged for what had come of it. */
async function interrupt({ server }: Bench, isByok: boolean, tokens: number): Promise<string> {
  const { gateway, own } = server
  const id = newId('gen')
  const key = await gateway.db
    .selectFrom('api_keys')
    .selectAll()
    .where('kind', '=', 'inference')
    .where('organization_id', '=', own.organization.id)
    .executeTakeFirstOrThrow()
  const scope = { organization: own.organization.id, workspace: key.workspace_id, key: key.id }
  const draft = draftOf(id, scope, isByok)
  const meters = [
    subjects.organization(scope.organization),
    subjects.workspace(scope.workspace),
    subjects.key(scope.key),
    ...(key.creator_user_id ? [subjects.member(scope.workspace, key.creator_user_id)] : []),
  ]
  draft.generation.user_id = key.creator_user_id
  await gateway.ledger.admit({
    op: 'admit',
    wish: {
      ...{ id, subjects: meters, day: draft.generation.created_at.slice(0, 10), limits: [], free: null },
      ...(isByok ? { amount: 50_000n, byok: 1_000_000n } : { amount: 1_000_000n, byok: 0n }),
    },
    organizationId: scope.organization,
    owner: 'node_gone',
    expiresAt: '2999-01-01T00:00:00.000Z',
    draft: writeDraft(draft),
  })
  const checkpoint: Checkpoint = {
    place: draft.first,
    reply: {
      usage: { ...noTokens, input: 10, output: tokens },
      ...{ complete: true, characters: text.length, finished: false, failed: false },
    },
    tier: null,
    firstTokenMs: 5,
    attempts: '[]',
  }
  await gateway.ledger.caughtUp()
  await gateway.db
    .updateTable('holds')
    .set({ checkpoint: JSON.stringify(checkpoint) })
    .where('id', '=', id)
    .execute()
  // The process that is gone does not have it open.
  const ledger = { isOpen: () => false, settle: (op: Settle) => gateway.ledger.settle(op) }
  expect(await new Node(true).settleOrphans(gateway.db, ledger, new Date().toISOString())).toBe(1)
  return id
}

function draftOf(
  id: string,
  scope: { organization: string; workspace: string; key: number },
  isByok: boolean,
): Draft {
  const place = { model: 'test/chat', provider: 'one-chat', endpoint: 'one-chat', upstream_dialect: 'chat' }
  return {
    generation: {
      id,
      organization_id: scope.organization,
      workspace_id: scope.workspace,
      key_id: scope.key,
      user_id: null,
      created_at: new Date().toISOString(),
      requested_model: 'test/chat',
      dialect: 'chat',
      streamed: 1,
      preset_id: null,
      session_id: null,
      region: '',
      app_url: null,
      app_title: null,
      external_user: null,
      api_type: 'completions',
      user_agent: null,
      request_id: null,
      input_images: 0,
    },
    first: { ...place, is_byok: isByok ? 1 : 0, pricing },
    promptTokens: 2,
    byokFee: 0.05,
  }
}
