import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { blankGeneration, toGenerationRecord } from '../../test/support/generations.ts'
import { databaseKinds, startTestServer, type TestServer } from '../../test/support/harness.ts'
import { queryRollups } from '../analytics/rollups/query.ts'
import { deleteOldGenerations } from '../analytics/rollups/retention.ts'
import { rollUp } from '../analytics/rollups/roll-up.ts'
import { newTimeOrderedHex } from '../platform/crypto/ids.ts'
import { isoNow } from '../platform/time/clock.ts'
import type { BillLine } from './bill.ts'
import { buildLineStatement, listLines } from './bill-lines.ts'
import { checkLedger } from './check.ts'
import { compactEntries } from './compaction.ts'
import { emptyDraft } from './draft.ts'
import type { Settlement } from './engine.ts'
import { meterSubjects } from './meter-subjects.ts'
import { createRelease } from './settlement.ts'

/** Only nodes that share a database can consider each other dead. */
describe.if(databaseKinds.includes('postgres'))('a charge that another node settled before', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('postgres')
  })
  afterAll(() => server.stop())

  const held = 100n
  interface Charge {
    cost: number
    isByok: boolean
  }

  const placeOf = (keyId: number) => {
    const { organization, workspace } = server.own
    const day = isoNow(server.clock).slice(0, 10)
    const names = [
      meterSubjects.organization(organization.id),
      meterSubjects.workspace(workspace.id),
      meterSubjects.key(keyId),
    ]
    return { subjects: names, day }
  }

  async function admit(id: string, keyId: number): Promise<void> {
    const request = { id, ...placeOf(keyId), limits: [], free: null, amount: held, byok: held }
    await server.gateway.ledger.admit({
      op: 'admit',
      request,
      organizationId: server.own.organization.id,
      owner: 'another node',
      expiresAt: '2999-01-01T00:00:00.000Z',
      draft: emptyDraft,
    })
  }

  function settlement(id: string, keyId: number, { cost, isByok }: Charge, isOwn: boolean): Settlement {
    const { organization, workspace } = server.own
    const spent = { amount: BigInt(cost), byok: isByok ? BigInt(cost) : 0n }
    const row: Record<string, unknown> = {
      ...blankGeneration,
      id,
      organization_id: organization.id,
      workspace_id: workspace.id,
      key_id: keyId,
      created_at: isoNow(server.clock),
      cost_nanos: String(spent.amount),
      upstream_cost_nanos: String(spent.amount),
      hold_nanos: String(held),
      is_byok: isByok ? 1 : 0,
      status: isOwn ? 'completed' : 'failed',
      finish_reason: isOwn ? 'stop' : null,
      flag: isOwn ? null : 'interrupted',
      tokens_output: cost,
    }
    return {
      ...createRelease(id, organization.id),
      isByok,
      spent,
      generation: toGenerationRecord(row),
      meteredIn: isOwn ? placeOf(keyId) : null,
    }
  }

  async function shown(keyId: number) {
    const now = server.clock.now()
    const incoming = {
      from: now - 86_400_000,
      to: now + 86_400_000,
      granularity: null,
      dimensions: [{ column: 'finish', read: (value: string | null) => value }] as const,
      filters: [{ column: 'key', matches: (value: string | null) => value === String(keyId) }] as const,
      measures: ['requests', 'credits', 'byok_fees', 'completion'] as const,
      histograms: [],
    }
    const organizationId = server.own.organization.id
    const groups = await queryRollups(server.gateway.db, {
      organizationId,
      query: incoming,
      timeoutMs: 10_000,
    })
    return groups.map((group) => [
      group.values[0],
      ...incoming.measures.map((name) => Number(group.sum(name))),
    ])
  }

  const charge = fc.record({ cost: fc.oneof(fc.constant(0), fc.nat(100)), isByok: fc.boolean() })
  let keys = 1000

  test('I5 I6 the lines of the interrupted request are replaced by its own, also if no charge was recovered', async () => {
    const { ledger, db } = server.gateway
    const [id, keyId] = [`gen-${newTimeOrderedHex()}`, ++keys]
    await admit(id, keyId)
    const recovered = settlement(id, keyId, { cost: 9, isByok: false }, false)
    const { generation } = recovered
    const flagged = generation?.outcome.map((value) => (value === 'interrupted' ? 'unrecovered' : value))
    await ledger.settle({ ...recovered, generation: generation && { ...generation, outcome: flagged ?? [] } })
    const line = {
      kind: 'turn',
      name: 'm',
      provider: 'p',
      quantity: 1,
      duration_ms: 1,
      nested_id: null,
    } as const
    const counts = { tokens_prompt: null, tokens_completion: null }
    const lines = [4n, 5n].map((cost_nanos, position) => ({ ...line, ...counts, position, cost_nanos }))
    await db
      .insertInto('generation_lines')
      .values(lines.map((row) => ({ ...row, generation_id: id })))
      .execute()
    const bill: BillLine[] = [{ ...line, usage: null, cost: 4n, durationMs: 1, nestedId: null }]
    const own = settlement(id, keyId, { cost: 4, isByok: false }, true)
    await ledger.settle({ ...own, extraStatements: [buildLineStatement(db, id, bill)] })
    expect((await listLines(db, id)).map(({ cost_nanos }) => cost_nanos)).toEqual([4n])
    expect(await shown(keyId)).toEqual([['stop', 1, 4, 0, 4]])
  })

  test('I1 I2 I3 I4 I6 is charged once, as its own node settles it, whatever was rolled up before', async () => {
    const { ledger, db } = server.gateway
    const scenario = fc.record({
      early: fc.option(charge),
      late: charge,
      rolls: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(scenario, { minLength: 1, maxLength: 4 }), async (scenarios) => {
        const keyId = ++keys
        const named = scenarios.map((scenario) => ({ ...scenario, id: `gen-${newTimeOrderedHex()}` }))
        await Promise.all(named.map(({ id }) => admit(id, keyId)))
        await Promise.all(
          named.map(({ id, early }) =>
            ledger.settle(
              early ? settlement(id, keyId, early, false) : createRelease(id, server.own.organization.id),
            ),
          ),
        )
        if (scenarios[0]?.rolls[0]) await rollUp({ db }, { minRows: 1 })
        const settleAll = () =>
          Promise.all(named.map(({ id, late }) => ledger.settle(settlement(id, keyId, late, true))))
        await settleAll()
        if (scenarios[0]?.rolls[1]) await rollUp({ db }, { minRows: 1 })
        await settleAll()
        const sum = (isByok: boolean | null) =>
          scenarios.reduce(
            (all, { late }) => all + (isByok === null || late.isByok === isByok ? late.cost : 0),
            0,
          )
        const expected = [['stop', scenarios.length, sum(false), sum(true), sum(null)]]
        expect(await shown(keyId)).toEqual(expected)
        if (scenarios[0]?.rolls[2]) await rollUp({ db }, { minRows: 1 })
        expect(await shown(keyId)).toEqual(expected)
        const { findings } = await checkLedger(db)
        expect(findings.flatMap(({ violations }) => violations)).toEqual([])
      }),
      { numRuns: 25, seed: 1, endOnFailure: true },
    )
  }, 120_000)

  test('I3 R23 a correction follows its posting when that is compacted, and is deleted with its record', async () => {
    const { ledger, db } = server.gateway
    const [id, keyId] = [`gen-${newTimeOrderedHex()}`, ++keys]
    await admit(id, keyId)
    await ledger.settle(settlement(id, keyId, { cost: 5, isByok: false }, false))
    server.clock.advance(1000)
    // The same cost: the record retains its posting, and ends later than that.
    await ledger.settle(settlement(id, keyId, { cost: 5, isByok: false }, true))
    await compactEntries(db, isoNow(server.clock))
    const violations = async () => (await checkLedger(db)).findings.flatMap((finding) => finding.violations)
    expect(await violations()).toEqual([])

    const named = await db
      .selectFrom('generations')
      .select('posting_id')
      .where('id', '=', id)
      .executeTakeFirst()
    const rename = (posting_id: string) =>
      db.updateTable('generations').set({ posting_id }).where('id', '=', id).execute()
    await rename('post-missing')
    expect(await violations()).toContain(`${id}: 0 is not 1`)
    await rename(String(named?.posting_id))

    await rollUp({ db }, { minRows: 1 })
    server.clock.advance(2 * 86_400_000)
    await deleteOldGenerations({ db, clock: server.clock }, 1)
    server.clock.release()
    expect(await db.selectFrom('corrections').select('generation_id').execute()).toEqual([])
    expect(await violations()).toEqual([])
  })

  test('I3 another node that is late itself changes nothing', async () => {
    const { ledger, db } = server.gateway
    const [id, keyId] = [`gen-${newTimeOrderedHex()}`, ++keys]
    await admit(id, keyId)
    await ledger.settle(settlement(id, keyId, { cost: 50, isByok: false }, true))
    await ledger.settle(settlement(id, keyId, { cost: 20, isByok: false }, false))
    expect(await shown(keyId)).toEqual([['stop', 1, 50, 0, 50]])
    expect((await checkLedger(db)).sound).toBe(true)
  })

  test('I3 a request whose record may have been deleted is not recorded again', async () => {
    const { ledger } = server.gateway
    const [id, keyId] = [`gen-${newTimeOrderedHex()}`, ++keys]
    const late = settlement(id, keyId, { cost: 50, isByok: false }, true)
    server.clock.advance(2 * 86_400_000)
    await ledger.settle(late)
    server.clock.release()
    expect(await shown(keyId)).toEqual([])
  })
})
