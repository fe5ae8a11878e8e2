import { expect, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../../test/support/harness.ts'
import { anchorChains } from './anchors.ts'
import { headsFilePath, readHeadsFile } from './heads-file.ts'
import { deleteOldEntries } from './retention.ts'
import { findChain, readEntriesAfter } from './store.ts'
import { transactAs } from './transaction.ts'
import { verifyChains } from './verify.ts'

describeOnEachDatabase('retention of the audit log', (server) => {
  test('S12 old entries are deleted, and what is left can be verified', async () => {
    const { gateway, clock } = server()
    const { organization } = await createTenant(gateway, 'Audited')
    const chainId = organization.id
    const path = headsFilePath(gateway.config.dataDir)
    const actor = { type: 'job' as const, id: null, name: 'test' }
    const origin = { organizationId: chainId, actor, ip: null, userAgent: null, requestId: null }
    const write = (count: number) =>
      transactAs(gateway, origin, async (_tx, record) => {
        for (let n = 0; n < count; n++) record({ action: 'test.write', target: { type: 't', id: `${n}` } })
      })
    const verify = async () => {
      const reports = await Array.fromAsync(verifyChains(gateway, [], () => undefined))
      return reports.find(({ chain_id }) => chain_id === chainId)
    }
    const listActions = async () =>
      (await readEntriesAfter(gateway.db, chainId, 0, 10)).map(({ seq, action }) => `${seq} ${action}`)

    clock.freeze('2030-01-01T12:00:00Z')
    await write(1100)
    clock.freeze('2030-01-20T12:00:00Z')
    await write(2)
    await deleteOldEntries(gateway, null)
    clock.freeze('2030-01-31T12:00:00Z')
    await deleteOldEntries(gateway, 30)
    expect(await verify()).toMatchObject({ entries: 1102, first_seq: 1, problem: null })
    clock.freeze('2030-02-01T12:00:00Z')
    await deleteOldEntries(gateway, 30)
    expect(await verify()).toMatchObject({ first_seq: 1101, problem: null })
    expect(await listActions()).toEqual([
      '1101 test.write',
      '1102 test.write',
      '1103 audit.retention',
      '1104 audit.retention',
      '1105 audit.retention',
    ])
    const [, , first] = await readEntriesAfter(gateway.db, chainId, 0, 10)
    expect(JSON.parse(first?.changes ?? '')).toEqual({
      details: { before: '2030-01-02T00:00:00.000Z', first_seq: 1, last_seq: 500 },
    })

    clock.freeze('2030-03-01T12:00:00Z')
    await deleteOldEntries(gateway, 30)
    expect(await listActions()).toEqual([
      '1103 audit.retention',
      '1104 audit.retention',
      '1105 audit.retention',
      '1106 audit.retention',
    ])
    // Entries about deletions alone cause no further deletion.
    clock.freeze('2031-01-01T00:00:00Z')
    await deleteOldEntries(gateway, 30)
    expect(await listActions()).toHaveLength(4)
    expect(await verify()).toMatchObject({ seq: 1106, first_seq: 1103, entries: 4, problem: null })

    // Heads that only deleted entries recorded are recorded again, and deleted entries are not missed.
    await anchorChains(gateway, path)
    clock.freeze('2031-03-01T00:00:00Z')
    await deleteOldEntries(gateway, 30)
    await anchorChains(gateway, path)
    const anchors = await readEntriesAfter(gateway.db, 'anchors', 0, 10)
    expect(anchors.map(({ seq, action }) => `${seq} ${action}`)).toEqual([
      '2 audit.retention',
      '3 audit.anchor',
    ])
    const noted = ((await readHeadsFile(path)) ?? []).map((head) => ({ ...head, mayBeDeleted: true }))
    expect(noted.map(({ seq }) => seq)).toEqual([1, 3])
    const reports = await Array.fromAsync(verifyChains(gateway, noted, () => undefined))
    expect(reports.filter(({ problem }) => problem !== null)).toEqual([])

    // The start is signed: nobody without the secret can move it.
    await gateway.db.deleteFrom('audit_entries').where('seq', '=', 1103).execute()
    const chain = await findChain(gateway.db, chainId)
    const [next] = await readEntriesAfter(gateway.db, chainId, 1103, 1)
    await gateway.db
      .updateTable('audit_chains')
      .set({ first_seq: 1104, first_hash: next?.previous_hash ?? '' })
      .where('chain_id', '=', chainId)
      .execute()
    expect(chain?.first_signature).not.toBe('')
    expect((await verify())?.problem).toStartWith('The start (seq 1104) is not signed')
    clock.release()
  })
})
