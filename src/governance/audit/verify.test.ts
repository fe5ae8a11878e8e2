import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../test/support/harness.ts'
import { Vault } from '../../platform/crypto/crypto.ts'
import { anchorChains } from './anchors.ts'
import { hashEntry, signHead } from './chain.ts'
import type { AuditOrigin } from './entry.ts'
import { headsFilePath, readHeadsFile } from './heads-file.ts'
import { findChain, lockChain, readEntriesAfter } from './store.ts'
import { transactAs } from './transaction.ts'
import { type ChainReport, type ExpectedHead, verifyChains } from './verify.ts'

describeOnEachDatabase('verification of the audit log', (server) => {
  let tenant: Tenant
  let id = ''
  const origin = (): AuditOrigin => ({
    organizationId: id,
    actor: { type: 'command', id: null, name: 'test' },
    ip: null,
    userAgent: null,
    requestId: null,
  })
  const write = (count: number) =>
    transactAs(server().gateway, origin(), async (_tx, record) => {
      for (let n = 0; n < count; n++) record({ action: 'test.write', target: { type: 'test', id: `${n}` } })
    })
  const verify = async (expected: ExpectedHead[] = []): Promise<ChainReport[]> =>
    Array.fromAsync(verifyChains(server().gateway, expected, () => undefined))
  const problemOf = async (expected: ExpectedHead[] = []) =>
    (await verify(expected)).find(({ chain_id }) => chain_id === id)?.problem
  const entries = () => server().gateway.db.updateTable('audit_entries').where('chain_id', '=', id)
  const chain = () => server().gateway.db.updateTable('audit_chains').where('chain_id', '=', id)
  const headsPath = () => headsFilePath(server().gateway.config.dataDir)
  const anchor = (path = headsPath()) => anchorChains(server().gateway, path)
  const head = async () => {
    const found = await findChain(server().gateway.db, id)
    if (!found) throw new Error('no chain')
    return found
  }
  const remove = (operator: '=' | '>', seq: number) =>
    server()
      .gateway.db.deleteFrom('audit_entries')
      .where('chain_id', '=', id)
      .where('seq', operator, seq)
      .execute()

  beforeEach(async () => {
    tenant = await createTenant(server().gateway, 'Audited')
    id = tenant.organization.id
    await write(5)
  })
  afterEach(async () => {
    const { db } = server().gateway
    await db.deleteFrom('audit_entries').where('chain_id', '=', id).execute()
    for (const table of ['audit_chains', 'audit_anchors'] as const)
      await db.deleteFrom(table).where('chain_id', 'in', [id, 'anchors']).execute()
    await db.deleteFrom('audit_entries').where('chain_id', '=', 'anchors').execute()
    rmSync(headsPath(), { force: true })
  })

  test('S12 a chain of several batches is complete, and its heads of any time are part of it', async () => {
    const early = await head()
    await write(2500)
    const late = await head()
    const reports = await verify([early, late])
    expect(reports.filter(({ chain_id }) => chain_id === id)).toEqual([
      { chain_id: id, seq: 2505, hash: late.hash, first_seq: 1, entries: 2505, problem: null },
    ])
    // Locked, and rolled back before anything was written.
    await lockChain(server().gateway.db, 'empty')
    expect((await verify()).every(({ problem }) => problem === null)).toBe(true)
    await server().gateway.db.deleteFrom('audit_chains').where('chain_id', '=', 'empty').execute()
  })

  test('S12 a changed entry is found', async () => {
    await entries().set({ target_name: 'other' }).where('seq', '=', 3).execute()
    expect(await problemOf()).toMatch(/^Entry 3 \(.*test\.write.*\) was changed\.$/)
  })

  test('S12 an entry missing in the middle, at the start or at the end is found', async () => {
    await remove('=', 3)
    expect(await problemOf()).toStartWith('Entry 3 is missing; the next is 4')
    await remove('>', 2)
    expect(await problemOf()).toBe('Entry 3 is missing; the head is entry 5.')
    await remove('=', 1)
    expect(await problemOf()).toStartWith('Entry 1 is missing; the next is 2')
  })

  test('S12 swapped entries are found', async () => {
    await entries().set({ seq: 99 }).where('seq', '=', 2).execute()
    await entries().set({ seq: 2 }).where('seq', '=', 3).execute()
    await entries().set({ seq: 3 }).where('seq', '=', 99).execute()
    expect(await problemOf()).toMatch(/^Entry 2 .* does not follow the entry before it\.$/)
  })

  test('S12 a removed end with a changed head is found, also if it is signed with another secret', async () => {
    const { db } = server().gateway
    const fourth = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('chain_id', '=', id)
      .where('seq', '=', 4)
      .executeTakeFirstOrThrow()
    await remove('>', 4)
    await chain().set({ seq: 4, hash: fourth.hash }).execute()
    expect(await problemOf()).toBe('The head (seq 4) is not signed with the secret of this installation.')
    const stranger = new Vault('a secret of somebody else')
    await chain()
      .set({ signature: signHead(stranger, { ...fourth }) })
      .execute()
    expect(await problemOf()).toBe('The head (seq 4) is not signed with the secret of this installation.')
    const start = { first_seq: 3, first_hash: fourth.previous_hash, first_signature: 'x' }
    const { signature } = { signature: signHead(server().gateway.vault, fourth) }
    await chain()
      .set({ signature, ...start })
      .execute()
    expect(await problemOf()).toBe('The start (seq 3) is not signed with the secret of this installation.')
  })

  test('S12 an entry hashed again without the secret is found', async () => {
    const { db } = server().gateway
    const fifth = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('chain_id', '=', id)
      .where('seq', '=', 5)
      .executeTakeFirstOrThrow()
    const forged = { ...fifth, actor_name: 'somebody else' }
    const hash = hashEntry(new Vault('a secret of somebody else'), forged)
    await entries().set({ actor_name: 'somebody else', hash }).where('seq', '=', 5).execute()
    expect(await problemOf()).toMatch(/^Entry 5 .* was changed\.$/)
  })

  test('S12 a deleted head, an added entry and a deleted chain are found', async () => {
    const { db } = server().gateway
    const noted = await head()
    const rows = await db.selectFrom('audit_entries').selectAll().where('chain_id', '=', id).execute()
    const last = rows.find(({ seq }) => seq === 5)
    if (!last) throw new Error('no entry')
    const added = { ...last, seq: 6, id: 'new', previous_hash: last.hash }
    await db
      .insertInto('audit_entries')
      .values({ ...added, hash: hashEntry(server().gateway.vault, added) })
      .execute()
    expect(await problemOf()).toBe('The head is entry 5, but there are entries up to 6.')
    await db.deleteFrom('audit_chains').where('chain_id', '=', id).execute()
    expect(await problemOf()).toBe('The chain has entries but no head.')
    await db.deleteFrom('audit_entries').where('chain_id', '=', id).execute()
    expect(await problemOf()).toBeUndefined()
    expect(await problemOf([noted])).toBe('The chain does not exist, although a head of it is expected.')
  })

  test('S12 a chain that is deleted as a whole is found by the chain of anchors', async () => {
    const { db } = server().gateway
    await anchor()
    expect(await problemOf()).toBeNull()
    await db.deleteFrom('audit_entries').where('chain_id', '=', id).execute()
    await db.deleteFrom('audit_chains').where('chain_id', '=', id).execute()
    expect(await problemOf()).toStartWith('The chain does not exist, although its entry 5 is recorded.')
    // Written again since, from the beginning.
    await write(1)
    await anchor()
    expect(await problemOf()).toStartWith('The chain ends at entry 1, before the recorded entry 5.')
    await write(9)
    await anchor()
    expect(await problemOf()).toStartWith('Entry 5 does not have the recorded hash.')
  })

  test('S12 an older end of a chain is found by the chain of anchors', async () => {
    const backup = await head()
    await write(3)
    await anchor()
    await remove('>', 5)
    await chain().set(backup).execute()
    expect(await problemOf()).toStartWith('The chain ends at entry 5, before the recorded entry 8.')
  })

  test('S12 older copies of all tables are found by the file beside the database', async () => {
    const { db } = server().gateway
    const tables = ['audit_entries', 'audit_chains', 'audit_anchors'] as const
    await anchor()
    const copies = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
    await write(3)
    await anchor()
    const noted = (await readHeadsFile(headsPath())) ?? []
    expect(noted.map(({ seq }) => seq)).toEqual([1, 2])
    const anchors = async () => (await verify(noted)).find(({ chain_id }) => chain_id === 'anchors')?.problem
    expect(await anchors()).toBeNull()
    for (const [i, table] of tables.entries()) {
      await db.deleteFrom(table).execute()
      await db
        .insertInto(table)
        .values(copies[i] as never)
        .execute()
    }
    expect((await verify()).every(({ problem }) => problem === null)).toBe(true)
    expect(await anchors()).toBe('The chain ends at entry 1, before the expected entry 2.')
    // The server adds nothing to the file that would hide it.
    await write(3)
    expect(anchor()).rejects.toThrow('run check-audit')
    expect(await anchors()).toBe('Entry 2 does not have the expected hash.')
    await db.deleteFrom('audit_chains').where('chain_id', '=', 'anchors').execute()
    await db.deleteFrom('audit_entries').where('chain_id', '=', 'anchors').execute()
    expect(await anchors()).toBe('The chain does not exist, although a head of it is expected.')
  })

  test('S12 heads are recorded once, by whichever node is first, and noted by each', async () => {
    await write(1)
    await Promise.all([anchor(), anchor(`${headsPath()}.other`)])
    const recorded = await readEntriesAfter(server().gateway.db, 'anchors', 0, 10)
    expect(recorded).toHaveLength(1)
    expect(await readHeadsFile(headsPath())).toHaveLength(1)
    rmSync(`${headsPath()}.other`)
    await anchor()
    expect(await readHeadsFile(headsPath())).toHaveLength(1)
  })

  test('S12 a database that was rolled back is found by a head that was kept elsewhere', async () => {
    const { db } = server().gateway
    const rows = await db.selectFrom('audit_entries').selectAll().where('chain_id', '=', id).execute()
    const backup = await head()
    await write(3)
    const noted = await head()
    await remove('>', 5)
    await chain().set(backup).execute()
    expect(rows).toHaveLength(5)
    expect(await problemOf()).toBeNull()
    expect(await problemOf([noted])).toBe('The chain ends at entry 5, before the expected entry 8.')
    // Written again since, with other entries.
    await write(3)
    expect(await problemOf([noted])).toBe('Entry 8 does not have the expected hash.')
  })
})
