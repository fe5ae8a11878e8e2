import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { sql } from 'kysely'
import { createTenant, describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import type { AuditEvent } from '../../../governance/audit/entry.ts'
import { type AuditSelection, walkEntries } from '../../../governance/audit/store.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'

const record = (
  { gateway }: TestServer,
  organizationId: string | null,
  events: AuditEvent[],
  actor = { type: 'job' as const, id: 'node', name: 'test' },
) =>
  transactAs(
    gateway,
    { organizationId, actor, ip: '192.0.2.1', userAgent: 'test', requestId: `req-${events[0]?.target.id}` },
    async (_tx, add) => events.forEach(add),
  )

describeOnEachDatabase('GET /audit', (server, kind) => {
  test('lists the organization with every filter, newest first, in pages', async () => {
    const { call, own, foreign, clock } = server()
    const workspaceId = own.workspace.id
    const event = (action: string, id: string, rest: Partial<AuditEvent> = {}): AuditEvent => ({
      action,
      target: { type: action.split('.')[0] ?? '', id, name: `name of ${id}` },
      ...rest,
    })
    clock.freeze('2030-01-01T00:00:00.000Z')
    await record(server(), own.organization.id, [
      event('key.update', 'a', { before: { name: 'x', same: 1 }, after: { name: 'y', same: 1 } }),
    ])
    clock.freeze('2030-01-02T00:00:00.000Z')
    await record(server(), own.organization.id, [
      event('member.create', 'b', { workspaceId, outcome: 'refused' }),
      event('key.delete', 'c', { details: { reason: 'left' } }),
    ])
    clock.release()
    await record(server(), foreign.organization.id, [event('key.update', 'a')])

    const idsOf = async (query: string) =>
      (await call('GET', `/audit?${query}`)).body.data.map((row: { target: { id: string } }) => row.target.id)
    expect(await idsOf('from=2030-01-01T00:00:00Z')).toEqual(['c', 'b', 'a'])
    expect(await idsOf('from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z')).toEqual(['a'])
    for (const [query, ids] of [
      ['action=key.update', ['a']],
      ['action=key.update,key.delete,member.delete', ['c', 'a']],
      ['action=key.update,key.delete&request_id=req-b', ['c']],
      ['actor_type=job&from=2030-01-01T00:00:00Z', ['c', 'b', 'a']],
      ['actor_id=node&target_type=key', ['c', 'a']],
      ['target_id=b', ['b']],
      [`workspace_id=${workspaceId}&from=2030-01-01T00:00:00Z`, ['b']],
      ['outcome=refused', ['b']],
      ['request_id=req-b', ['c', 'b']],
      ['request_id=req-b&outcome=success', ['c']],
      [`action=key.update&workspace_id=${workspaceId}`, []],
    ] as const)
      expect(await idsOf(query)).toEqual([...ids])

    const pages = '/audit?action=key.update,key.delete&from=2030-01-01T00:00:00Z&limit=1'
    const newest = (await call('GET', pages)).body
    const older = (await call('GET', `${pages}&cursor=${encodeURIComponent(newest.cursor)}`)).body
    expect([newest, older].map(({ data }) => data[0].target.id)).toEqual(['c', 'a'])
    const many = Array.from({ length: 21 }, (_, index) => `key.${index}`).join()
    expect((await call('GET', `/audit?action=${many}`)).status).toBe(400)
    expect((await call('GET', '/audit?action=key.update,')).status).toBe(400)

    const path = '/audit?limit=2&from=2030-01-01T00:00:00Z'
    const first = (await call('GET', path)).body
    const second = (await call('GET', `${path}&cursor=${first.cursor}`)).body
    const targets = [...first.data, ...second.data].map(({ target }) => target.id)
    expect(targets).toEqual(['c', 'b', 'a'])
    expect(second.cursor).toBeNull()
    expect(second.data[0]).toMatchObject({
      chain: own.organization.id,
      changes: { before: { name: 'x' }, after: { name: 'y' } },
      actor: { type: 'job', id: 'node', name: 'test' },
      ip: '192.0.2.1',
    })
    expect(first.data[0].changes).toEqual({ details: { reason: 'left' } })
    expect(await idsOf(`id=${second.data[0].id}`)).toEqual(['a'])
    const elsewhere = await call('GET', `/audit?id=${second.data[0].id}`, { key: foreign.managementKey })
    expect(elsewhere.body.data).toEqual([])
    const other = await call('GET', `/audit?cursor=${first.cursor}`, { key: foreign.managementKey })
    expect(other.status).toBe(400)
    expect((await call('GET', '/audit?from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z')).status).toBe(400)
  })

  test('an entry has the address of a client that closed the connection at once', async () => {
    const { call, own, url } = server()
    const body = JSON.stringify({ name: 'hasty' })
    const head = [
      'POST /api/v1/keys HTTP/1.1',
      'host: headgate',
      `authorization: Bearer ${own.managementKey}`,
      'content-type: application/json',
      'x-request-id: hasty',
      `content-length: ${body.length}`,
    ].join('\r\n')
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(`${head}\r\n\r\n${body}`, () => setTimeout(() => socket.resetAndDestroy(), 1))
    const read = async () => (await call('GET', '/audit?request_id=hasty')).body.data
    for (let tries = 0; tries < 100 && (await read()).length === 0; tries += 1) await Bun.sleep(20)
    expect(await read()).toMatchObject([{ action: 'key.create', ip: '127.0.0.1' }])
  })

  test('the chain of the installation is for its operator', async () => {
    const { call, foreign } = server()
    await record(server(), null, [{ action: 'server.start', target: { type: 'server', id: 'node' } }])
    const { body } = await call('GET', '/audit?chain=installation')
    expect(body.data).toMatchObject([{ chain: 'installation', action: 'server.start' }])
    const refused = await call('GET', '/audit?chain=installation', { key: foreign.managementKey })
    expect(refused.status).toBe(403)
    expect((await call('GET', '/audit?chain=x')).status).toBe(400)
  })

  test('exports CSV without formulas and JSON lines, and records the download', async () => {
    const { url, own, call } = server()
    await record(server(), own.organization.id, [
      { action: 'key.create', target: { type: 'key', id: '=1+1', name: '  @SUM(A1)\n"x", y' } },
    ])
    const headers = { authorization: `Bearer ${own.managementKey}` }
    const path = `${url}/api/v1/audit/export?target_id=${encodeURIComponent('=1+1')}`
    const csv = await fetch(`${path}&format=csv`, { headers })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const text = await csv.text()
    expect(text.split('\r\n')[0]).toStartWith('created_at,chain_id,seq,id,action,')
    expect(text).toContain(`,'=1+1,"'  @SUM(A1)\n""x"", y",`)
    const lines = await (await fetch(`${path}&format=jsonl`, { headers })).text()
    expect(JSON.parse(lines.trim())).toMatchObject({ target: { id: '=1+1' }, action: 'key.create' })
    const { body } = await call('GET', '/audit?action=audit.export')
    expect(body.data).toHaveLength(2)
    expect(body.data[0].changes.details).toMatchObject({ format: 'jsonl', target_id: '=1+1' })
    expect((await call('GET', '/audit/export?format=xml')).status).toBe(400)
  })

  test('every filter reads an index of many entries, and a page is bounded', async () => {
    const { gateway, call } = server()
    const tenant = await createTenant(gateway, 'Many entries')
    const chainId = tenant.organization.id
    await fillChain(server(), chainId, 12_000)
    if (kind === 'postgres') await sql`analyze audit_entries`.execute(gateway.db)
    const indexed = ['action', 'actor_id', 'target_id', 'workspace_id', 'request_id'] as const
    for (const filter of [...indexed, 'outcome'] as const) {
      const plan = await explainFirstBatch(
        server(),
        { chainId, from: null, to: null, [filter]: filter === 'action' ? ['value-7', 'value-8'] : 'value-7' },
        kind,
      )
      const name = filter === 'outcome' ? 'time' : filter
      expect(plan).toContain(`audit_entries_by_${name}`)
      expect(plan).not.toMatch(/temp b-tree|Sort|Seq Scan/i)
    }
    const key = tenant.managementKey
    const page = await call('GET', '/audit?outcome=refused', { key })
    expect(page.body.data).toEqual([])
    expect(page.body.cursor).not.toBeNull()
    const found = await call('GET', '/audit?request_id=value-7&limit=1000', { key })
    expect(found.body.data).toHaveLength(12)
  })
})

async function fillChain({ gateway }: TestServer, chainId: string, count: number): Promise<void> {
  const base = {
    chain_id: chainId,
    outcome: 'success' as const,
    actor_type: 'job' as const,
    actor_name: null,
  }
  const rest = { ip: null, user_agent: null, target_type: 't', target_name: null, changes: null }
  const at = Date.parse('2020-01-01T00:00:00Z')
  const rowOf = (seq: number) => {
    const value = `value-${seq % 1000}`
    const ids = { actor_id: value, target_id: value, request_id: value, workspace_id: value, action: value }
    const created_at = new Date(at + seq).toISOString()
    return { ...base, ...rest, ...ids, seq, id: crypto.randomUUID(), created_at, previous_hash: '', hash: '' }
  }
  for (let from = 1000; from < count + 1000; from += 1000) {
    const rows = Array.from({ length: 1000 }, (_, n) => rowOf(from + n))
    await gateway.db.insertInto('audit_entries').values(rows).execute()
  }
}

/** The plan of the query that `walkEntries` sends. */
async function explainFirstBatch(
  { gateway }: TestServer,
  selection: AuditSelection,
  kind: 'sqlite' | 'postgres',
): Promise<string> {
  const queries: { sql: string; parameters: readonly unknown[] }[] = []
  const { db } = gateway
  const spy = db.withPlugin({
    transformQuery: ({ node }) => {
      queries.push(db.getExecutor().compileQuery(node, { queryId: 'plan' }))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await walkEntries(spy, selection, { created_at: '2029-01-01T00:00:00.000Z', seq: 1 }).next()
  const query = queries[0]
  if (!query) throw new Error('no query')
  const parts = query.sql.split(/\?|\$\d+/)
  const literal = (value: unknown) => (typeof value === 'number' ? `${value}` : `'${value}'`)
  const text = parts
    .map((part, n) => part + (n < query.parameters.length ? literal(query.parameters[n]) : ''))
    .join('')
  const explain = kind === 'sqlite' ? 'explain query plan' : 'explain'
  const { rows } = await sql.raw(`${explain} ${text}`).execute(db)
  return JSON.stringify(rows)
}
