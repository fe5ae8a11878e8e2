import { afterAll, expect, test } from 'bun:test'
import { closeScenarios, createScenario } from '../../test/faults/gateways.ts'
import { databaseKinds } from '../../test/support/harness.ts'
import { createLeasedEngine } from '../../test/support/leased-engine.ts'
import { closeDb, migrate, openDb } from '../platform/db/db.ts'
import { emptyDraft } from './draft.ts'
import type { AdmitOperation } from './engine.ts'
import { freeRequestsPerMinute } from './free-limits.ts'
import { meterSubjects } from './meter-subjects.ts'

afterAll(closeScenarios)

const now = '2031-01-01T00:00:00.000Z'

function buildFreeRequest(organization: string, index: number): AdmitOperation {
  const subject = meterSubjects.owner('hash')
  return {
    op: 'admit',
    organizationId: organization,
    owner: 'node',
    expiresAt: '2999-01-01',
    draft: emptyDraft,
    request: {
      id: `gen-${organization}-${index}`,
      subjects: [meterSubjects.organization(organization), subject],
      day: '2031-01-01',
      limits: [],
      free: { subject, minute: '2031-01-01T00:00', perMinute: freeRequestsPerMinute, perDay: 1000 },
      amount: 0n,
      byok: 0n,
    },
  }
}

test.skipIf(!databaseKinds.includes('postgres'))(
  'R16 several nodes count the organizations of one owner together',
  async () => {
    const { databaseUrl } = await createScenario('postgres')
    const db = openDb(databaseUrl)
    await migrate(db)
    const nodes = ['one', 'two', 'three'].map((organization) => ({
      organization,
      engine: createLeasedEngine(databaseUrl, { nodeId: organization }),
    }))
    const results = await Promise.all(
      nodes.map(async ({ organization, engine }) => {
        const admitted: unknown[] = []
        for (let index = 0; index < 15; index++)
          admitted.push(...(await engine.run([buildFreeRequest(organization, index)], now)).results)
        await engine.close()
        return admitted
      }),
    )
    await closeDb(db)
    const rejected = results.flat().filter((result) => result !== null)
    expect(rejected).toHaveLength(3 * 15 - freeRequestsPerMinute)
    expect(rejected[0]).toEqual({ reason: 'rate', per: 'minute', limit: freeRequestsPerMinute })
  },
)
