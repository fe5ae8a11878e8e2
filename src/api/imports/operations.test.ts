import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'

const secret = 'sk-Zx81mQv_27bTTpUJw3-LRg'
const csv = `name,secret,limit\nChecked,${secret},5\nWeak,sk-1,1\n`

describeOnEachDatabase('imports', (server) => {
  const send = (path: string, body: object, key?: string) =>
    server().call('POST', path, { body, ...(key && { key }) })
  const find = async () => (await server().call('GET', `/keys/${sha256(secret)}`)).body.data

  test('a plan changes nothing, an import is made once, and the audit log has it', async () => {
    const body = { files: [{ name: 'keys.csv', content: csv }] }
    const planned = await send('/imports/plan', body)
    expect(planned.body.data).toMatchObject({ source: 'keys', plan: true, created: 1, skipped: 1 })
    expect(await find()).toBeUndefined()
    const { body: applied } = await send('/imports', body)
    expect(applied.data).toMatchObject({ plan: false, created: 1, skipped: 1 })
    expect(applied.data.items).toEqual(planned.body.data.items)
    expect(JSON.stringify([planned.body, applied])).not.toContain(secret)
    expect(await find()).toMatchObject({ name: 'Checked', limit: 5 })
    expect((await send('/imports', body)).body.data).toMatchObject({ created: 0, existing: 1 })
    const { data } = (await server().call('GET', '/audit?action=import.apply')).body
    expect(data[0]).toMatchObject({ action: 'import.apply' })
  })

  test('the gateway is recognized, or named; variables of the server are not used', async () => {
    const config =
      'model_list:\n  - model_name: x\n    litellm_params: { model: openai/x, api_key: os.environ/PATH }\n'
    const body = { files: [{ name: 'config.yaml', content: config }] }
    const { data } = (await send('/imports/plan', body)).body
    expect(data.source).toBe('litellm')
    expect(data.items).toEqual([
      { kind: 'deployment', name: 'x', outcome: 'skipped', message: 'not set: PATH; give --env' },
    ])
    const named = (await send('/imports/plan', { ...body, variables: { PATH: 'sk-open-0123456789' } })).body
      .data
    expect(named.items.map(({ kind }: { kind: string }) => kind)).toEqual(['provider', 'model', 'alias'])
  })

  test('files that cannot be read are a 400 that names the field', async () => {
    for (const [body, message] of [
      [{ files: [{ name: 'x.json', content: '{"a": 1}' }] }, 'is not recognized'],
      [
        { files: [{ name: 'x.db', content: btoa('SQLite format 3\0broken'), encoding: 'base64' }] },
        'The SQLite file cannot be read',
      ],
      [{ source: 'new-api', files: [{ name: 'x.json', content: '{}' }] }, 'neither channels nor tokens'],
      [{ files: [] }, 'files'],
    ] as const) {
      const { status, body: reply } = await send('/imports/plan', body)
      expect([status, reply.error.message]).toEqual([400, expect.stringContaining(message)])
    }
  })

  test('channels that multiply, and addresses of slashes, take no time', async () => {
    const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
    const plan = (channel: object) => {
      const channels = [{ id: 1, type: 1, status: 1, name: 'c', key: 'k', models: 'm', ...channel }]
      const [names, values] = [Object.keys(channels[0] ?? {}), Object.values(channels[0] ?? {})]
      const content = `CREATE TABLE channels (id int);\nINSERT INTO channels (${names.join(',')}) VALUES (${values.map((value) => `'${value}'`).join(',')});`
      return send('/imports/plan', { source: 'new-api', files: [{ name: 'dump.sql', content }] })
    }
    const many = await plan({ key: numbers(20_000).join('\n'), models: numbers(20_000).join(',') })
    expect([many.status, many.body.error.message]).toEqual([
      400,
      expect.stringContaining('more than 200000 keys and models'),
    ])
    const slashes = await plan({ base_url: `http://127.0.0.1/${'/'.repeat(500_000)}x` })
    expect(slashes.status).toBeLessThan(500)
  })

  test('a caller needs the permission of everything in the plan', async () => {
    const created = await server().call('POST', '/management-keys', {
      body: { name: 'Keys only', permissions: ['keys:read', 'keys:write'] },
    })
    const key = created.body.key as string
    expect((await send('/imports/plan', { files: [{ name: 'keys.csv', content: csv }] }, key)).status).toBe(
      200,
    )
    const gateways = { result: [{ id: 'g', collect_logs: true, rate_limiting_limit: 0 }] }
    const denied = await send(
      '/imports/plan',
      { files: [{ name: 'g.json', content: JSON.stringify(gateways) }] },
      key,
    )
    expect(denied.status).toBe(403)
    expect(denied.body.error.metadata.permission).toBe('workspaces:write')
  })
})
