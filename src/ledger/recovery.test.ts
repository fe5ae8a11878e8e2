import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { requestHolds } from '../../test/support/holds.ts'
import { emptyGeneration } from '../platform/db/generation-table.ts'
import { Bill } from './bill.ts'
import { addNestedLine, listLines } from './bill-lines.ts'
import { encodeDraft } from './draft.ts'
import { jobOwner, type Settlement } from './engine.ts'
import { ClusterNode } from './recovery.ts'
import type { SettledGeneration } from './settlement.ts'

const target = { model: 'm', provider: 'p', endpoint: 'e', upstream_dialect: 'chat', is_byok: 0 } as const

describeOnEachDatabase('a node of a cluster', (server) => {
  let time = 0
  const newNode = () => new ClusterNode(false, () => time)

  const now = '2026-01-01T00:00:00.000Z'

  async function leaveHold(owner: string, draft = 'unreadable', suffix = ''): Promise<void> {
    const { db } = server().gateway
    const hold = {
      amount_nanos: 0n,
      byok_nanos: 0n,
      day: '2026-01-01',
      draft,
      checkpoint: null,
    }
    await db
      .insertInto('holds')
      .values({
        id: `gen-of-${owner}${suffix}`,
        owner,
        subjects: 'key:999999',
        expires_at: '2999-01-01',
        ...hold,
      })
      .execute()
  }

  async function look(node: ClusterNode, afterMs: number): Promise<number> {
    time += afterMs
    const { settled, unrecovered } = await node.settleOrphans(
      server().gateway.db,
      server().gateway.ledger,
      now,
    )
    return settled + unrecovered.length
  }

  test('R2 R7 settles the holds of another node only after twelve seconds of watching without a heartbeat', async () => {
    const [watching, dead] = [newNode(), newNode()]
    await dead.sendHeartbeat(server().gateway.db, now)
    await leaveHold(dead.id)
    expect(await look(watching, 0)).toBe(0)
    for (let looked = 0; looked < 10; looked += 2) expect(await look(watching, 2000)).toBe(0)
    expect(await look(watching, 3000)).toBe(1)
    const registered = () =>
      server().gateway.db.selectFrom('nodes').select('id').where('id', '=', dead.id).execute()
    expect(await registered()).toEqual([])
    // It was only silent, and sends a heartbeat again.
    await dead.sendHeartbeat(server().gateway.db, now)
    expect(await registered()).toEqual([{ id: dead.id }])
  })

  test('R7 after an outage of the database every node has the full timeout again', async () => {
    const [watching, cutOff] = [newNode(), newNode()]
    await cutOff.sendHeartbeat(server().gateway.db, now)
    await leaveHold(cutOff.id)
    expect(await look(watching, 0)).toBe(0)
    expect(await look(watching, 300_000)).toBe(0)
    expect(await look(watching, 30_000)).toBe(0)
  })

  test('R2 I4 an extension is released without a record; its request is settled with its bill and all that was held', async () => {
    const { db, ledger } = server().gateway
    const key = await db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    const { organization_id, workspace_id, id: key_id } = key
    const owner = { organization_id, workspace_id, key_id }
    const draft = encodeDraft({
      generation: { ...emptyGeneration, id: 'gen-turns', ...owner, created_at: now },
      initialTarget: { ...target, pricing: null },
      promptTokens: 10,
      byokFee: 0,
    })
    const bill = new Bill()
    bill.addFee({ kind: 'tool', name: 'web_search', provider: 'exa', quantity: 1, cost: 7n, durationMs: 1 })
    const checkpoint = {
      place: { ...target, pricing: null },
      reply: { usage: null, complete: false, characters: 0, finished: false, failed: false },
      tier: null,
      firstTokenMs: null,
      attempts: '[]',
      bill: bill.encode({ amount: 0n, byok: 0n }),
    }
    const hold = { owner: 'dead', subjects: 'key:999999', expires_at: '2999-01-01', day: '2026-01-01' }
    const stored = { ...hold, byok_nanos: 0n, draft: JSON.stringify(draft) }
    const rows = [
      { id: 'gen-turns', amount_nanos: 1n, ...stored, checkpoint: JSON.stringify(checkpoint) },
      { id: 'gen-turns+1', amount_nanos: 4n, ...stored, checkpoint: null },
      { id: 'gen-turns+2', amount_nanos: 8n, ...stored, checkpoint: null },
    ]
    await db.insertInto('holds').values(rows).execute()
    const recovered: SettledGeneration[] = []
    await new ClusterNode(true).settleOrphans(db, ledger, now, async (settled) => {
      recovered.push(settled)
      return []
    })
    expect(
      recovered.map(({ draft: { id }, charge, lines, end }) => [id, charge.cost, lines, end.hold_nanos]),
    ).toEqual([['gen-turns', 7n, bill.lines, 13n]])
    const left = await requestHolds(db).select('id').where('id', 'like', 'gen-turns%').execute()
    expect(left).toEqual([])
  })

  test('R2 I4 an expired extension of this node is released once its request has ended', async () => {
    const { db, ledger } = server().gateway
    const node = new ClusterNode(true)
    const hold = { owner: node.id, subjects: 'key:999999', day: '2026-01-01', draft: '', checkpoint: null }
    const amounts = { amount_nanos: 5n, byok_nanos: 0n }
    const rows = ['gen-ended', 'gen-running', 'gen-early'].map((id) => ({
      ...{ id: `${id}+1`, ...hold, ...amounts },
      expires_at: id === 'gen-early' ? '2999-01-01' : '2025-12-31',
    }))
    await db.insertInto('holds').values(rows).execute()
    // What was lost with an error of the process that should have released it is open as long as the process runs.
    const open = new Set(['gen-ended+1', 'gen-running', 'gen-running+1', 'gen-early+1'])
    const watched = { isOpen: (id: string) => open.has(id), settle: ledger.settle.bind(ledger) }
    await node.settleOrphans(db, watched, now)
    const left = () => requestHolds(db).select('id').where('owner', '=', node.id).orderBy('id').execute()
    expect(await left()).toEqual([{ id: 'gen-early+1' }, { id: 'gen-running+1' }])
    await db.deleteFrom('holds').where('owner', '=', node.id).execute()
  })

  test('R7 I6 a request that was interrupted together with the one it was made for is on the bill of that one', async () => {
    const { db, ledger } = server().gateway
    const key = await db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    const owner = { organization_id: key.organization_id, workspace_id: key.workspace_id, key_id: key.id }
    const hold = { owner: 'dead', subjects: 'key:999999', expires_at: '2999-01-01', day: '2026-01-01' }
    const reply = { usage: null, complete: false, characters: 4000, finished: false, failed: false }
    const pricing = { prompt: '0.000001', completion: '0.000001' }
    const buildHold = (id: string, more: object) => ({
      ...{ id, ...hold, amount_nanos: 100_000_000n, byok_nanos: 0n },
      draft: JSON.stringify(
        encodeDraft({
          generation: { ...emptyGeneration, id, ...owner, created_at: now },
          initialTarget: { ...target, pricing },
          promptTokens: 10,
          byokFee: 0,
        }),
      ),
      checkpoint: JSON.stringify({
        place: { ...target, pricing },
        ...{ reply, tier: null, firstTokenMs: 1, attempts: '[]', ...more },
      }),
    })
    const outer = { id: 'gen-outer', purpose: 'subagent' }
    const bill = new Bill().encode({ amount: 100_000_000n, byok: 0n })
    const rows = [
      buildHold('gen-outer', { bill }),
      buildHold('gen-nested', { outer }),
      buildHold('gen-stray', { outer: { id: 'gen-unknown', purpose: 'subagent' } }),
    ]
    await db.insertInto('holds').values(rows).execute()
    const { nested, settled } = await new ClusterNode(true).settleOrphans(db, ledger, now)
    expect(settled).toBe(3)
    for (const line of nested) await addNestedLine(db, line)
    for (const line of nested) await addNestedLine(db, line)
    const { cost_nanos } = await db
      .selectFrom('generations')
      .select('cost_nanos')
      .where('id', '=', 'gen-nested')
      .executeTakeFirstOrThrow()
    expect(cost_nanos).toBeGreaterThan(0n)
    expect(await listLines(db, 'gen-outer')).toMatchObject([
      { kind: 'request', name: 'subagent', provider: 'p', nested_id: 'gen-nested', cost_nanos },
    ])
    expect(await listLines(db, 'gen-unknown')).toEqual([])
  })

  test('R2 R7 a record that the database rejects is replaced by one that it accepts, and the other holds are settled', async () => {
    const { db, ledger } = server().gateway
    const {
      organization_id,
      workspace_id,
      id: key_id,
    } = await db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    const subjects = [`organization:${organization_id}`, `workspace:${workspace_id}`, `key:${key_id}`]
    const owner = { organization_id, workspace_id, key_id }
    const draftOf = (id: string) =>
      encodeDraft({
        generation: { ...emptyGeneration, ...owner, id, created_at: now },
        initialTarget: { ...target, pricing: null },
        promptTokens: 10,
        byokFee: 0,
      })
    const held = { amount_nanos: 0n, byok_nanos: 0n, subjects: subjects.join(' '), day: '2026-01-01' }
    const hold = { owner: 'dead', expires_at: '2999-01-01', checkpoint: null, ...held }
    const rows = ['gen-accepted', 'gen-rejected'].map((id) => ({
      ...hold,
      id,
      draft: JSON.stringify(draftOf(id)),
    }))
    await db.insertInto('holds').values(rows).execute()
    const rejecting = {
      isOpen: () => false,
      settle: async (op: Settlement) => {
        if (op.id === 'gen-rejected' && String(op.generation?.outcome).startsWith('m,p,e,'))
          throw Object.assign(new Error('not-null constraint'), { errno: '23502' })
        return ledger.settle(op)
      },
    }
    const { settled, unrecovered } = await new ClusterNode(true).settleOrphans(db, rejecting, now)
    expect([settled, unrecovered]).toMatchObject([1, [{ id: 'gen-rejected', failure: 'unrecovered_record' }]])
    const records = await db
      .selectFrom('generations')
      .select(['id', 'model', 'flag'])
      .where('id', 'in', ['gen-accepted', 'gen-rejected'])
      .orderBy('id')
      .execute()
    expect(records).toEqual([
      { id: 'gen-accepted', model: 'm', flag: 'interrupted' },
      { id: 'gen-rejected', model: '', flag: 'unrecovered' },
    ])
  })

  test('R39 the hold of a job is no orphan, whichever node ended', async () => {
    const { db } = server().gateway
    await leaveHold(jobOwner)
    const id = `gen-of-${jobOwner}`
    await db.updateTable('holds').set({ expires_at: '2000-01-01' }).where('id', '=', id).execute()
    await new ClusterNode(true).settleOrphans(db, server().gateway.ledger, now)
    const watching = newNode()
    for (let looked = 0; looked < 5; looked++) await look(watching, 50_000)
    const left = () => requestHolds(db).select('id').where('id', '=', id).execute()
    expect(await left()).toEqual([{ id }])
    await db.deleteFrom('holds').where('id', '=', id).execute()
  })

  test('R7 leaves the hold of a newer version to that version, and settles the others', async () => {
    const { db } = server().gateway
    await leaveHold('newer', '[99,["?"],["?"],0,0]')
    await leaveHold('newer', '[99,["?"],["?"],0,0]', '+1')
    await leaveHold('older')
    const node = new ClusterNode(true)
    const { settled, unrecovered } = await node.settleOrphans(db, server().gateway.ledger, now)
    expect(settled).toBe(0)
    expect(unrecovered.map(({ id }) => id)).toContain('gen-of-older')
    expect(node.newerFormatHolds).toBe(1)
    const left = await requestHolds(db).select('id').orderBy('id').execute()
    expect(left).toEqual([{ id: 'gen-of-newer' }, { id: 'gen-of-newer+1' }])
  })
})
