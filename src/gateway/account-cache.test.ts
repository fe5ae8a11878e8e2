import { afterAll, expect, spyOn, test } from 'bun:test'
import type { KyselyPlugin } from 'kysely'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { listWatchedTables } from '../../test/support/watched-tables.ts'
import { AccessTokens } from '../identity/access-tokens.ts'
import { createKey, findKeyById } from '../identity/keys.ts'
import { newId } from '../platform/crypto/ids.ts'
import { createRevisionReader } from '../platform/db/account-revision.ts'
import { closeDb, type Db, openDb } from '../platform/db/db.ts'
import { AccountCache } from './account-cache.ts'

/** The SQL of every query, and a way to let them fail. */
class QueryRecorder implements KyselyPlugin {
  readonly db: Db
  readonly queries: string[] = []
  isDown = false

  constructor(db: Db) {
    this.db = db.withPlugin(this)
    this.#executor = db.getExecutor()
  }

  readonly #executor: ReturnType<Db['getExecutor']>

  transformQuery({ node, queryId }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    if (this.isDown) throw new Error('away')
    this.queries.push(this.#executor.compileQuery(node, queryId).sql)
    return node
  }

  async transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    return result
  }

  takeQueries(): string[] {
    return this.queries.splice(0)
  }

  takeTables(): Set<string> {
    const names = this.takeQueries().flatMap((text) => [...text.matchAll(/\b(?:from|join) "?(\w+)/gi)])
    return new Set(names.map(([, name]) => name ?? ''))
  }
}

const revisionQuery = 'select "revision" from "account_revision"'

/** Time passes only here, and never backwards. */
let passedMs = 0
const startedAt = Math.floor(performance.now())
const clock = spyOn(performance, 'now').mockImplementation(() => startedAt + passedMs)
afterAll(() => clock.mockRestore())

describeOnEachDatabase('the cache of account data', (server) => {
  const db = () => server().gateway.db

  async function createOwnKey() {
    const { organization, workspace, owner } = server().own
    return createKey(db(), server().clock, {
      organizationId: organization.id,
      workspaceId: workspace.id,
      creatorUserId: owner.id,
      kind: 'inference',
      name: 'cached',
      limit: 1_000_000_000n,
    })
  }

  function createCache() {
    const recorder = new QueryRecorder(db())
    // Changes of this process are not counted for the recorded database: what it sees is what another process does.
    const revisions = createRevisionReader(recorder.db)
    return { recorder, revisions, cache: new AccountCache(recorder.db, revisions) }
  }

  async function changeElsewhere(change: (other: Db) => Promise<unknown>): Promise<void> {
    const other = openDb(server().gateway.config.databaseUrl)
    await change(other)
    await closeDb(other)
  }

  test('R26 every table that it reads increases the revision', async () => {
    const { recorder, revisions, cache } = createCache()
    const { key, secret } = await createOwnKey()
    const filter = { slug: 'regex-prompt-injection', action: 'flag', scope: 'input' }
    const guardrail = await server().call('POST', '/guardrails', {
      body: { name: newId('g'), content_filter_builtins: [filter] },
    })
    expect(guardrail.status).toBe(201)
    const body = { key_hashes: [key.hash] }
    await server().call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, { body })
    expect(await cache.findKey('no such secret')).toBeUndefined()
    const found = await cache.findKey(secret)
    expect(found).toMatchObject({ id: key.id })
    await cache.findKeyById(key.id)
    await cache.findContext(key)
    await cache.findPreset(key.organization_id, 'none')
    const { vault } = server().gateway
    await new AccessTokens({ db: recorder.db, clock: server().clock, vault, revisions }).listPublicKeys()
    const tables = recorder.takeTables()
    expect(tables.delete('account_revision')).toBe(true)
    expect([...tables].sort()).toEqual(await listWatchedTables(db()))
    for (const table of ['meters', 'holds', 'generations']) expect([...tables]).not.toContain(table)
  })

  test('an unchanged key costs no query within a second, and one query a second for all keys', async () => {
    const { recorder, cache } = createCache()
    const keys = await Promise.all([createOwnKey(), createOwnKey(), createOwnKey()])
    for (const { secret, key } of keys) {
      await cache.findKey(secret)
      await cache.findContext(key)
    }
    recorder.takeQueries()
    for (const { secret, key } of keys) {
      expect(cache.findKey(secret)).toMatchObject({ id: key.id })
      expect(cache.findContext(key)).not.toBeInstanceOf(Promise)
    }
    expect(recorder.takeQueries()).toEqual([])
    passedMs += 1000
    await Promise.all(keys.map(({ secret }) => cache.findKey(secret)))
    for (const { key } of keys) expect(cache.findContext(key)).not.toBeInstanceOf(Promise)
    expect(recorder.takeQueries()).toEqual([revisionQuery])
  })

  test('R26 a change by this process is visible to the next request', async () => {
    const { key, secret } = await createOwnKey()
    const messages = [{ role: 'user', content: 'Hello' }]
    const body = { model: 'sandbox/echo', messages }
    const send = async () => (await server().call('POST', '/chat/completions', { key: secret, body })).status
    expect(await send()).toBe(200)
    await server().call('PATCH', `/keys/${key.hash}`, { body: { disabled: true } })
    expect(await send()).toBe(401)
    await server().call('PATCH', `/keys/${key.hash}`, { body: { disabled: false } })
    expect(await send()).toBe(200)
    await server().call('DELETE', `/keys/${key.hash}`)
    expect(await send()).toBe(401)
  })

  test('R26 a change by another process is visible within a second', async () => {
    const { accounts } = server().gateway
    const { key, secret } = await createOwnKey()
    expect(await accounts.findKey(secret)).toMatchObject({ disabled: 0 })
    await changeElsewhere((other) =>
      other.updateTable('api_keys').set({ disabled: 1 }).where('id', '=', key.id).execute(),
    )
    expect(accounts.findKey(secret)).toMatchObject({ disabled: 0 })
    passedMs += 1000
    expect(await accounts.findKey(secret)).toMatchObject({ disabled: 1 })
    await changeElsewhere((other) => other.deleteFrom('api_keys').where('id', '=', key.id).execute())
    passedMs += 1000
    expect(await accounts.findKey(secret)).toBeUndefined()
  })

  test('R26 what another process commits later is visible too', async () => {
    const { accounts } = server().gateway
    const { key, secret } = await createOwnKey()
    await changeElsewhere((other) =>
      other.transaction().execute(async (tx) => {
        await tx.updateTable('api_keys').set({ name: 'committed' }).where('id', '=', key.id).execute()
        passedMs += 1000
        expect(await accounts.findKey(secret)).toMatchObject({ name: 'cached' })
      }),
    )
    passedMs += 1000
    expect(await accounts.findKey(secret)).toMatchObject({ name: 'committed' })
  })

  test('R26 a context has the present limit of a key, even for a request that began before the change', async () => {
    const { cache } = createCache()
    const { key } = await createOwnKey()
    const change = { limit_nanos: 5n }
    await db().updateTable('api_keys').set(change).where('id', '=', key.id).execute()
    await cache.findContext(key)
    const present = await findKeyById(db(), key.id)
    const { limits } = await cache.findContext(present ?? key)
    expect(limits).toContainEqual(expect.objectContaining({ amount: 5n }))
  })

  test('R26 funding by another process reaches the limits of a key', async () => {
    const { accounts } = server().gateway
    const { key } = await createOwnKey()
    const before = (await accounts.findContext(key)).purchasedCredits
    await changeElsewhere((other) =>
      other
        .insertInto('ledger_entries')
        .values({
          transaction_id: newId('purchase'),
          organization_id: key.organization_id,
          account: 'credits',
          amount_nanos: 7n,
          kind: 'purchase',
          note: null,
          created_at: '2030-01-01T00:00:00.000Z',
        })
        .execute(),
    )
    passedMs += 1000
    expect((await accounts.findContext(key)).purchasedCredits).toBe(before + 7n)
  })

  test('R21 known keys are served for a minute without a database, unknown ones are not refused as invalid', async () => {
    const { recorder, cache } = createCache()
    const { key, secret } = await createOwnKey()
    const { secret: unknown } = await createOwnKey()
    await cache.findKey(secret)
    await cache.findContext(key)
    recorder.isDown = true
    passedMs += 59_000
    expect(await cache.findKey(secret)).toMatchObject({ id: key.id })
    expect(await cache.findContext(key)).toBeDefined()
    await expect(cache.findKey(unknown)).rejects.toMatchObject({ code: 'unavailable' })
    passedMs += 1000
    await expect(cache.findKey(secret)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(cache.findContext(key)).rejects.toMatchObject({ code: 'unavailable' })
    recorder.isDown = false
    expect(await cache.findKey(secret)).toMatchObject({ id: key.id })
  })
})
