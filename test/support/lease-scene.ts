import { afterAll, beforeAll, expect } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { emptyDraft } from '../../src/ledger/draft.ts'
import type { AdmitOperation, Settlement } from '../../src/ledger/engine.ts'
import { leasePattern } from '../../src/ledger/lease-id.ts'
import type { LeasedEngine } from '../../src/ledger/leased-engine.ts'
import type { Limit } from '../../src/ledger/ledger-state.ts'
import { PostgresLeases } from '../../src/ledger/postgres-leases.ts'
import { closeDb, type Db, migrate, openDb } from '../../src/platform/db/db.ts'
import { emptyGeneration } from '../../src/platform/db/generation-table.ts'
import { PostgresBatchConnection } from '../../src/platform/db/postgres-batch.ts'
import { createMigratedDatabase, type TestDatabase } from './databases.ts'
import { toGenerationRecord } from './generations.ts'
import { requestHolds } from './holds.ts'
import { createLeasedEngine, type TestEngineOptions } from './leased-engine.ts'

export const now = '2030-05-01T12:00:00.000Z'
const day = '2030-05-01'

interface AdmissionOptions {
  amount?: bigint
  owner?: string
  key?: number
  /** The daily limit of the key. */
  budget?: bigint
}

/** Nodes that share a PostgreSQL database, and requests with keys of one organization. */
export class LeaseScene {
  readonly db: Db
  readonly #database: TestDatabase
  readonly #subjects = new Map<number, readonly string[]>()
  #count = 0

  constructor(database: TestDatabase) {
    this.#database = database
    this.db = openDb(database.url)
  }

  get url(): string {
    return this.#database.url
  }

  async create(): Promise<void> {
    await migrate(this.db)
    const organization = { id: 'one', name: 'one', is_operator: 0, created_at: now } as const
    await this.db.insertInto('organizations').values(organization).execute()
  }

  async close(): Promise<void> {
    await closeDb(this.db)
    await this.#database.drop()
  }

  connect(): PostgresLeases {
    return new PostgresLeases(new PostgresBatchConnection(this.url), new PostgresBatchConnection(this.url))
  }

  openEngine(options: TestEngineOptions = {}): LeasedEngine {
    return createLeasedEngine(this.url, options)
  }

  subjectsOf(key: number): readonly string[] {
    const subjects = this.#subjects.get(key) ?? ['organization:one', 'workspace:one', `key:${key}`]
    this.#subjects.set(key, subjects)
    return subjects
  }

  buildAdmission({
    amount = 10n,
    owner = 'node',
    key = 1,
    budget = 1_000_000n,
  }: AdmissionOptions = {}): AdmitOperation {
    const id = `gen-${String(++this.#count).padStart(8, '0')}`
    const subject = `key:${key}`
    const limit: Limit = { kind: 'key', subject, window: 'day', includeByok: false, amount: budget }
    const generation = {
      ...emptyGeneration,
      ...{ id, organization_id: 'one', workspace_id: 'one', key_id: key, created_at: now },
    }
    return {
      op: 'admit',
      organizationId: 'one',
      owner,
      expiresAt: '2999-01-01T00:00:00.000Z',
      draft: { ...emptyDraft, generation },
      request: { id, subjects: this.subjectsOf(key), day, limits: [limit], free: null, amount, byok: 0n },
    }
  }

  buildSettlement({ request, draft }: AdmitOperation, cost: bigint): Settlement {
    const { outcome } = toGenerationRecord({
      ...emptyGeneration,
      ...{ cost_nanos: cost, hold_nanos: request.amount, status: 'completed', region: 'global' },
    })
    return {
      op: 'settle',
      id: request.id,
      organizationId: 'one',
      isByok: false,
      spent: { amount: cost, byok: 0n },
      generation: { draft: draft.generation, outcome },
      meteredIn: { subjects: request.subjects, day },
      extraStatements: [],
    }
  }

  /** Admits until a lease covers a request, which then needs no promise. */
  async admitWithinLease(engine: LeasedEngine, options: AdmissionOptions = {}): Promise<AdmitOperation> {
    for (let tries = 0; tries < 20; tries++) {
      const op = this.buildAdmission(options)
      if (engine.admitNow(op) === null) return op
      await engine.run([op], now)
      await engine.run([this.buildSettlement(op, 1n)], now)
    }
    throw new Error('no lease was granted')
  }

  /** What a node has leased. */
  leases(owner: string) {
    return this.db
      .selectFrom('holds')
      .select(['id', 'amount_nanos'])
      .where('id', 'like', leasePattern)
      .where('owner', '=', owner)
      .execute()
  }

  /** What is reserved for nodes whose leases were taken over. */
  allowances() {
    return this.db
      .selectFrom('holds')
      .select(['id', 'amount_nanos'])
      .where('owner', 'like', 'journal%')
      .execute()
  }

  async readSpent(key = 1): Promise<bigint> {
    const meter = await this.db
      .selectFrom('meters')
      .select('total_nanos')
      .where('subject', '=', `key:${key}`)
      .executeTakeFirst()
    return meter?.total_nanos ?? 0n
  }

  /** Nothing is held for requests, and the books agree that this was spent with a key. */
  async expectSound(spent: bigint, key = 1): Promise<void> {
    expect(await this.findViolations()).toEqual([])
    expect(await requestHolds(this.db).select('id').execute()).toEqual([])
    const { total } = await this.db
      .selectFrom('generations')
      .select((eb) => eb.fn.sum<bigint>('cost_nanos').as('total'))
      .where('key_id', '=', key)
      .executeTakeFirstOrThrow()
    expect([await this.readSpent(key), BigInt(total ?? 0)]).toEqual([spent, spent])
  }

  async findViolations(): Promise<string[]> {
    return (await checkLedger(this.db)).findings.flatMap(({ violations }) => violations)
  }
}

/** A scene for the tests of a file. */
export function useLeaseScene(): () => LeaseScene {
  let scene: LeaseScene | undefined
  beforeAll(async () => {
    scene = new LeaseScene(await createMigratedDatabase())
    await scene.create()
  })
  afterAll(() => scene?.close())
  return () => {
    if (!scene) throw new Error('the scene is open during tests only')
    return scene
  }
}
