import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { hashEntry, signHead } from './chain.ts'
import type { AuditOrigin } from './entry.ts'
import { transactAs } from './transaction.ts'

describeOnEachDatabase('the audit log', (server) => {
  const originOf = (organizationId: string): AuditOrigin => ({
    organizationId,
    actor: { type: 'command', id: null, name: 'test' },
    ip: null,
    userAgent: null,
    requestId: null,
  })
  const entriesOf = (chainId: string) =>
    server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('chain_id', '=', chainId)
      .orderBy('seq')
      .execute()

  test('R22 concurrent transactions write one chain, signed at its end', async () => {
    const { gateway, foreign } = server()
    const { id } = foreign.organization
    const before = (await entriesOf(id)).length
    const write = (n: number) =>
      transactAs(gateway, originOf(id), async (_tx, record) => {
        record({ action: 'test.write', target: { type: 'test', id: `${n}` }, after: { n } })
        record({ action: 'test.write', target: { type: 'test', id: `${n}b` } })
      })
    await Promise.all(Array.from({ length: 12 }, (_, n) => write(n)))
    const entries = (await entriesOf(id)).slice(before)
    expect(entries).toHaveLength(24)
    let previous = entries[0]?.previous_hash ?? ''
    for (const entry of entries) {
      expect(entry.previous_hash).toBe(previous)
      expect(entry.hash).toBe(hashEntry(gateway.vault, entry))
      previous = entry.hash
    }
    const head = await gateway.db
      .selectFrom('audit_chains')
      .selectAll()
      .where('chain_id', '=', id)
      .executeTakeFirstOrThrow()
    expect(head).toMatchObject({ seq: before + 24, hash: previous })
    expect(head.signature).toBe(signHead(gateway.vault, head))
  })

  test('a transaction that fails leaves no entry', async () => {
    const { gateway, foreign } = server()
    const before = await entriesOf(foreign.organization.id)
    const failing = transactAs(gateway, originOf(foreign.organization.id), async (_tx, record) => {
      record({ action: 'test.fail', target: { type: 'test', id: 'x' } })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await entriesOf(foreign.organization.id)).toEqual(before)
  })

  test('S12 only changed fields are stored, and secrets are masked', async () => {
    const { gateway, own } = server()
    await transactAs(gateway, originOf(own.organization.id), async (_tx, record) => {
      const before = { name: 'a', limit_nanos: 1n, sealed_key: 'v1.canary', same: 1 }
      record({
        action: 'test.update',
        target: { type: 'test', id: 'x' },
        before,
        after: { ...before, name: 'b', sealed_key: 'v1.other', limit_nanos: 2n },
      })
    })
    const last = (await entriesOf(own.organization.id)).at(-1)
    expect(JSON.parse(last?.changes ?? '')).toEqual({
      before: { name: 'a', limit_nanos: '1', sealed_key: '[masked]' },
      after: { name: 'b', limit_nanos: '2', sealed_key: '[masked]' },
    })
  })
})
